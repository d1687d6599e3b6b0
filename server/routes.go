package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"vnfm/lcm/notify"
)

// route is one method of one resource. The path is echo's: parameters begin with a colon, * is the rest of a path.
type route struct {
	method  string
	path    string
	handler echo.HandlerFunc
	// offers are the media types of the answer, best first; nil is JSON. A single "*/*" means that Accept is not looked at: the
	// existing client asks for JSON when it downloads artifacts.
	offers []string
}

const (
	mediaJSON       = "application/json"
	mediaProblem    = "application/problem+json"
	mediaMergePatch = "application/merge-patch+json"
	mediaZip        = "application/zip"
	mediaText       = "text/plain"
	mediaYAML       = "application/yaml"
	mediaHTML       = "text/html"
	mediaAny        = "*/*"
)

const (
	packages   = "/vnfpkgm/v1/vnf_packages"
	pkg        = packages + "/:vnfPkgId"
	onboardeds = "/vnfpkgm/v1/onboarded_vnf_packages"
	onboarded  = onboardeds + "/:vnfdId"

	instances = "/vnflcm/v1/vnf_instances"
	instance  = instances + "/:vnfInstanceId"
	opOccs    = "/vnflcm/v1/vnf_lcm_op_occs"
	opOcc     = opOccs + "/:vnfLcmOpOccId"

	vims = "/v1.0/vims"
	vim  = vims + "/:vimId"
)

// contentPaths are those whose requests take as long as package content takes on its way.
var contentPaths = []string{
	pkg + "/vnfd", pkg + "/package_content", pkg + "/artifacts/*",
	onboarded + "/vnfd", onboarded + "/package_content", onboarded + "/artifacts/*",
}

// routes is the table of all routes, in the order of the standard. It is the same set as that of the OpenAPI documents.
func (s *Server) routes() []route {
	anything := []string{mediaAny}
	subscriptions := append(s.subscriptionRoutes(notify.Vnfpkgm, s.pkgmSubscriptions), s.subscriptionRoutes(notify.Vnflcm, s.lcmSubscriptions)...)
	audit := route{http.MethodGet, "/audit/v1/events", s.listAuditEvents, nil}
	return append(append(subscriptions, audit), []route{
		{http.MethodGet, "/vnfpkgm/api_versions", versions("/vnfpkgm"), nil},
		{http.MethodGet, "/vnfpkgm/v1/api_versions", versions("/vnfpkgm"), nil},
		{http.MethodGet, packages, s.listPackages, nil},
		{http.MethodPost, packages, s.createPackage, nil},
		{http.MethodGet, pkg, s.showPackage, nil},
		{http.MethodPatch, pkg, s.patchPackage, nil},
		{http.MethodDelete, pkg, s.deletePackage, anything},
		{http.MethodGet, pkg + "/vnfd", s.readVnfd, []string{mediaZip, mediaText}},
		{http.MethodGet, pkg + "/package_content", s.readContent, []string{mediaZip}},
		{http.MethodPut, pkg + "/package_content", s.uploadContent, anything},
		{http.MethodPost, pkg + "/package_content/upload_from_uri", s.uploadFromURI, anything},
		{http.MethodGet, pkg + "/artifacts/*", s.readArtifact, anything},
		{http.MethodGet, onboardeds, s.listOnboardedPackages, nil},
		{http.MethodGet, onboarded, s.showPackage, nil},
		{http.MethodGet, onboarded + "/vnfd", s.readVnfd, []string{mediaZip, mediaText}},
		{http.MethodGet, onboarded + "/package_content", s.readContent, []string{mediaZip}},
		{http.MethodGet, onboarded + "/artifacts/*", s.readArtifact, anything},

		{http.MethodGet, "/vnflcm/api_versions", versions("/vnflcm"), nil},
		{http.MethodGet, "/vnflcm/v1/api_versions", versions("/vnflcm"), nil},
		{http.MethodGet, instances, s.listInstances, nil},
		{http.MethodPost, instances, s.createInstance, nil},
		{http.MethodGet, instance, s.showInstance, nil},
		{http.MethodPatch, instance, s.modifyInstance, anything},
		{http.MethodDelete, instance, s.deleteInstance, anything},
		{http.MethodPost, instance + "/instantiate", s.start(s.config.Operations.Instantiate), anything},
		{http.MethodPost, instance + "/scale", s.start(s.config.Operations.Scale), anything},
		{http.MethodPost, instance + "/scale_to_level", s.start(s.config.Operations.ScaleToLevel), anything},
		{http.MethodPost, instance + "/change_flavour", s.start(s.config.Operations.ChangeFlavour), anything},
		{http.MethodPost, instance + "/heal", s.start(s.config.Operations.Heal), anything},
		{http.MethodPost, instance + "/operate", s.start(s.config.Operations.Operate), anything},
		{http.MethodPost, instance + "/terminate", s.start(s.config.Operations.Terminate), anything},
		{http.MethodPost, instance + "/change_ext_conn", s.start(s.config.Operations.ChangeExtConn), anything},
		{http.MethodGet, opOccs, s.listOperations, nil},
		{http.MethodGet, opOcc, s.showOperation, nil},
		{http.MethodGet, opOcc + "/node_logs", s.showNodeLogs, nil},
		{http.MethodPost, opOcc + "/retry", s.decide(s.config.Operations.Retry), anything},
		{http.MethodPost, opOcc + "/rollback", s.decide(s.config.Operations.Rollback), anything},
		{http.MethodPost, opOcc + "/fail", s.fail, nil},
		{http.MethodPost, opOcc + "/cancel", s.cancel, anything},

		{http.MethodGet, vims, s.listVims, nil},
		{http.MethodPost, vims, s.registerVim, nil},
		{http.MethodGet, vim, s.showVim, nil},
		{http.MethodPut, vim, s.updateVim, nil},
		{http.MethodDelete, vim, s.deleteVim, anything},

		{http.MethodGet, "/healthz", healthz, nil},
		{http.MethodGet, "/readyz", s.readyz, nil},
		{http.MethodGet, "/metrics", echo.WrapHandler(s.config.Telemetry.Handler()), anything},

		{http.MethodGet, documentsPath, s.listDocuments, []string{mediaJSON, mediaHTML}},
		{http.MethodGet, documentsPath + "/:documentName", s.readDocument, []string{mediaYAML, mediaJSON, mediaHTML}},
	}...)
}

// offersOf are the media types that a route can answer with, by method and path.
func (s *Server) offersOf() map[string][]string {
	offers := map[string][]string{}
	for _, route := range s.routes() {
		offers[route.method+" "+route.path] = route.offers
	}
	return offers
}
