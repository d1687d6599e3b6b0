package server

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// tidy takes double and trailing slashes out of a path: endpoints in a catalog often end with one, and clients add another.
func tidy(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL
		address.Path = tidied(address.Path)
		if address.RawPath != "" {
			address.RawPath = tidied(address.RawPath)
		}
		// SOL013 joins filters with semicolons, which Go takes for a mistake.
		address.RawQuery = strings.ReplaceAll(address.RawQuery, ";", "%3B")
		// The registry's existing client ends its paths with the format.
		if strings.HasPrefix(address.Path, "/v1.0/") {
			address.Path = strings.TrimSuffix(address.Path, ".json")
		}
		return next(c)
	}
}

func tidied(path string) string {
	if !strings.Contains(path, "//") && !strings.HasSuffix(path, "/") {
		return path
	}
	elements := slices.DeleteFunc(strings.Split(path, "/"), func(element string) bool { return element == "" })
	return "/" + strings.Join(elements, "/")
}

// apiVersion is the version of the interfaces that the server speaks, SOL003 v2.6.1.
const (
	versionHeader = "Version"
	apiVersion    = "1.3.0"
)

// supportedVersion is a version that a client may ask for: the minor ones of a major version understand each other.
var supportedVersion = regexp.MustCompile(`^1\.[0-9]+\.[0-9]+(-impl:.+)?$`)

// checkVersion answers every request with the version used, and refuses one that is not supported (SOL013 9.1).
func (s *Server) checkVersion(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(versionHeader, apiVersion)
		asked := c.Request().Header.Get(versionHeader)
		// What a server supports is asked for in whatever version the client knows.
		free := s.validator.routes[matched(c)] == nil || strings.HasSuffix(c.Path(), "/api_versions")
		if free || asked == "" || supportedVersion.MatchString(asked) {
			return next(c)
		}
		return &problem{http.StatusNotAcceptable, "version " + strconv.Quote(asked) + " of the interface is not supported; use " + apiVersion}
	}
}

// limitURI refuses URIs that nobody who means well sends.
func limitURI(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if length := len(c.Request().RequestURI); length > maxURIBytes {
			return &problem{http.StatusRequestURITooLong, fmt.Sprintf("the URI has %d bytes; at most %d are accepted", length, maxURIBytes)}
		}
		return next(c)
	}
}

// matched is the method and the path of the route that a request has, HEAD being a GET without the body.
func matched(c echo.Context) string {
	method := c.Request().Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return method + " " + c.Path()
}

const acceptedKey = "accepted"

// negotiate refuses requests whose Accept header covers nothing that the route answers with, and remembers what it does cover.
func (s *Server) negotiate(next echo.HandlerFunc) echo.HandlerFunc {
	offersOf := s.offersOf()
	return func(c echo.Context) error {
		offers, known := offersOf[matched(c)]
		if offers == nil {
			offers = []string{mediaJSON}
		}
		if !known || offers[0] == mediaAny {
			return next(c)
		}
		if len(offers) > 1 {
			c.Response().Header().Set(echo.HeaderVary, echo.HeaderAccept)
		}
		accepted := acceptable(c.Request().Header.Values(echo.HeaderAccept), offers)
		if len(accepted) == 0 {
			return notAcceptable(offers)
		}
		c.Set(acceptedKey, accepted)
		return next(c)
	}
}

func notAcceptable(offers []string) error {
	return &problem{http.StatusNotAcceptable, "the resource can be had as " + strings.Join(offers, ", ")}
}

// accepted are the media types of the answer that the client takes, the one it prefers first.
func accepted(c echo.Context) []string {
	types, _ := c.Get(acceptedKey).([]string)
	return types
}

// acceptable returns those of the offers that the values of an Accept header cover, in the order of the client's preference (RFC 9110
// 12.5.1). No header accepts everything.
func acceptable(header, offers []string) []string {
	if strings.TrimSpace(strings.Join(header, "")) == "" {
		return offers
	}
	quality := make(map[string]float64, len(offers))
	precision := make(map[string]int, len(offers))
	for _, element := range strings.Split(strings.Join(header, ","), ",") {
		pattern, params, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			q = 1
		}
		for _, offer := range offers {
			if p := matches(pattern, offer); p > precision[offer] {
				quality[offer], precision[offer] = q, p
			}
		}
	}
	covered := slices.DeleteFunc(slices.Clone(offers), func(offer string) bool { return quality[offer] == 0 })
	slices.SortStableFunc(covered, func(a, b string) int {
		switch {
		case quality[a] > quality[b]:
			return -1
		case quality[a] < quality[b]:
			return 1
		}
		return 0
	})
	return covered
}

// matches tells how precisely a pattern of an Accept header covers a media type; 0: not.
func matches(pattern, offer string) int {
	kind, _, _ := strings.Cut(offer, "/")
	switch pattern {
	case offer:
		return 3
	case kind + "/*":
		return 2
	case mediaAny:
		return 1
	}
	return 0
}

// mediaTypeOf is the media type of a request's body without its parameters.
func mediaTypeOf(c echo.Context) string {
	mediaType, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil {
		return ""
	}
	return mediaType
}

// checkQuery refuses parameters that a resource does not know: a filter that was misspelt must not answer with everything.
func checkQuery(query url.Values, known ...string) error {
	for name := range query {
		if !slices.Contains(known, name) {
			return badRequest("query parameter " + strconv.Quote(name) + " is not known; known are " + strings.Join(known, ", "))
		}
	}
	return nil
}
