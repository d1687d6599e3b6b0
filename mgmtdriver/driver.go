package mgmtdriver

import (
	"context"
	"time"
)

// Hook is a moment of a lifecycle management operation at which a driver is called (SOL001 6.7).
type Hook string

// The hooks. Those of start come before the resources of the VNF change, those of end after it.
const (
	InstantiateStart   Hook = "instantiate_start"
	InstantiateEnd     Hook = "instantiate_end"
	ScaleStart         Hook = "scale_start" // only if VNFCs are to go
	ScaleEnd           Hook = "scale_end"   // only if VNFCs have come
	ScaleToLevelStart  Hook = "scale_to_level_start"
	ScaleToLevelEnd    Hook = "scale_to_level_end"
	ChangeFlavourStart Hook = "change_flavour_start" // of the flavour that the VNF has had
	ChangeFlavourEnd   Hook = "change_flavour_end"   // of the flavour that the VNF comes to have
	OperateStart       Hook = "operate_start"
	OperateEnd         Hook = "operate_end"
	HealStart          Hook = "heal_start"
	HealEnd            Hook = "heal_end"
	ChangeExtConnStart Hook = "change_external_connectivity_start"
	ChangeExtConnEnd   Hook = "change_external_connectivity_end"
	TerminateStart     Hook = "terminate_start"
	TerminateEnd       Hook = "terminate_end" // after the VMs are gone
	ModifyStart        Hook = "modify_information_start"
	ModifyEnd          Hook = "modify_information_end"
)

// Hooks returns all hooks, those of one operation beside each other.
func Hooks() []Hook {
	return []Hook{
		InstantiateStart, InstantiateEnd, ScaleStart, ScaleEnd, ScaleToLevelStart, ScaleToLevelEnd, ChangeFlavourStart, ChangeFlavourEnd,
		OperateStart, OperateEnd, HealStart, HealEnd, ChangeExtConnStart, ChangeExtConnEnd, TerminateStart, TerminateEnd, ModifyStart, ModifyEnd,
	}
}

// Driver acts on the VMs of VNFs. One driver serves many operations at once, in many processes: it keeps nothing between calls.
//
// An operation that is rolled back calls the hooks of the opposite operation: what instantiate_end has begun is undone by
// terminate_start, instantiate_start by terminate_end, scale_end by scale_start; for a change of flavour or of the connectivity
// it is the other hook of the same operation, since that goes back the way it came. [Operation.RollingBack] tells.
type Driver interface {
	// Check looks at the parameters of a request before anything is done: it changes nothing and asks no VM. It is called for
	// each hook of the operation for which the VNFD names the driver. *[Invalid] if the client has to mend the request.
	Check(ctx context.Context, call *Call) error
	// Steps returns what is to be done at a hook, in order; nil if there is nothing to do. It is always the same list.
	Steps(hook Hook) []Step
}

// Step is one part of a hook. Do is idempotent, since it is called again if the process dies before its result is stored; in rare
// cases, such as a server that froze, a second call begins while the first one has not ended. It returns within a minute: longer work
// is started and then waited for, with [Wait]. It fails with *[Failure], *[Unavailable], or any other error, which is repeated for
// some seconds.
type Step struct {
	Name string // stable, unique in the hook, without "/": it is part of the key of the stored progress
	Do   func(ctx context.Context, call *Call) (Result, error)
}

// StepAt makes a step of something that is done at a site, which is opened anew for each call.
func StepAt[S any](name string, open func(*Call) (S, error), do func(S, context.Context) (Result, error)) Step {
	return Step{Name: name, Do: func(ctx context.Context, call *Call) (Result, error) {
		site, err := open(call)
		if err != nil {
			return Result{}, err
		}
		return do(site, ctx)
	}}
}

// Result is what a step answers: [Done], or [Wait].
type Result struct {
	Again  bool          // the step is not done: it wants to be called again
	After  time.Duration // and not before that time
	Detail string        // what it waits for, for people
	State  any           // what the next call of the step finds in [Call.State]; stored as JSON, sealed
	Output any           // of a step that is done, for later steps: see [Call.Output]; stored as JSON, sealed
}

// Done says that the step is finished, with an output (nil: none) for later steps of the driver.
func Done(output any) Result { return Result{Output: output} }

// Wait says that the step waits for something outside, told in detail. It is called again, soon at first and then at growing
// intervals.
func Wait(detail string) Result { return Result{Again: true, Detail: detail} }

// WaitFor says that the step is to be called again after d and not before.
func WaitFor(d time.Duration, detail string) Result {
	return Result{Again: true, After: d, Detail: detail}
}

// With adds what the next call of a waiting step is to find in [Call.State], such as the handle of work that goes on in a VM. It may be
// lost with the process, so the step has to find its work without it, too.
func (r Result) With(state any) Result {
	r.State = state
	return r
}
