package lcm_test

import (
	"testing"


	"vnfm/lcm"
	"vnfm/lcm/grant/granttest"
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
