package lcm_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

// visitor is a driver that visits all hosts at every hook and notes how many of them it has known.
type visitor struct {
	mu    sync.Mutex
	known map[mgmtdriver.Hook][2]int // of how many hosts
}

func (*visitor) Check(context.Context, *mgmtdriver.Call) error { return nil }

func (v *visitor) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	return []mgmtdriver.Step{{Name: "visit", Do: func(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		count := [2]int{}
		vnfcs := call.After
		if hook == mgmtdriver.HealStart {
			vnfcs = call.Before
		}
		for _, vnfc := range vnfcs {
			host := mgmtdriver.Host{VnfcID: vnfc.ID, ServerID: vnfc.ServerID}
			key, err := call.HostKeys.HostKey(ctx, host)
			if err != nil {
				return mgmtdriver.Result{}, err
			}
			if key != "" {
				count[0]++
			}
			count[1]++
			if key, err = call.HostKeys.KeepHostKey(ctx, host, "key of "+vnfc.ServerID); err != nil || key != "key of "+vnfc.ServerID {
				return mgmtdriver.Result{}, &mgmtdriver.Failure{Detail: "kept " + key}
			}
		}
		v.known[hook] = count
		return mgmtdriver.Done(nil), nil
	}}}
}

func TestHealedVnfcGetsANewHostKey(t *testing.T) {
	t.Parallel()
	driver := &visitor{known: map[mgmtdriver.Hook][2]int{}}
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"visitor": driver})
	instance := b.instantiate(b.create(b.onboard(hooked(t, "visitor")).Description.VnfdID))
	var workers []string
	for id := range servers(instance, "worker") {
		workers = append(workers, id)
	}
	b.expect(b.run(instance, b.manager.Heal, `{"vnfcInstanceId": "`+workers[0]+`"}`, -1), lcm.StateCompleted)
	for hook, want := range map[mgmtdriver.Hook][2]int{
		mgmtdriver.InstantiateEnd: {0, 2}, mgmtdriver.HealStart: {2, 2}, mgmtdriver.HealEnd: {1, 2},
	} {
		if driver.known[hook] != want {
			t.Errorf("%s: known and all: %v, want %v", hook, driver.known[hook], want)
		}
	}
	after := b.read(instance).InstantiatedVnfInfo.VnfcResourceInfo
	for _, vnfc := range instance.InstantiatedVnfInfo.VnfcResourceInfo {
		key, err := b.db.HostKey(t.Context(), instance.ID, mgmtdriver.Host{VnfcID: vnfc.ID, ServerID: vnfc.ComputeResource.ResourceID})
		still := slices.ContainsFunc(after, func(now lcm.VnfcResourceInfo) bool {
			return now.ComputeResource.ResourceID == vnfc.ComputeResource.ResourceID
		})
		if err != nil || (key != "") != still {
			t.Errorf("%s, server there: %v, key %q, %v", vnfc.VduID, still, key, err)
		}
	}
}
