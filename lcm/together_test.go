package lcm_test

import (
	"slices"
	"testing"
	"time"


	"vnfm/lcm"
	"vnfm/lcm/grant/granttest"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

// This file tests what parts of operations do together that are tested alone elsewhere: images, hooks, grants, and the ways out of a failure.

// TestGrantedOperationKeepsInMindWhatWasUploaded deletes an uploaded image, which healing then brings back, whatever was granted before.
func TestGrantedOperationKeepsInMindWhatWasUploaded(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.do(nfvo, instance, b.manager.Instantiate, b.toService()), lcm.StateCompleted)
	b.expect(b.do(nfvo, instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`), lcm.StateCompleted)
	b.cloud.DeleteImage(b.image())
	b.expect(b.do(nfvo, instance, b.manager.Heal, `{}`), lcm.StateCompleted)
	b.image()
	b.expect(b.do(nfvo, instance, b.manager.Terminate, forceful), lcm.StateCompleted)
	b.leaveNothing()
}

// TestHealedVnfIsMadeFromItsNewImage gives up a healing that has made the stack anew: what follows goes by the new image.
func TestHealedVnfIsMadeFromItsNewImage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	b.cloud.DeleteImage(b.image())
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Name: "frontend", Action: "CREATE", Times: 1, Reason: "no"})
	failed := b.run(instance, b.manager.Heal, `{}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	image := b.image()
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
	if now := b.image(); now != image {
		t.Errorf("the image %s became %s", image, now)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

// TestRollbackCanBeAskedForAgain has Heat fail to go back once.
func TestRollbackCanBeAskedForAgain(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	b.instantiate(instance)
	driver.faults["change_external_connectivity_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.ChangeExtConn, b.moved(), -1)
	b.expect(failed, lcm.StateFailedTemp)
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Neutron::Port", Times: 1, Reason: "no"})
	for _, state := range []lcm.OperationState{lcm.StateFailedTemp, lcm.StateRolledBack} {
		if _, err := b.manager.Rollback(t.Context(), failed.ID); err != nil {
			t.Fatal(err)
		}
		b.expect(b.follow(b.engine(b.db), failed.ID), state)
	}
}

// TestGracefulPeriodBeginsWithTheGrant has the NFVO take longer than the VNF is to be given for its end.
func TestGracefulPeriodBeginsWithTheGrant(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	instance := b.instantiated()
	nfvo.Answer(granttest.Later(8)) // asked every 0.2 s
	ended := b.do(nfvo, instance, b.manager.Terminate, `{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 1}`)
	b.expect(ended, lcm.StateCompleted)
	at := slices.IndexFunc(ended.Steps, func(step lcm.StepRecord) bool { return step.Name == "graceful_period" })
	if step := ended.Steps[at]; step.FinishedAt.Sub(step.StartedAt) < time.Second {
		t.Errorf("the VNF was given %s, want 1 s", step.FinishedAt.Sub(step.StartedAt))
	}
}
