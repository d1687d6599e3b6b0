package lcm

import "fmt"

// OperationState is the state of an operation occurrence (SOL003 5.6.2.2).
type OperationState string

// The operation states.
const (
	StateStarting    OperationState = "STARTING"
	StateProcessing  OperationState = "PROCESSING"
	StateCompleted   OperationState = "COMPLETED"
	StateFailedTemp  OperationState = "FAILED_TEMP"
	StateRollingBack OperationState = "ROLLING_BACK"
	StateRolledBack  OperationState = "ROLLED_BACK"
	StateFailed      OperationState = "FAILED"
)

// OperationStates are all of them.
func OperationStates() []OperationState {
	return []OperationState{StateStarting, StateProcessing, StateCompleted, StateFailedTemp, StateRollingBack, StateRolledBack, StateFailed}
}

// Event is what moves an operation from one state to another.
type Event string

// The events. EventCancel stands for the moment at which a cancellation takes effect.
const (
	EventGrant    Event = "grant"
	EventRefuse   Event = "refuse"
	EventSucceed  Event = "succeed"
	EventError    Event = "error"
	EventRetry    Event = "retry"
	EventRollback Event = "rollback"
	EventFail     Event = "fail"
	EventCancel   Event = "cancel"
)

type transition struct {
	from  OperationState
	event Event
}

// transitions is the whole automaton of SOL003 5.6.2.2; what is not in it does not happen.
var transitions = map[transition]OperationState{
	{StateStarting, EventGrant}:  StateProcessing,
	{StateStarting, EventRefuse}: StateRolledBack,
	{StateStarting, EventCancel}: StateRolledBack,

	{StateProcessing, EventSucceed}: StateCompleted,
	{StateProcessing, EventError}:   StateFailedTemp,
	{StateProcessing, EventCancel}:  StateFailedTemp,

	{StateFailedTemp, EventRetry}:    StateProcessing,
	{StateFailedTemp, EventRollback}: StateRollingBack,
	{StateFailedTemp, EventFail}:     StateFailed,

	{StateRollingBack, EventSucceed}: StateRolledBack,
	{StateRollingBack, EventError}:   StateFailedTemp,
	{StateRollingBack, EventCancel}:  StateFailedTemp,
}

// StateConflict says that an event is not allowed in a state.
type StateConflict struct {
	State OperationState
	Event Event
}

func (e *StateConflict) Error() string {
	return fmt.Sprintf("the operation is in state %s, which does not allow %s", e.State, e.Event)
}

// Next is the state that follows s on event e, or a *[StateConflict].
func (s OperationState) Next(e Event) (OperationState, error) {
	to, ok := transitions[transition{s, e}]
	if !ok {
		return "", &StateConflict{State: s, Event: e}
	}
	return to, nil
}

// Final reports whether an operation in state s is over. An operation that is not final locks its VNF instance.
func (s OperationState) Final() bool {
	return s == StateCompleted || s == StateFailed || s == StateRolledBack
}

// Transient reports whether an operation in state s goes on by itself.
func (s OperationState) Transient() bool {
	return s == StateStarting || s == StateProcessing || s == StateRollingBack
}
