package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Step is one part of an operation. Do is idempotent, since a run that is killed between the work and its commit is repeated, and
// it returns within a minute: longer work is started and then waited for, with [Wait]. Work that cannot be left alone, such as an upload, may take
// longer; it ends when ctx does.
type Step struct {
	Name string // stable: it is the key of the stored progress
	Do   func(ctx context.Context, run *Run) (Result, error)
	Undo []Step // the steps that take back what Do has done, or has begun; nil when there is nothing to take back
}

// Result is what a step answers: it is done, with an output for later steps, or it wants to be called again.
type Result struct {
	again  bool
	after  time.Duration
	output any
	detail string
	state  any // what the next call finds in Run.stepState
}

// Done says that the step is finished. The output (nil: none) is stored as JSON and read by later steps with [Run.Output].
func Done(output any) Result { return Result{output: output} }

// Wait says that the step waits for something outside, told in detail. The engine calls it again, soon at first and then at
// growing intervals.
func Wait(detail string) Result { return Result{again: true, detail: detail} }

// WaitFor says that the step is to be called again after d and not before.
func WaitFor(d time.Duration, detail string) Result {
	return Result{again: true, after: d, detail: detail}
}

// Run is one attempt to carry an operation on: the operation with everything that its steps read and change. What a step
// changes in Deployment, and in Instance if it sets instanceChanged, is committed together with the step.
type Run struct {
	Number     int64 // the fencing token: only the newest run of an operation can write
	Operation  *Operation
	Instance   *VnfInstance
	Request    json.RawMessage // the client's request with its secrets
	Deployment *Deployment     // what the instance has in a VIM; nil if nothing

	cancel          atomic.Pointer[CancelMode] // nil: no cancellation was asked for
	stepBegan       time.Time                  // when the current step was first called since the operation entered its state
	waitsFor        atomic.Pointer[Waiting]    // what the current step waits for; nil: nothing yet
	stepState       json.RawMessage            // what the former call of the current step has kept
	instanceChanged bool                       // whether the step has changed Instance
	nodeLogs        nodeLogs                   // what the jobs of management drivers have written last
}

// Waiting is a step that waits, and what for.
type Waiting struct{ Step, Detail string }

// Waiting tells what the run waits for, nil if for nothing. It may be called at any time.
func (r *Run) Waiting() *Waiting { return r.waitsFor.Load() }

// Output reads what the step of that name has stored into the value that into points at.
func (r *Run) Output(step string, into any) error {
	for i := range r.Operation.Steps {
		record := &r.Operation.Steps[i]
		if record.Name != step || record.State != StepDone {
			continue
		}
		if err := json.Unmarshal(record.Output, into); err != nil {
			return fmt.Errorf("read output of step %s: %w", step, err)
		}
		return nil
	}
	return fmt.Errorf("step %s has not been done", step)
}
