package kubespray_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/kubespray"
	"vnfm/mgmtdriver/kubespray/spraytest"
)

// expectFailure checks that a hook fails for good, and that people can read why.
func expectFailure(t *testing.T, err error, says ...string) {
	t.Helper()
	var failure *mgmtdriver.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a failure", err)
	}
	for _, part := range says {
		if !strings.Contains(failure.Detail, part) {
			t.Errorf("%q lacks %q", failure.Detail, part)
		}
	}
}

func TestAnsibleServerThatIsNotReady(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		world  spraytest.Options
		change func(*bed)
		says   []string
	}{
		{"no kubespray", spraytest.Options{Missing: "there is no directory /home/ansible/kubespray (kubespray_root_path)"}, func(*bed) {},
			[]string{"Ansible server (", "200", "kubespray_root_path"}},
		{"a directory that is somebody else's", spraytest.Options{}, func(b *bed) { b.world.Take(directory) },
			[]string{"Ansible server (", "The transferring_inventory_path has exists in kubespray server. Please check your path", directory}},
		{"a wrong password", spraytest.Options{}, func(b *bed) { b.cluster()["ansible"].(map[string]any)["password"] = "falsch" },
			[]string{"Ansible server (", "refuses the login of ansible"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1, world: row.world})
			row.change(b)
			b.Instantiate()
			for _, hook := range []mgmtdriver.Hook{mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd} {
				expectFailure(t, b.Run(hook), row.says...)
			}
			if runs := b.world.Runs(); len(runs) > 0 {
				t.Errorf("playbooks were run: %q", runs)
			}
		})
	}
}

func TestAnsibleServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.Kill(ansibleLast)
	b.ScaleOut("52")
	var unavailable *mgmtdriver.Unavailable
	if err := b.Run(mgmtdriver.ScaleEnd); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "Ansible server ("+b.Network+ansibleLast) {
		t.Errorf("got %v", err)
	}
	b.Terminate("GRACEFUL")
	if err := b.Run(mgmtdriver.TerminateEnd); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "Ansible server") {
		t.Errorf("a graceful termination: %v", err)
	}
	b.Terminate("FORCEFUL")
	b.Must(mgmtdriver.TerminateEnd)
	if !strings.Contains(b.Log.String(), "what belongs to a cluster stays on the Ansible server") || b.Vims.Vim != nil {
		t.Errorf("a forceful termination: VIM %v, log\n%s", b.Vims.Shown(), b.Log)
	}
	b.RollingBack, b.Request = true, "{}"
	b.Must(mgmtdriver.TerminateEnd)
}

// What an operation has begun that was given up is stopped before the directory goes.
func TestTerminationWhileAPlaybookRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"cluster.yml": time.Hour}}})
	b.Instantiate()
	b.untilPlaying(mgmtdriver.InstantiateEnd, "cluster.yml")
	if b.world.Playing() != 1 {
		t.Fatal("no playbook runs")
	}
	b.Terminate("GRACEFUL")
	b.Must(mgmtdriver.TerminateEnd)
	if b.world.Playing() != 0 || len(b.world.Directories()) > 0 {
		t.Errorf("%d playbooks run, directories %v", b.world.Playing(), b.world.Directories())
	}
}

// A directory that is somebody else's stays, with the playbook that runs for it, and the VNF goes all the same.
func TestTerminationWithTheDirectoryOfAnotherCluster(t *testing.T) {
	t.Parallel()
	for _, rollingBack := range []bool{false, true} {
		t.Run(fmt.Sprintf("rolling back %t", rollingBack), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"cluster.yml": time.Hour}}})
			b.Instantiate()
			b.untilPlaying(mgmtdriver.InstantiateEnd, "cluster.yml")
			b.world.Take(directory)
			b.world.Know(b.Network + "51")
			b.Terminate("GRACEFUL")
			b.RollingBack = rollingBack
			b.Must(mgmtdriver.TerminateEnd)
			if b.world.Playing() != 1 || len(b.world.Directories()) != 1 || len(b.world.Known()) != 1 || b.inventory() == "" {
				t.Errorf("%d playbooks run, directories %v, known %q", b.world.Playing(), b.world.Directories(), b.world.Known())
			}
			if !strings.Contains(b.Log.String(), "nothing is stopped or removed") || !strings.Contains(b.Log.String(), directory) {
				t.Errorf("log:\n%s", b.Log)
			}
		})
	}
}

func TestScaleOutThatIsRolledBackWhileAPlaybookRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"scale.yml": time.Hour}}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.ScaleOut("52")
	b.untilPlaying(mgmtdriver.ScaleEnd, "scale.yml")
	b.RollingBack = true
	b.Leave("52")
	b.Added = nil
	if _, err := b.Step(mgmtdriver.ScaleStart, b.Driver.Steps(mgmtdriver.ScaleStart)[0], nil); err != nil || b.world.Playing() != 0 {
		t.Errorf("%d playbooks run after the first step: %v", b.world.Playing(), err)
	}
	b.Must(mgmtdriver.ScaleStart)
	b.Gone()
	b.expect("rolled back", "master11 worker51", "master11 worker51", "facts.yml", "scale.yml --limit=worker52")
	if playing := b.world.Playing(); playing > 0 || strings.Contains(b.inventory(), "worker52") {
		t.Errorf("%d playbooks run, inventory\n%s", playing, b.inventory())
	}
}

func TestPlaybookThatFailsOnOneHost(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2})
	b.world.FailTask(spraytest.Fault{Book: "cluster.yml", Host: "worker52", Message: "No space left on device; the proxy is http://me:" + proxySecret + "@proxy", Times: 1})
	b.Instantiate()
	err := b.Run(mgmtdriver.InstantiateEnd)
	expectFailure(t, err, "Ansible server (", "cluster.yml", "worker52 ("+b.Network+"52)", "TASK [cluster : main]", "No space left on device")
	if strings.Contains(err.Error(), "worker51") {
		t.Errorf("a host that has not failed is named: %v", err)
	}
	b.Must(mgmtdriver.InstantiateEnd) // a retry
	b.expect("instantiated", "master11 worker51 worker52", "master11 worker51 worker52", "cluster.yml", "cluster.yml")
}

// sudo that is slow to ask is no reason to give up, once.
func TestPlaybookThatWaitsForSudo(t *testing.T) {
	t.Parallel()
	const timeout = "Timeout (12s) waiting for privilege escalation prompt: "
	b := newBed(t, setting{masters: 1, workers: 1})
	b.world.FailTask(spraytest.Fault{Book: "cluster.yml", Host: "master11", Message: timeout, Times: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.expect("instantiated", "master11 worker51", "master11 worker51", "cluster.yml", "cluster.yml")
	b.world.FailTask(spraytest.Fault{Book: "facts.yml", Host: "master11", Message: timeout})
	b.ScaleOut("52")
	expectFailure(t, b.Run(mgmtdriver.ScaleEnd), "facts.yml", "master11", "privilege escalation")
}

func TestPlaybookThatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"cluster.yml": time.Hour}}, config: kube.Config{InstallTime: 2 * time.Second}})
	b.Instantiate()
	expectFailure(t, b.Run(mgmtdriver.InstantiateEnd), "Ansible server (", "cluster.yml has taken longer than 4s", "TASK [cluster : main]")
	if b.world.Playing() != 0 {
		t.Error("it still runs")
	}
}

func TestWorkerThatIsDead(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.Kill("51")
	// Ansible cannot do without it where it is not the one that goes.
	b.ScaleOut("53")
	expectFailure(t, b.Run(mgmtdriver.ScaleEnd), "facts.yml", "worker51 ("+b.Network+"51)", "unreachable")
	b.Vnfcs = b.Vnfcs[:len(b.Vnfcs)-1]
	b.Kill("53")

	b.Heal("51")
	b.Must(mgmtdriver.HealStart)
	b.expect("before the heal", "master11 worker52", "master11 worker52",
		"remove-node.yml node=worker51"+removal+` {"reset_nodes": false}`)
	b.Replaced()
	b.Must(mgmtdriver.HealEnd)
	b.expect("healed", "master11 worker51 worker52", "master11 worker51 worker52", "facts.yml", "scale.yml --limit=worker51")

	b.Kill("52")
	b.ScaleIn("51", "52")
	b.Must(mgmtdriver.ScaleStart)
	b.expect("scaled in", "master11", "master11", "remove-node.yml node=worker51"+removal,
		"remove-node.yml node=worker52"+removal+` {"reset_nodes": false}`)
}

// A ping that is lost must not stop the run that resets a worker.
func TestWorkerThatDoesNotAnswerWhileItIsRemoved(t *testing.T) {
	t.Parallel()
	const book = "remove-node.yml"
	b := newBed(t, setting{masters: 1, workers: 2, world: spraytest.Options{PlayTimes: map[string]time.Duration{book: time.Hour}}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.ScaleIn("51")
	outputs := b.untilPlaying(mgmtdriver.ScaleStart, book)
	runs := len(b.world.Runs())
	b.Kill("51")
	steps := b.Driver.Steps(mgmtdriver.ScaleStart)
	remove := steps[slices.IndexFunc(steps, func(s mgmtdriver.Step) bool { return s.Name == "remove" })]
	for range 3 {
		call := b.Call(mgmtdriver.ScaleStart)
		call.Outputs = outputs
		if result, err := remove.Do(t.Context(), call); err != nil || !result.Again {
			t.Fatalf("got %+v, %v", result, err)
		}
	}
	if len(b.world.Runs()) != runs || b.world.Playing() != 1 {
		t.Errorf("it is run anew: %q", b.world.Runs())
	}
}

func TestDrainThatHangs(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2, config: kube.Config{DrainTime: 50 * time.Millisecond}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.world.Fail(kubetest.Fault{Command: "drain worker51", Stderr: "error: unable to drain node: global timeout reached"})
	b.ScaleIn("51")
	b.Must(mgmtdriver.ScaleStart)
	b.expect("scaled in", "master11 worker52", "master11 worker52", "remove-node.yml node=worker51"+removal)
	_, warning, _ := strings.Cut(b.Log.String(), "pods have not left nodes that go")
	for _, part := range []string{"worker51", "error: unable to drain node: global timeout reached"} {
		if !strings.Contains(warning, part) {
			t.Errorf("the warning lacks %q; log:\n%s", part, b.Log)
		}
	}
}

func TestMasterIsNotHealed(t *testing.T) {
	t.Parallel()
	for _, masters := range []int{1, 3} {
		t.Run(fmt.Sprint(masters), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: masters, workers: 1})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			runs := len(b.world.Runs())
			b.Heal("11", "51")
			var invalid *mgmtdriver.Invalid
			if err := b.Run(mgmtdriver.HealStart); !errors.As(err, &invalid) || invalid.Attribute != "/vnfcInstanceId" || !strings.Contains(invalid.Detail, "vnfc-11 is a master") {
				t.Errorf("at the request: %v", err)
			}
			err := b.Steps(mgmtdriver.HealStart)
			expectFailure(t, err, "vnfc-11 is a master")
			if failure := (*mgmtdriver.Failure)(nil); errors.As(err, &failure) && failure.Status != 409 {
				t.Errorf("status %d", failure.Status)
			}
			if len(b.world.Runs()) != runs || b.Vims.Vim == nil || len(b.world.Routes()) != masters+1 {
				t.Errorf("something was changed: %q, routes %q", b.world.Runs()[runs:], b.world.Routes())
			}
		})
	}
}

func TestLoadBalancerThatRefusesItsConfiguration(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	path := "/etc/haproxy/haproxy.cfg"
	before, err := b.VMs[balancerLast].ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.VMs[balancerLast].WriteFile(path, append(before, "broken by a user\n"...)); err != nil {
		t.Fatal(err)
	}
	b.ScaleOut("52")
	expectFailure(t, b.Run(mgmtdriver.ScaleEnd), "load balancer ("+b.Network+balancerLast, "Fatal errors found in configuration")
	if after, err := b.VMs[balancerLast].ReadFile(path); err != nil || strings.Contains(string(after), "worker52") {
		t.Errorf("it has taken the place of the one that works: %s, %v", after, err)
	}
	if err := b.VMs[balancerLast].WriteFile(path, []byte("global\n")); err != nil {
		t.Fatal(err)
	}
	expectFailure(t, b.Run(mgmtdriver.ScaleEnd), "load balancer (", "has no backend kubernetes-nodeport")
}

func TestFloatingAddressWithoutThePortOfTheCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{NoMTU: true}})
	b.Instantiate()
	expectFailure(t, b.Run(mgmtdriver.InstantiateEnd), "master11 ("+b.Network+"11", "nic_cp_name")
}

// A later operation brings the passwords that nodes have by then.
func TestPasswordsOfALaterOperation(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.cluster()["worker_node"].(map[string]any)["password"] = "of former days"
	b.ScaleOut("52")
	if err := b.Run(mgmtdriver.ScaleEnd); err == nil {
		t.Error("workers let one in with another password")
	}
	b.Additional = map[string]any{kubespray.Parameter: map[string]any{"worker_node": map[string]any{
		"aspect_id": "worker_instance", "ssh_cp_name": "workerNode_CP2", "username": "ubuntu", "password": nodeSecret}}}
	b.Must(mgmtdriver.ScaleEnd)
	b.expect("scaled out", "master11 worker51 worker52", "master11 worker51 worker52", "facts.yml", "scale.yml --limit=worker52")
}
