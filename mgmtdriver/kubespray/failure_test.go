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
			b.instantiate()
			for _, hook := range []mgmtdriver.Hook{mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd} {
				expectFailure(t, b.run(hook), row.says...)
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
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.kill(ansibleLast)
	b.scaleOut("52")
	var unavailable *mgmtdriver.Unavailable
	if err := b.run(mgmtdriver.ScaleEnd); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "Ansible server ("+b.network+ansibleLast) {
		t.Errorf("got %v", err)
	}
	b.terminate("GRACEFUL")
	if err := b.run(mgmtdriver.TerminateEnd); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "Ansible server") {
		t.Errorf("a graceful termination: %v", err)
	}
	b.terminate("FORCEFUL")
	b.must(mgmtdriver.TerminateEnd)
	if !strings.Contains(b.log.String(), "what belongs to a cluster stays on the Ansible server") || b.vims.Vim != nil {
		t.Errorf("a forceful termination: VIM %v, log\n%s", b.vims.Shown(), b.log)
	}
	b.rollingBack, b.request = true, "{}"
	b.must(mgmtdriver.TerminateEnd)
}

// What an operation has begun that was given up is stopped before the directory goes.
func TestTerminationWhileAPlaybookRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"cluster.yml": time.Hour}}})
	b.instantiate()
	b.untilPlaying(mgmtdriver.InstantiateEnd, "cluster.yml")
	if b.world.Playing() != 1 {
		t.Fatal("no playbook runs")
	}
	b.terminate("GRACEFUL")
	b.must(mgmtdriver.TerminateEnd)
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
			b.instantiate()
			b.untilPlaying(mgmtdriver.InstantiateEnd, "cluster.yml")
			b.world.Take(directory)
			b.world.Know(b.network + "51")
			b.terminate("GRACEFUL")
			b.rollingBack = rollingBack
			b.must(mgmtdriver.TerminateEnd)
			if b.world.Playing() != 1 || len(b.world.Directories()) != 1 || len(b.world.Known()) != 1 || b.inventory() == "" {
				t.Errorf("%d playbooks run, directories %v, known %q", b.world.Playing(), b.world.Directories(), b.world.Known())
			}
			if !strings.Contains(b.log.String(), "nothing is stopped or removed") || !strings.Contains(b.log.String(), directory) {
				t.Errorf("log:\n%s", b.log)
			}
		})
	}
}

func TestScaleOutThatIsRolledBackWhileAPlaybookRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"scale.yml": time.Hour}}})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.scaleOut("52")
	b.untilPlaying(mgmtdriver.ScaleEnd, "scale.yml")
	b.rollingBack = true
	b.leave([]string{"52"})
	b.added = nil
	if _, err := b.step(mgmtdriver.ScaleStart, b.driver.Steps(mgmtdriver.ScaleStart)[0], nil); err != nil || b.world.Playing() != 0 {
		t.Errorf("%d playbooks run after the first step: %v", b.world.Playing(), err)
	}
	b.must(mgmtdriver.ScaleStart)
	b.gone()
	b.expect("rolled back", "master11 worker51", "master11 worker51", "facts.yml", "scale.yml --limit=worker52")
	if playing := b.world.Playing(); playing > 0 || strings.Contains(b.inventory(), "worker52") {
		t.Errorf("%d playbooks run, inventory\n%s", playing, b.inventory())
	}
}

func TestPlaybookThatFailsOnOneHost(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2})
	b.world.FailTask(spraytest.Fault{Book: "cluster.yml", Host: "worker52", Message: "No space left on device; the proxy is http://me:" + proxySecret + "@proxy", Times: 1})
	b.instantiate()
	err := b.run(mgmtdriver.InstantiateEnd)
	expectFailure(t, err, "Ansible server (", "cluster.yml", "worker52 ("+b.network+"52)", "TASK [cluster : main]", "No space left on device")
	if strings.Contains(err.Error(), "worker51") {
		t.Errorf("a host that has not failed is named: %v", err)
	}
	b.must(mgmtdriver.InstantiateEnd) // a retry
	b.expect("instantiated", "master11 worker51 worker52", "master11 worker51 worker52", "cluster.yml", "cluster.yml")
}

// sudo that is slow to ask is no reason to give up, once.
func TestPlaybookThatWaitsForSudo(t *testing.T) {
	t.Parallel()
	const timeout = "Timeout (12s) waiting for privilege escalation prompt: "
	b := newBed(t, setting{masters: 1, workers: 1})
	b.world.FailTask(spraytest.Fault{Book: "cluster.yml", Host: "master11", Message: timeout, Times: 1})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.expect("instantiated", "master11 worker51", "master11 worker51", "cluster.yml", "cluster.yml")
	b.world.FailTask(spraytest.Fault{Book: "facts.yml", Host: "master11", Message: timeout})
	b.scaleOut("52")
	expectFailure(t, b.run(mgmtdriver.ScaleEnd), "facts.yml", "master11", "privilege escalation")
}

func TestPlaybookThatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{PlayTimes: map[string]time.Duration{"cluster.yml": time.Hour}}, config: kube.Config{InstallTime: 2 * time.Second}})
	b.instantiate()
	expectFailure(t, b.run(mgmtdriver.InstantiateEnd), "Ansible server (", "cluster.yml has taken longer than 4s", "TASK [cluster : main]")
	if b.world.Playing() != 0 {
		t.Error("it still runs")
	}
}

func TestWorkerThatIsDead(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.kill("51")
	// Ansible cannot do without it where it is not the one that goes.
	b.scaleOut("53")
	expectFailure(t, b.run(mgmtdriver.ScaleEnd), "facts.yml", "worker51 ("+b.network+"51)", "unreachable")
	b.vnfcs = b.vnfcs[:len(b.vnfcs)-1]
	b.kill("53")

	b.heal("51")
	b.must(mgmtdriver.HealStart)
	b.expect("before the heal", "master11 worker52", "master11 worker52",
		"remove-node.yml node=worker51"+removal+` {"reset_nodes": false}`)
	b.replaced()
	b.must(mgmtdriver.HealEnd)
	b.expect("healed", "master11 worker51 worker52", "master11 worker51 worker52", "facts.yml", "scale.yml --limit=worker51")

	b.kill("52")
	b.scaleIn("51", "52")
	b.must(mgmtdriver.ScaleStart)
	b.expect("scaled in", "master11", "master11", "remove-node.yml node=worker51"+removal,
		"remove-node.yml node=worker52"+removal+` {"reset_nodes": false}`)
}

// A ping that is lost must not stop the run that resets a worker.
func TestWorkerThatDoesNotAnswerWhileItIsRemoved(t *testing.T) {
	t.Parallel()
	const book = "remove-node.yml"
	b := newBed(t, setting{masters: 1, workers: 2, world: spraytest.Options{PlayTimes: map[string]time.Duration{book: time.Hour}}})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.scaleIn("51")
	outputs := b.untilPlaying(mgmtdriver.ScaleStart, book)
	runs := len(b.world.Runs())
	b.kill("51")
	steps := b.driver.Steps(mgmtdriver.ScaleStart)
	remove := steps[slices.IndexFunc(steps, func(s mgmtdriver.Step) bool { return s.Name == "remove" })]
	for range 3 {
		call := b.call(mgmtdriver.ScaleStart)
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
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.world.Fail(kubetest.Fault{Command: "drain worker51", Stderr: "error: unable to drain node: global timeout reached"})
	b.scaleIn("51")
	b.must(mgmtdriver.ScaleStart)
	b.expect("scaled in", "master11 worker52", "master11 worker52", "remove-node.yml node=worker51"+removal)
	_, warning, _ := strings.Cut(b.log.String(), "pods have not left nodes that go")
	for _, part := range []string{"worker51", "error: unable to drain node: global timeout reached"} {
		if !strings.Contains(warning, part) {
			t.Errorf("the warning lacks %q; log:\n%s", part, b.log)
		}
	}
}

func TestMasterIsNotHealed(t *testing.T) {
	t.Parallel()
	for _, masters := range []int{1, 3} {
		t.Run(fmt.Sprint(masters), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: masters, workers: 1})
			b.instantiate()
			b.must(mgmtdriver.InstantiateEnd)
			runs := len(b.world.Runs())
			b.heal("11", "51")
			var invalid *mgmtdriver.Invalid
			if err := b.run(mgmtdriver.HealStart); !errors.As(err, &invalid) || invalid.Attribute != "/vnfcInstanceId" || !strings.Contains(invalid.Detail, "vnfc-11 is a master") {
				t.Errorf("at the request: %v", err)
			}
			err := b.steps(mgmtdriver.HealStart)
			expectFailure(t, err, "vnfc-11 is a master")
			if failure := (*mgmtdriver.Failure)(nil); errors.As(err, &failure) && failure.Status != 409 {
				t.Errorf("status %d", failure.Status)
			}
			if len(b.world.Runs()) != runs || b.vims.Vim == nil || len(b.world.Routes()) != masters+1 {
				t.Errorf("something was changed: %q, routes %q", b.world.Runs()[runs:], b.world.Routes())
			}
		})
	}
}

func TestLoadBalancerThatRefusesItsConfiguration(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	path := "/etc/haproxy/haproxy.cfg"
	before, err := b.vms[balancerLast].ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.vms[balancerLast].WriteFile(path, append(before, "broken by a user\n"...)); err != nil {
		t.Fatal(err)
	}
	b.scaleOut("52")
	expectFailure(t, b.run(mgmtdriver.ScaleEnd), "load balancer ("+b.network+balancerLast, "Fatal errors found in configuration")
	if after, err := b.vms[balancerLast].ReadFile(path); err != nil || strings.Contains(string(after), "worker52") {
		t.Errorf("it has taken the place of the one that works: %s, %v", after, err)
	}
	if err := b.vms[balancerLast].WriteFile(path, []byte("global\n")); err != nil {
		t.Fatal(err)
	}
	expectFailure(t, b.run(mgmtdriver.ScaleEnd), "load balancer (", "has no backend kubernetes-nodeport")
}

func TestFloatingAddressWithoutThePortOfTheCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, world: spraytest.Options{NoMTU: true}})
	b.instantiate()
	expectFailure(t, b.run(mgmtdriver.InstantiateEnd), "master11 ("+b.network+"11", "nic_cp_name")
}

// A later operation brings the passwords that nodes have by then.
func TestPasswordsOfALaterOperation(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1})
	b.instantiate()
	b.must(mgmtdriver.InstantiateEnd)
	b.cluster()["worker_node"].(map[string]any)["password"] = "of former days"
	b.scaleOut("52")
	if err := b.run(mgmtdriver.ScaleEnd); err == nil {
		t.Error("workers let one in with another password")
	}
	b.additional = map[string]any{kubespray.Parameter: map[string]any{"worker_node": map[string]any{
		"aspect_id": "worker_instance", "ssh_cp_name": "workerNode_CP2", "username": "ubuntu", "password": nodeSecret}}}
	b.must(mgmtdriver.ScaleEnd)
	b.expect("scaled out", "master11 worker51 worker52", "master11 worker51 worker52", "facts.yml", "scale.yml --limit=worker52")
}
