package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

// CancelMode tells how an operation is cancelled (SOL003 5.5.4.7): after what has been begun in the VIM, or at once.
type CancelMode string

// The cancellation modes.
const (
	CancelGraceful CancelMode = "GRACEFUL"
	CancelForceful CancelMode = "FORCEFUL"
)

// CancelRequest is CancelMode of SOL003 5.5.2.14.
type CancelRequest struct {
	CancelMode CancelMode `json:"cancelMode"`
}

// Cancel asks for the end of an operation under way, SOL003 5.4.17. It takes effect a moment later, and may come too late for an
// operation that is about to end by itself. A graceful cancellation may be followed by a forceful one, but not the other way round.
func (m *Manager) Cancel(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	request, err := decode[CancelRequest](params)
	if err != nil {
		return nil, err
	}
	return m.operations.ChangeOperation(ctx, id, func(operation *Operation) error {
		if _, err := operation.State.Next(EventCancel); err != nil {
			return err
		}
		if operation.CancelMode != CancelForceful {
			operation.CancelMode = request.CancelMode
		}
		return nil
	})
}

// cancelled is the end of an operation that a client has cancelled.
type cancelled struct{ mode CancelMode }

func (e *cancelled) Error() string { return fmt.Sprintf("cancelled by the client (%s)", e.mode) }

func (e *cancelled) problem() *Problem {
	return &Problem{Title: "Operation cancelled", Status: http.StatusConflict, Detail: "the operation was " + e.Error()}
}

// HearCancel tells a run of a cancellation that a client has asked for; "" is none. It may be called at any time.
func (r *Run) HearCancel(mode CancelMode) {
	if mode != "" {
		r.cancel.Store(&mode)
	}
}

// cancelled returns why the run has to stop where nothing has been begun, nil if it goes on.
func (r *Run) cancelled() error {
	if mode := r.cancel.Load(); mode != nil {
		return &cancelled{*mode}
	}
	return nil
}

// interruption returns why the run has to stop in the middle of a step.
func (r *Run) interruption() error {
	if mode := r.cancel.Load(); mode != nil && *mode == CancelForceful {
		return &cancelled{*mode}
	}
	return nil
}
