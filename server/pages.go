package server

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"vnfm/server/ui"
)

// addPages adds the operations page, which is no interface: the documents do not have it.
func (s *Server) addPages() error {
	var err error
	s.pages, err = ui.New(ui.Config{
		Instances: s.config.Instances, Operations: s.config.Operations, Packages: s.config.Packages, Vims: s.config.Vims,
		Gate: s.config.Gate, Judge: s.judge, Seals: s.config.Seals, Secure: s.config.TLS != nil || s.config.BehindProxy, PageSize: min(s.config.PageSize, maxRows),
		Leaving: s.leaving, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.pageOf = map[string]ui.Route{}
	for _, route := range s.pages.Routes() {
		s.pageOf[route.Method+" "+route.Path] = route
		s.echo.Add(route.Method, route.Path, route.Handler)
		if route.Method == http.MethodGet && !route.Stream {
			s.echo.Add(http.MethodHead, route.Path, route.Handler) // net/http leaves the body out
		}
	}
	return nil
}

// maxRows are as many as people look through.
const maxRows = 50

// Pages returns the routes of the operations page.
func (s *Server) Pages() []ui.Route { return s.pages.Routes() }

// writeErrorPage answers a request of a browser with an error.
func (s *Server) writeErrorPage(c echo.Context, status int, detail string, later *busy) {
	if later != nil {
		c.Response().Header().Set(echo.HeaderRetryAfter, later.retryAfter())
	}
	if err := s.pages.WriteError(c, status, cmp.Or(detail, http.StatusText(status))); err != nil {
		s.log(c).Debug("client has gone", "error", err)
	}
}
