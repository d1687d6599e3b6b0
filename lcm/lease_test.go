package lcm_test

import (
	"context"
	"testing"
	"time"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

// frozen is a database that stops answering once a run has begun.
type frozen struct{ lcm.RunStore }

func (frozen) RenewRun(ctx context.Context, _ *lcm.Run, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestWorkEndsWithTheLease has a database that neither answers nor refuses when the lease is to be renewed: others take over then, so
// the work has to end.
func TestWorkEndsWithTheLease(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: 3 * time.Second}})
	operation, err := b.manager.Instantiate(t.Context(), b.instance().ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.engine(frozen{b.db}).Run(t.Context(), operation.ID); again != nil || err != nil {
		t.Errorf("the run asks for another one: %v, %v", again, err)
	}
	left, err := b.manager.Operation(t.Context(), operation.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.expect(left, lcm.StateProcessing)
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
}
