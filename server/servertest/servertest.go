// Package servertest checks in tests that every response is what the OpenAPI documents say.
//
//	client := servertest.Client(t)
//	response, err := client.Get(url) // the test fails if the response is not documented
package servertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"vnfm/openapi"
)

// Client returns a client that fails the test on a response which the documents do not allow. Redirects are not followed.
func Client(tb testing.TB) *http.Client {
	tb.Helper()
	return &http.Client{
		Transport:     &validating{tb: tb, routes: load(tb)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// documented is a path of the documents.
type documented struct {
	pattern *regexp.Regexp
	route   routers.Route
}

// Document loads one of the OpenAPI documents.
func Document(tb testing.TB, name string) *openapi3.T {
	tb.Helper()
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
		return openapi.Files.ReadFile(location.Path)
	}
	document, err := loader.LoadFromURI(&url.URL{Path: name})
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return document
}

func load(tb testing.TB) []documented {
	tb.Helper()
	var all []documented
	for _, name := range openapi.Documents() {
		document := Document(tb, name)
		for path, item := range document.Paths.Map() {
			pattern := regexp.QuoteMeta(path)
			pattern = strings.ReplaceAll(pattern, `\{artifactPath\}`, `.+`)
			pattern = regexp.MustCompile(`\\\{[^/]+\\\}`).ReplaceAllString(pattern, `[^/]+`)
			all = append(all, documented{
				pattern: regexp.MustCompile(`^` + pattern + `$`),
				route:   routers.Route{Spec: document, Path: path, PathItem: item},
			})
		}
	}
	return all
}

// validating is a transport that looks at every response.
type validating struct {
	tb     testing.TB
	routes []documented
}

// RoundTrip implements [http.RoundTripper].
func (v *validating) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	v.check(request, response, content)
	return response, nil
}

func (v *validating) check(request *http.Request, response *http.Response, content []byte) {
	v.tb.Helper()
	what := request.Method + " " + request.URL.Path + ": " + response.Status
	if response.StatusCode >= http.StatusBadRequest && response.Header.Get("Content-Type") != "application/problem+json" {
		v.tb.Errorf("%s is not a problem document but %s: %.200s", what, response.Header.Get("Content-Type"), content)
	}
	if response.StatusCode >= http.StatusBadRequest && request.Method != http.MethodHead {
		v.checkProblem(what, response.StatusCode, content)
	}
	if response.StatusCode == http.StatusAccepted && len(content) > 0 {
		v.tb.Errorf("%s has a body, which the existing client takes for a failure: %.200s", what, content)
	}
	route := v.find(request)
	if route == nil {
		// A path or a method that the documents lack; only the router's own refusals are right.
		allowed := request.Method == http.MethodOptions && response.StatusCode == http.StatusNoContent
		if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusMethodNotAllowed && !allowed {
			v.tb.Errorf("%s, and the documents do not have it", what)
		}
		return
	}
	err := openapi3filter.ValidateResponse(request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, Route: route},
		Status:                 response.StatusCode,
		Header:                 response.Header,
		Body:                   io.NopCloser(bytes.NewReader(content)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: isBinary(response) || request.Method == http.MethodHead,
		},
	})
	if err != nil {
		v.tb.Errorf("%s is not as documented: %v", what, err)
	}
}

// checkProblem checks the attributes that every problem document has (SOL013 6.3).
func (v *validating) checkProblem(what string, status int, content []byte) {
	v.tb.Helper()
	var problem struct {
		Status int
		Detail string
	}
	if err := json.Unmarshal(content, &problem); err != nil || problem.Status != status || problem.Detail == "" {
		v.tb.Errorf("%s has no problem document with that status and a detail: %.200s", what, content)
	}
}

// isBinary reports whether the body is one that kin-openapi cannot decode.
func isBinary(response *http.Response) bool {
	mediaType, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	switch mediaType {
	case "application/zip", "application/octet-stream", "text/html":
		return true
	}
	return false
}

func (v *validating) find(request *http.Request) *routers.Route {
	// The server is lenient about slashes and, in the registry of VIMs, about .json at the end.
	path := strings.TrimSuffix(strings.TrimSuffix(regexp.MustCompile(`//+`).ReplaceAllString(request.URL.Path, "/"), ".json"), "/")
	method := request.Method
	if method == http.MethodHead { // every resource that can be read has it, so the documents do not tell
		method = http.MethodGet
	}
	for i := range v.routes {
		if operation := v.routes[i].route.PathItem.GetOperation(method); operation != nil && v.routes[i].pattern.MatchString(path) {
			route := v.routes[i].route
			route.Method, route.Operation = method, operation
			return &route
		}
	}
	return nil
}
