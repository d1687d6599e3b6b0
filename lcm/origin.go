package lcm

import (
	"context"
	"log/slog"
)

// Origin is where an operation comes from. It is kept with the operation, so that whichever process carries it on can tell.
type Origin struct {
	RequestID   string // of the request that has started it; "" = unknown
	TraceParent string // the span of that request, as W3C Trace Context writes it; "" = it is not traced
}

type originKey struct{}

// WithOrigin returns a context in which operations that are started have an origin.
func WithOrigin(ctx context.Context, origin Origin) context.Context {
	return context.WithValue(ctx, originKey{}, origin)
}

func originOf(ctx context.Context) Origin {
	origin, _ := ctx.Value(originKey{}).(Origin)
	return origin
}

// logTo returns a logger whose lines tell of which operation they are.
func (o *Operation) logTo(log *slog.Logger) *slog.Logger {
	log = log.With("vnfLcmOpOccId", o.ID, "vnfInstanceId", o.VnfInstanceID, "operation", o.Type)
	if o.Origin.RequestID != "" {
		log = log.With("requestId", o.Origin.RequestID)
	}
	return log
}

type loggerKey struct{}

func withLogger(ctx context.Context, log *slog.Logger) context.Context {
	return context.WithValue(ctx, loggerKey{}, log)
}

// Logger returns the logger of the operation that ctx works for, or another one where it works for none.
func Logger(ctx context.Context, other *slog.Logger) *slog.Logger {
	if log, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return log
	}
	return other
}
