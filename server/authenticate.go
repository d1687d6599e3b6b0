package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"vnfm/api/access"
	"vnfm/server/auth"
	"vnfm/server/ui"
)

// resources are what actions of a policy are about, by the beginning of their paths.
var resources = []struct{ path, name string }{
	{"/vnfpkgm/v1/subscriptions", "subscriptions"},
	{"/vnflcm/v1/subscriptions", "subscriptions"},
	{"/vnfpkgm/v1/vnf_packages", "packages"},
	{"/vnfpkgm/v1/onboarded_vnf_packages", "packages"},
	{"/vnflcm/v1/vnf_instances", "instances"},
	{"/vnflcm/v1/vnf_lcm_op_occs", "operations"},
	{"/v1.0/vims", "vims"},
	{"/audit/v1", "audit"},
	{"/metrics", "metrics"},
}

// public are the routes that tell no more than that there is a server, which load balancers ask without credentials.
var public = map[string]bool{"/healthz": true, "/readyz": true}

// actionOf is what a policy calls a request, such as instances:write; "" for what every caller may do: read which versions and documents there
// are, and hear that there is no such resource.
func (s *Server) actionOf(c echo.Context) string {
	if page, ok := s.pageOf[matched(c)]; ok {
		return page.Action
	}
	verb := ":write"
	if reads(c.Request().Method) {
		verb = ":read"
	}
	for _, resource := range resources {
		if c.Path() == resource.path || strings.HasPrefix(c.Path(), resource.path+"/") {
			return resource.name + verb
		}
	}
	return ""
}

// authenticate lets only those in who prove who they are. What they ask for is done on their behalf.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	gate := s.config.Gate
	if gate == nil {
		return next
	}
	return func(c echo.Context) error {
		request := c.Request()
		if public[c.Path()] && reads(request.Method) || s.pageOf[matched(c)].Public {
			return next(c)
		}
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store") // caches do not know all the ways in which clients prove who they are
		ofSession := false
		if ui.Has(request.URL.Path) {
			request, ofSession = s.pages.WithCredentials(request)
		}
		caller, err := s.admit(c, request, ofSession)
		if err != nil {
			return err
		}
		request = c.Request()
		c.SetRequest(request.WithContext(access.With(request.Context(), caller)))
		return next(c)
	}
}

// authorize refuses what the policy does not allow the caller.
func (s *Server) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		caller, action := access.Of(request.Context()), s.actionOf(c)
		if caller == nil || action == "" {
			return next(c)
		}
		let, err := s.config.Gate.Allow(caller, action)
		if err != nil {
			return err
		}
		c.SetRequest(request.WithContext(access.With(request.Context(), let)))
		return next(c)
	}
}

// statusOfCaller is that of an error which is about who calls; 0 for any other.
func statusOfCaller(err error) int {
	switch {
	case errors.As(err, new(*auth.Refused)):
		return http.StatusUnauthorized
	case errors.As(err, new(*access.Denied)):
		return http.StatusForbidden
	case errors.As(err, new(*auth.Unavailable)):
		return http.StatusServiceUnavailable
	default:
		return 0
	}
}
