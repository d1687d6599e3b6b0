package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/api"
	"vnfm/api/peer"
	"vnfm/lcm"
	"vnfm/vnfpkg"
	"vnfm/vnfpkg/filter"
)

const packagesPath = "/vnfpkgm/v1/vnf_packages/"

func packageID(c echo.Context) (uuid.UUID, error) { return id(c, "vnfPkgId", "vnf package") }

// namingPackage says of an unknown package which one it was.
func namingPackage(err error, id uuid.UUID) error {
	if errors.Is(err, vnfpkg.ErrNotFound) {
		return &lcm.NotFound{Resource: "vnf package", ID: id.String()}
	}
	return err
}

// packageAsked returns the package that the path names: by its id, or by that of its VNFD among those that are onboarded.
func (s *Server) packageAsked(c echo.Context) (*vnfpkg.Package, error) {
	if c.Param("vnfdId") == "" {
		id, err := packageID(c)
		if err != nil {
			return nil, err
		}
		pkg, err := s.config.Packages.Package(c.Request().Context(), id)
		return pkg, namingPackage(err, id)
	}
	vnfdID, err := parameter(c, "vnfdId")
	if err != nil {
		return nil, err
	}
	pkg, err := (*vnfpkg.Package)(nil), vnfpkg.ErrNotFound
	if utf8.ValidString(vnfdID) && !strings.ContainsRune(vnfdID, 0) { // or PostgreSQL would not take it
		pkg, err = s.config.Packages.PackageOfVnfd(c.Request().Context(), vnfdID)
	}
	if errors.Is(err, vnfpkg.ErrNotFound) {
		return nil, &lcm.NotFound{Resource: "onboarded vnf package with the VNFD", ID: vnfdID}
	}
	return pkg, err
}

// parameter returns a part of the path. echo routes by the escaped path where escapes such as %2F make it differ from the plain one.
func parameter(c echo.Context, name string) (string, error) {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value, nil
	}
	value, err := url.PathUnescape(value)
	if err != nil {
		return "", badRequest("the path: " + err.Error())
	}
	return value, nil
}

// vnfPkgInfo is the wire form of a package.
func vnfPkgInfo(pkg *vnfpkg.Package) api.VnfPkgInfo {
	self := packagesPath + pkg.ID.String()
	info := api.VnfPkgInfo{
		ID:               pkg.ID.String(),
		OnboardingState:  api.PackageOnboardingState(pkg.OnboardingState),
		OperationalState: api.PackageOperationalState(pkg.OperationalState),
		UsageState:       api.PackageUsageState(pkg.UsageState),
		UserDefinedData:  pkg.UserDefinedData,
		UnderscoreLinks:  api.VnfPkgInfoLinks{Self: api.Link{Href: self}, PackageContent: api.Link{Href: self + "/package_content"}},
	}
	if failure := pkg.Failure; failure != nil {
		info.OnboardingFailureDetails = &api.ProblemDetails{Title: failure.Title, Status: failure.Status, Detail: failure.Detail}
	}
	description := pkg.Description
	if description == nil {
		return info
	}
	info.UnderscoreLinks.Vnfd = api.Link{Href: self + "/vnfd"}
	info.VnfdID, info.VnfdVersion = description.VnfdID, description.DescriptorVersion
	info.VnfProvider, info.VnfProductName = description.Provider, description.ProductName
	info.VnfSoftwareVersion = description.SoftwareVersion
	if pkg.Content != nil {
		info.Checksum = api.Checksum{Algorithm: "SHA-512", Hash: pkg.Content.SHA512}
	}
	for _, image := range description.SoftwareImages {
		info.SoftwareImages = append(info.SoftwareImages, softwareImage(image, pkg))
	}
	for _, artifact := range description.Artifacts {
		info.AdditionalArtifacts = append(info.AdditionalArtifacts, api.VnfPackageArtifactInfo{
			ArtifactPath: artifact.Path, Checksum: api.Checksum(artifact.Checksum),
		})
	}
	return info
}

func softwareImage(image vnfpkg.SoftwareImage, pkg *vnfpkg.Package) api.VnfPackageSoftwareImageInfo {
	return api.VnfPackageSoftwareImageInfo{
		ID: image.ID, Name: image.Name, Provider: image.Provider, Version: image.Version, Checksum: api.Checksum(image.Checksum),
		ContainerFormat: image.ContainerFormat, DiskFormat: image.DiskFormat, CreatedAt: pkg.CreatedAt.UTC(),
		MinDisk: image.MinDiskBytes, MinRAM: image.MinRAMBytes, Size: image.SizeBytes, ImagePath: image.Path,
	}
}

func (s *Server) createPackage(c echo.Context) error {
	var request api.CreateVnfPkgInfoRequest
	if err := json.Unmarshal(body(c), &request); err != nil {
		return badRequest(err.Error())
	}
	pkg, err := s.config.Packages.Create(c.Request().Context(), request.UserDefinedData)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, packagesPath+pkg.ID.String())
	return c.JSON(http.StatusCreated, vnfPkgInfo(pkg))
}

func (s *Server) listPackages(c echo.Context) error { return s.listPackagesWhere(c) }

func (s *Server) listOnboardedPackages(c echo.Context) error {
	return s.listPackagesWhere(c, filter.Condition{
		Path: []filter.Step{{Name: "onboardingState"}}, Operator: filter.Eq, Values: []string{string(vnfpkg.Onboarded)},
	})
}

// listPackagesWhere lists the packages for which the conditions hold, too.
func (s *Server) listPackagesWhere(c echo.Context, conditions ...filter.Condition) error {
	asked, err := s.ask(c, s.packages)
	if err != nil {
		return err
	}
	packages, more, err := s.config.Packages.Packages(c.Request().Context(), vnfpkg.Page{
		Limit: asked.limit, After: vnfpkg.Cursor{CreatedAt: asked.after.createdAt, ID: asked.after.id},
		Where: append(asked.where, conditions...), Whole: asked.selector.whole,
	})
	if err != nil {
		return err
	}
	return answerList(c, asked, packages, vnfPkgInfo, more,
		func(last *vnfpkg.Package) cursor { return cursor{last.CreatedAt.UnixMicro(), last.ID} })
}

func (s *Server) showPackage(c echo.Context) error {
	pkg, err := s.packageAsked(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, vnfPkgInfo(pkg))
}

// patchPackage answers with what was changed, and nothing else (SOL005 9.4.3.3.4).
func (s *Server) patchPackage(c echo.Context) error {
	id, err := packageID(c)
	if err != nil {
		return err
	}
	var change api.VnfPkgInfoModifications
	if err := json.Unmarshal(body(c), &change); err != nil {
		return badRequest(err.Error())
	}
	if change.OperationalState == "" && len(change.UserDefinedData) == 0 {
		return badRequest("nothing to change: operationalState or a value of userDefinedData must be given")
	}
	if _, err := s.config.Packages.Modify(c.Request().Context(), id, vnfpkg.Modification{
		OperationalState: vnfpkg.OperationalState(change.OperationalState), UserDefinedData: change.UserDefinedData,
	}); err != nil {
		return namingPackage(err, id)
	}
	return c.JSON(http.StatusOK, change)
}

func (s *Server) deletePackage(c echo.Context) error {
	id, err := packageID(c)
	if err != nil {
		return err
	}
	if err := s.config.Packages.Delete(c.Request().Context(), id); err != nil {
		return namingPackage(err, id)
	}
	return c.NoContent(http.StatusNoContent)
}

// uploadContent stores the body as it arrives, never more than a piece of it in memory.
func (s *Server) uploadContent(c echo.Context) error {
	id, err := packageID(c)
	if err != nil {
		return err
	}
	if err := s.config.Packages.Upload(c.Request().Context(), id, c.Request().Body); err != nil {
		return namingPackage(err, id)
	}
	return c.NoContent(http.StatusAccepted)
}

// uploadFromURI asks for content that is elsewhere. Nothing of the request is shown or logged.
func (s *Server) uploadFromURI(c echo.Context) error {
	id, err := packageID(c)
	if err != nil {
		return err
	}
	var request api.UploadVnfPackageFromURIRequest
	if err := json.Unmarshal(body(c), &request); err != nil {
		return badRequest(err.Error())
	}
	source, err := contentSource(request)
	if err != nil {
		return err
	}
	if err := s.config.Packages.UploadFrom(c.Request().Context(), id, source); err != nil {
		return namingPackage(err, id)
	}
	return c.NoContent(http.StatusAccepted)
}

func contentSource(request api.UploadVnfPackageFromURIRequest) (*vnfpkg.Source, error) {
	source := &vnfpkg.Source{URL: request.AddressInformation, Username: request.UserName, Password: request.Password}
	if err := checkAddress("/addressInformation", request.AddressInformation); err != nil {
		return nil, err
	}
	if request.UserName == "" && request.Password != "" {
		return nil, &lcm.InvalidRequest{Attribute: "/userName", Detail: "must be given with a password"}
	}
	credentials := request.ParamsOauth2ClientCredentials
	if credentials.ClientID == "" {
		return source, nil
	}
	const attribute = "/paramsOauth2ClientCredentials"
	if request.UserName != "" {
		return nil, &lcm.InvalidRequest{Attribute: attribute, Detail: "excludes userName and password"}
	}
	source.OAuth2 = &peer.ClientCredentials{
		TokenURL: credentials.TokenEndpoint, ClientID: credentials.ClientID, ClientSecret: credentials.ClientPassword,
	}
	return source, checkAddress(attribute+"/tokenEndpoint", credentials.TokenEndpoint)
}

func checkAddress(attribute, text string) error {
	if _, err := peer.Address(text); err != nil {
		return &lcm.InvalidRequest{Attribute: attribute, Detail: err.Error()}
	}
	return nil
}

func (s *Server) readContent(c echo.Context) error {
	pkg, err := s.packageAsked(c)
	if err != nil {
		return err
	}
	content, err := s.config.Packages.OnboardedContent(c.Request().Context(), pkg)
	if err != nil {
		return namingPackage(err, pkg.ID)
	}
	defer content.Close()
	c.Response().Header().Set("ETag", strconv.Quote(pkg.Content.SHA512))
	return serveBytes(c, mediaZip, atReader{content}, content.Size())
}

// readVnfd answers with the VNFD as text, if it is one file and that is what the client prefers, or as a zip file (SOL003 10.4.4.3.2).
func (s *Server) readVnfd(c echo.Context) error {
	pkg, err := s.packageAsked(c)
	if err != nil {
		return err
	}
	csar, err := s.config.Packages.OnboardedCSAR(c.Request().Context(), pkg)
	if err != nil {
		return namingPackage(err, pkg.ID)
	}
	defer csar.Close()
	for _, wanted := range accepted(c) {
		if wanted == mediaZip {
			c.Response().Header().Set(echo.HeaderContentType, mediaZip)
			c.Response().WriteHeader(http.StatusOK)
			return csar.WriteVnfd(c.Request().Context(), c.Response(), pkg.Description.VnfdFiles)
		}
		if name, ok := pkg.Description.PlainVnfd(); ok {
			return s.serveFile(c, csar, name, mediaText)
		}
	}
	return &problem{http.StatusNotAcceptable, "the VNFD has several files and can be had as " + mediaZip + " only"}
}

func (s *Server) readArtifact(c echo.Context) error {
	pkg, err := s.packageAsked(c)
	if err != nil {
		return err
	}
	name, err := parameter(c, "*")
	if err != nil {
		return err
	}
	name = strings.TrimPrefix(name, "/")
	if artifact, ok := externalArtifact(pkg, name); ok {
		return s.serveExternal(c, artifact)
	}
	csar, err := s.config.Packages.OnboardedCSAR(c.Request().Context(), pkg)
	if err != nil {
		return namingPackage(err, pkg.ID)
	}
	defer csar.Close()
	return s.serveFile(c, csar, name, "")
}

// externalArtifact finds an artifact that is not in the package by its URL, which loses a slash on its way if it is not escaped.
func externalArtifact(pkg *vnfpkg.Package, name string) (vnfpkg.Artifact, bool) {
	if pkg.Description == nil {
		return vnfpkg.Artifact{}, false
	}
	at := slices.IndexFunc(pkg.Description.Artifacts, func(a vnfpkg.Artifact) bool {
		return a.Unchecked && (a.Path == name || strings.Replace(a.Path, "://", ":/", 1) == name)
	})
	if at < 0 {
		return vnfpkg.Artifact{}, false
	}
	return pkg.Description.Artifacts[at], true
}

// serveExternal fetches an artifact for the client. One that turns out not to be what the package says is never answered as a whole: it is
// refused if it is small, and the connection is cut if not.
func (s *Server) serveExternal(c echo.Context, artifact vnfpkg.Artifact) error {
	content, err := s.config.Packages.OpenExternal(c.Request().Context(), artifact)
	if err != nil {
		return err
	}
	defer content.Close()
	const small = 1 << 20
	first, err := io.ReadAll(io.LimitReader(content, small))
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set(echo.HeaderXContentTypeOptions, "nosniff")
	header.Set("Accept-Ranges", "none")
	header.Set(echo.HeaderContentType, echo.MIMEOctetStream)
	_, err = io.Copy(c.Response(), io.MultiReader(bytes.NewReader(first), content))
	return err
}

// serveFile answers with a file of a package; mediaType "" is that of the file's name.
func (s *Server) serveFile(c echo.Context, csar *vnfpkg.StoredCSAR, name, mediaType string) error {
	info, err := csar.Stat(name)
	if err != nil {
		return err
	}
	content, err := csar.Open(name)
	if err != nil {
		return err
	}
	defer content.Close()
	if mediaType == "" {
		mediaType = mediaTypeOfFile(name)
	}
	return serveBytes(c, mediaType, streamReader{content}, info.Size())
}
