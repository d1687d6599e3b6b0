package telemetry

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"vnfm/lcm"
	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Telemetry is the metrics and the traces of a process. Its methods may be called concurrently.
type Telemetry struct {
	metrics
	version  string
	registry *prometheus.Registry
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider // nil: nothing is traced
}

// New returns the telemetry of a version of the program, without traces.
func New(version string) *Telemetry {
	t := &Telemetry{version: version, registry: prometheus.NewRegistry(), tracer: noop.NewTracerProvider().Tracer(instrumentation)}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	t.register(t.registry, version)
	return t
}

// Handler answers with the metrics.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Close sends the traces that are not sent yet.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// The outcomes of calls of others.
const (
	outcomeOK          = "ok"
	outcomeRefused     = "refused"     // by an answer that repeating the call will not change
	outcomeFailed      = "failed"      // a command has ended with another status than 0
	outcomeUnavailable = "unavailable" // no answer, or one that may be another later
	outcomeCancelled   = "cancelled"   // given up here
	outcomeError       = "error"       // of our own
)

// outcome sorts what a call of another system has ended with.
func outcome(err error) string {
	var (
		unavailable *lcm.Unavailable
		rejected    *lcm.Rejected
		unreachable *mgmtdriver.Unavailable
		exit        *ssh.ExitError
		login       *ssh.LoginError
		hostKey     *ssh.HostKeyError
	)
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, context.Canceled), errors.Is(err, lcm.ErrSuperseded):
		return outcomeCancelled
	case errors.As(err, &unavailable), errors.As(err, &unreachable):
		return outcomeUnavailable
	case errors.As(err, &rejected), errors.As(err, &login), errors.As(err, &hostKey):
		return outcomeRefused
	case errors.As(err, &exit):
		return outcomeFailed
	}
	return outcomeError
}
