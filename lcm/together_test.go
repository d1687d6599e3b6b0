package lcm_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"testing/fstest"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

// This file tests what parts of operations do together that are tested alone elsewhere: images, hooks, grants, and the ways out of a failure.

// driven adds the driver recorder for a hook to both flavours of a package with images.
func driven(tree fstest.MapFS, hook mgmtdriver.Hook) fstest.MapFS {
	for _, flavour := range []string{"simple", "large"} {
		file := tree["Definitions/topology_df_"+flavour+".yaml"]
		const node = "      type: vnfm.samples.Topology\n"
		file.Data = bytes.Replace(file.Data, []byte(node),
			fmt.Appendf(nil, "%s      interfaces:\n        Vnflcm:\n          %s: { implementation: recorder }\n", node, hook), 1)
	}
	return tree
}

// TestRollbackAfterTheLastHookFindsItsImages has a driver fail after the VNF has its new flavour: the former images are needed again.
func TestRollbackAfterTheLastHookFindsItsImages(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"recorder": driver})
	instance := b.instanceOf(driven(twoFlavours(t), mgmtdriver.ChangeFlavourEnd))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	image := b.image()
	driver.faults["change_flavour_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	if _, err := b.manager.Rollback(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateRolledBack)
	if now := b.image(); now != image {
		t.Errorf("the VNF has gone back to the image %s, and there is %s", image, now)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

// TestRetryAfterHalfARollback lets Glance refuse to remove the new image for as long as a rollback has patience for it.
func TestRetryAfterHalfARollback(t *testing.T) {
	t.Parallel()
	driver := newRecorder()
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"recorder": driver})
	instance := b.instanceOf(driven(twoFlavours(t), mgmtdriver.ChangeFlavourEnd))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	before := maps.Clone(servers(b.read(instance), "worker"))
	driver.faults["change_flavour_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	if err := b.cloud.Inject(heattest.Fault{Method: http.MethodDelete, Path: `/images/`, Status: http.StatusServiceUnavailable}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.manager.Rollback(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateFailedTemp)
	b.cloud.ClearFaults()
	if _, err := b.manager.Retry(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateCompleted)
	b.image()
	if len(servers(b.read(instance), "worker")) != len(before) {
		t.Errorf("workers %v, before %v", servers(b.read(instance), "worker"), before)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}
