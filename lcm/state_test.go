package lcm

import (
	"errors"
	"testing"
)

func TestEveryPairOfStateAndEvent(t *testing.T) {
	t.Parallel()
	states := []OperationState{
		StateStarting, StateProcessing, StateCompleted, StateFailedTemp, StateRollingBack, StateRolledBack, StateFailed,
	}
	events := []Event{EventGrant, EventRefuse, EventSucceed, EventError, EventRetry, EventRollback, EventFail, EventCancel}
	// A row for each state, a column for each event; "" = not allowed. SOL003 5.6.2.2.
	want := map[OperationState][]OperationState{
		StateStarting:    {StateProcessing, StateRolledBack, "", "", "", "", "", StateRolledBack},
		StateProcessing:  {"", "", StateCompleted, StateFailedTemp, "", "", "", StateFailedTemp},
		StateCompleted:   {"", "", "", "", "", "", "", ""},
		StateFailedTemp:  {"", "", "", "", StateProcessing, StateRollingBack, StateFailed, ""},
		StateRollingBack: {"", "", StateRolledBack, StateFailedTemp, "", "", "", StateFailedTemp},
		StateRolledBack:  {"", "", "", "", "", "", "", ""},
		StateFailed:      {"", "", "", "", "", "", "", ""},
	}
	for _, state := range states {
		for i, event := range events {
			next, err := state.Next(event)
			if next != want[state][i] {
				t.Errorf("%s on %s: %q, want %q", state, event, next, want[state][i])
			}
			var conflict *StateConflict
			if refused := want[state][i] == ""; refused != errors.As(err, &conflict) {
				t.Errorf("%s on %s: error %v", state, event, err)
			}
			if state.Final() && err == nil {
				t.Errorf("%s is final, and yet %s leads to %s", state, event, next)
			}
		}
		if state.Final() && state.Transient() {
			t.Errorf("%s is final and transient", state)
		}
	}
}
