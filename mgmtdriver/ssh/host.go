package ssh

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"vnfm/mgmtdriver"
)

// Host is what a driver works on: a target on behalf of an operation. It costs nothing: connections belong to the pool and are made when they are
// needed. It may be used by many goroutines.
type Host struct {
	pool       *Pool
	target     Target
	instanceID string
	keys       mgmtdriver.HostKeys
	secrets    *Redactor
	log        *slog.Logger
	show       func(job *Job, progress Progress) // to who waits for a job
}

// Host returns a host for a call of a driver. What secrets knows is removed from logs and errors, and so are the password and the key of the
// target, which are added to it; nil = a redactor of its own.
func (p *Pool) Host(call *mgmtdriver.Call, target Target, secrets *Redactor) *Host {
	if secrets == nil {
		secrets = NewRedactor()
	}
	secrets.Add(target.secrets()...)
	log := call.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	h := &Host{
		pool: p, target: target, instanceID: call.Instance.ID, keys: call.HostKeys, secrets: secrets, log: log.With("host", target.String()),
	}
	h.show = h.showing(call)
	return h
}

// String names the host, with its address.
func (h *Host) String() string { return h.target.String() }

// Target is what the host was made from.
func (h *Host) Target() Target { return h.target }

// Redactor is that of the host: what it knows is not shown.
func (h *Host) Redactor() *Redactor { return h.secrets }

// Ping reports whether the host lets one log in: nil, *[mgmtdriver.Unavailable] while it may still be starting, or what
// cannot pass by itself, *[LoginError] or *[HostKeyError].
func (h *Host) Ping(ctx context.Context) error {
	return h.on(ctx, actionPing, h.pool.config.DialTime+pingTime, func(_ context.Context, c *connection) error {
		if !c.ping(pingTime) {
			return errNotBegun
		}
		return nil
	})
}

// errEnded says that the connection has ended under somebody's hands.
var errEnded = errors.New("the connection has ended")

// errNotBegun says that nothing has been done on a connection, because it had ended before.
var errNotBegun = errors.New("the connection had ended")

// on calls a function with a session's right to a connection, within a time.
func (h *Host) on(ctx context.Context, action string, limit time.Duration, do func(context.Context, *connection) error) (err error) {
	ctx, end := h.pool.config.Observe(ctx, action, h.target.String())
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{limit})
	defer cancel()
	err = h.attempt(ctx, do)
	if errors.Is(err, errNotBegun) {
		err = h.attempt(ctx, do)
	}
	if errors.Is(err, errNotBegun) {
		return unavailable(&h.target, err)
	}
	return err
}

func (h *Host) attempt(ctx context.Context, do func(context.Context, *connection) error) error {
	c, release, err := h.pool.connect(ctx, h.instanceID, &h.target, h.keys)
	if err != nil {
		return err
	}
	defer release()
	if err := c.enter(ctx); err != nil {
		if errors.Is(err, errEnded) {
			return errNotBegun
		}
		return unavailable(&h.target, err)
	}
	defer c.leave()
	return do(ctx, c)
}

// timeoutError says that the time for something is over.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return "it has taken longer than " + e.limit.String() }

// Timeout implements [net.Error].
func (e *timeoutError) Timeout() bool { return true }
