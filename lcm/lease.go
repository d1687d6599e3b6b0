package lcm

import (
	"context"
	"errors"
	"time"
)

// lease is what a run holds its operation by. It must be renewed, and what the database says then is heard of.
type lease struct {
	store     RunStore
	length    time.Duration
	run       *Run
	news      chan struct{} // a value in it means: renew now
	cancelled chan struct{} // closed when a cancellation is heard of
}

// keep renews the lease until ctx ends, and ends the work when the lease is lost or a client wants it to end at once.
func (l *lease) keep(ctx context.Context, stop context.CancelCauseFunc) {
	held := time.Now()
	ticker := time.NewTicker(l.length / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.news:
		}
		asked := time.Now()
		err := l.store.RenewRun(ctx, l.run, l.length)
		switch {
		case err == nil:
			held = asked
			l.heed(stop)
		case errors.Is(err, ErrSuperseded):
			stop(ErrSuperseded)
			return
		case time.Since(held) > l.length:
			// Cut off from the database: others may take over from now on, so this process must not touch the VIM again.
			stop(ErrSuperseded)
			return
		}
	}
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
