package lcm_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

const (
	gracefully = `{"cancelMode": "GRACEFUL"}`
	forcefully = `{"cancelMode": "FORCEFUL"}`
)

// working runs an operation as a worker does, and again whenever it asks for that, until the test ends.
func (b *bench) working(id uuid.UUID) {
	engine := b.engine(b.db)
	ended := make(chan struct{})
	b.t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for b.t.Context().Err() == nil {
			_, _ = engine.Run(b.t.Context(), id)
			time.Sleep(10 * time.Millisecond)
		}
	}()
}

// reach waits until an operation is in a state, and for step "" not to matter, at a step that waits.
func (b *bench) reach(id uuid.UUID, state lcm.OperationState, step string) *lcm.Operation {
	b.t.Helper()
	var operation *lcm.Operation
	for range 2000 {
		var err error
		if operation, err = b.manager.Operation(b.t.Context(), id); err != nil {
			b.t.Fatal(err)
		}
		for _, record := range operation.Steps {
			if operation.State == state && (step == "" || record.Name == step && record.State == lcm.StepRunning) {
				return operation
			}
		}
		if operation.State == state && step == "" {
			return operation
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("the operation is %s with the steps %+v, want %s at %q", operation.State, operation.Steps, state, step)
	return nil
}

func (b *bench) cancel(id uuid.UUID, request string) {
	b.t.Helper()
	operation, err := b.manager.Cancel(b.t.Context(), id, json.RawMessage(request))
	if err != nil {
		b.t.Fatal(err)
	}
	if operation.CancelMode == "" {
		b.t.Error("the operation does not say that its cancellation is pending")
	}
}

func TestCancelInStartingEndsTheOperation(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{gracefully, forcefully} {
		b := setup(t)
		instance := b.instance()
		operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
		if err != nil {
			t.Fatal(err)
		}
		b.cancel(operation.ID, mode)
		ended := b.follow(b.engine(b.db), operation.ID)
		b.expect(ended, lcm.StateRolledBack)
		if ended.Error == nil || ended.CancelMode != "" {
			t.Errorf("the operation ends with the error %+v and the pending cancellation %q", ended.Error, ended.CancelMode)
		}
		b.leaveNothing()
	}
}

func TestCancelWhileTheStackIsMade(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, mode string
		step       lcm.StepState // of await_stack when the operation has stopped
	}{
		{"a graceful one lets Heat end", gracefully, lcm.StepDone},
		{"a forceful one does not wait for Heat", forcefully, lcm.StepFailed},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: 3 * time.Second}})
			instance := b.instance()
			operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
			if err != nil {
				t.Fatal(err)
			}
			b.working(operation.ID)
			b.reach(operation.ID, lcm.StateProcessing, "await_stack")
			b.cancel(operation.ID, row.mode)
			stopped := b.reach(operation.ID, lcm.StateFailedTemp, "")
			if stopped.Error == nil || stopped.Error.Title != "Operation cancelled" || stopped.CancelMode != "" {
				t.Errorf("error %+v, cancellation %q", stopped.Error, stopped.CancelMode)
			}
			for _, step := range stopped.Steps {
				if step.Name == "await_stack" && step.State != row.step {
					t.Errorf("await_stack is %s, want %s", step.State, row.step)
				}
			}
			if _, err := b.manager.Cancel(t.Context(), operation.ID, json.RawMessage(row.mode)); !errors.As(err, new(*lcm.StateConflict)) {
				t.Errorf("cancellation in FAILED_TEMP: %v", err)
			}
			// Both ways out are open.
			if _, err := b.manager.Retry(t.Context(), operation.ID); err != nil {
				t.Fatal(err)
			}
			b.reach(operation.ID, lcm.StateCompleted, "")
			b.expect(b.run(b.read(instance), b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestCancelOfARollback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Delete: 3 * time.Second}})
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "No valid host was found."})
	instance := b.instance()
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.working(operation.ID)
	b.reach(operation.ID, lcm.StateFailedTemp, "")
	if _, err := b.manager.Rollback(t.Context(), operation.ID); err != nil {
		t.Fatal(err)
	}
	b.reach(operation.ID, lcm.StateRollingBack, "create_stack/delete_stack")
	b.cancel(operation.ID, forcefully)
	b.reach(operation.ID, lcm.StateFailedTemp, "")
	if _, err := b.manager.Rollback(t.Context(), operation.ID); err != nil {
		t.Fatal(err)
	}
	b.reach(operation.ID, lcm.StateRolledBack, "")
	b.leaveNothing()
}

func TestCancelEndsAPauseAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	for _, row := range []struct {
		start   operate
		request string
	}{
		{b.manager.Terminate, `{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 3600}`},
		{b.manager.Operate, `{"changeStateTo": "STOPPED", "stopType": "GRACEFUL", "gracefulStopTimeout": 3600}`},
	} {
		operation, err := row.start(t.Context(), instance.ID, json.RawMessage(row.request))
		if err != nil {
			t.Fatal(err)
		}
		b.working(operation.ID)
		b.reach(operation.ID, lcm.StateProcessing, "graceful_period")
		b.cancel(operation.ID, gracefully)
		b.reach(operation.ID, lcm.StateFailedTemp, "")
		if _, err := b.manager.Fail(t.Context(), operation.ID); err != nil {
			t.Fatal(err)
		}
	}
	if left := len(serversIn(b)); left != 2 {
		t.Errorf("%d servers after cancelled operations, want 2", left)
	}
}

func TestCancellationOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	operation, err := b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 3600}`))
	if err != nil {
		t.Fatal(err)
	}
	// The process dies in the pause, before it has heard of the cancellation.
	_, _ = b.engine(&dying{b.db, 2}).Run(t.Context(), operation.ID)
	b.cancel(operation.ID, gracefully)
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateFailedTemp)
}

func TestForcefulCancellationStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operation, err := b.manager.Instantiate(t.Context(), b.instance().ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.cancel(operation.ID, forcefully)
	again, err := b.manager.Cancel(t.Context(), operation.ID, json.RawMessage(gracefully))
	if err != nil || again.CancelMode != lcm.CancelForceful {
		t.Errorf("after a graceful one: %q, %v", again.CancelMode, err)
	}
}
