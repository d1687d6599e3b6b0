//go:build e2e

package e2e

import (
	"testing"
)

// TestScaleAndHeal scales a VNF out and in, heals one VNFC and then the whole VNF, with the real client.
func TestScaleAndHeal(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	completed(t, operate(t, f.instanceID, "instantiate", f.request))
	stack := f.cloud.onlyStack(t, f.instanceID, "CREATE_COMPLETE")
	before := workers(t, f.instanceID)

	openstack(t, "vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "worker_group", "--number-of-steps", "2", f.instanceID)
	completed(t, lastOperation(t, f.instanceID, "SCALE"))
	grown := workers(t, f.instanceID)
	if len(grown) != len(before)+2 {
		t.Fatalf("%d workers after scaling out from %d", len(grown), len(before))
	}
	for id, server := range before {
		if grown[id] != server {
			t.Errorf("worker %s was on server %s and is on %q", id, server, grown[id])
		}
	}

	openstack(t, "vnflcm", "scale", "--type", "SCALE_IN", "--aspect-id", "worker_group", "--number-of-steps", "1", f.instanceID)
	completed(t, lastOperation(t, f.instanceID, "SCALE"))
	left := workers(t, f.instanceID)
	if len(left) != len(grown)-1 {
		t.Errorf("%d workers after scaling in from %d", len(left), len(grown))
	}
	for id := range before {
		if left[id] != "" {
			t.Errorf("the oldest worker %s is still there", id)
		}
	}

	for id, server := range left {
		openstack(t, "vnflcm", "heal", "--cause", "ill", "--vnfc-instance", id, "--", f.instanceID)
		completed(t, lastOperation(t, f.instanceID, "HEAL"))
		if healed := workers(t, f.instanceID); healed[id] == server || healed[id] == "" || len(healed) != len(left) {
			t.Errorf("the healed worker %s was on server %s and is on %q", id, server, healed[id])
		}
		break
	}
	if again := f.cloud.onlyStack(t, f.instanceID, "UPDATE_COMPLETE"); again != stack {
		t.Errorf("the stack was %s and is %s", stack, again)
	}

	openstack(t, "vnflcm", "heal", f.instanceID)
	completed(t, lastOperation(t, f.instanceID, "HEAL"))
	if again := f.cloud.onlyStack(t, f.instanceID, "CREATE_COMPLETE"); again == stack {
		t.Error("the healed VNF has its old stack")
	}
	if all := workers(t, f.instanceID); len(all) != len(left) {
		t.Errorf("%d workers after healing the VNF, want %d", len(all), len(left))
	}
}

// workers are the server ids of the VDU worker by the ids of the VNFCs.
func workers(t *testing.T, instanceID string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, vnfc := range read[vnfInstance](t, instancePath(instanceID)).InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == "worker" {
			found[vnfc.ID] = vnfc.ComputeResource.ResourceID
		}
	}
	return found
}

// lastOperation is the id of the newest operation of a kind.
func lastOperation(t *testing.T, instanceID, kind string) string {
	t.Helper()
	last := ""
	for _, op := range operations(t, instanceID) {
		if op.Operation == kind {
			last = op.ID
		}
	}
	if last == "" {
		t.Fatalf("there is no operation %s", kind)
	}
	return last
}
