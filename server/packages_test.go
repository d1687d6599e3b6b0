package server_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/server/servertest"
	"vnfm/vnfpkg"
	"vnfm/vnfpkg/signtest"
)

const (
	packagesPath  = "/vnfpkgm/v1/vnf_packages"
	onboardedPath = "/vnfpkgm/v1/onboarded_vnf_packages"
)

// single is the source tree of a package whose VNFD is one file.
func single(vnfdID string) fstest.MapFS {
	return fstest.MapFS{"single.yaml": {Data: []byte(`tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings:
    node_type: tosca.nodes.nfv.VNF
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties:
        descriptor_id: ` + vnfdID + `
        descriptor_version: '1.0'
        provider: Example
        product_name: Single
        software_version: '1.0'
        vnfm_info: [ Tacker ]
        flavour_id: only
        flavour_description: the only one
`)}}
}

// shelf has a package in each of the states that matter, by name.
func shelf(b *bench) map[string]string {
	b.t.Helper()
	paths := map[string]string{"created": b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")}
	paths["processing"] = b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`).Header.Get("Location")
	b.expect(http.StatusAccepted, http.MethodPut, paths["processing"]+"/package_content", "PK", "Content-Type", "application/zip")
	for _, name := range []string{"enabled", "used", "disabled", "disabled and used"} {
		var vnfdID string
		paths[name], vnfdID, _ = b.onboardTree(single(name))
		if strings.Contains(name, "used") {
			b.instance(vnfdID)
		}
		if strings.Contains(name, "disabled") {
			b.expect(http.StatusOK, http.MethodPatch, paths[name], `{"operationalState": "DISABLED"}`)
		}
	}
	paths["several files"], _, _ = b.onboard()
	return paths
}

func TestPackagesByTheirState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paths := shelf(b)
	const enable, disable, data = `{"operationalState": "ENABLED"}`, `{"operationalState": "DISABLED"}`, `{"userDefinedData": {"a": "b"}}`
	instance := b.instance("enabled")
	for _, row := range []struct {
		name, method, pkg, path, body string
		status                        int
		detail                        string
	}{
		{"content before it is uploaded", "GET", "created", "/package_content", "", 409, "CREATED"},
		{"VNFD before it is uploaded", "GET", "created", "/vnfd", "", 409, "CREATED"},
		{"artifact before it is uploaded", "GET", "created", "/artifacts/a", "", 409, "CREATED"},
		{"content before it is processed", "GET", "processing", "/package_content", "", 409, "PROCESSING"},
		{"VNFD before it is processed", "GET", "processing", "/vnfd", "", 409, "PROCESSING"},
		{"artifact before it is processed", "GET", "processing", "/artifacts/a", "", 409, "PROCESSING"},
		{"second upload while the first is processed", "PUT", "processing", "/package_content", "PK", 409, "PROCESSING"},
		{"upload to what is onboarded", "PUT", "disabled", "/package_content", "PK", 409, "ONBOARDED"},
		{"enabling before onboarding", "PATCH", "created", "", enable, 409, "CREATED"},
		{"disabling before onboarding", "PATCH", "processing", "", disable, 409, "PROCESSING"},
		{"user defined data before onboarding", "PATCH", "created", "", data, 200, ""},
		{"enabling what is enabled", "PATCH", "enabled", "", enable, 409, "already"},
		{"disabling what is disabled", "PATCH", "disabled", "", disable, 409, "already"},
		{"user defined data with the same state", "PATCH", "disabled", "", `{"operationalState": "DISABLED", "userDefinedData": {"a": "b"}}`, 409, "already"},
		{"deletion of what is being processed", "DELETE", "processing", "", "", 409, "PROCESSING"},
		{"deletion of what is enabled", "DELETE", "enabled", "", "", 409, "ENABLED"},
		{"deletion of what is enabled and used", "DELETE", "used", "", "", 409, "ENABLED"},
		{"deletion of what is used", "DELETE", "disabled and used", "", "", 409, "IN_USE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			in := *b
			in.t, in.client = t, servertest.Client(t)
			header := []string{"Content-Type", "application/merge-patch+json"}
			if row.method == http.MethodPut {
				header[1] = "application/zip"
			}
			a := in.expect(row.status, row.method, paths[row.pkg]+row.path, row.body, header...)
			if row.detail != "" && !strings.Contains(a.detail(t), row.detail) {
				t.Errorf("%s does not say %q", a.body, row.detail)
			}
		})
	}
	for _, vnfdID := range []string{"disabled", "disabled and used", "none"} {
		body := `{"vnfdId": "` + vnfdID + `"}`
		if a := b.expect(http.StatusUnprocessableEntity, http.MethodPost, "/vnflcm/v1/vnf_instances", body); !strings.Contains(a.detail(t), vnfdID) {
			t.Errorf("instance of the VNFD %q: %s", vnfdID, a.body)
		}
		b.expect(http.StatusUnprocessableEntity, http.MethodPatch, instance, body)
	}
}

// states are the states of a package.
type states struct{ OnboardingState, OperationalState, UsageState string }

func (b *bench) states(path string) states {
	b.t.Helper()
	var found states
	if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, path, "").body, &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestUsageOfAPackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg, vnfdID, _ := b.onboardTree(single("vnfd"))
	inUse := states{"ONBOARDED", "ENABLED", "IN_USE"}
	unused := states{"ONBOARDED", "ENABLED", "NOT_IN_USE"}
	expect := func(when string, want states) {
		t.Helper()
		if got := b.states(pkg); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	expect("after onboarding", unused)
	first := b.instance(vnfdID)
	expect("with an instance", inUse)
	second := b.instance(vnfdID)
	b.expect(http.StatusNoContent, http.MethodDelete, first, "")
	expect("with one of two instances left", inUse)
	b.expect(http.StatusNoContent, http.MethodDelete, second, "")
	expect("after the last instance", unused)
	b.expect(http.StatusOK, http.MethodPatch, pkg, `{"operationalState": "DISABLED"}`)
	b.expect(http.StatusNoContent, http.MethodDelete, pkg, "")
	b.expect(http.StatusNotFound, http.MethodGet, pkg, "")
	b.expect(http.StatusNotFound, http.MethodGet, onboardedPath+"/"+vnfdID, "")
}

func TestOnlyOnePackageOfAVnfdIsOnboarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.onboardTree(single("vnfd"))
	second := b.upload(b.csar(single("vnfd")))
	if got := b.states(second); got != (states{"CREATED", "DISABLED", "NOT_IN_USE"}) {
		t.Errorf("the second package is %v", got)
	}
	var info struct{ OnboardingFailureDetails struct{ Status int } }
	a := b.expect(http.StatusOK, http.MethodGet, second, "")
	if err := json.Unmarshal(a.body, &info); err != nil || info.OnboardingFailureDetails.Status != http.StatusConflict {
		t.Errorf("the second package does not tell why: %s", a.body)
	}
	b.expect(http.StatusNoContent, http.MethodDelete, second, "")
}

func TestFormsOfTheVnfd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, _, _ := b.onboardTree(single("vnfd"))
	several, _, _ := b.onboard()
	for _, row := range []struct {
		name, pkg, accept string
		status            int
		mediaType         string
	}{
		{"text of one file", one, "text/plain", 200, "text/plain"},
		{"archive of one file", one, "application/zip", 200, "application/zip"},
		{"either, text first", one, "text/plain, application/zip;q=0.5", 200, "text/plain"},
		{"either, archive first", one, "text/plain;q=0.5, application/zip", 200, "application/zip"},
		{"any text", one, "text/*", 200, "text/plain"},
		{"neither", one, "application/json", 406, "application/problem+json"},
		{"text of several files", several, "text/plain", 406, "application/problem+json"},
		{"archive of several files", several, "application/zip", 200, "application/zip"},
		{"either of several files", several, "text/plain, application/zip;q=0.5", 200, "application/zip"},
		{"anything of several files", several, "*/*", 200, "application/zip"},
	} {
		a := b.expect(row.status, http.MethodGet, row.pkg+"/vnfd", "", "Accept", row.accept)
		if got := a.Header.Get("Content-Type"); got != row.mediaType {
			t.Errorf("%s: %s, want %s", row.name, got, row.mediaType)
		}
		if row.mediaType == "text/plain" && !bytes.Equal(a.body, single("vnfd")["single.yaml"].Data) {
			t.Errorf("%s: %s", row.name, a.body)
		}
	}
	names := func(pkg string) []string {
		content := b.expect(http.StatusOK, http.MethodGet, pkg+"/vnfd", "", "Accept", "application/zip").body
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, file := range archive.File {
			names = append(names, file.Name)
		}
		return names
	}
	if got := names(one); !slices.Equal(got, []string{"single.yaml"}) {
		t.Errorf("VNFD of one file: %v", got)
	}
	if got := names(several); len(got) != 7 || got[0] != "TOSCA-Metadata/TOSCA.meta" {
		t.Errorf("VNFD of several files: %v", got)
	}
}

func TestRangesOfContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg, _, archive := b.onboardTree(single("vnfd"))
	file := single("vnfd")["single.yaml"].Data
	for path, content := range map[string][]byte{"/package_content": archive, "/artifacts/single.yaml": file} {
		size := len(content)
		for _, row := range []struct {
			header string
			status int
			want   []byte
		}{
			{"bytes=0-0", 206, content[:1]},
			{"bytes=3-9", 206, content[3:10]},
			{"bytes=100-", 206, content[100:]},
			{"BYTES=3-9", 206, content[3:10]},
			{"bytes=5-99999999999999999999", 206, content[5:]},
			{"bytes=-7", 206, content[size-7:]},
			{fmt.Sprintf("bytes=-%d", size+1), 206, content},
			{fmt.Sprintf("bytes=%d-%d", size-1, size+100), 206, content[size-1:]},
			{fmt.Sprintf("bytes=%d-", size), 416, nil},
			{fmt.Sprintf("bytes=%d-%d", size, size+1), 416, nil},
			{"bytes=99999999999999999999-", 416, nil},
			{"bytes=-0", 416, nil},
			{"bytes=9-3", 200, content},
			{"bytes=a-b", 200, content},
			{"lines=1-2", 200, content},
		} {
			a := b.expect(row.status, http.MethodGet, pkg+path, "", "Range", row.header)
			if row.status != 416 && (!bytes.Equal(a.body, row.want) || a.ContentLength != int64(len(row.want))) {
				t.Errorf("%s of %s: %d bytes of %d", row.header, path, len(a.body), a.ContentLength)
			}
			if got := a.Header.Get("Content-Range"); row.status == 416 && got != fmt.Sprintf("bytes */%d", size) ||
				row.status == 206 && !strings.HasSuffix(got, fmt.Sprintf("/%d", size)) {
				t.Errorf("%s of %s: Content-Range %q", row.header, path, got)
			}
		}
	}
	tag := b.expect(http.StatusOK, http.MethodGet, pkg+"/package_content", "").Header.Get("ETag")
	b.expect(http.StatusPartialContent, http.MethodGet, pkg+"/package_content", "", "Range", "bytes=0-9", "If-Range", tag)
	b.expect(http.StatusOK, http.MethodGet, pkg+"/package_content", "", "Range", "bytes=0-9", "If-Range", `"other"`)
}

func TestPackageInASignedZip(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]uint16{"stored": zip.Store, "compressed": zip.Deflate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			csar, file := b.csar(single("vnfd")), single("vnfd")["single.yaml"].Data
			uploaded := signtest.Zip(t, signtest.File{Name: "single.csar", Content: csar, Method: method},
				signtest.File{Name: "single.cms", Content: signtest.New(t).Sign(t, csar), Method: method})
			pkg := b.upload(uploaded)
			if got := b.states(pkg); got != (states{"ONBOARDED", "ENABLED", "NOT_IN_USE"}) {
				t.Fatalf("the package is %v", got)
			}
			if a := b.expect(http.StatusOK, http.MethodGet, pkg+"/package_content", ""); !bytes.Equal(a.body, uploaded) {
				t.Error("the content is not what was uploaded")
			}
			part := b.expect(http.StatusPartialContent, http.MethodGet, pkg+"/package_content", "", "Range", "bytes=-100")
			if !bytes.Equal(part.body, uploaded[len(uploaded)-100:]) {
				t.Error("the end of the content is not that of what was uploaded")
			}
			for _, path := range []string{"/artifacts/single.yaml", "/vnfd"} {
				if a := b.expect(http.StatusOK, http.MethodGet, pkg+path, "", "Accept", "text/plain"); !bytes.Equal(a.body, file) {
					t.Errorf("%s: %s", path, a.body)
				}
			}
			b.instance("vnfd")
		})
	}
}

func TestUnsignedPackageWhereSignaturesAreRequired(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.packages.Trust(vnfpkg.Trust{Required: true})
	pkg := b.upload(b.csar(single("vnfd")))
	if a := b.expect(http.StatusOK, http.MethodGet, pkg, ""); !strings.Contains(string(a.body), "not signed") {
		t.Errorf("package: %s", a.body)
	}
}

func TestValidationGivesTheVerdictOfOnboarding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken := single("vnfd")
	broken["single.yaml"].Data = bytes.ReplaceAll(broken["single.yaml"].Data, []byte("provider: Example"), []byte("description: none"))
	broken["single.mf"] = &fstest.MapFile{Data: []byte("Source: single.yaml\nAlgorithm: MD5\nHash: 0\n")}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	if err := errors.Join(w.AddFS(broken), w.Close()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "broken.csar")
	if err := os.WriteFile(file, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := vnfpkg.Validate(t.Context(), file, vnfpkg.Trust{})
	want := "single.mf:2: the algorithm \"MD5\" of single.yaml is not SHA-224, SHA-256, SHA-384 or SHA-512\n" +
		"single.yaml:7: the property provider of the VNF is mandatory and has no value"
	if err == nil || err.Error() != want {
		t.Errorf("validation: %v", err)
	}
	var info struct{ OnboardingFailureDetails struct{ Detail string } }
	a := b.expect(http.StatusOK, http.MethodGet, b.upload(archive.Bytes()), "")
	if err := json.Unmarshal(a.body, &info); err != nil || info.OnboardingFailureDetails.Detail != want {
		t.Errorf("onboarding: %s", a.body)
	}
}
