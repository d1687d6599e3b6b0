package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"vnfm/lcm"
	"vnfm/server/telemetry"
)

const (
	requestIDKey = "requestId"
	operationKey = "vnfLcmOpOccId" // the operation that the request has started, or changed
	noRoute      = "none"
)

func requestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// log returns the logger of a request. It names the resource by the parameters of the path, which have the names of the standard.
func (s *Server) log(c echo.Context) *slog.Logger {
	log := s.config.Logger.With("requestId", requestID(c), "method", c.Request().Method, "route", c.Path())
	for _, name := range c.ParamNames() {
		if id, err := uuid.Parse(c.Param(name)); err == nil {
			log = log.With(name, id)
		}
	}
	if operation := c.Get(operationKey); operation != nil && c.Param(operationKey) == "" {
		log = log.With(operationKey, operation)
	}
	return log
}

// observe gives every request an id, and logs and measures how it was answered. Errors are written here, so that the status is known.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		method, route := c.Request().Method, c.Path()
		if _, known := s.pageOf[matched(c)]; !known && s.validator.routes[matched(c)] == nil {
			method, route = noRoute, noRoute // what clients make up is no label
		}
		ctx, end := s.config.Telemetry.Request(c.Request(), method, route)
		id := uuid.NewString()
		c.Set(requestIDKey, id)
		c.SetRequest(c.Request().WithContext(lcm.WithOrigin(ctx, lcm.Origin{RequestID: id, TraceParent: telemetry.TraceParent(ctx)})))
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		brokeOff := false
		if err := next(c); err != nil {
			brokeOff = c.Response().Committed
			c.Error(err)
		}
		took, status := time.Since(began), c.Response().Status
		end(status)
		level := slog.LevelDebug
		if c.Request().Method != http.MethodGet {
			level = slog.LevelInfo
		}
		s.log(c).Log(c.Request().Context(), level, "request", "path", c.Request().URL.Path, "status", status, "duration", took.String())
		if brokeOff {
			panic(http.ErrAbortHandler) // cuts the connection, or the client would take what it has for the whole
		}
		return nil
	}
}

// recoverPanics turns a panic into a problem document.
func (s *Server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				s.log(c).ErrorContext(c.Request().Context(), "handler panicked", "cause", cause, "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", cause)
			}
		}()
		return next(c)
	}
}
