//go:build e2e

package e2e

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestKilledServer takes the server away with signal 9 in the middle of an operation, and starts it again: the operation goes on, and
// Heat has made everything once.
func TestKilledServer(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	kill := func() {
		script(t, "server", "kill")
		time.Sleep(time.Second)
		script(t, "server", "start")
	}

	op := operate(t, f.instanceID, "instantiate", f.request)
	eventually(t, "Heat makes the stack", func() bool { return len(f.cloud.stacks(t, f.instanceID)) > 0 })
	kill()
	completed(t, op)
	resources := instantiated(t, f.cloud, f.instanceID)

	op = operate(t, f.instanceID, "terminate", map[string]any{"terminationType": "FORCEFUL"})
	eventually(t, "Heat deletes the stack", func() bool {
		for _, status := range f.cloud.stacks(t, f.instanceID) {
			return status == "DELETE_IN_PROGRESS"
		}
		return true
	})
	kill()
	completed(t, op)
	f.cloud.gone(t, f.instanceID, resources)
}

// TestKilledAtOnce takes the server away as soon as it has accepted a request: what was accepted is done.
func TestKilledAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	op := operate(t, f.instanceID, "instantiate", f.request)
	script(t, "server", "kill")
	script(t, "server", "start")
	completed(t, op)
	f.cloud.onlyStack(t, f.instanceID, "CREATE_COMPLETE")
}

// TestHeatIsDown takes Heat's API away before an operation, and again while Heat works on the stack: the operation waits, and goes on.
func TestHeatIsDown(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	t.Cleanup(func() { script(t, "openstack/up") })

	script(t, "openstack/down", "heat-api")
	op := operate(t, f.instanceID, "instantiate", f.request)
	time.Sleep(5 * time.Second)
	if state := read[operation](t, operationPath(op)).OperationState; !slices.Contains([]string{"STARTING", "PROCESSING"}, state) {
		t.Fatalf("without Heat the operation is %s", state)
	}
	expect(t, http.StatusOK, http.MethodGet, instancePath(f.instanceID), nil)
	script(t, "openstack/up")

	eventually(t, "Heat makes the stack", func() bool { return len(f.cloud.stacks(t, f.instanceID)) > 0 })
	script(t, "openstack/down", "heat-api")
	time.Sleep(5 * time.Second)
	script(t, "openstack/up")
	completed(t, op)
	f.cloud.onlyStack(t, f.instanceID, "CREATE_COMPLETE")
}
