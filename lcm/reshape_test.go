package lcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

// instantiated is an instance that runs.
func (b *bench) instantiated() *lcm.VnfInstance {
	b.t.Helper()
	return b.instantiate(b.instance())
}

func (b *bench) instantiate(instance *lcm.VnfInstance) *lcm.VnfInstance {
	b.t.Helper()
	operation, err := b.manager.Instantiate(b.t.Context(), instance.ID, b.request())
	if err != nil {
		b.t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	return b.read(instance)
}

func (b *bench) read(instance *lcm.VnfInstance) *lcm.VnfInstance {
	b.t.Helper()
	read, err := b.manager.Instance(b.t.Context(), instance.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return read
}

// servers are the Nova ids of a VDU's VNFCs, by VNFC id.
func servers(instance *lcm.VnfInstance, vdu string) map[string]string {
	found := map[string]string{}
	for _, vnfc := range instance.InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == vdu {
			found[vnfc.ID] = vnfc.ComputeResource.ResourceID
		}
	}
	return found
}

// operate is how an operation is started.
type operate func(context.Context, uuid.UUID, json.RawMessage) (*lcm.Operation, error)

// run carries an operation out, in a process that dies before the given commit (-1: lives), and then in another one.
func (b *bench) run(instance *lcm.VnfInstance, start operate, request string, kill int) *lcm.Operation {
	b.t.Helper()
	operation, err := start(b.t.Context(), instance.ID, json.RawMessage(request))
	if err != nil {
		b.t.Fatal(err)
	}
	if kill >= 0 {
		_, _ = b.engine(&dying{b.db, kill}).Run(b.t.Context(), operation.ID)
	}
	return b.follow(b.engine(b.db), operation.ID)
}

// rollBack undoes a failed operation.
func (b *bench) rollBack(failed *lcm.Operation) *lcm.Operation {
	b.t.Helper()
	if _, err := b.manager.Rollback(b.t.Context(), failed.ID); err != nil {
		b.t.Fatal(err)
	}
	return b.follow(b.engine(b.db), failed.ID)
}

func TestScaleOutAndInWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	for kill := -1; kill < 13; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()
			first := servers(instance, "worker")

			out := b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group", "numberOfSteps": "2"}`, kill)
			b.expect(out, lcm.StateCompleted)
			instance = b.read(instance)
			all := servers(instance, "worker")
			if len(all) != 3 || instance.InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel != 2 {
				t.Fatalf("after scaling out: %d workers, %+v", len(all), instance.InstantiatedVnfInfo.ScaleStatus)
			}
			for id, server := range first {
				if all[id] != server {
					t.Errorf("the worker %s that was there is %q now", id, all[id])
				}
			}
			if added := len(out.ResourceChanges.AffectedVnfcs); added != 2 {
				t.Errorf("%d VNFCs affected, want the 2 new ones", added)
			}

			in := b.run(instance, b.manager.Scale, `{"type": "SCALE_IN", "aspectId": "worker_group"}`, kill)
			b.expect(in, lcm.StateCompleted)
			left := servers(b.read(instance), "worker")
			if len(left) != 2 {
				t.Fatalf("after scaling in: %d workers", len(left))
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestHealVnfcWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	for kill := -1; kill < 13; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()
			before := servers(instance, "controller")
			others := servers(instance, "worker")
			for id := range before {
				healed := b.run(instance, b.manager.Heal, `{"cause": "ill", "vnfcInstanceId": "`+id+`"}`, kill)
				b.expect(healed, lcm.StateCompleted)
				instance = b.read(instance)
				if now := servers(instance, "controller"); now[id] == before[id] || now[id] == "" {
					t.Errorf("the healed VNFC %s is on server %q, and was on %q", id, now[id], before[id])
				}
			}
			for id, server := range servers(instance, "worker") {
				if others[id] != server {
					t.Errorf("another VNFC was replaced")
				}
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestHealWholeVnfWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	for kill := -1; kill < 17; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()
			b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
			before := servers(b.read(instance), "worker")
			b.expect(b.run(instance, b.manager.Heal, `{}`, kill), lcm.StateCompleted)
			after := servers(b.read(instance), "worker")
			if len(after) != 2 {
				t.Fatalf("%d workers after healing, want 2 as before", len(after))
			}
			for id := range before {
				if _, same := after[id]; same {
					t.Errorf("VNFC %s was not made anew", id)
				}
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestScaleOutCanBeRolledBackAndRetried(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"rollback", "retry", "fail"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()
			before := servers(instance, "worker")
			b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "No valid host was found."})
			failed := b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1)
			b.expect(failed, lcm.StateFailedTemp)
			var err error
			switch way {
			case "rollback":
				_, err = b.manager.Rollback(t.Context(), failed.ID)
			case "retry":
				_, err = b.manager.Retry(t.Context(), failed.ID)
			case "fail":
				_, err = b.manager.Fail(t.Context(), failed.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			ended := b.follow(b.engine(b.db), failed.ID)
			now := servers(b.read(instance), "worker")
			switch way {
			case "rollback":
				b.expect(ended, lcm.StateRolledBack)
				for id, server := range before {
					if now[id] != server || len(now) != len(before) {
						t.Errorf("after the rollback: %v, want %v", now, before)
					}
				}
				if left := len(serversIn(b)); left != 2 {
					t.Errorf("%d servers in the cloud after the rollback, want 2", left)
				}
			case "retry":
				b.expect(ended, lcm.StateCompleted)
				if len(now) != 2 {
					t.Errorf("%d workers after the retry", len(now))
				}
			case "fail":
				b.expect(ended, lcm.StateFailed)
				// The next operation mends what was left.
				b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func serversIn(b *bench) []heattest.Item {
	return slices.DeleteFunc(b.cloud.Leaks(), func(item heattest.Item) bool { return item.Kind != "server" })
}

func TestGivenUpInstantiationIsCleanedUpByTerminate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Reason: "No valid host was found."})
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateFailedTemp)
	if _, err := b.manager.Fail(t.Context(), operation.ID); err != nil {
		t.Fatal(err)
	}
	if !b.read(instance).Deployed {
		t.Error("the instance does not say that resources remain")
	}
	if err := b.manager.DeleteInstance(t.Context(), instance.ID); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion with resources left: %v", err)
	}
	b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
	b.leaveNothing()
	if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
		t.Error(err)
	}
}

func TestStackThatSomebodyDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	run := &lcm.Deployment{StackName: "vnf-" + instance.ID.String()}
	access, err := b.vims.Access(t.Context(), instance.VimConnectionInfo)
	if err != nil {
		t.Fatal(err)
	}
	run.Vim = access
	if err := b.driver.Delete(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	failed := b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Heal, `{}`, -1), lcm.StateCompleted)
	b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
	b.leaveNothing()
}

func TestScaleAndHealRequestsThatCannotBeRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	for _, row := range []struct {
		name               string
		start              operate
		request, attribute string
	}{
		{"aspect", b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "none"}`, "/aspectId"},
		{"too far out", b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group", "numberOfSteps": 3}`, "/numberOfSteps"},
		{"too far in", b.manager.Scale, `{"type": "SCALE_IN", "aspectId": "worker_group"}`, "/numberOfSteps"},
		{"VNFC", b.manager.Heal, `{"vnfcInstanceId": ["none"]}`, "/vnfcInstanceId/0"},
	} {
		_, err := row.start(t.Context(), instance.ID, json.RawMessage(row.request))
		var invalid *lcm.InvalidRequest
		if !errors.As(err, &invalid) || invalid.Attribute != row.attribute {
			t.Errorf("%s: got %v, want a refusal of %s", row.name, err, row.attribute)
		}
	}
}

func TestLevelsFlavoursAndConnectionsWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	for kill := -1; kill < 19; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()

			b.expect(b.run(instance, b.manager.ScaleToLevel, `{"instantiationLevelId": "instantiation_level_3"}`, kill), lcm.StateCompleted)
			if workers := len(servers(b.read(instance), "worker")); workers != 3 {
				t.Errorf("%d workers at level 3", workers)
			}
			request := `{"scaleInfo": [{"aspectId": "worker_group", "scaleLevel": 1}]}`
			b.expect(b.run(instance, b.manager.ScaleToLevel, request, kill), lcm.StateCompleted)
			if workers := len(servers(b.read(instance), "worker")); workers != 2 {
				t.Errorf("%d workers at scale level 1", workers)
			}

			request = `{"extVirtualLinks": [{"id": "moved", "resourceId": "` + b.cloud.NetworkID("net_mgmt") + `", "extCps": [{"cpdId": "controller_CP2", "cpConfig": []}]}]}`
			moved := b.run(instance, b.manager.ChangeExtConn, request, kill)
			b.expect(moved, lcm.StateCompleted)
			if len(moved.ChangedExtConnectivity) != 1 || moved.ChangedExtConnectivity[0].ID != "moved" {
				t.Errorf("changed connectivity: %+v", moved.ChangedExtConnectivity)
			}
			for _, link := range b.read(instance).InstantiatedVnfInfo.VnfVirtualLinkResourceInfo {
				if link.VnfVirtualLinkDescID == "moved" && len(link.VnfLinkPorts) != 1 {
					t.Errorf("the new link has %d ports", len(link.VnfLinkPorts))
				}
			}

			b.expect(b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, kill), lcm.StateCompleted)
			if info := b.read(instance).InstantiatedVnfInfo; info.FlavourID != "large" || len(info.VnfcResourceInfo) == 0 {
				t.Errorf("after the change: flavour %s with %d VNFCs", info.FlavourID, len(info.VnfcResourceInfo))
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestSmallerFlavourAndBack(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"completed", "rolled back"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instantiated()
			b.expect(b.run(instance, b.manager.ScaleToLevel, `{"instantiationLevelId": "instantiation_level_3"}`, -1), lcm.StateCompleted)
			workers := 2
			if way == "rolled back" {
				// Cinder cannot make a volume smaller again, so it must not have grown.
				b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Cinder::Volume", Action: "UPDATE", Times: 1, Reason: "No valid backend was found."})
			}
			changed := b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
			if way == "rolled back" {
				b.expect(changed, lcm.StateFailedTemp)
				b.expect(b.rollBack(changed), lcm.StateRolledBack)
				workers = 3
			} else {
				b.expect(changed, lcm.StateCompleted)
				if now := len(servers(b.read(instance), "worker")); now != workers {
					t.Errorf("%d workers, want %d", now, workers)
				}
			}
			if left := len(serversIn(b)); left != workers+1 {
				t.Errorf("%d servers in the cloud, want %d workers and a controller", left, workers)
			}
			b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestChangeOfFlavourCanBeRolledBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	b.cloud.SetInstanceQuota(2)
	request := `{"extVirtualLinks": [{"id": "net0", "resourceId": "00000000-0000-4000-8000-000000000000", "extCps": [{"cpdId": "worker_CP1", "cpConfig": []}]}]}`
	failed := b.run(instance, b.manager.ChangeExtConn, request, -1)
	b.expect(failed, lcm.StateFailedTemp)
	if _, err := b.manager.Rollback(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.cloud.SetInstanceQuota(0)
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateRolledBack)
	if left := len(serversIn(b)); left != 2 {
		t.Errorf("%d servers after the rollback, want 2", left)
	}
	b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
	b.leaveNothing()
}

func TestChangesThatCannotBeRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	for _, row := range []struct {
		start              operate
		request, attribute string
	}{
		{b.manager.ScaleToLevel, `{}`, ""},
		{b.manager.ScaleToLevel, `{"instantiationLevelId": "none"}`, "/instantiationLevelId"},
		{b.manager.ScaleToLevel, `{"scaleInfo": [{"aspectId": "none", "scaleLevel": 1}]}`, "/scaleInfo/0/aspectId"},
		{b.manager.ScaleToLevel, `{"scaleInfo": [{"aspectId": "worker_group", "scaleLevel": 9}]}`, "/scaleInfo/0/scaleLevel"},
		{b.manager.ChangeFlavour, `{"newFlavourId": "none"}`, "/newFlavourId"},
		{b.manager.ChangeExtConn, `{"extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [{"cpdId": "none"}]}]}`, "/extVirtualLinks/0/extCps/0/cpdId"},
	} {
		_, err := row.start(t.Context(), instance.ID, json.RawMessage(row.request))
		var invalid *lcm.InvalidRequest
		if !errors.As(err, &invalid) || invalid.Attribute != row.attribute {
			t.Errorf("%s: got %v, want a refusal of %q", row.request, err, row.attribute)
		}
	}
}
