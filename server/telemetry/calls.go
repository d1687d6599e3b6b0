package telemetry

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"vnfm/lcm/notify"
)

// unworthy are the routes that monitoring asks every few seconds: they are measured, but not traced.
var unworthy = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// Request tells that a request has come for a route. It is answered with the context returned, and end is called with the status.
func (t *Telemetry) Request(r *http.Request, method, route string) (answering context.Context, end func(status int)) {
	began, ctx, span := time.Now(), r.Context(), trace.SpanFromContext(context.WithoutCancel(r.Context()))
	if !unworthy[route] {
		ctx, span = t.tracer.Start(fromHeader(ctx, r.Header), method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", method), attribute.String("http.route", route)))
	}
	return ctx, func(status int) {
		t.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(time.Since(began).Seconds())
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		result := outcomeOK
		if status >= http.StatusInternalServerError {
			result = outcomeError
		}
		endSpan(span, result)
	}
}

// VimCall tells that a service of a VIM is called, as heat.Config.Observe.
func (t *Telemetry) VimCall(ctx context.Context, service, method string) (calling context.Context, end func(error)) {
	return t.call(ctx, service+" "+method, t.vimCalls.MustCurryWith(prometheus.Labels{"service": service, "method": method}))
}

// SSHAction tells that something is done on a VM, as ssh.Config.Observe.
func (t *Telemetry) SSHAction(ctx context.Context, action, host string) (acting context.Context, end func(error)) {
	return t.call(ctx, "ssh "+action, t.sshActions.MustCurryWith(prometheus.Labels{"action": action}), attribute.String("vnfm.host", host))
}

func (t *Telemetry) call(ctx context.Context, name string, durations prometheus.ObserverVec, attributes ...attribute.KeyValue,
) (context.Context, func(error)) {
	began := time.Now()
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		result := outcome(err)
		durations.WithLabelValues(result).Observe(time.Since(began).Seconds())
		endSpan(span, result)
	}
}

// The reasons for giving a notification up.
const (
	reasonExpired = "expired"
	reasonRefused = "refused"
)

// Delivery tells what has become of a notification, as notify.SenderConfig.Observe.
func (t *Telemetry) Delivery(result notify.Result, took time.Duration) {
	switch result {
	case notify.Expired:
		t.givenUp.WithLabelValues(reasonExpired).Inc()
		return
	case notify.RefusedForGood:
		t.givenUp.WithLabelValues(reasonRefused).Inc()
		t.deliveries.WithLabelValues(outcomeRefused).Observe(took.Seconds())
	case notify.Refused:
		t.deliveries.WithLabelValues(outcomeRefused).Observe(took.Seconds())
	case notify.Troubled:
		t.deliveries.WithLabelValues(outcomeUnavailable).Observe(took.Seconds())
	default:
		t.deliveries.WithLabelValues(outcomeOK).Observe(took.Seconds())
	}
}
