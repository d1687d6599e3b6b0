package lcm_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// writer is a driver whose only job has written something on a node, and does not end before it is told to.
type writer struct {
	written atomic.Pointer[string]
	end     atomic.Bool
}

func (*writer) Check(context.Context, *mgmtdriver.Call) error { return nil }

func (w *writer) Steps(mgmtdriver.Hook) []mgmtdriver.Step {
	return []mgmtdriver.Step{{Name: "workers", Do: func(_ context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
		lines := *w.written.Load()
		call.NodeLogs.Show(mgmtdriver.NodeLog{Node: "worker (10.0.0.5)", VnfcID: call.After[0].ID, Job: "install", State: mgmtdriver.JobRunning,
			Lines: func() string {
				if lines == panicking {
					panic(lines)
				}
				return lines
			}})
		if w.end.Load() {
			return mgmtdriver.Done(nil), nil
		}
		return mgmtdriver.Wait("install"), nil
	}}}
}

// panicking is what nobody can write.
const panicking = "the lines panic"

func (w *writer) write(lines string) { w.written.Store(&lines) }

// writing is an operation whose driver writes.
func writing(t *testing.T, more map[string]any) (*bench, *writer, *lcm.Operation) {
	t.Helper()
	driver := &writer{}
	driver.write("")
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"writer": driver})
	instance := b.create(b.onboard(hooked(t, "writer", mgmtdriver.InstantiateEnd)).Description.VnfdID)
	var request map[string]any
	if err := json.Unmarshal(b.request(), &request); err != nil {
		t.Fatal(err)
	}
	request["additionalParams"] = more
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, body)
	if err != nil {
		t.Fatal(err)
	}
	return b, driver, operation
}

func (b *bench) nodeLogs(id uuid.UUID) []lcm.NodeLog {
	b.t.Helper()
	logs, err := b.manager.NodeLogs(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return logs
}

// shows waits until the only node shows that.
func (b *bench) shows(id uuid.UUID, lines string) lcm.NodeLog {
	b.t.Helper()
	var logs []lcm.NodeLog
	for range 3000 {
		if logs = b.nodeLogs(id); len(logs) == 1 && logs[0].Lines == lines {
			return logs[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("shown is %+v, want %q", logs, lines)
	return lcm.NodeLog{}
}

// counting counts the writes of what nodes show.
type counting struct {
	lcm.RunStore
	writes atomic.Int64
}

func (c *counting) KeepNodeLogs(ctx context.Context, run *lcm.Run, logs []lcm.NodeLog) error {
	c.writes.Add(1)
	return c.RunStore.KeepNodeLogs(ctx, run, logs)
}

func TestWhatJobsWriteIsShownWhileTheyRun(t *testing.T) {
	t.Parallel()
	b, driver, operation := writing(t, map[string]any{"password": "geheim-4711"})
	if logs := b.nodeLogs(operation.ID); len(logs) > 0 {
		t.Errorf("before: %+v", logs)
	}
	began := time.Now().Add(-time.Second) // the clock of the database
	b.working(operation.ID)
	for _, row := range [][2]string{
		{"Reading package lists", "Reading package lists"},
		{"log in with geheim-4711", "log in with ***"},
		{"a\x00b\xff", "ab"},
		{strings.Repeat("line\n", 30) + "end", strings.Repeat("line\n", 19) + "end"},
		{strings.Repeat("x", 4000) + "\nand\nx" + strings.Repeat("ä", 2000), strings.Repeat("x", 500) + " …\nand\nx" + strings.Repeat("ä", 249) + " …"},
		{strings.Repeat(strings.Repeat("y", 499)+"\n", 19) + "end", strings.Repeat(strings.Repeat("y", 499)+"\n", 8) + "end"},
		{strings.Repeat("x", 490) + " geheim-4711", strings.Repeat("x", 490) + " ***"}, // and not a part of it
	} {
		driver.write(row[0])
		log := b.shows(operation.ID, row[1])
		if log.Node != "worker (10.0.0.5)" || log.VnfcID == "" || log.Job != "install" || log.State != mgmtdriver.JobRunning ||
			log.ChangedAt.Before(began) || log.ChangedAt.After(time.Now().Add(time.Second)) || !utf8.ValidString(log.Lines) {
			t.Errorf("shown is %+v", log)
		}
		began = log.ChangedAt
	}
	driver.write(panicking) // which harms nothing else
	b.shows(operation.ID, "")
	driver.write("the last words")
	driver.end.Store(true)
	b.reach(operation.ID, lcm.StateCompleted, "")
	b.shows(operation.ID, "the last words")
}

// Nobody writes what is stored already, be it by himself or by the run before him.
func TestWhatStaysTheSameIsStoredOnce(t *testing.T) {
	t.Parallel()
	b, driver, operation := writing(t, nil)
	driver.write("Reading package lists")
	runs := &counting{RunStore: b.db}
	config := quick
	config.RunLimit = 300 * time.Millisecond
	engine := lcm.NewEngine(runs, b.packages, b.vims, b.driver, b.drivers, config)
	for began := time.Now(); len(b.nodeLogs(operation.ID)) == 0; time.Sleep(10 * time.Millisecond) {
		if _, err := engine.Run(t.Context(), operation.ID); err != nil || time.Since(began) > time.Minute {
			t.Fatalf("nothing is shown, %v", err)
		}
	}
	first := b.nodeLogs(operation.ID)[0].ChangedAt
	for range 5 {
		if _, err := engine.Run(t.Context(), operation.ID); err != nil {
			t.Fatal(err)
		}
	}
	if writes := runs.writes.Load(); writes != 1 || !b.nodeLogs(operation.ID)[0].ChangedAt.Equal(first) {
		t.Errorf("%d writes; shown is %+v", writes, b.nodeLogs(operation.ID))
	}
}

// silenced is a store whose process is cut off from the database once it is told to.
type silenced struct {
	lcm.RunStore
	dead *atomic.Bool
}

func (s *silenced) RenewRun(ctx context.Context, run *lcm.Run, lease time.Duration) error {
	if s.dead.Load() {
		return errKilled
	}
	return s.RunStore.RenewRun(ctx, run, lease)
}

func (s *silenced) CommitRun(ctx context.Context, run *lcm.Run, commit lcm.Commit) error {
	if s.dead.Load() {
		return errKilled
	}
	return s.RunStore.CommitRun(ctx, run, commit)
}

func (s *silenced) KeepNodeLogs(ctx context.Context, run *lcm.Run, logs []lcm.NodeLog) error {
	if s.dead.Load() {
		return errKilled
	}
	return s.RunStore.KeepNodeLogs(ctx, run, logs)
}

func TestAnotherProcessShowsWhatIsWrittenWhenOneDies(t *testing.T) {
	t.Parallel()
	b, driver, operation := writing(t, nil)
	driver.write("Unpacking kubeadm")
	dead := &atomic.Bool{}
	first := make(chan struct{})
	go func() {
		defer close(first)
		engine := b.engine(&silenced{b.db, dead})
		for t.Context().Err() == nil && !dead.Load() {
			_, _ = engine.Run(t.Context(), operation.ID)
		}
	}()
	b.shows(operation.ID, "Unpacking kubeadm")
	dead.Store(true)
	driver.write("Setting up kubeadm")
	b.working(operation.ID)
	b.shows(operation.ID, "Setting up kubeadm")
	<-first
	driver.end.Store(true)
	b.reach(operation.ID, lcm.StateCompleted, "")
}

// TestFailingNodesShowWhatTheyHaveWritten has the installation fail on all nodes of a cluster, with secrets in what it writes.
func TestFailingNodesShowWhatTheyHaveWritten(t *testing.T) {
	t.Parallel()
	pool := ssh.NewPool(ssh.Config{})
	t.Cleanup(func() { _ = pool.Close() })
	world := kubetest.New(kubetest.Options{})
	b := setupWith(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return world.Boot(m.Addresses...) }}},
		mgmtdriver.Drivers{kubernetes.Name: kubernetes.New(pool, kube.Config{SSHPort: sshtest.DefaultPort})})
	instance := b.create(b.onboard(samples.Kubernetes()).Description.VnfdID)
	params := string(files(t, samples.Kubernetes())["params/simple_kubernetes_param_file.json"].Data)
	var request map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(params, "NETWORK_ID", b.cloud.NetworkID("net0"))), &request); err != nil {
		t.Fatal(err)
	}
	delete(request, "vimConnectionInfo")
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	world.Fail(kubetest.Fault{Command: "script prepare", Stderr: "E: proxy refuses ubuntu, not abcdef.0123456789abcdef"})
	failed := b.run(instance, b.manager.Instantiate, string(body), -1)
	b.expect(failed, lcm.StateFailedTemp)
	logs := b.nodeLogs(failed.ID)
	if len(logs) != 3 {
		t.Errorf("%d nodes show something: %+v", len(logs), logs)
	}
	for _, log := range logs {
		if want := "install_k8s_cluster: failing\nE: proxy refuses ***, not ***"; log.Lines != want || log.State != mgmtdriver.JobFailed ||
			log.Job != "prepare" || log.VnfcID == "" {
			t.Errorf("shown is %+v, want %q", log, want)
		}
	}
	world.Heal()
	if _, err := b.manager.Retry(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateCompleted)
	for _, log := range b.nodeLogs(failed.ID) {
		if log.State != mgmtdriver.JobDone || log.Lines != "install_k8s_cluster: script join\ninstall_k8s_cluster: done" {
			t.Errorf("after a retry is shown %+v", log)
		}
	}
}
