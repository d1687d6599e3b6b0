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
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if got := b.Nodes(); got != "master11 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	want := map[string]any{"name": "kubernetes_vim", "url": "https://" + b.Network + "11:6443", "type": "kubernetes", "made": 1, "token": true, "ca": true}
	if diff := cmp.Diff(want, b.Vims.Shown()); diff != "" {
		t.Errorf("VIM (-want +got):\n%s", diff)
	}
	for address, hosts := range b.world.View().Hosts {
		for _, name := range []string{"11 master11", "51 worker51", "52 worker52"} {
			if !strings.Contains(hosts, b.Network+name+"\n") || !strings.HasPrefix(hosts, "127.0.0.1 localhost\n") {
				t.Errorf("hosts of %s: %s", address, hosts)
			}
		}
	}

	b.ScaleOut("53", "54")
	b.Must(mgmtdriver.ScaleEnd)
	if got := b.Nodes(); got != "master11 worker51 worker52 worker53 worker54" {
		t.Errorf("scaled out: nodes %s", got)
	}
	b.ScaleIn("51", "53")
	b.Must(mgmtdriver.ScaleStart)
	b.Gone()
	view := b.world.View()
	if got := b.Nodes(); got != "master11 worker52 worker54" || view.Pods["worker52"] != 3 {
		t.Errorf("scaled in: nodes %s, pods %v", got, view.Pods)
	}
	if hosts := view.Hosts[b.Network+"52"]; strings.Contains(hosts, "worker51") || !strings.Contains(hosts, "worker54") {
		t.Errorf("scaled in: hosts %s", hosts)
	}

	b.Healed("52")
	if got := b.Nodes(); got != "master11 worker52 worker54" || b.Vims.Made != 1 {
		t.Errorf("healed a worker: nodes %s", got)
	}

	b.Heal()
	b.Must(mgmtdriver.HealStart)
	if b.Vims.Vim != nil {
		t.Error("the VIM is registered while there is no cluster")
	}
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	if b.Vims.Made != 2 || b.Vims.Vim == nil {
		t.Errorf("healed as a whole: VIM %v", b.Vims.Shown())
	}
	b.Begin("TERMINATE", `{}`)
	b.Before, b.Removed, b.After = b.Vnfcs, b.Vnfcs, nil
	b.Must(mgmtdriver.TerminateEnd)
	if b.Vims.Vim != nil {
		t.Error("the VIM is left")
	}
}

func TestClusterWithSeveralMasters(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 2})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if got := b.Nodes(); got != "master11 master12 master13 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	if got := b.Vims.Shown()["url"]; got != "https://"+b.Network+vip+":16443" {
		t.Errorf("VIM at %s", got)
	}
	// The one that has made the cluster, while it is dead.
	b.Kill("11")
	b.Heal("11")
	b.Must(mgmtdriver.HealStart)
	view := b.world.View()
	if got := b.Nodes(); got != "master12 master13 worker51 worker52" || strings.Join(view.Members, " ") != "master12 master13" {
		t.Errorf("nodes %s, members %s", got, view.Members)
	}
	want := []string{"master12 " + b.Network + "12:6443", "master13 " + b.Network + "13:6443"}
	if diff := cmp.Diff(map[string][]string{b.Network + "12": want, b.Network + "13": want}, view.Balancers); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	view = b.world.View()
	if got := b.Nodes(); got != "master11 master12 master13 worker51 worker52" || len(view.Members) != 3 {
		t.Errorf("nodes %s, members %s", got, view.Members)
	}
	for address, servers := range view.Balancers {
		if len(servers) != 3 {
			t.Errorf("load balancer of %s: %q", address, servers)
		}
	}
	if len(view.Balancers) != 3 || b.Vims.Made != 1 {
		t.Errorf("load balancers of %v, VIM %v", view.Balancers, b.Vims.Shown())
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	hooks := []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.ScaleEnd, mgmtdriver.ScaleStart, mgmtdriver.HealStart, mgmtdriver.HealEnd,
		mgmtdriver.TerminateEnd}
	drivertest.Run(t, drivertest.Suite{Hooks: hooks, New: func(t *testing.T) drivertest.World {
		t.Helper()
		b := newBed(t, setting{masters: 3, workers: 1})
		b.Instantiate()
		current := mgmtdriver.InstantiateEnd
		return drivertest.World{Driver: b.Driver, State: b.state, Call: func(hook mgmtdriver.Hook) *mgmtdriver.Call {
			if hook != current {
				b.proceed(hook)
				current = hook
			}
			return b.Call(hook)
		}}
	}})
}

// proceed does what the VIM does before a hook.
func (b *bed) proceed(hook mgmtdriver.Hook) {
	switch hook {
	case mgmtdriver.InstantiateEnd:
		b.Instantiate()
	case mgmtdriver.ScaleEnd:
		b.ScaleOut("58", "59")
	case mgmtdriver.ScaleStart:
		b.ScaleIn("58")
	case mgmtdriver.HealStart:
		b.Gone()
		b.Heal("51", "12")
	case mgmtdriver.HealEnd:
		b.Replaced()
	case mgmtdriver.TerminateEnd:
		b.Begin("TERMINATE", `{}`)
		b.Removed, b.After = b.Vnfcs, nil
	default:
		b.T.Fatalf("nothing comes before %s", hook)
	}
}

func (b *bed) allScripts() map[string][]int {
	found := map[string][]int{}
	for _, last := range slices.Sorted(maps.Keys(b.VMs)) {
		if prepared, joined := b.scripts(last); prepared+joined > 0 {
			found[last] = []int{prepared, joined}
		}
	}
	return found
}
