package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"vnfm/samples"
)

func TestOnboardedPackagesAreThoseOfTheOtherResource(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pkg, vnfdID, archive := b.onboard()
	onboarded := onboardedPath + "/" + vnfdID
	for _, row := range []struct {
		name, path string
		status     int
		header     []string
	}{
		{"package", "", 200, nil},
		{"VNFD", "/vnfd", 200, []string{"Accept", "application/zip"}},
		{"VNFD of several files as text", "/vnfd", 406, []string{"Accept", "text/plain"}},
		{"content", "/package_content", 200, nil},
		{"range of the content", "/package_content", 206, []string{"Range", "bytes=-7"}},
		{"range behind the content's end", "/package_content", 416, []string{"Range", fmt.Sprintf("bytes=%d-", len(archive))}},
		{"artifact", "/artifacts/TOSCA-Metadata/TOSCA.meta", 200, []string{"Accept", "application/json"}},
		{"artifact under an escaped path", "/artifacts/TOSCA-Metadata%2FTOSCA.meta", 200, nil},
		{"range of an artifact", "/artifacts/TOSCA-Metadata/TOSCA.meta", 206, []string{"Range", "bytes=6-9"}},
		{"unknown artifact", "/artifacts/none", 404, nil},
	} {
		want := b.expect(row.status, http.MethodGet, pkg+row.path, "", row.header...)
		got := b.expect(row.status, http.MethodGet, onboarded+row.path, "", row.header...)
		for _, name := range []string{"Content-Type", "Content-Range", "Accept-Ranges", "ETag"} {
			if got.Header.Get(name) != want.Header.Get(name) {
				t.Errorf("%s: %s is %q, not %q", row.name, name, got.Header.Get(name), want.Header.Get(name))
			}
		}
		if row.status < 300 && !bytes.Equal(got.body, want.body) {
			t.Errorf("%s: %.100s, not %.100s", row.name, got.body, want.body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{onboardedPath, onboarded, onboarded + "/vnfd", onboarded + "/package_content", onboarded + "/artifacts/a"} {
			if a := b.expect(http.StatusMethodNotAllowed, method, path, ""); !strings.Contains(a.Header.Get("Allow"), http.MethodGet) {
				t.Errorf("%s %s: Allow %q", method, path, a.Header.Get("Allow"))
			}
		}
	}
	for _, unknown := range []string{uuid.NewString(), strings.TrimPrefix(pkg, packagesPath+"/"), "a%2Fb", "%00", "%ff"} {
		a := b.expect(http.StatusNotFound, http.MethodGet, onboardedPath+"/"+unknown, "")
		if plain, _ := url.PathUnescape(unknown); strings.HasPrefix(unknown, "a") && !strings.Contains(a.detail(t), plain) {
			t.Errorf("detail does not name %s: %s", plain, a.body)
		}
	}
}

func TestListOfOnboardedPackages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`)
	_, twoVdu, _ := b.onboardTree(samples.TwoVdu())
	topology, _, _ := b.onboardTree(samples.Topology())
	b.expect(http.StatusOK, http.MethodPatch, topology, `{"operationalState": "DISABLED"}`)
	for _, row := range []struct {
		query string
		want  int
		in    string
	}{
		{"", 2, "vnfProductName"},
		{"?filter=" + url.QueryEscape("(eq,vnfdId,"+twoVdu+")"), 1, twoVdu},
		{"?filter=(eq,operationalState,DISABLED)", 1, "DISABLED"},
		{"?filter=(eq,onboardingState,CREATED)", 0, ""},
		{"?all_fields", 2, "additionalArtifacts"},
		{"?fields=checksum/hash", 2, `"hash"`},
		{"?exclude_fields=checksum", 2, "additionalArtifacts"},
	} {
		a := b.expect(http.StatusOK, http.MethodGet, onboardedPath+row.query, "")
		var elements []map[string]any
		if err := json.Unmarshal(a.body, &elements); err != nil {
			t.Fatal(err)
		}
		if len(elements) != row.want || !strings.Contains(string(a.body), row.in) {
			t.Errorf("%s: %d elements, want %d with %s: %s", row.query, len(elements), row.want, row.in, a.body)
		}
	}
	for _, query := range []string{"?none=1", "?filter=(eq,none,1)", "?all_fields&fields=checksum", "?nextpage_opaque_marker=a"} {
		b.expect(http.StatusBadRequest, http.MethodGet, onboardedPath+query, "")
	}
}

func TestPagesOfOnboardedPackages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const count = 4 // pages have 3 elements
	for i := range count {
		b.expect(http.StatusCreated, http.MethodPost, packagesPath, `{}`)
		b.onboardTree(single(fmt.Sprintf("vnfd %d", i)))
	}
	seen := map[string]bool{}
	for path := onboardedPath + "?fields=vnfdId"; path != ""; {
		a := b.expect(http.StatusOK, http.MethodGet, path, "")
		var elements []struct{ VnfdID string }
		if err := json.Unmarshal(a.body, &elements); err != nil {
			t.Fatal(err)
		}
		for _, element := range elements {
			seen[element.VnfdID] = true
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
		if path != "" && !strings.HasPrefix(path, onboardedPath+"?") {
			t.Fatalf("the next page is %s", path)
		}
	}
	if len(seen) != count {
		t.Errorf("pages have %v", seen)
	}
	b.expect(http.StatusOK, http.MethodGet, onboardedPath+"/vnfd%202", "")
}
