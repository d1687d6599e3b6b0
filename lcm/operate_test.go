package lcm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"vnfm/lcm"
)

// stopped are the ids of the VNFCs that an instance says are stopped.
func stopped(instance *lcm.VnfInstance) map[string]bool {
	found := map[string]bool{}
	for _, vnfc := range instance.InstantiatedVnfInfo.VnfcInfo {
		if vnfc.VnfcState == lcm.Stopped {
			found[vnfc.ID] = true
		}
	}
	return found
}

// off counts the servers that are switched off in the cloud.
func (b *bench) off() int {
	off := 0
	for _, item := range serversIn(b) {
		if item.Status == "SHUTOFF" {
			off++
		}
	}
	return off
}

func TestStopAndStartWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	for kill := -1; kill < 7; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()
			halted := b.run(instance, b.manager.Operate, `{"changeStateTo": "STOPPED"}`, kill)
			b.expect(halted, lcm.StateCompleted)
			instance = b.read(instance)
			if instance.InstantiatedVnfInfo.VnfState != lcm.Stopped || b.off() != 2 || len(halted.ResourceChanges.AffectedVnfcs) != 2 {
				t.Errorf("state %s, %d servers off, changes %+v", instance.InstantiatedVnfInfo.VnfState, b.off(), halted.ResourceChanges)
			}
			for vnfc := range servers(instance, "worker") {
				b.expect(b.run(instance, b.manager.Operate, `{"changeStateTo": "STARTED", "vnfcInstanceId": "`+vnfc+`"}`, kill), lcm.StateCompleted)
				instance = b.read(instance)
				if instance.InstantiatedVnfInfo.VnfState != lcm.Started || stopped(instance)[vnfc] || b.off() != 1 {
					t.Errorf("after one was started: state %s, stopped %v, %d servers off", instance.InstantiatedVnfInfo.VnfState, stopped(instance), b.off())
				}
			}
			// Scaling replaces nothing, so what is stopped stays stopped and is said to be.
			b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
			if still := stopped(b.read(instance)); len(still) != 1 || b.off() != 1 {
				t.Errorf("after scaling: stopped %v, %d servers off", still, b.off())
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestStopOfAServerThatSomebodyDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	var deleted string
	for vnfc, server := range servers(instance, "worker") {
		b.cloud.DeleteServer(server)
		deleted = vnfc
	}
	failed := b.run(instance, b.manager.Operate, `{"changeStateTo": "STOPPED"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	if failed.Error.Title != "Server is gone" {
		t.Errorf("error %+v", failed.Error)
	}
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Heal, `{"vnfcInstanceId": ["`+deleted+`"]}`, -1), lcm.StateCompleted)
	b.expect(b.run(instance, b.manager.Operate, `{"changeStateTo": "STOPPED"}`, -1), lcm.StateCompleted)
	b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
	b.leaveNothing()
}

func TestHalfDoneStopIsRolledBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	// The controller is stopped first; the worker is gone.
	for _, server := range servers(instance, "worker") {
		b.cloud.DeleteServer(server)
	}
	failed := b.run(instance, b.manager.Operate, `{"changeStateTo": "STOPPED"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	b.expect(b.rollBack(failed), lcm.StateRolledBack)
	if b.off() != 0 {
		t.Error("the controller is still off after the rollback")
	}
}

func TestOperateRequestsThatCannotBeRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	for _, row := range []struct{ request, attribute string }{
		{`{"changeStateTo": "STARTED", "stopType": "GRACEFUL"}`, "/stopType"},
		{`{"changeStateTo": "STOPPED", "gracefulStopTimeout": 5}`, "/gracefulStopTimeout"},
		{`{"changeStateTo": "STOPPED", "vnfcInstanceId": ["none"]}`, "/vnfcInstanceId/0"},
	} {
		_, err := b.manager.Operate(t.Context(), instance.ID, json.RawMessage(row.request))
		var invalid *lcm.InvalidRequest
		if !errors.As(err, &invalid) || invalid.Attribute != row.attribute {
			t.Errorf("%s: got %v, want a refusal of %s", row.request, err, row.attribute)
		}
	}
}
