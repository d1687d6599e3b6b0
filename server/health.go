package server

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"vnfm/api"
)

// versions answers with the versions of an interface, SOL013 9.3.
func versions(prefix string) echo.HandlerFunc {
	information := api.APIVersionInformation{
		URIPrefix:   prefix,
		APIVersions: []api.APIVersion{{Version: apiVersion, IsDeprecated: new(bool)}},
	}
	return func(c echo.Context) error { return c.JSON(http.StatusOK, information) }
}

// healthz tells that the process answers.
func healthz(c echo.Context) error {
	return c.JSON(http.StatusOK, api.Health{Status: api.HealthStatusOk})
}

// readyTime is how long the database may take to tell that it is there.
const readyTime = 3 * time.Second

// readyz tells whether the process can do its work.
func (s *Server) readyz(c echo.Context) error {
	select {
	case <-s.leaving:
		return &problem{http.StatusServiceUnavailable, "the server is about to stop"}
	default:
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTime)
	defer cancel()
	if err := s.config.Ready(ctx); err != nil {
		s.log(c).WarnContext(c.Request().Context(), "not ready", "error", err)
		return &problem{http.StatusServiceUnavailable, "the database cannot be reached or has not the schema of this version; the log tells more"}
	}
	return c.JSON(http.StatusOK, api.Health{Status: api.HealthStatusOk})
}
