package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Logs returns a handler that adds to each line the span that it is part of, under the names of OpenTelemetry, if there is one.
func Logs(to slog.Handler) slog.Handler { return spanned{to} }

type spanned struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h spanned) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record = record.Clone()
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h spanned) WithAttrs(attributes []slog.Attr) slog.Handler {
	return spanned{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements [slog.Handler].
func (h spanned) WithGroup(name string) slog.Handler { return spanned{h.Handler.WithGroup(name)} }
