package lcm_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

// patient is a driver that waits for a number of nodes.
type patient struct{ nodes atomic.Int64 }

func (*patient) Check(context.Context, *mgmtdriver.Call) error { return nil }

func (p *patient) Steps(mgmtdriver.Hook) []mgmtdriver.Step {
	return []mgmtdriver.Step{{Name: "workers", Do: func(context.Context, *mgmtdriver.Call) (mgmtdriver.Result, error) {
		if n := p.nodes.Load(); n < 5 {
			return mgmtdriver.Wait(fmt.Sprintf("%d of 5 nodes are \xffdone\x00", n)), nil
		}
		return mgmtdriver.Done(nil), nil
	}}}
}

func TestProgressOfAnOperation(t *testing.T) {
	t.Parallel()
	driver := &patient{}
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"patient": driver})
	instance := b.create(b.onboard(hooked(t, "patient", mgmtdriver.InstantiateEnd)).Description.VnfdID)
	began := time.Now().Add(-time.Second) // the clock of the database
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.working(operation.ID)
	var since time.Time
	for nodes := range int64(5) {
		driver.nodes.Store(nodes)
		want := fmt.Sprintf("%d of 5 nodes are done", nodes)
		progress := b.progress(operation, want)
		if progress.Since.Before(began) || progress.Since.After(time.Now()) || (nodes > 0 && !progress.Since.Equal(since)) {
			t.Errorf("it has begun %v, formerly %v", progress.Since, since)
		}
		since = progress.Since
	}
	driver.nodes.Store(5)
	if ended := b.reach(operation.ID, lcm.StateCompleted, ""); ended.Progress != nil {
		t.Errorf("when all is done, it does %+v", ended.Progress)
	}
}

// progress waits until an operation tells that its driver waits for that.
func (b *bench) progress(operation *lcm.Operation, want string) *lcm.Progress {
	b.t.Helper()
	for range 2000 {
		shown, err := b.manager.Operation(b.t.Context(), operation.ID)
		if err != nil {
			b.t.Fatal(err)
		}
		if p := shown.Progress; p != nil && p.Step == "instantiate_end/workers" && p.Detail == want {
			return p
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("the operation does not tell %q", want)
	return nil
}
