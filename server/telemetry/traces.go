package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TraceOptions say where traces go. The variables of OpenTelemetry count, too: OTEL_EXPORTER_OTLP_ENDPOINT and its like,
// OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED.
type TraceOptions struct {
	Endpoint string `env:"VNFM_OTLP_ENDPOINT" placeholder:"URL" help:"OpenTelemetry collector that gets traces by OTLP over HTTP, such as http://127.0.0.1:4318. Default: OTEL_EXPORTER_OTLP_ENDPOINT, and without it nothing is traced."`
}

// on reports whether there is somebody who wants traces.
func (o TraceOptions) on() bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return o.Endpoint != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// instrumentation is the name under which the spans are made.
const instrumentation = "vnfm"

// Trace begins to send traces, if somebody wants them. It is called before anything else; [Telemetry.Close] has to be called after it.
func (t *Telemetry) Trace(ctx context.Context, options TraceOptions, log *slog.Logger) error {
	if !options.on() {
		return nil
	}
	var to []otlptracehttp.Option
	if options.Endpoint != "" {
		endpoint, err := url.Parse(options.Endpoint)
		if err != nil || endpoint.Host == "" || (endpoint.Scheme != "http" && endpoint.Scheme != "https") {
			return errors.New("--otlp-endpoint must be an address such as http://127.0.0.1:4318")
		}
		to = append(to, otlptracehttp.WithEndpointURL(endpoint.JoinPath("v1/traces").String()))
	}
	exporter, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "vnfm"), attribute.String("service.version", t.version),
	), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not delivered", "error", err) }))
	t.provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t.tracer = t.provider.Tracer(instrumentation)
	return nil
}

// traceContext is the form in which spans are told to others.
var traceContext = propagation.TraceContext{}

// traceParent is the one header of it that says which span it is.
const traceParent = "traceparent"

func fromHeader(ctx context.Context, header http.Header) context.Context {
	return traceContext.Extract(ctx, propagation.HeaderCarrier(header))
}

func withParent(ctx context.Context, parent string) context.Context {
	return traceContext.Extract(ctx, propagation.MapCarrier{traceParent: parent})
}

// TraceParent returns the span of a context as W3C Trace Context writes it; "" if there is none.
func TraceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	return carrier[traceParent]
}

// endSpan ends a span with an outcome. Errors are not told: their words may be those of others.
func endSpan(span trace.Span, result string) {
	if result != outcomeOK {
		span.SetStatus(codes.Error, result)
	}
	span.End()
}
