package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"time"
)

// attempt is the work of one run: it walks over the steps until they are done, one fails, or the time of the run is over.
type attempt struct {
	engine *Engine
	run    *Run
	plan   plan
	log    *slog.Logger
	ends   time.Time

	cancelled <-chan struct{} // closed when a client has cancelled the operation
}

// action is what a step does.
type action func(context.Context, *Run) (Result, error)

// carryOn works on the operation in the state it is in, and tells when another run is needed.
func (a *attempt) carryOn(ctx context.Context) (*time.Duration, error) {
	if a.run.Operation.State == StateStarting {
		if err := a.run.cancelled(); err != nil {
			return nil, a.move(ctx, EventCancel, err)
		}
		if moved, again, err := a.each(ctx, a.plan.start); !moved {
			return again, err
		}
		if err := a.run.showGrant(); err != nil {
			return nil, err
		}
		if err := a.move(ctx, EventGrant, nil); err != nil {
			return nil, err
		}
	}
	if a.run.Operation.State == StateRollingBack {
		return a.backward(ctx)
	}
	return a.forward(ctx)
}

func (a *attempt) forward(ctx context.Context) (*time.Duration, error) {
	if moved, again, err := a.each(ctx, a.plan.processing()); !moved {
		return again, err
	}
	if err := a.plan.finish(a.run); err != nil {
		return nil, a.move(ctx, EventError, err)
	}
	return nil, a.move(ctx, EventSucceed, nil)
}

// each does steps in their order. If they are not all done after that, moved is false and the run ends.
func (a *attempt) each(ctx context.Context, steps []Step) (moved bool, again *time.Duration, err error) {
	for i := range steps {
		if a.record(steps[i].Name).State == StepUndoing {
			// A rollback of it has failed halfway; the next one has to begin at its beginning.
			if err := a.clear(ctx, &steps[i]); err != nil {
				return false, nil, err
			}
		}
		if moved, again, err := a.take(ctx, steps[i].Name, steps[i].Do); !moved {
			return false, again, err
		}
	}
	return true, nil, nil
}

// backward undoes, last first, every step that was begun.
func (a *attempt) backward(ctx context.Context) (*time.Duration, error) {
	for _, step := range slices.Backward(a.plan.processing()) {
		if a.record(step.Name).State == StepPending {
			continue
		}
		if moved, again, err := a.undo(ctx, &step); !moved {
			return again, err
		}
	}
	return nil, a.move(ctx, EventSucceed, nil)
}

// undo takes one step back.
func (a *attempt) undo(ctx context.Context, step *Step) (moved bool, again *time.Duration, err error) {
	// From here on a retry has to do the step again, even if not all of it has been undone.
	if record := a.record(step.Name); record.State != StepUndoing {
		record.State = StepUndoing
		if err := a.commit(ctx, Commit{Steps: []StepRecord{*record}}); err != nil {
			return false, nil, err
		}
	}
	for i := range step.Undo {
		if moved, again, err := a.take(ctx, step.Name+"/"+step.Undo[i].Name, step.Undo[i].Do); !moved {
			return false, again, err
		}
	}
	err = a.clear(ctx, step)
	return err == nil, nil, err
}

// clear makes a step and those that undo it as if they had never been.
func (a *attempt) clear(ctx context.Context, step *Step) error {
	cleared := []StepRecord{}
	for i := range step.Undo {
		cleared = append(cleared, *a.reset(step.Name + "/" + step.Undo[i].Name))
	}
	cleared = append(cleared, *a.reset(step.Name))
	return a.commit(ctx, Commit{Deployment: true, Steps: cleared})
}

// take does a step that is not done yet. If it is not done after that, moved is false and the run ends.
func (a *attempt) take(ctx context.Context, name string, act action) (moved bool, again *time.Duration, err error) {
	record := a.record(name)
	if record.State == StepDone {
		return true, nil, nil
	}
	if err := a.run.cancelled(); err != nil && record.State != StepRunning {
		return false, nil, a.move(ctx, EventCancel, err)
	}
	if err := a.begin(ctx, record); err != nil {
		return false, nil, err
	}
	observed, end := a.engine.config.Observer.StepBegins(ctx, a.run.Operation, name)
	result, again, err := a.perform(observed, record, act)
	end(StepEnd{Over: again == nil, Took: time.Since(record.StartedAt), Err: err})
	if again != nil || err != nil { // after that the operation is not this run's any more
		a.keepNodeLogs(ctx, true)
	}
	switch {
	case again != nil:
		return false, again, a.release(ctx, record, *again)
	case err != nil:
		return false, nil, a.fail(ctx, record, err)
	}
	err = a.done(ctx, record, result)
	a.keepNodeLogs(ctx, true)
	return err == nil, nil, err
}

func (a *attempt) reset(name string) *StepRecord {
	record := a.record(name)
	*record = StepRecord{Name: name, State: StepPending}
	return record
}

// record returns the stored progress of a step, in the order in which steps are first met.
func (a *attempt) record(name string) *StepRecord {
	operation := a.run.Operation
	for i := range operation.Steps {
		if operation.Steps[i].Name == name {
			return &operation.Steps[i]
		}
	}
	operation.Steps = append(operation.Steps, StepRecord{Name: name, State: StepPending})
	return &operation.Steps[len(operation.Steps)-1]
}

// perform calls an action until it is done, fails for good, or has to be waited for longer than this run lasts; in that case
// it returns the time to wait.
func (a *attempt) perform(ctx context.Context, record *StepRecord, act action) (Result, *time.Duration, error) {
	began := record.StartedAt
	if entered := a.run.Operation.StateEnteredAt; entered.After(began) {
		began = entered
	}
	a.run.stepBegan = began
	for {
		a.run.stepState = progressOf(record).State
		result, err := a.call(ctx, act)
		if ctx.Err() != nil && (err != nil || result.again) {
			return a.interrupted(ctx)
		}
		if err == nil && !result.again {
			return result, nil, nil
		}
		// A graceful cancellation lets a step end what it has begun. In STARTING nothing is begun, and a pause is nothing.
		var cancelled <-chan struct{}
		if a.run.Operation.State == StateStarting || result.after > 0 {
			if stop := a.run.cancelled(); stop != nil {
				return Result{}, nil, stop
			}
			cancelled = a.cancelled
		}
		wait := pollInterval(time.Since(began))
		if err != nil {
			if !a.worthRepeating(record, err) {
				return Result{}, nil, err
			}
			a.log.WarnContext(ctx, "step waits for its peer", "step", record.Name, "error", err)
			a.tell(record, err.Error())
		} else {
			if err := a.waits(ctx, record, result); err != nil {
				return Result{}, nil, err
			}
			wait = max(wait, result.after)
		}
		a.keepNodeLogs(ctx, false)
		if time.Now().Add(wait).After(a.ends) {
			return Result{}, &wait, nil
		}
		if sleep(ctx, wait, cancelled) != nil {
			return a.interrupted(ctx)
		}
	}
}

// tell notes what a step waits for. It is stored when the lease is renewed, or with what else there is to store.
func (a *attempt) tell(record *StepRecord, detail string) {
	detail = Legible(detail)
	record.Detail = detail
	a.run.waitsFor.Store(&Waiting{Step: record.Name, Detail: detail})
}

// interrupted tells what follows when the work was stopped from outside: nothing if the operation has a new owner, its end if a client
// has cancelled it, and a run elsewhere at once if this process is about to end.
func (a *attempt) interrupted(ctx context.Context) (Result, *time.Duration, error) {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrSuperseded) || errors.As(cause, new(*cancelled)) {
		return Result{}, nil, cause
	}
	return Result{}, new(time.Duration), nil
}

// call runs an action, with the VIM looked up and with a panic turned into an error.
func (a *attempt) call(ctx context.Context, act action) (result Result, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a.log.ErrorContext(ctx, "step panicked", "cause", cause, "stack", string(debug.Stack()))
			err = &Failure{Title: "Internal error", Status: http.StatusInternalServerError,
				Detail: "an internal error ended the step; the server's log tells more"}
		}
	}()
	if a.run.Deployment != nil {
		access, err := a.engine.vims.Access(ctx, a.run.Deployment.VimConnectionInfo)
		if err != nil {
			return Result{}, err
		}
		a.run.Deployment.Vim = access
	}
	result, err = act(ctx, a.run)
	if err == nil && result.detail == "" {
		return result, nil
	}
	// What a peer says may repeat what it was sent.
	known := a.run.redactor()
	result.detail = known.Redact(result.detail)
	return result, redacted(err, known)
}

// unexpectedPatience is how long a step is repeated that fails for a reason nobody foresaw, such as a restart of the database.
const unexpectedPatience = 15 * time.Second

// worthRepeating reports whether err may pass by itself and there is patience left for it.
func (a *attempt) worthRepeating(record *StepRecord, err error) bool {
	patience := unexpectedPatience
	var unavailable *Unavailable
	switch {
	case errors.As(err, &unavailable):
		patience = a.engine.config.Patience
	case final(err):
		return false
	}
	p := progressOf(record)
	if p.TroubleSince.IsZero() {
		p.TroubleSince = time.Now()
		p.keep(record)
	}
	return time.Since(p.TroubleSince) < patience
}

// final reports whether err is an answer that repeating the question will not change.
func final(err error) bool {
	var (
		failed        *Failure
		rejected      *Rejected
		invalid       *InvalidRequest
		unprocessable *Unprocessable
		notFound      *NotFound
		conflict      *Conflict
	)
	return errors.Is(err, ErrSuperseded) || errors.As(err, &failed) || errors.As(err, &rejected) || errors.As(err, &invalid) ||
		errors.As(err, &unprocessable) || errors.As(err, &notFound) || errors.As(err, &conflict)
}

// pollInterval grows with the time that a step has taken, so that waiting costs a twentieth of it at the most, with jitter so
// that operations which began together do not ask together.
func pollInterval(elapsed time.Duration) time.Duration {
	interval := min(max(elapsed/20, 200*time.Millisecond), 5*time.Second)
	return time.Duration(float64(interval) * (0.9 + 0.2*rand.Float64())) //nolint:gosec // jitter
}

func (a *attempt) begin(ctx context.Context, record *StepRecord) error {
	if record.State == StepRunning {
		return nil
	}
	*record = StepRecord{Name: record.Name, State: StepRunning, StartedAt: time.Now()}
	return a.commit(ctx, Commit{Steps: []StepRecord{*record}})
}

func (a *attempt) done(ctx context.Context, record *StepRecord, result Result) error {
	output, err := json.Marshal(result.output)
	if err != nil {
		return a.fail(ctx, record, fmt.Errorf("store output of step %s: %w", record.Name, err))
	}
	record.State, record.Detail, record.Output, record.FinishedAt = StepDone, "", output, time.Now()
	a.log.InfoContext(ctx, "step done", "step", record.Name, "duration", record.FinishedAt.Sub(record.StartedAt))
	changed := a.run.instanceChanged
	a.run.instanceChanged = false
	return a.commit(ctx, Commit{Instance: changed, Deployment: true, Steps: []StepRecord{*record}})
}

// release gives the operation back until another run, in this process or elsewhere, goes on.
func (a *attempt) release(ctx context.Context, record *StepRecord, after time.Duration) error {
	return a.commit(ctx, Commit{Deployment: true, Steps: []StepRecord{*record}, Release: &after})
}

// fail records that a step has failed, and with it the operation.
func (a *attempt) fail(ctx context.Context, record *StepRecord, err error) error {
	if errors.Is(err, ErrSuperseded) {
		return err
	}
	record.State, record.Detail, record.Output = StepFailed, err.Error(), nil
	changed := []StepRecord{*record}
	var failure *Failure
	if errors.As(err, &failure) && failure.Redo != "" {
		// Neither done, for a retry, nor pending, for a rollback.
		redo := a.record(failure.Redo)
		redo.State = StepUndoing
		changed = append(changed, *redo)
	}
	event := EventError
	switch {
	case errors.As(err, new(*cancelled)):
		event = EventCancel
	case a.run.Operation.State == StateStarting:
		event = EventRefuse
	}
	return a.move(ctx, event, fmt.Errorf("step %s: %w", changed[0].Name, err), changed...)
}

// move takes the operation to its next state and commits that with everything the run has changed.
func (a *attempt) move(ctx context.Context, event Event, reason error, steps ...StepRecord) error {
	operation := a.run.Operation
	next, err := operation.State.Next(event)
	if err != nil {
		return err
	}
	switch {
	case reason != nil:
		operation.Error = ProblemOf(reason)
		operation.Error.Title = a.run.redactor().Redact(operation.Error.Title)
	case next == StateCompleted:
		operation.Error = nil
	}
	operation.State, operation.CancelMode = next, ""
	a.log.InfoContext(ctx, "operation state changed", "operationState", next, "error", reason)
	commit := Commit{Operation: true, Instance: next == StateCompleted || next == StateRolledBack, Deployment: true, Steps: steps}
	if !next.Transient() {
		commit.Release = new(time.Duration)
	}
	if err := a.commit(ctx, commit); err != nil {
		return err
	}
	a.engine.config.Observer.Entered(operation)
	return nil
}

// commitTime bounds a commit that has to be made although the process is being stopped.
const commitTime = 10 * time.Second

// commitPause is how long a commit waits that the database has failed.
const commitPause = 200 * time.Millisecond

func (a *attempt) commit(ctx context.Context, commit Commit) error {
	if errors.Is(context.Cause(ctx), ErrSuperseded) {
		return ErrSuperseded
	}
	// A stop of the process must not keep what has been done from being recorded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	for {
		err := a.engine.store.CommitRun(ctx, a.run, commit)
		if err == nil {
			return nil
		}
		// A restart of the database is over soon. Nothing is written twice: what ends a run is refused the second time.
		if errors.Is(err, ErrSuperseded) || Held(ctx) != nil || sleep(ctx, commitPause, nil) != nil {
			return fmt.Errorf("commit operation %s: %w", a.run.Operation.ID, err)
		}
	}
}
