package kubernetes_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
)

func TestClusterWithOneMaster(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	if got := b.nodes(); got != "master11 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	want := map[string]any{"name": "kubernetes_vim", "url": "https://" + b.network + "11:6443", "type": "kubernetes", "made": 1, "token": true, "ca": true}
	if diff := cmp.Diff(want, b.vims.Shown()); diff != "" {
		t.Errorf("VIM (-want +got):\n%s", diff)
	}
	for address, hosts := range b.world.View().Hosts {
		for _, name := range []string{"11 master11", "51 worker51", "52 worker52"} {
			if !strings.Contains(hosts, b.network+name+"\n") || !strings.HasPrefix(hosts, "127.0.0.1 localhost\n") {
				t.Errorf("hosts of %s: %s", address, hosts)
			}
		}
	}

	b.scaleOut("53", "54")
	b.must(mgmtdriver.ScaleEnd)
	if got := b.nodes(); got != "master11 worker51 worker52 worker53 worker54" {
		t.Errorf("scaled out: nodes %s", got)
	}
	b.scaleIn("51", "53")
	b.must(mgmtdriver.ScaleStart)
	b.gone()
	view := b.world.View()
	if got := b.nodes(); got != "master11 worker52 worker54" || view.Pods["worker52"] != 3 {
		t.Errorf("scaled in: nodes %s, pods %v", got, view.Pods)
	}
	if hosts := view.Hosts[b.network+"52"]; strings.Contains(hosts, "worker51") || !strings.Contains(hosts, "worker54") {
		t.Errorf("scaled in: hosts %s", hosts)
	}

	b.heal("52")
	b.must(mgmtdriver.HealStart)
	b.replaced()
	b.must(mgmtdriver.HealEnd)
	if got := b.nodes(); got != "master11 worker52 worker54" || b.vims.Made != 1 {
		t.Errorf("healed a worker: nodes %s", got)
	}

	b.heal()
	b.must(mgmtdriver.HealStart)
	if b.vims.Vim != nil {
		t.Error("the VIM is registered while there is no cluster")
	}
	b.replaced()
	b.must(mgmtdriver.HealEnd)
	if b.vims.Made != 2 || b.vims.Vim == nil {
		t.Errorf("healed as a whole: VIM %v", b.vims.Shown())
	}
	b.begin("TERMINATE", `{}`)
	b.before, b.removed, b.after = b.vnfcs, b.vnfcs, nil
	b.must(mgmtdriver.TerminateEnd)
	if b.vims.Vim != nil {
		t.Error("the VIM is left")
	}
}

func TestClusterWithSeveralMasters(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 2})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	if got := b.nodes(); got != "master11 master12 master13 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	if got := b.vims.Shown()["url"]; got != "https://"+b.network+vip+":16443" {
		t.Errorf("VIM at %s", got)
	}
	// The one that has made the cluster, while it is dead.
	b.kill("11")
	b.heal("11")
	b.must(mgmtdriver.HealStart)
	view := b.world.View()
	if got := b.nodes(); got != "master12 master13 worker51 worker52" || strings.Join(view.Members, " ") != "master12 master13" {
		t.Errorf("nodes %s, members %s", got, view.Members)
	}
	want := []string{"master12 " + b.network + "12:6443", "master13 " + b.network + "13:6443"}
	if diff := cmp.Diff(map[string][]string{b.network + "12": want, b.network + "13": want}, view.Balancers); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	b.replaced()
	b.must(mgmtdriver.HealEnd)
	view = b.world.View()
	if got := b.nodes(); got != "master11 master12 master13 worker51 worker52" || len(view.Members) != 3 {
		t.Errorf("nodes %s, members %s", got, view.Members)
	}
	for address, servers := range view.Balancers {
		if len(servers) != 3 {
			t.Errorf("load balancer of %s: %q", address, servers)
		}
	}
	if len(view.Balancers) != 3 || b.vims.Made != 1 {
		t.Errorf("load balancers of %v, VIM %v", view.Balancers, b.vims.Shown())
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	hooks := []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.ScaleEnd, mgmtdriver.ScaleStart, mgmtdriver.HealStart, mgmtdriver.HealEnd,
		mgmtdriver.TerminateEnd}
	drivertest.Run(t, drivertest.Suite{Hooks: hooks, New: func(t *testing.T) drivertest.World {
		t.Helper()
		b := newBed(t, setting{masters: 3, workers: 1})
		b.instantiate()
		current := mgmtdriver.InstantiateEnd
		return drivertest.World{Driver: b.driver, State: b.state, Call: func(hook mgmtdriver.Hook) *mgmtdriver.Call {
			if hook != current {
				b.proceed(hook)
				current = hook
			}
			return b.call(hook)
		}}
	}})
}

// proceed does what the VIM does before a hook.
func (b *bed) proceed(hook mgmtdriver.Hook) {
	switch hook {
	case mgmtdriver.InstantiateEnd:
		b.instantiate()
	case mgmtdriver.ScaleEnd:
		b.scaleOut("58", "59")
	case mgmtdriver.ScaleStart:
		b.scaleIn("58")
	case mgmtdriver.HealStart:
		b.gone()
		b.heal("51", "12")
	case mgmtdriver.HealEnd:
		b.replaced()
	case mgmtdriver.TerminateEnd:
		b.begin("TERMINATE", `{}`)
		b.removed, b.after = b.vnfcs, nil
	default:
		b.t.Fatalf("nothing comes before %s", hook)
	}
}

func (b *bed) allScripts() map[string][]int {
	found := map[string][]int{}
	for _, last := range slices.Sorted(maps.Keys(b.vms)) {
		if prepared, joined := b.scripts(last); prepared+joined > 0 {
			found[last] = []int{prepared, joined}
		}
	}
	return found
}
