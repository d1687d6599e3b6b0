package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"vnfm/server/servertest"
)

// requirement is one of the standard, with a request and what the answer must be. docs/conformance.md lists them by their names. Every
// answer is checked against the OpenAPI documents besides, and must have the Version header.
type requirement struct {
	name   string
	method string
	path   string // {name} stands for what place knows by that name
	body   string
	header []string // names and values
	status int
	// expect are "Header: pattern", "-Header:" for one that is absent, "attribute/path=JSON", "attribute/path" for one that is there, and
	// "-attribute/path" for one that is not.
	expect []string
	detail string // part of what the problem document says
}

// place is a server in a known state.
type place struct {
	*bench
	names map[string]string
}

// at is the same place for a test that runs beside others.
func (p *place) at(t *testing.T) *place {
	t.Helper()
	in := *p.bench
	in.t, in.client = t, servertest.Client(t)
	return &place{&in, p.names}
}

func (p *place) fill(text string) string {
	return regexp.MustCompile(`\{[a-zA-Z]+\}`).ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := p.names[strings.Trim(name, "{}")]; ok {
			return value
		}
		return name
	})
}

// beside carries requirements out that do not depend on each other.
func (p *place) beside(t *testing.T, rows []requirement) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p.at(t).check(t, row)
		})
	}
}

// inOrder carries requirements out one after the other.
func (p *place) inOrder(t *testing.T, rows []requirement) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { p.at(t).check(t, row) })
	}
}

func (p *place) check(t *testing.T, row requirement) *answer {
	t.Helper()
	a := p.expect(row.status, row.method, p.fill(row.path), p.fill(row.body), row.header...)
	if a.Header.Get("Version") != "1.3.0" {
		t.Errorf("Version %q", a.Header.Get("Version"))
	}
	if row.status >= http.StatusBadRequest && row.method != http.MethodHead && !strings.Contains(a.detail(t), p.fill(row.detail)) {
		t.Errorf("%q does not say %q", a.detail(t), row.detail)
	}
	for _, expected := range row.expect {
		p.compare(t, a, p.fill(expected))
	}
	return a
}

func (p *place) compare(t *testing.T, a *answer, expected string) {
	t.Helper()
	if header := regexp.MustCompile(`^(-?)([A-Z][A-Za-z-]+): ?(.*)$`).FindStringSubmatch(expected); header != nil {
		values, there := a.Header[http.CanonicalHeaderKey(header[2])]
		if there == (header[1] == "-") || there && !regexp.MustCompile(`^(?:`+header[3]+`)$`).MatchString(strings.Join(values, ", ")) {
			t.Errorf("%s: the answer has %q", expected, values)
		}
		return
	}
	var document any
	if err := json.Unmarshal(a.body, &document); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	name, absent := strings.CutPrefix(expected, "-")
	name, want, compared := strings.Cut(name, "=")
	found, there := document, true
	for step := range strings.SplitSeq(name, "/") {
		if list, ok := found.([]any); ok && len(list) > 0 {
			found = list[len(list)-1]
		}
		object, _ := found.(map[string]any)
		if found, there = object[step]; !there {
			break
		}
	}
	encoded, err := json.Marshal(found)
	if there == absent || err != nil || compared && string(encoded) != want {
		t.Errorf("%s: the answer has %s (%v) in %s", expected, encoded, there, a.body)
	}
}

// read is the document of a resource.
func (p *place) read(path string) (document map[string]any) {
	p.t.Helper()
	if err := json.Unmarshal(p.expect(http.StatusOK, http.MethodGet, p.fill(path), "").body, &document); err != nil {
		p.t.Fatal(err)
	}
	return document
}

// newPlace is a server with an onboarded package and an instance of it, and names for what nobody has.
func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{setup(t), map[string]string{
		"none": uuid.NewString(), "instances": "/vnflcm/v1/vnf_instances", "opOccs": "/vnflcm/v1/vnf_lcm_op_occs",
		"packages": "/vnfpkgm/v1/vnf_packages",
	}}
	p.names["package"], p.names["vnfd"], _ = p.onboard()
	p.names["instance"] = p.instance(p.names["vnfd"])
	return p
}

func TestVersionsAndMediaTypes(t *testing.T) {
	t.Parallel()
	const list = "{instances}"
	newPlace(t).beside(t, []requirement{
		{"versions of vnflcm", "GET", "/vnflcm/api_versions", "", nil, 200,
			[]string{`uriPrefix="/vnflcm"`, `apiVersions=[{"isDeprecated":false,"version":"1.3.0"}]`}, ""},
		{"versions of vnflcm v1", "GET", "/vnflcm/v1/api_versions", "", nil, 200, []string{`apiVersions/version="1.3.0"`}, ""},
		{"versions of vnfpkgm", "GET", "/vnfpkgm/api_versions", "", nil, 200, []string{`uriPrefix="/vnfpkgm"`, `apiVersions/version="1.3.0"`}, ""},
		{"versions of vnfpkgm v1", "GET", "/vnfpkgm/v1/api_versions", "", nil, 200, []string{`apiVersions/version="1.3.0"`}, ""},
		{"versions whatever version is asked for", "GET", "/vnflcm/api_versions", "", []string{"Version", "7.0.0"}, 200, nil, ""},
		{"major version unknown", "GET", "/vnflcm/v2/vnf_instances", "", nil, 404, nil, "/vnflcm/v2"},
		{"Version of another minor version", "GET", list, "", []string{"Version", "1.2.1"}, 200, nil, ""},
		{"Version with an implementation", "GET", list, "", []string{"Version", "1.3.0-impl:vendor:2"}, 200, nil, ""},
		{"Version unsupported", "GET", list, "", []string{"Version", "2.0.0"}, 406, nil, "2.0.0"},
		{"Version incomplete", "GET", list, "", []string{"Version", "1.x"}, 406, nil, "1.3.0"},
		{"Version unsupported where nothing is", "GET", "/none", "", []string{"Version", "2.0.0"}, 404, nil, "/none"},
		{"Accept of anything", "GET", list, "", []string{"Accept", "*/*"}, 200, []string{"Content-Type: application/json.*"}, ""},
		{"Accept of any application", "GET", list, "", []string{"Accept", "application/*;q=0.1"}, 200, nil, ""},
		{"Accept with a precise refusal", "GET", list, "", []string{"Accept", "application/json;q=0, */*"}, 406, nil, "application/json"},
		{"Accept of something else", "GET", list, "", []string{"Accept", "application/xml"}, 406, nil, "application/json"},
		{"Accept of problems alone", "GET", list, "", []string{"Accept", "application/problem+json"}, 406, nil, "application/json"},
		{"Accept by quality: zip", "GET", "{package}/vnfd", "", []string{"Accept", "text/plain;q=0.5, application/zip"}, 200,
			[]string{"Content-Type: application/zip", "Vary: Accept"}, ""},
		{"JSON with a charset", "POST", list, `{"vnfdId": "{vnfd}"}`, []string{"Content-Type", "application/json; charset=UTF-8"}, 201, nil, ""},
		{"body of another media type", "POST", list, `{"vnfdId": "{vnfd}"}`, []string{"Content-Type", "application/xml"}, 415, nil, "application/json"},
		{"body of a media type that is none", "POST", list, `{"vnfdId": "{vnfd}"}`, []string{"Content-Type", "json"}, 415, nil, "application/json"},
		{"merge patch on POST", "POST", list, `{"vnfdId": "{vnfd}"}`, []string{"Content-Type", "application/merge-patch+json"}, 415, nil, "application/json"},
	})
}

func TestErrorsAndLimits(t *testing.T) {
	t.Parallel()
	const scale, level, modify = "{instance}/scale", "{instance}/scale_to_level", "{instance}"
	newPlace(t).beside(t, []requirement{
		{"pointer to a wrong type", "POST", level, `{"scaleInfo": [{"aspectId": 7, "scaleLevel": 0}]}`, nil, 400, nil, "/scaleInfo/0/aspectId: "},
		{"pointer to a missing attribute", "POST", level, `{"scaleInfo": [{"aspectId": "a", "scaleLevel": 0}, {"scaleLevel": 0}]}`, nil, 400, nil, "/scaleInfo/1/aspectId: "},
		{"pointer to a value below the least", "POST", level, `{"scaleInfo": [{"aspectId": "a", "scaleLevel": -1}]}`, nil, 400, nil, "/scaleInfo/0/scaleLevel: "},
		{"pointer to an empty list", "POST", level, `{"scaleInfo": []}`, nil, 400, nil, "/scaleInfo: "},
		{"pointer to a value outside of an enumeration", "POST", scale, `{"type": "SCALE_UP", "aspectId": "a"}`, nil, 400, nil, "/type: "},
		{"pointer to a value of no form", "POST", scale, `{"type": "SCALE_IN", "aspectId": "a", "numberOfSteps": 0}`, nil, 400, nil, "/numberOfSteps: number must be at least 1, or "},
		{"pointer with escapes", "PATCH", modify, `{"vimConnectionInfo": [{"id": "a", "accessInfo": 5}]}`, nil, 400, nil, "/vimConnectionInfo/0/accessInfo: "},
		{"null for an attribute that must be", "POST", "{instances}", `{"vnfdId": null}`, nil, 400, nil, "/vnfdId: "},
		{"unknown attribute of a merge patch", "PATCH", modify, `{"a/b": 1}`, nil, 400, nil, `"a/b"`},
		{"body as a whole", "PATCH", modify, `[]`, nil, 400, nil, "the body: "},
		{"unknown attributes of requests are left out", "POST", "{instances}", `{"vnfdId": "{vnfd}", "colour": "red"}`, nil, 201, []string{"-colour"}, ""},
		{"404 of a router that knows no such path", "GET", "/vnflcm/v1/vnf_instances/a/b/c", "", nil, 404, []string{"status=404", "title"}, "/a/b/c"},
		{"URI too long", "GET", "{instances}?filter=(eq,id," + strings.Repeat("a", 16<<10) + ")", "", nil, 414, nil, "16384"},
		{"long URI", "GET", "{instances}?filter=" + strings.Repeat("(eq,id,a);", 400) + "(eq,id,a)", "", nil, 200, nil, ""},
		{"body too large", "POST", modify + "/instantiate", `{"flavourId": "` + strings.Repeat("a", 4<<20) + `"}`, nil, 413, nil, "larger"},
		{"query parameter that a list does not know", "GET", "{opOccs}?colour=red", "", nil, 400, nil, `"colour"`},
		{"query parameter that a list of packages does not know", "GET", "{packages}?colour=red", "", nil, 400, nil, `"colour"`},
		{"query parameter that a list of VIMs does not know", "GET", "/v1.0/vims?colour=red", "", nil, 400, nil, `"colour"`},
		{"query parameter of a resource that is no list", "GET", "{instance}?colour=red", "", nil, 200, nil, ""},
		{"query parameter of versions", "GET", "/vnflcm/api_versions?colour=red", "", nil, 200, nil, ""},
		{"query parameter of a request", "POST", "{instances}?colour=red", `{"vnfdId": "{vnfd}"}`, nil, 201, nil, ""},
	})
}

// withoutBody are the task resources that the standard has no body for.
var withoutBody = regexp.MustCompile(`/(retry|rollback|fail)$`)

// TestEveryResource asks every resource for what it has not, with ids that nobody has: the method counts before the id.
func TestEveryResource(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	methods := map[string][]string{}
	for _, route := range p.server.Routes() {
		method, path, _ := strings.Cut(route, " ")
		methods[path] = append(methods[path], method)
	}
	for path, has := range methods {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			in := p.at(t)
			address := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, p.names["none"])
			allow := append(slices.Clone(has), http.MethodOptions)
			if slices.Contains(has, http.MethodGet) {
				allow = append(allow, http.MethodHead)
			}
			slices.Sort(allow)
			for _, method := range []string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT", "TRACE", "OPTIONS"} {
				if slices.Contains(allow, method) && method != http.MethodOptions {
					continue
				}
				status := http.StatusMethodNotAllowed
				if method == http.MethodOptions {
					status = http.StatusNoContent
				}
				a := in.check(t, requirement{method: method, path: address, status: status})
				got := strings.Split(a.Header.Get("Allow"), ", ")
				if slices.Sort(got); !slices.Equal(got, allow) {
					t.Errorf("%s: Allow %v, want %v", method, got, allow)
				}
			}
			versions := strings.HasSuffix(path, "/api_versions")
			for _, method := range has {
				if !versions {
					in.check(t, requirement{method: method, path: address, header: []string{"Version", "9.0.0"}, status: 406, detail: "9.0.0"})
				}
				in.check(t, requirement{method: method, path: address + "?a=" + strings.Repeat("b", 16<<10), status: 414, detail: "URI"})
				if slices.Contains([]string{"POST", "PUT", "PATCH"}, method) && !withoutBody.MatchString(path) {
					in.check(t, requirement{method: method, path: address, body: "a", header: []string{"Content-Type", "text/csv"}, status: 415,
						detail: "media type"})
				}
			}
			if slices.Contains(has, http.MethodGet) {
				in.headIsGet(t, address)
			}
		})
	}
}

// headIsGet compares HEAD with GET.
func (p *place) headIsGet(t *testing.T, path string, header ...string) {
	t.Helper()
	get, head := p.do(http.MethodGet, path, "", header...), p.do(http.MethodHead, path, "", header...)
	if head.StatusCode != get.StatusCode || len(head.body) > 0 {
		t.Errorf("%s: HEAD %s, GET %s, %d bytes", path, head.Status, get.Status, len(head.body))
	}
	for name, values := range get.Header {
		if own := slices.Contains([]string{"Date", "X-Request-Id", "Content-Length"}, name); !own && !slices.Equal(values, head.Header[name]) {
			t.Errorf("%s: %s is %v for GET and %v for HEAD", path, name, values, head.Header[name])
		}
	}
}

func TestHeadOfWhatExists(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, path := range []string{
		"{instances}?fields=vnfdId", "{instance}", "{opOccs}", "{packages}", "{package}", "{package}/vnfd", "{package}/package_content",
		"{package}/artifacts/TOSCA-Metadata/TOSCA.meta", "/v1.0/vims", "/vnflcm/api_versions", "/healthz", "/openapi", "/openapi/vnflcm",
	} {
		p.headIsGet(t, p.fill(path))
	}
	content := p.fill("{package}/package_content")
	size := p.expect(http.StatusOK, http.MethodGet, content, "").Header.Get("Content-Length")
	p.inOrder(t, []requirement{
		{"HEAD tells the size", "HEAD", content, "", nil, 200, []string{"Content-Length: " + size, "Accept-Ranges: bytes", "Etag: \".+\""}, ""},
		{"HEAD knows no ranges", "HEAD", content, "", []string{"Range", "bytes=0-1"}, 200, []string{"Content-Length: " + size, "-Content-Range:"}, ""},
		{"HEAD of what is not there", "HEAD", "{instances}/{none}", "", nil, 404, []string{"Content-Type: application/problem\\+json"}, ""},
		{"HEAD with a wrong filter", "HEAD", "{instances}?filter=x", "", nil, 400, nil, ""},
	})
}

// TestPagesWhileElementsComeAndGo deletes what a page has ended with, and what comes next, and adds an element.
func TestPagesWhileElementsComeAndGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var made []string
	for range 7 {
		made = append(made, p.instance(p.names["vnfd"]))
	}
	page := func(address string) (ids []string, next string) {
		a := p.expect(http.StatusOK, http.MethodGet, address, "")
		var elements []struct{ ID string }
		if err := json.Unmarshal(a.body, &elements); err != nil {
			t.Fatal(err)
		}
		for _, element := range elements {
			ids = append(ids, p.names["instances"]+"/"+element.ID)
		}
		next, relation, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
		if next != "" && relation != `; rel="next"` {
			t.Errorf("Link with %s", relation)
		}
		return ids, next
	}
	query := "?fields=vnfdId&filter=" + url.QueryEscape("(eq,vnfdId,"+p.names["vnfd"]+")")
	seen, next := page(p.names["instances"] + query)
	for _, gone := range []string{seen[len(seen)-1], made[2], made[4]} {
		p.expect(http.StatusNoContent, http.MethodDelete, gone, "")
	}
	added := p.instance(p.names["vnfd"])
	for next != "" {
		var ids []string
		if strings.Count(next, "filter=") != 1 || strings.Count(next, "fields=") != 1 || strings.Count(next, "nextpage_opaque_marker=") != 1 {
			t.Errorf("link %s", next)
		}
		ids, next = page(next)
		seen = append(seen, ids...)
	}
	want := []string{p.names["instance"], made[0], made[1], made[3], made[5], made[6], added}
	if !slices.Equal(seen, want) {
		t.Errorf("pages showed %v, want %v", seen, want)
	}
}
