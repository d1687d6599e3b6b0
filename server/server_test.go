package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"vnfm/api/peer"
	"vnfm/lcm"
	"vnfm/lcm/heat"
	"vnfm/lcm/heat/heattest"
	"vnfm/lcm/notify"
	"vnfm/openapi"
	"vnfm/samples"
	"vnfm/server"
	"vnfm/server/servertest"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// bench is a server on a real database with a simulated OpenStack, and no workers: operations stay STARTING until carryOut.
type bench struct {
	t        testing.TB
	url      string
	client   *http.Client
	db       *storetest.Database
	cloud    *heattest.Cloud
	packages *vnfpkg.Registry
	engine   *lcm.Engine
	server   *server.Server
}

func setup(tb testing.TB) *bench {
	tb.Helper()
	return setupOn(tb, nil, func(*server.Config) {})
}

// setupOn is setup with a content store that content, if not nil, makes of the real one, and with a configuration that is changed.
func setupOn(tb testing.TB, content func(vnfpkg.ContentStore) vnfpkg.ContentStore, change func(*server.Config)) *bench {
	tb.Helper()
	db := storetest.New(tb)
	var contents vnfpkg.ContentStore = db
	if content != nil {
		contents = content(db)
	}
	driver := heat.New(heat.Config{})
	b := &bench{t: tb, client: servertest.Client(tb), db: db, cloud: heattest.Start(tb, heattest.Options{})}
	b.packages = vnfpkg.NewRegistry(db, contents, vnfpkg.DefaultLimits(), lcm.CheckDrivers(nil))
	vims := lcm.NewVimRegistry(db, driver)
	manager := lcm.NewManager(db, db, b.packages, vims, driver, nil)
	b.engine = lcm.NewEngine(db, b.packages, vims, driver, nil, lcm.EngineConfig{Logger: slog.New(slog.DiscardHandler)})
	var err error
	consumers := notify.RegistryConfig{Client: peer.Policy{}.Client(nil, notify.CallTime), Test: true}
	config := server.Config{
		Instances: manager, Operations: manager, Vims: vims, Packages: b.packages, Subscriptions: notify.NewRegistry(db, consumers), Ready: db.Ready, PageSize: 3, Audit: db, Seals: db,
		Logger: slog.New(slog.DiscardHandler),
	}
	change(&config)
	b.server, err = server.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	listening := httptest.NewServer(b.server.Handler())
	tb.Cleanup(listening.Close)
	b.url = listening.URL
	return b
}

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	body []byte
}

func (a *answer) detail(t *testing.T) string {
	t.Helper()
	var problem struct {
		Status int
		Detail string
	}
	if err := json.Unmarshal(a.body, &problem); err != nil || problem.Status != a.StatusCode {
		t.Errorf("%s: %s is no problem document of that status", a.Status, a.body)
	}
	return problem.Detail
}

func (b *bench) do(method, path, body string, header ...string) *answer {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{response, content}
}

func (b *bench) expect(status int, method, path, body string, header ...string) *answer {
	b.t.Helper()
	a := b.do(method, path, body, header...)
	if a.StatusCode != status {
		b.t.Fatalf("%s %s: %s, want %d: %s", method, path, a.Status, status, a.body)
	}
	return a
}

// onboard uploads a package and processes it as a worker would.
func (b *bench) onboard() (path, vnfdID string, archive []byte) {
	b.t.Helper()
	return b.onboardTree(samples.TwoVdu())
}

func (b *bench) onboardTree(tree fs.FS) (path, vnfdID string, archive []byte) {
	b.t.Helper()
	archive = b.csar(tree)
	path = b.upload(archive)
	var info struct {
		VnfdID                            string
		OnboardingState, OperationalState string
	}
	a := b.expect(http.StatusOK, http.MethodGet, path, "")
	if err := json.Unmarshal(a.body, &info); err != nil || info.OnboardingState != "ONBOARDED" || info.OperationalState != "ENABLED" {
		b.t.Fatalf("onboarding: %s", a.body)
	}
	return path, info.VnfdID, archive
}

// csar is the archive of a source tree.
func (b *bench) csar(tree fs.FS) []byte {
	b.t.Helper()
	var csar bytes.Buffer
	if err := vnfpkg.BuildFS(b.t.Context(), tree, &csar); err != nil {
		b.t.Fatal(err)
	}
	return csar.Bytes()
}

// upload makes a package of an archive, or of what is none, and processes it as a worker would.
func (b *bench) upload(archive []byte) (path string) {
	b.t.Helper()
	path = b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")
	b.expect(http.StatusAccepted, http.MethodPut, path+"/package_content", string(archive), "Content-Type", "application/zip", "Accept", "application/zip")
	if err := b.packages.Process(b.t.Context(), uuid.MustParse(path[strings.LastIndex(path, "/")+1:])); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) instance(vnfdID string) string {
	b.t.Helper()
	return b.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances", `{"vnfdId": "`+vnfdID+`"}`).Header.Get("Location")
}

func TestRoutesAreThoseOfTheDocuments(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, name := range openapi.Documents() {
		for path, item := range servertest.Document(t, name).Paths.Map() {
			for method := range item.Operations() {
				documented[method+" "+path] = true
			}
		}
	}
	for _, route := range setup(t).server.Routes() {
		if !documented[route] {
			t.Errorf("%s is served and not documented", route)
		}
		delete(documented, route)
	}
	for route := range documented {
		t.Errorf("%s is documented and not served", route)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg, vnfdID, _ := b.onboard()
	instance := b.instance(vnfdID)
	none := uuid.NewString()
	const instances, opOccs = "/vnflcm/v1/vnf_instances", "/vnflcm/v1/vnf_lcm_op_occs"
	for _, row := range []struct {
		name, method, path, body string
		status                   int
		detail                   string
		header                   []string
	}{
		{"no JSON", "POST", instances, `{"vnfdId"`, 400, "not JSON", nil},
		{"something behind the JSON", "POST", instances, `{"vnfdId": "a"} x`, 400, "follows", nil},
		{"name twice", "POST", instances, `{"vnfdId": "a", "vnfdId": "b"}`, 400, `"vnfdId" occurs twice`, nil},
		{"number that cannot be held", "POST", "/vnfpkgm/v1/vnf_packages", `{"userDefinedData": {"a": 1e999}}`, 400, "the number 1e999 before byte 31", nil},
		{"character that cannot be stored", "POST", "/vnfpkgm/v1/vnf_packages", `{"userDefinedData": {"a": "b\u0000"}}`, 400, "U+0000", nil},
		{"deep", "POST", instances, `{"metadata": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, "deeper", nil},
		{"empty", "POST", instances, ``, 400, "not JSON", []string{"Content-Type", "application/json"}},
		{"list", "POST", instances, `[]`, 400, "object", nil},
		{"missing attribute", "POST", instances, `{}`, 400, "vnfdId", nil},
		{"wrong type", "POST", instances, `{"vnfdId": 7}`, 400, "/vnfdId", nil},
		{"two mistakes", "POST", instances, `{"vnfdId": 7, "metadata": 8}`, 400, "/metadata", nil},
		{"unknown VNFD", "POST", instances, `{"vnfdId": "` + none + `"}`, 422, none, nil},
		{"media type", "POST", instances, `a=b`, 415, "application/json", []string{"Content-Type", "text/plain"}},
		{"too large", "POST", instances, `{"vnfdId": "` + strings.Repeat("a", 5<<20) + `"}`, 413, "larger", nil},
		{"query", "GET", instances + "?attribute_not_exist=some_value", ``, 400, "attribute_not_exist", nil},
		{"marker", "GET", instances + "?nextpage_opaque_marker=abc", ``, 400, "nextpage_opaque_marker", nil},
		{"Accept", "GET", instances, ``, 406, "application/json", []string{"Accept", "text/html"}},
		{"Version", "GET", instances, ``, 406, "1.3.0", []string{"Version", "9.0.0"}},
		{"unknown path", "GET", "/vnflcm/v1/none", ``, 404, "/vnflcm/v1/none", nil},
		{"root", "GET", "/", ``, 404, "/", nil},
		{"method", "PUT", instances, ``, 405, "PUT", nil},
		{"method of what does not exist", "PUT", instances + "/" + none + "/instantiate", ``, 405, "PUT", nil},
		{"unknown instance", "GET", instances + "/" + none, ``, 404, none, nil},
		{"no UUID", "GET", instances + "/none", ``, 404, "none", nil},
		{"task of an unknown instance", "POST", instances + "/" + none + "/terminate", `{"terminationType": "FORCEFUL"}`, 404, none, nil},
		{"termination type", "POST", instance + "/terminate", `{"terminationType": "GENTLE"}`, 400, "/terminationType", nil},
		{"graceful timeout", "POST", instance + "/terminate", `{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": -1}`, 400,
			"/gracefulTerminationTimeout", nil},
		{"termination of what is not there", "POST", instance + "/terminate", `{"terminationType": "FORCEFUL"}`, 409, "NOT_INSTANTIATED", nil},
		{"no flavour", "POST", instance + "/instantiate", `{}`, 400, "flavourId", nil},
		{"unknown flavour", "POST", instance + "/instantiate", `{"flavourId": "none"}`, 400, "/flavourId", nil},
		{"no VIM", "POST", instance + "/instantiate", `{"flavourId": "simple", "extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [
			{"cpdId": "controller_CP1", "cpConfig": [{}]}, {"cpdId": "controller_CP2", "cpConfig": [{}]},
			{"cpdId": "worker_CP1", "cpConfig": [{}]}, {"cpdId": "worker_CP2", "cpConfig": [{}]}]}]}`, 400, "default VIM", nil},
		{"no network", "POST", instance + "/instantiate", `{"flavourId": "simple"}`, 400, "/extVirtualLinks", nil},
		{"address type", "POST", instance + "/instantiate", `{"flavourId": "simple", "extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [
			{"cpdId": "c", "cpConfig": [{"cpProtocolData": [{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": [{"type": "IPV5"}]}}]}]}]}]}`,
			400, "/extVirtualLinks/0/extCps/0/cpConfig/0/cpProtocolData/0/ipOverEthernet/ipAddresses/0/type", nil},
		{"operate without a state", "POST", instance + "/operate", `{}`, 400, "changeStateTo", nil},
		{"state to operate to", "POST", instance + "/operate", `{"changeStateTo": "PAUSED"}`, 400, "/changeStateTo", nil},
		{"operate of what is not there", "POST", instance + "/operate", `{"changeStateTo": "STOPPED"}`, 409, "NOT_INSTANTIATED", nil},
		{"nothing to modify", "PATCH", instance, `{}`, 400, "", nil},
		{"attribute that cannot be modified", "PATCH", instance, `{"instantiationState": "INSTANTIATED"}`, 400, "instantiationState", nil},
		{"type of a modified attribute", "PATCH", instance, `{"vnfInstanceName": 7}`, 400, "/vnfInstanceName", nil},
		{"VNFD to change to", "PATCH", instance, `{"vnfdId": "` + none + `"}`, 422, "/vnfdId", nil},
		{"tag of another state", "PATCH", instance, `{"metadata": {"a": 1}}`, 412, "changed", []string{"If-Match", `"99"`}},
		{"weak tag", "PATCH", instance, `{"metadata": {"a": 1}}`, 412, "changed", []string{"If-Match", `W/"1"`}},
		{"tag without quotes", "PATCH", instance, `{"metadata": {"a": 1}}`, 400, "If-Match", []string{"If-Match", `1`}},
		{"modification of an unknown instance", "PATCH", instances + "/" + none, `{"metadata": {"a": 1}}`, 404, none, nil},
		{"modification as a form", "PATCH", instance, `a=b`, 415, "merge-patch", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"cancel mode", "POST", opOccs + "/" + none + "/cancel", `{"cancelMode": "SOON"}`, 400, "/cancelMode", nil},
		{"cancellation of an unknown operation", "POST", opOccs + "/" + none + "/cancel", `{"cancelMode": "FORCEFUL"}`, 404, none, nil},
		{"unknown operation", "GET", opOccs + "/" + none, ``, 404, none, nil},
		{"retry of an unknown operation", "POST", opOccs + "/" + none + "/retry", ``, 404, none, nil},
		{"package in use", "DELETE", pkg, ``, 409, "ENABLED", nil},
		{"second upload", "PUT", pkg + "/package_content", `PK`, 409, "ONBOARDED", []string{"Content-Type", "application/zip"}},
		{"upload of JSON", "PUT", pkg + "/package_content", `{}`, 415, "application/zip", nil},
		{"operational state", "PATCH", pkg, `{"operationalState": "ASLEEP"}`, 400, "/operationalState", nil},
		{"nothing to change", "PATCH", pkg, `{}`, 400, "", nil},
		{"same state", "PATCH", pkg, `{"operationalState": "ENABLED"}`, 409, "already", nil},
		{"unknown package", "GET", "/vnfpkgm/v1/vnf_packages/" + none, ``, 404, none, nil},
		{"unknown artifact", "GET", pkg + "/artifacts/none", ``, 404, "none", nil},
		{"artifact outside", "GET", pkg + "/artifacts/..%2f..%2fetc%2fpasswd", ``, 404, "", nil},
		{"several ranges", "GET", pkg + "/package_content", ``, 400, "Range", []string{"Range", "bytes=0-1,3-4"}},
		{"range behind the end", "GET", pkg + "/package_content", ``, 416, "bytes", []string{"Range", "bytes=99999999-"}},
		{"VNFD of several files as text", "GET", pkg + "/vnfd", ``, 406, "application/zip", []string{"Accept", "text/plain"}},
		{"type of VIM", "POST", "/v1.0/vims", `{"vim": {"name": "a", "type": "cloud", "auth_url": "http://127.0.0.1:1/v3", "auth_cred": {}, "vim_project": {}}}`,
			400, "/vim/type", nil},
		{"VIM without a password", "POST", "/v1.0/vims", `{"vim": {"name": "a", "type": "openstack", "auth_url": "http://127.0.0.1:1/v3",
			"auth_cred": {"username": "a"}, "vim_project": {"name": "p"}}}`, 400, "/vim/auth_cred/password", nil},
		{"VIM at a file", "POST", "/v1.0/vims", `{"vim": {"name": "a", "type": "openstack", "auth_url": "file:///etc/passwd",
			"auth_cred": {"username": "a", "password": "b"}, "vim_project": {"name": "p"}}}`, 400, "/vim/auth_url", nil},
		{"VIM that does not answer", "POST", "/v1.0/vims", `{"vim": {"name": "a", "type": "openstack", "auth_url": "http://127.0.0.1:1",
			"auth_cred": {"username": "a", "password": "b"}, "vim_project": {"name": "p"}}}`, 503, "127.0.0.1:1", nil},
		{"unknown VIM", "GET", "/v1.0/vims/" + none + ".json", ``, 404, none, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in := *b
			in.t, in.client = t, servertest.Client(t)
			a := in.expect(row.status, row.method, row.path, row.body, row.header...)
			if detail := a.detail(t); !strings.Contains(detail, row.detail) {
				t.Errorf("%q does not say %q", detail, row.detail)
			}
			if a.Header.Get("Version") == "" {
				t.Error("no Version header")
			}
			if row.status == http.StatusMethodNotAllowed && a.Header.Get("Allow") == "" {
				t.Error("no Allow header")
			}
		})
	}
}

func TestPackageContentAndArtifacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg, _, archive := b.onboard()
	whole := b.expect(http.StatusOK, http.MethodGet, pkg+"/package_content", "", "Accept", "application/zip")
	if !bytes.Equal(whole.body, archive) || whole.Header.Get("Content-Type") != "application/zip" {
		t.Errorf("content is not what was uploaded, as %s", whole.Header.Get("Content-Type"))
	}
	// The client asks for JSON when it downloads an artifact.
	artifact := b.expect(http.StatusOK, http.MethodGet, pkg+"/artifacts/TOSCA-Metadata/TOSCA.meta", "", "Accept", "application/json")
	if !strings.Contains(string(artifact.body), "Entry-Definitions") {
		t.Errorf("artifact: %.100s", artifact.body)
	}
	escaped := b.expect(http.StatusOK, http.MethodGet, pkg+"/artifacts/TOSCA-Metadata%2FTOSCA.meta", "")
	if !bytes.Equal(escaped.body, artifact.body) {
		t.Errorf("artifact under an escaped path: %.100s", escaped.body)
	}
}

func TestPackageThatIsNoneComesBackWithTheReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := b.upload([]byte("no zip"))
	a := b.expect(http.StatusOK, http.MethodGet, path, "")
	if !strings.Contains(string(a.body), `"onboardingState":"CREATED"`) || !strings.Contains(string(a.body), "not a valid zip file") {
		t.Errorf("package: %s", a.body)
	}
	b.expect(http.StatusNoContent, http.MethodDelete, path, "")
}

func TestPagesLeadThroughTheWholeList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, vnfdID, _ := b.onboard()
	const count = 8
	for range count {
		b.instance(vnfdID)
	}
	seen := map[string]bool{}
	path := "/vnflcm/v1/vnf_instances?exclude_default"
	for pages := 1; path != ""; pages++ {
		a := b.expect(http.StatusOK, http.MethodGet, path, "")
		var elements []struct{ ID string }
		if err := json.Unmarshal(a.body, &elements); err != nil {
			t.Fatal(err)
		}
		for _, element := range elements {
			if seen[element.ID] {
				t.Errorf("%s came twice", element.ID)
			}
			seen[element.ID] = true
		}
		link := a.Header.Get("Link")
		path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if path != "" && !strings.Contains(path, "exclude_default") {
			t.Errorf("the link loses the query: %s", link)
		}
		if pages > count {
			t.Fatal("pages do not end")
		}
	}
	if len(seen) != count {
		t.Errorf("%d instances on all pages, want %d", len(seen), count)
	}
	a := b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_instances?all_records=yes", "")
	if a.Header.Get("Link") != "" || strings.Count(string(a.body), `"id"`) != count {
		t.Errorf("all records: %s", a.body)
	}
	if empty := b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_lcm_op_occs", ""); strings.TrimSpace(string(empty.body)) != "[]" {
		t.Errorf("empty list: %s", empty.body)
	}
}

func TestVimsAsTheClientUsesThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	account := b.cloud.Account()
	register := func(name, password string, isDefault bool) *answer {
		encoded, err := json.Marshal(map[string]any{"vim": map[string]any{
			"name": name, "type": "openstack", "auth_url": strings.TrimSuffix(b.cloud.AuthURL(), "/v3"), "is_default": isDefault,
			"vim_project": map[string]any{"name": account.Project, "project_domain_name": account.Domain},
			"auth_cred":   map[string]any{"username": account.User, "password": password, "user_domain_name": account.Domain, "cert_verify": "True"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return b.do(http.MethodPost, "/v1.0/vims.json", string(encoded))
	}
	if a := register("wrong", "wrong", false); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.detail(t), "credentials") {
		t.Errorf("wrong password: %s %s", a.Status, a.body)
	}
	made := register("cloud", account.Password, true)
	if made.StatusCode != http.StatusCreated || bytes.Contains(made.body, []byte(account.Password)) {
		t.Fatalf("registration: %s %s", made.Status, made.body)
	}
	if a := register("cloud", account.Password, false); a.StatusCode != http.StatusConflict {
		t.Errorf("same name: %s", a.Status)
	}
	if a := register("other", account.Password, true); a.StatusCode != http.StatusConflict {
		t.Errorf("second default: %s", a.Status)
	}
	path := made.Header.Get("Location")
	id := path[strings.LastIndex(path, "/")+1:]
	for query, want := range map[string]string{
		"?name=cloud&fields=id": `{"vims":[{"id":"` + id + `"}]}`, "?id=" + id + "&fields=id": `{"vims":[{"id":"` + id + `"}]}`,
		"?name=none&fields=id": `{"vims":[]}`, "?is_default=True&fields=name&fields=status": `{"vims":[{"name":"cloud","status":"ACTIVE"}]}`,
	} {
		if a := b.expect(http.StatusOK, http.MethodGet, "/v1.0/vims.json"+query, ""); strings.TrimSpace(string(a.body)) != want {
			t.Errorf("%s: %s, want %s", query, a.body, want)
		}
	}
	changed := b.expect(http.StatusOK, http.MethodPut, path+".json", `{"vim": {"description": "new", "is_default": false}}`)
	if !strings.Contains(string(changed.body), `"description":"new"`) || !strings.Contains(string(changed.body), `"is_default":false`) {
		t.Errorf("change: %s", changed.body)
	}
	b.expect(http.StatusBadRequest, http.MethodPut, path, `{"vim": {"auth_cred": {"password": "wrong"}}}`)
	b.expect(http.StatusNoContent, http.MethodDelete, path+".json", "")
	b.expect(http.StatusNotFound, http.MethodGet, path, "")
}

func TestHeadersThatClientsSend(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, version := range []string{"", "1.0.0", "1.3.0", "1.99.99"} {
		b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_instances", "", "Version", version)
	}
	b.expect(http.StatusOK, http.MethodGet, "/vnflcm/api_versions", "", "Version", "2.0.0")
	for _, accept := range []string{"", "*/*", "application/*", "text/html;q=0.9, application/json;q=0.1", "application/json; charset=utf-8"} {
		b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_instances", "", "Accept", accept)
	}
	b.expect(http.StatusNotAcceptable, http.MethodGet, "/vnflcm/v1/vnf_instances", "", "Accept", "application/json;q=0, text/html")
	for _, path := range []string{"//vnflcm/v1/vnf_instances", "/vnflcm/v1/vnf_instances/", "/vnflcm//v1//vnf_instances"} {
		b.expect(http.StatusOK, http.MethodGet, path, "")
	}
	// The client deletes with the header of a body that it does not have.
	b.expect(http.StatusNotFound, http.MethodDelete, "/vnflcm/v1/vnf_instances/"+uuid.NewString(), "", "Content-Type", "application/json")
	b.expect(http.StatusOK, http.MethodGet, "/healthz", "")
	b.expect(http.StatusOK, http.MethodGet, "/readyz", "")
	if metrics := b.expect(http.StatusOK, http.MethodGet, "/metrics", ""); !strings.Contains(string(metrics.body), "vnfm_http_request_duration_seconds") {
		t.Error("metrics lack the duration of requests")
	}
}
