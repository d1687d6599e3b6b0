package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"vnfm/mgmtdriver/ssh"
)

// redactor knows the secrets of a run: those of the request, of what the VNF was made from, and of its VIM. What comes from outside may
// repeat them: Heat names the value of a property that is wrong, and drivers log what they were given.
func (r *Run) redactor() *ssh.Redactor {
	known := redactor(generic(r.Request))
	if d := r.Deployment; d != nil {
		known.Add(ssh.Secret(d.Vim.Password))
		for _, part := range []any{d.Request, d.VimConnectionInfo, d.Parameters} {
			encoded, err := json.Marshal(part)
			if err == nil { // what was stored as JSON can be written as JSON
				known.Add(secrets(generic(encoded), false, nil)...)
			}
		}
	}
	return known
}

// generic is the value of a JSON document; nil of what is none.
func generic(document []byte) (value any) {
	_ = json.Unmarshal(document, &value)
	return value
}

// redactedError is an error with other words.
type redactedError struct {
	words string
	err   error
}

// Error implements error.
func (e *redactedError) Error() string { return e.words }

// Unwrap returns the error, whose own words hold secrets.
func (e *redactedError) Unwrap() error { return e.err }

// redacted is an error without the secrets that are known in its words.
func redacted(err error, known *ssh.Redactor) error {
	if err == nil {
		return nil
	}
	if words := known.Redact(err.Error()); words != err.Error() {
		return &redactedError{words, err}
	}
	return err
}

// redactingHandler is a handler that writes no secrets.
type redactingHandler struct {
	slog.Handler
	known *ssh.Redactor
}

// Handle implements [slog.Handler].
func (h *redactingHandler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.known.Redact(record.Message), record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		clean.AddAttrs(h.clean(attribute))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (h *redactingHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attributes))
	for i := range attributes {
		clean[i] = h.clean(attributes[i])
	}
	return &redactingHandler{h.Handler.WithAttrs(clean), h.known}
}

// WithGroup implements [slog.Handler].
func (h *redactingHandler) WithGroup(name string) slog.Handler {
	return &redactingHandler{h.Handler.WithGroup(name), h.known}
}

// clean is an attribute without secrets. One that holds none stays what it is.
func (h *redactingHandler) clean(attribute slog.Attr) slog.Attr {
	value := attribute.Value.Resolve()
	switch value.Kind() {
	case slog.KindGroup:
		var clean []any
		for _, inner := range value.Group() {
			clean = append(clean, h.clean(inner))
		}
		return slog.Group(attribute.Key, clean...)
	case slog.KindString, slog.KindAny:
		text := fmt.Sprintf("%+v", value.Any())
		if words := h.known.Redact(text); words != text {
			return slog.String(attribute.Key, words)
		}
	default:
	}
	return slog.Attr{Key: attribute.Key, Value: value}
}
