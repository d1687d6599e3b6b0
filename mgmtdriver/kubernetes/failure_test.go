package kubernetes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kube/clustertest"
	"vnfm/mgmtdriver/kubernetes/kubetest"
)

// fails is run, and it has to fail with a failure that says all of that.
func (b *bed) fails(hook mgmtdriver.Hook, says ...string) {
	b.T.Helper()
	err := b.Run(hook)
	var failure *mgmtdriver.Failure
	if !errors.As(err, &failure) {
		b.T.Fatalf("%s: %v, want a failure\n%s", hook, err, b.Log)
	}
	for _, part := range says {
		if !strings.Contains(failure.Detail, part) {
			b.T.Errorf("%s fails with %q, want %q", hook, failure.Detail, part)
		}
	}
	if strings.Contains(failure.Detail, secret) || joinSecret.MatchString(failure.Detail) {
		b.T.Errorf("the failure tells secrets: %s", failure.Detail)
	}
}

func TestRetryGoesOnWithTheNodeThatHasFailed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		masters int
		node    string // that fails
		fault   kubetest.Fault
		scripts map[string][]int // that were run until the retry has succeeded: prepared, joined
	}{
		{"a worker that does not get ready to join", 1, "52", kubetest.Fault{Command: "script prepare"},
			map[string][]int{"11": {1, 1}, "51": {1, 1}, "52": {2, 1}, "53": {1, 1}}},
		{"a worker that does not join", 1, "52", kubetest.Fault{Command: "script join"},
			map[string][]int{"11": {1, 1}, "51": {1, 1}, "52": {1, 2}, "53": {1, 1}}},
		{"a worker that has joined and fails then", 1, "53", kubetest.Fault{Command: "script join", Late: true},
			map[string][]int{"11": {1, 1}, "51": {1, 1}, "52": {1, 1}, "53": {1, 1}}},
		{"the first master", 1, "11", kubetest.Fault{Command: "script join"},
			map[string][]int{"11": {1, 2}, "51": {1, 1}, "52": {1, 1}, "53": {1, 1}}},
		{"a worker that has begun to join", 1, "52", kubetest.Fault{Command: "script halfway"},
			map[string][]int{"11": {1, 1}, "51": {1, 1}, "52": {1, 2}, "53": {1, 1}}},
		{"the first master when it has begun", 1, "11", kubetest.Fault{Command: "script halfway"},
			map[string][]int{"11": {1, 2}, "51": {1, 1}, "52": {1, 1}, "53": {1, 1}}},
		{"the third master when it has begun", 3, "13", kubetest.Fault{Command: "script halfway"},
			map[string][]int{"11": {1, 1}, "12": {1, 1}, "13": {1, 2}, "51": {1, 1}, "52": {1, 1}, "53": {1, 1}}},
		{"the second master", 3, "12", kubetest.Fault{Command: "script join"},
			map[string][]int{"11": {1, 1}, "12": {1, 2}, "13": {1, 1}, "51": {1, 1}, "52": {1, 1}, "53": {1, 1}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: row.masters, workers: 3})
			b.Instantiate()
			row.fault.Address, row.fault.Times, row.fault.Stderr = b.Address(row.node), 1, "E: disk is full, token abcdef.0123456789abcdef"
			b.world.Fail(row.fault)
			name := map[byte]string{'1': "master", '5': "worker"}[row.node[0]] + row.node
			b.fails(mgmtdriver.InstantiateEnd, name, "disk is full")
			b.Must(mgmtdriver.InstantiateEnd)
			if got := b.Nodes(); strings.Count(got, " ") != row.masters+2 || strings.Contains(got, "!") {
				t.Errorf("nodes %s", got)
			}
			if diff := cmp.Diff(row.scripts, b.allScripts()); diff != "" {
				t.Errorf("scripts (-want +got):\n%s", diff)
			}
			if resets, halfway := b.commands(row.node, "kubeadm reset"), row.fault.Command == "script halfway"; (len(resets) == 1) != halfway {
				t.Errorf("%q was run on the node", resets)
			}
		})
	}
}

// Nobody knows any more what was done on the first master, and it does not answer for its cluster now.
func TestClusterThatOthersHaveJoinedIsNotResetByARetry(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 2})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	before := b.Nodes()
	b.OpID++ // its jobs have other names
	b.world.Fail(kubetest.Fault{Address: b.Address("11"), Command: "get nodes", Stderr: "connection refused"})
	if err := b.Run(mgmtdriver.InstantiateEnd); !errors.As(err, new(*mgmtdriver.Unavailable)) || errors.As(err, new(*mgmtdriver.Failure)) {
		t.Errorf("got %v", err)
	}
	b.world.Heal()
	b.Must(mgmtdriver.InstantiateEnd)
	if resets := b.commands("11", "kubeadm reset"); len(resets) > 0 || b.Nodes() != before {
		t.Errorf("%q was run; nodes %s", resets, b.Nodes())
	}
}

func TestNodesThatAreDead(t *testing.T) {
	t.Parallel()
	t.Run("a worker is healed", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 1, workers: 2})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("51")
		b.Healed("51")
		if got := b.Nodes(); got != "master11 worker51 worker52" {
			t.Errorf("nodes %s", got)
		}
	})
	t.Run("scaling goes on without it", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 3, workers: 2})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("11")
		b.Kill("52")
		b.ScaleOut("53")
		b.Must(mgmtdriver.ScaleEnd)
		b.ScaleIn("51")
		b.Must(mgmtdriver.ScaleStart)
		if got := b.Nodes(); got != "master11! master12 master13 worker52! worker53" {
			t.Errorf("nodes %s", got)
		}
	})
	t.Run("a master that holds the majority is not removed", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 3, workers: 1})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("12")
		before := b.state()
		b.Heal("11")
		b.fails(mgmtdriver.HealStart, "master11 cannot leave", "heal master12 first")
		if diff := cmp.Diff(before, b.state()); diff != "" {
			t.Errorf("something has changed:\n%s", diff)
		}
		// The ill one leaves first, and then the other may.
		b.Healed("11", "12")
		if got := b.Nodes(); got != "master11 master12 master13 worker51" {
			t.Errorf("nodes %s", got)
		}
	})
	t.Run("a cluster without a majority", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 3, workers: 1})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("12")
		b.Kill("13")
		b.Heal("12", "13")
		if err := b.Run(mgmtdriver.HealStart); err == nil || !strings.Contains(err.Error(), "etcdserver: request timed out") {
			t.Errorf("got %v", err)
		}
		b.Healed()
	})
}

func TestPodsThatDoNotLeave(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2, config: kube.Config{DrainTime: 20 * time.Millisecond}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.world.Fail(kubetest.Fault{Command: "drain worker51", Stderr: "error: global timeout reached"})
	b.ScaleIn("51")
	b.Must(mgmtdriver.ScaleStart)
	if got := b.Nodes(); got != "master11 worker52" || !strings.Contains(b.Log.String(), "pods have not left nodes that go") {
		t.Errorf("nodes %s", got)
	}
}

// A scale-in may fail, or be cancelled, when nodes have been cordoned, and be given up.
func TestNodesThatWereToLeaveAndStay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		next func(*bed) mgmtdriver.Hook // the next operation
		want string                     // nodes that are cordoned then
	}{
		{"and the VNF is scaled out", func(b *bed) mgmtdriver.Hook { b.ScaleOut("54"); return mgmtdriver.ScaleEnd }, "worker53"},
		{"and another one leaves", func(b *bed) mgmtdriver.Hook { b.ScaleIn("52"); return mgmtdriver.ScaleStart }, "worker53"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 3})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			b.world.Cordon("worker53") // by a user
			b.world.Fail(kubetest.Fault{Command: "delete pods", Stderr: "connection refused"})
			b.ScaleIn("51", "53")
			if err := b.Run(mgmtdriver.ScaleStart); err == nil || b.cordoned() != "worker51 worker53" {
				t.Fatalf("got %v, cordoned %s", err, b.cordoned())
			}
			b.world.Heal()
			b.Must(row.next(b))
			if got := b.cordoned(); got != row.want {
				t.Errorf("cordoned are %s", got)
			}
		})
	}
}

func (b *bed) cordoned() string {
	var names []string
	for name, n := range b.world.View().Nodes {
		if n.Closed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestScaleOutThatIsRolledBack(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.ScaleOut("52", "53")
	b.world.Fail(kubetest.Fault{Command: "script join", Address: b.Address("52"), Stderr: "no"})
	b.fails(mgmtdriver.ScaleEnd, "worker52", "no")
	if got := b.Nodes(); got != "master11 worker51 worker53" {
		t.Errorf("nodes %s", got)
	}
	b.Leave("52", "53")
	b.Must(mgmtdriver.ScaleStart)
	if got := b.Nodes(); got != "master11 worker51" {
		t.Errorf("rolled back: nodes %s", got)
	}
}

func TestNodeThatDoesNotStart(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, config: kube.Config{BootTime: time.Millisecond}})
	b.Instantiate()
	b.Kill("51")
	b.fails(mgmtdriver.InstantiateEnd, "no login for", b.Network+"51")
}

func TestVimThatIsInUse(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.Vims.InUse = true
	b.Heal()
	b.fails(mgmtdriver.HealStart, "in use")
}

func TestWorkWithoutABound(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2, config: kube.Config{Together: -1}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
}

func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 5, config: kube.Config{Together: 2}, world: kubetest.Options{PrepareTime: 300 * time.Millisecond}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	if got := b.world.MostBusy(); got != 2 {
		t.Errorf("%d scripts have run at once", got)
	}
}

func TestScriptThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: kubetest.Options{PrepareTime: time.Hour}, config: kube.Config{InstallTime: 50 * time.Millisecond}})
	b.Instantiate()
	b.fails(mgmtdriver.InstantiateEnd, "master11", "worker51", "prepare has taken longer than 50ms; the last it said was: install_k8s_cluster: script prepare")
	if got := b.world.Busy(); got != 0 {
		t.Errorf("%d scripts still run", got)
	}
}

// Without aspects, nodes are known by their connection points, which nobody has looked for when the request arrives.
func TestHealWithoutAspects(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2, change: func(p map[string]any) {
		delete(p["master_node"].(map[string]any), "aspect_id")
		delete(p["worker_node"].(map[string]any), "aspect_id")
	}})
	for i := range b.Vnfcs {
		b.Vnfcs[i].AspectID = ""
	}
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.Healed("51")
	if got := b.Nodes(); got != "master11 worker51 worker52" {
		t.Errorf("nodes %s", got)
	}
	before := b.state()
	b.Heal("11")
	b.fails(mgmtdriver.HealStart, "The number of Master-Nodes is 1 or less")
	if diff := cmp.Diff(before, b.state()); diff != "" {
		t.Errorf("something has changed:\n%s", diff)
	}
}

// What is healed may have lost its stack, and with it its addresses.
func TestHealOfWhatHasNoAddresses(t *testing.T) {
	t.Parallel()
	t.Run("the whole", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 3, workers: 1})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Heal()
		b.Removed = clustertest.WithoutPorts(b.Removed)
		b.Must(mgmtdriver.HealStart)
		if b.Vims.Vim != nil {
			t.Errorf("the former cluster is still registered: %v", b.Vims.Shown())
		}
	})
	t.Run("a master", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 3, workers: 1})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("12")
		b.Heal("12")
		b.Removed = clustertest.WithoutPorts(b.Removed)
		b.world.Fail(kubetest.Fault{Command: "delete node master12", Times: 1, Stderr: "connection refused"}) // when etcd does not know it any more
		b.Must(mgmtdriver.HealStart)
		if view := b.world.View(); strings.Join(view.Members, " ") != "master11 master13" || b.Nodes() != "master11 master13 worker51" {
			t.Errorf("members %s, nodes %s", view.Members, b.Nodes())
		}
		b.Replaced()
		b.Must(mgmtdriver.HealEnd)
		if got := b.Nodes(); got != "master11 master12 master13 worker51" {
			t.Errorf("nodes %s", got)
		}
	})
	t.Run("a master, while another one is dead as well", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 5, workers: 1})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("12")
		b.Kill("13")
		b.Heal("12")
		b.Removed = clustertest.WithoutPorts(b.Removed)
		b.Must(mgmtdriver.HealStart)
		if members := b.world.View().Members; strings.Join(members, " ") != "master11 master13 master14 master15" {
			t.Errorf("members %s", members)
		}
	})
	t.Run("a worker", func(t *testing.T) {
		t.Parallel()
		b := newBed(t, setting{masters: 1, workers: 2})
		b.Instantiate()
		b.Must(mgmtdriver.InstantiateEnd)
		b.Kill("51")
		b.Heal("51")
		b.Removed = clustertest.WithoutPorts(b.Removed)
		b.Must(mgmtdriver.HealStart)
		b.Replaced()
		b.Must(mgmtdriver.HealEnd)
		if got := b.Nodes(); got != "master11 worker51 worker52" {
			t.Errorf("nodes %s", got)
		}
	})
}

func TestPasswordOfAProxyIsNotTold(t *testing.T) {
	t.Parallel()
	const address = "http://user:with@geheim@proxy:8080"
	b := newBed(t, setting{masters: 1, workers: 1, change: func(p map[string]any) {
		p["proxy"] = map[string]any{"http_proxy": address, "https_proxy": address}
	}})
	b.Instantiate()
	b.world.Fail(kubetest.Fault{Command: "script prepare", Stderr: "cannot connect to " + address})
	err := b.Run(mgmtdriver.InstantiateEnd)
	if err == nil || !strings.Contains(err.Error(), "cannot connect to http://user:***@proxy:8080") {
		t.Errorf("got %v", err)
	}
}

func TestVnfWithoutMasters(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, change: func(p map[string]any) { p["master_node"].(map[string]any)["aspect_id"] = "typo" }})
	b.Instantiate()
	b.fails(mgmtdriver.InstantiateEnd, "typo", "no VNFC")
}

// One that has died has to come back with the backends that there are.
func TestLoadBalancerThatHasStopped(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.world.Fail(kubetest.Fault{Address: b.Address("12"), Command: "systemctl reload haproxy", Stderr: "haproxy.service is not active, cannot reload"})
	b.Healed("11")
	if got := b.world.View().Balancers[b.Network+"12"]; len(got) != 3 {
		t.Errorf("the load balancer knows %q", got)
	}
}

// What HAProxy would not take does not take the place of what it has.
func TestLoadBalancerKeepsAConfigurationThatIsRight(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	const path = "/etc/haproxy/haproxy.cfg"
	before := b.file("12", path) + "broken by a user\n"
	if err := b.VMs["12"].WriteFile(path, []byte(before)); err != nil {
		t.Fatal(err)
	}
	b.Heal("11")
	err := b.Run(mgmtdriver.HealStart)
	if err == nil || !strings.Contains(err.Error(), "master12") || !strings.Contains(err.Error(), "Fatal errors found in configuration.") {
		t.Errorf("got %v", err)
	}
	if got := b.file("12", path); got != before {
		t.Errorf("the configuration is\n%s", got)
	}
}

// A master that is healed may be alive, and have the virtual address: until it goes, it must not send requests to itself.
func TestLoadBalancerOfAMasterThatGoes(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 3, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.Heal("11")
	b.Must(mgmtdriver.HealStart)
	for _, last := range []string{"11", "12", "13"} {
		want := []string{"master12 " + b.Network + "12:6443", "master13 " + b.Network + "13:6443"}
		if diff := cmp.Diff(want, b.world.View().Balancers[b.Network+last]); diff != "" {
			t.Errorf("load balancer of %s (-want +got):\n%s", last, diff)
		}
	}
}
