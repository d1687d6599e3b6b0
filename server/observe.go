package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"vnfm/lcm"
)

// metrics are what Prometheus reads.
type metrics struct {
	duration *prometheus.HistogramVec
	handle   echo.HandlerFunc
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "vnfm_http_request_duration_seconds",
		Help:    "Time to answer HTTP requests.",
		Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60},
	}, []string{"method", "route", "status"})}
	registry.MustRegister(m.duration, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handle = echo.WrapHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return m
}

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
		id := uuid.NewString()
		c.Set(requestIDKey, id)
		c.SetRequest(c.Request().WithContext(lcm.WithOrigin(c.Request().Context(), lcm.Origin{RequestID: id})))
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		brokeOff := false
		if err := next(c); err != nil {
			brokeOff = c.Response().Committed
			c.Error(err)
		}
		took, status := time.Since(began), c.Response().Status
		method, route := c.Request().Method, c.Path()
		if s.validator.routes[matched(c)] == nil {
			method, route = noRoute, noRoute // what clients make up is no label
		}
		s.metrics.duration.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
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
				s.log(c).Error("handler panicked", "cause", cause, "stack", string(debug.Stack()))
				err = fmt.Errorf("panic: %v", cause)
			}
		}()
		return next(c)
	}
}
