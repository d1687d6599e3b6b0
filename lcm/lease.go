package lcm

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// lease is what a run holds its operation by. It must be renewed, and what the database says then is heard of. It ends by the clock; the
// database counts it from a later moment, so that nobody else begins before it has ended here.
type lease struct {
	store     RunStore
	length    time.Duration
	run       *Run
	ends      atomic.Pointer[time.Time]
	news      chan struct{} // a value in it means: renew now
	cancelled chan struct{} // closed when a cancellation is heard of
}

// leaseKey is the key of a run's lease in its context.
type leaseKey struct{}

// Held returns [ErrSuperseded] if ctx is that of a run whose lease is over. Drivers ask right before each call that changes something:
// a process that was paused goes on in the middle of a function, before any timer has told it that another one may have taken over.
func Held(ctx context.Context) error {
	if l, ok := ctx.Value(leaseKey{}).(*lease); ok && !time.Now().Before(*l.ends.Load()) {
		return ErrSuperseded
	}
	return nil
}

// count lets the lease last for its length from a moment on.
func (l *lease) count(from time.Time) {
	end := from.Add(l.length)
	l.ends.Store(&end)
}

// keep renews the lease until ctx ends, and ends the work when the lease is lost, is over because the database cannot be reached, or
// a client wants the work to end at once.
func (l *lease) keep(ctx context.Context, stop context.CancelCauseFunc) {
	for sleep(ctx, min(l.length/3, time.Until(*l.ends.Load())), l.news) == nil {
		if err := Held(ctx); err != nil {
			stop(err)
			return
		}
		asked := time.Now()
		switch err := l.renew(ctx); {
		case err == nil:
			l.count(asked)
			l.heed(stop)
		case errors.Is(err, ErrSuperseded):
			stop(ErrSuperseded)
			return
		}
	}
}

// renew waits for the answer of the database no longer than the lease lasts.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithDeadline(ctx, *l.ends.Load())
	defer cancel()
	return l.store.RenewRun(ctx, l.run, l.length)
}

// heed passes a cancellation on.
func (l *lease) heed(stop context.CancelCauseFunc) {
	if l.run.cancelled() == nil {
		return
	}
	select {
	case <-l.cancelled:
	default:
		close(l.cancelled)
	}
	if err := l.run.interruption(); err != nil {
		stop(err)
	}
}
