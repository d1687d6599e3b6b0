package kubespray_test

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kubespray"
	"vnfm/mgmtdriver/kubespray/spraytest"
	"vnfm/mgmtdriver/ssh/sshtest"
)

func (b *bed) expect(what, nodes, routes string, runs ...string) {
	b.T.Helper()
	if got := b.Nodes(); got != nodes {
		b.T.Errorf("%s: nodes %s, want %s", what, got, nodes)
	}
	if got := strings.Join(b.world.Routes(), " "); got != routes {
		b.T.Errorf("%s: routes %s, want %s", what, got, routes)
	}
	all := b.world.Runs()
	if diff := cmp.Diff(runs, all[len(all)-min(len(runs), len(all)):], cmpopts.EquateEmpty()); diff != "" {
		b.T.Errorf("%s: playbooks (-want +got):\n%s", what, diff)
	}
	if left := b.world.Sealed(directory); len(left) > 0 {
		b.T.Errorf("%s: secrets are left: %q", what, left)
	}
	if left := b.world.Kept(); len(left) > 0 {
		b.T.Errorf("%s: jobs are left: %q", what, left)
	}
}

const removal = ` skip_confirmation=yes delete_nodes_confirmation=yes {"allow_ungraceful_removal": true, "drain_timeout": "30s"}`

func TestCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 2})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateStart)
	b.Must(mgmtdriver.InstantiateEnd)
	b.expect("instantiated", "master11 master12 master13 worker51 worker52", "master11 master12 master13 worker51 worker52", "cluster.yml")
	if members := b.world.View().Members; len(members) != 3 {
		t.Errorf("members of etcd: %v", members)
	}
	want := map[string]any{"name": "kubernetes_vim", "url": "https://" + b.Network + "90:8383", "type": "kubernetes", "made": 1, "token": true, "ca": true}
	if diff := cmp.Diff(want, b.Vims.Shown()); diff != "" {
		t.Errorf("VIM (-want +got):\n%s", diff)
	}
	config, err := b.VMs[balancerLast].ReadFile(".kube/config")
	if err != nil {
		config, err = b.VMs[balancerLast].ReadFile("/home/ubuntu/.kube/config")
	}
	if err != nil || !strings.Contains(string(config), "server: https://"+b.Network+"90:8383\n") || strings.Contains(string(config), "127.0.0.1:6443") {
		t.Errorf("configuration of kubectl on the load balancer: %s, %v", config, err)
	}
	vars, err := b.VMs[ansibleLast].ReadFile(directory + "/vars.yaml")
	if err != nil || !strings.Contains(string(vars), "- "+b.Network+"90\n") || !strings.Contains(string(vars), "kube_pods_subnet: 192.168.0.0/16") {
		t.Errorf("variables: %s, %v", vars, err)
	}

	b.ScaleOut("53", "54")
	b.Must(mgmtdriver.ScaleEnd)
	b.expect("scaled out", "master11 master12 master13 worker51 worker52 worker53 worker54",
		"master11 master12 master13 worker51 worker52 worker53 worker54", "facts.yml", "scale.yml --limit=worker53,worker54")
	b.world.Know(b.Network+"51", fmt.Sprintf("[%s51]:%d", b.Network, sshtest.DefaultPort), b.Network+"53", "192.0.2.1")
	b.ScaleIn("51", "53")
	b.Must(mgmtdriver.ScaleStart)
	b.Gone()
	b.expect("scaled in", "master11 master12 master13 worker52 worker54", "master11 master12 master13 worker52 worker54",
		"remove-node.yml node=worker51,worker53"+removal)
	if inventory := b.inventory(); strings.Contains(inventory, "worker53") || !strings.Contains(inventory, "worker54") {
		t.Errorf("scaled in: inventory\n%s", inventory)
	}
	if diff := cmp.Diff([]string{"192.0.2.1"}, b.world.Known()); diff != "" {
		t.Errorf("scaled in: known hosts (-want +got):\n%s", diff)
	}

	b.Heal("52")
	b.Must(mgmtdriver.HealStart)
	b.expect("before a worker is healed", "master11 master12 master13 worker54", "master11 master12 master13 worker54", "remove-node.yml node=worker52"+removal)
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	b.expect("healed a worker", "master11 master12 master13 worker52 worker54", "master11 master12 master13 worker52 worker54",
		"facts.yml", "scale.yml --limit=worker52")

	b.Heal(balancerLast)
	runs := len(b.world.Runs())
	b.Must(mgmtdriver.HealStart)
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	b.expect("healed the load balancer", "master11 master12 master13 worker52 worker54", "master11 master12 master13 worker52 worker54")
	if len(b.world.Runs()) != runs || b.Vims.Made != 1 {
		t.Errorf("for the load balancer, playbooks were run: %q", b.world.Runs()[runs:])
	}

	b.Heal()
	b.Must(mgmtdriver.HealStart)
	if len(b.world.Directories()) > 0 || b.Vims.Vim != nil {
		t.Errorf("before all is healed: %v, VIM %v", b.world.Directories(), b.Vims.Shown())
	}
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	b.expect("healed as a whole", "master11 master12 master13 worker52 worker54", "master11 master12 master13 worker52 worker54", "cluster.yml")

	b.world.Know(b.Network+"52", "192.0.2.1")
	b.Terminate("GRACEFUL")
	b.Must(mgmtdriver.TerminateEnd)
	if len(b.world.Directories()) > 0 || b.Vims.Vim != nil || len(b.world.Known()) != 2 {
		t.Errorf("terminated: %v, VIM %v, known %q", b.world.Directories(), b.Vims.Shown(), b.world.Known())
	}
}

// What the former Ansible server has of the cluster goes, if that answers.
func TestAnotherAnsibleServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		dead    bool
		replace string // the last number of the address of the other one
		left    int
	}{
		{"another server", false, "201", 1}, {"another directory", false, ansibleLast, 1}, {"a server in the place of a dead one", true, "201", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			if row.replace != ansibleLast {
				b.startAnsible(row.replace)
			}
			if row.dead {
				b.Kill(ansibleLast)
			}
			other := maps.Clone(b.cluster()["ansible"].(map[string]any))
			other["ip_address"], other["transferring_inventory_path"] = b.Network+row.replace, spraytest.Root+"/inventory/another"
			b.Additional = map[string]any{kubespray.Parameter: map[string]any{"ansible": other}}
			b.Healed()
			found := b.world.Directories()
			if len(found) != row.left || found[spraytest.Root+"/inventory/another"] != "instance" {
				t.Errorf("directories %v", found)
			}
		})
	}
}

func TestTerminationThatNamesAnotherAnsibleServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		dead bool
		left int
	}{{"the former one answers", false, 0}, {"the former one is no more", true, 1}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			b.startAnsible("201")
			if row.dead {
				b.Kill(ansibleLast)
			}
			other := maps.Clone(b.cluster()["ansible"].(map[string]any))
			other["ip_address"], other["transferring_inventory_path"] = b.Network+"201", spraytest.Root+"/inventory/another"
			b.Additional = map[string]any{kubespray.Parameter: map[string]any{"ansible": other}}
			b.Terminate("GRACEFUL")
			b.Must(mgmtdriver.TerminateEnd)
			if found := b.world.Directories(); len(found) != row.left {
				t.Errorf("directories %v", found)
			}
		})
	}
}

func TestClusterWithoutLoadBalancer(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, change: func(p map[string]any) { delete(p, "external_lb_param"); delete(p, "proxy") }})
	b.Vnfcs = b.Vnfcs[:2]
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.expect("instantiated", "master11 worker51", "", "cluster.yml")
	if url := b.Vims.Shown()["url"]; url != "https://"+b.Network+"11:6443" {
		t.Errorf("VIM at %s", url)
	}
	b.ScaleOut("52")
	b.Must(mgmtdriver.ScaleEnd)
	b.expect("scaled out", "master11 worker51 worker52", "", "facts.yml", "scale.yml --limit=worker52")
}

// floating makes the load balancer one that only a floating IP address leads to.
func (b *bed) floating() {
	b.cluster()["external_lb_param"].(map[string]any)["ssh_cp_name"] = "externalLB_FIP"
	b.Vnfcs[len(b.Vnfcs)-1].Ports = nil
	b.Ports = []mgmtdriver.Port{{Name: "externalLB_FIP", Floating: true, Addresses: []netip.Addr{b.Address(balancerLast)}}}
}

func TestLoadBalancerWithAFloatingAddress(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2})
	b.floating()
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.expect("instantiated", "master11 worker51 worker52", "master11 worker51 worker52", "cluster.yml")
	b.Kill(balancerLast)
	b.Heal("51", balancerLast)
	b.Must(mgmtdriver.HealStart) // and asks nothing of the load balancer that is dead
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	b.expect("healed", "master11 worker51 worker52", "master11 worker51 worker52", "facts.yml", "scale.yml --limit=worker51")
	b.ScaleOut("53")
	b.Must(mgmtdriver.ScaleEnd)
	b.expect("scaled out", "master11 worker51 worker52 worker53", "master11 worker51 worker52 worker53", "facts.yml", "scale.yml --limit=worker53")
}

func TestLoadBalancerThatIsNotKnown(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.floating()
	b.Vnfcs = append(b.Vnfcs, b.Vnfc("bastion", "91"))
	b.Instantiate()
	expectFailure(t, b.Run(mgmtdriver.InstantiateEnd), "externalLB_FIP of external_lb_param", "2 VNFCs are no nodes")
	if b.Vims.Vim != nil || len(b.world.Runs()) > 0 {
		t.Errorf("playbooks %q, VIM %v", b.world.Runs(), b.Vims.Shown())
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	hooks := []mgmtdriver.Hook{mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd, mgmtdriver.ScaleEnd, mgmtdriver.ScaleStart, mgmtdriver.HealStart,
		mgmtdriver.HealEnd, mgmtdriver.TerminateEnd}
	drivertest.Run(t, drivertest.Suite{Hooks: hooks, New: func(t *testing.T) drivertest.World {
		t.Helper()
		b := newBed(t, setting{masters: 1, workers: 1})
		b.Instantiate()
		current := mgmtdriver.InstantiateStart
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
	case mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd:
	case mgmtdriver.ScaleEnd:
		b.ScaleOut("58", "59")
	case mgmtdriver.ScaleStart:
		b.ScaleIn("58")
	case mgmtdriver.HealStart:
		b.Gone()
		b.Heal("51", balancerLast)
	case mgmtdriver.HealEnd:
		b.Replaced()
	case mgmtdriver.TerminateEnd:
		b.Terminate("GRACEFUL")
	default:
		b.T.Fatalf("nothing comes before %s", hook)
	}
}
