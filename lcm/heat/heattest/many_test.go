package heattest_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"vnfm/lcm/heat/heattest"
)

// TestManyStacksAtOnce holds a thousand stacks in creation and shows that they wait without work.
func TestManyStacksAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	const count = 1000
	b := setup(t, heattest.Options{Delays: heattest.Delays{"": {}, "OS::Nova::Server": {Create: 3 * time.Second}},
		Networks: []heattest.Network{{Name: "net0", CIDR: prefix("10.0.0.0/16")}}})
	var g errgroup.Group
	g.SetLimit(8)
	began := time.Now()
	ids := make([]string, count)
	for i := range count {
		g.Go(func() error {
			created, err := stacks.Create(t.Context(), b.heat, vnfBody(fmt.Sprintf("vnf-%d", i))).Extract()
			if err == nil {
				ids[i] = created.ID
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d stacks of three servers asked for in %s; %d goroutines, %d MiB of heap", count, time.Since(began).Round(time.Millisecond),
		runtime.NumGoroutine(), memory.HeapAlloc>>20)
	for i, id := range ids {
		if s := b.settle(fmt.Sprintf("vnf-%d", i), id); s.Status != "CREATE_COMPLETE" {
			t.Fatalf("stack %d is %s: %s", i, s.Status, s.StatusReason)
		}
	}
	t.Logf("all complete after %s", time.Since(began).Round(time.Millisecond))
}
