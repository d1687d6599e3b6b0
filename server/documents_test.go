package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"vnfm/openapi"
)

// browser is what a browser sends.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestDocumentsAreServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var list struct {
		Documents []struct{ Name, Title, Href string }
	}
	index := b.expect(http.StatusOK, http.MethodGet, "/openapi", "")
	if err := json.Unmarshal(index.body, &list); err != nil || len(list.Documents) != len(openapi.Documents())+1 {
		t.Fatalf("index: %s %v", index.body, err)
	}
	page := b.expect(http.StatusOK, http.MethodGet, "/openapi", "", "Accept", browser)
	for _, document := range list.Documents {
		source, err := openapi.Files.ReadFile(document.Name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct{ name, suffix, accept, want string }{
			{"curl", "", "*/*", "application/yaml"},
			{"JSON is preferred", "", "application/json", "application/json"},
			{"browser", "", browser, "text/html"},
			{"YAML in a browser", ".yaml", browser, "application/yaml"},
			{"JSON of the YAML", ".yaml", "application/json, application/yaml;q=0.5", "application/json"},
			{"JSON in a browser", ".json", browser, "application/json"},
		} {
			a := b.expect(http.StatusOK, http.MethodGet, document.Href+row.suffix, "", "Accept", row.accept)
			if got, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); got != row.want || a.Header.Get("Vary") != "Accept" {
				t.Errorf("%s, %s: %s, Vary %q", document.Name, row.name, got, a.Header.Get("Vary"))
			}
			if row.want == "application/yaml" && string(a.body) != string(source) {
				t.Errorf("%s, %s: not the document", document.Name, row.name)
			}
		}
		if !strings.Contains(string(page.body), `<a href="`+document.Href+`">`+document.Title) {
			t.Errorf("the index page does not lead to %s", document.Href)
		}
	}
	for _, row := range []struct {
		path, accept string
		status       int
	}{
		{"/openapi/none", "*/*", 404}, {"/openapi/vnflcm.html", "*/*", 404}, {"/openapi/embed.go", "*/*", 404}, {"/openapi/..%2fgo.mod", "*/*", 404},
		{"/openapi/vnflcm.json", "text/html", 406}, {"/openapi/vnflcm", "image/png", 406},
	} {
		b.expect(row.status, http.MethodGet, row.path, "", "Accept", row.accept)
	}
}

// TestDocumentsCanBeLoadedFromTheServer follows the references between them, as a client's generator does.
func TestDocumentsCanBeLoadedFromTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range openapi.Documents() {
		for _, extension := range []string{".yaml", ".json"} {
			loader := openapi3.NewLoader()
			loader.IsExternalRefsAllowed = true
			loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
				if path.Ext(location.Path) != extension {
					t.Errorf("%s%s leads to %s", name, extension, location)
				}
				return b.expect(http.StatusOK, http.MethodGet, location.Path, "").body, nil
			}
			document, err := loader.LoadFromURI(&url.URL{Path: "/openapi/" + strings.TrimSuffix(name, ".yaml") + extension})
			if err != nil {
				t.Fatal(err)
			}
			if err := document.Validate(t.Context()); err != nil {
				t.Errorf("%s%s: %v", name, extension, err)
			}
		}
	}
}

// TestPagesNeedNothingButThemselves looks for what a browser would have to load or run, and for links that lead nowhere.
func TestPagesNeedNothingButThemselves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pages := map[string]string{}
	for _, name := range append(openapi.Documents(), "", "shared") {
		address := path.Join("/openapi", strings.TrimSuffix(name, ".yaml"))
		a := b.expect(http.StatusOK, http.MethodGet, address, "", "Accept", browser)
		pages[address] = string(a.body)
		style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindSubmatch(a.body)
		digest := sha256.Sum256(style[1])
		policy := a.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"';") {
			t.Errorf("%s: the policy %q does not allow the style, or more than that", address, policy)
		}
		if found := regexp.MustCompile(`(?i)<(script|link|img|iframe|form|base)\b|\bon\w+=|style="|ZgotmplZ`).Find(a.body); found != nil {
			t.Errorf("%s has %s", address, found)
		}
	}
	for address, page := range pages {
		for _, link := range regexp.MustCompile(`href="([^"#]*)(#[^"]*)?"`).FindAllStringSubmatch(page, -1) {
			target := link[1]
			switch {
			case target == "":
				target = address
			case pages[target] == "":
				b.expect(http.StatusOK, http.MethodGet, target, "")
				continue
			}
			if link[2] != "" && !strings.Contains(pages[target], `id="`+link[2][1:]+`"`) {
				t.Errorf("%s: %s leads nowhere", address, link[0])
			}
		}
	}
	lcm := pages["/openapi/vnflcm"]
	for _, text := range []string{
		"/vnflcm/v1/vnf_instances/{vnfInstanceId}/change_ext_conn", `<details id="ScaleVnf">`, "nextpage_opaque_marker", "SCALE_OUT | SCALE_IN",
		`<h3 id="schema-VnfLcmOpOcc">`, "vimConnectionInfo/accessInfo", "integer or string", `application/merge-patch&#43;json`,
	} {
		if !strings.Contains(lcm, text) {
			t.Errorf("the page lacks %s", text)
		}
	}
}
