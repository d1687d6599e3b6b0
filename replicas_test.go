package main

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
)

// takeover is a pair of processes on one database, the first of which carries operations out until something happens to it.
type takeover struct {
	*cluster
	first   *process
	network *network // between the first process and the database
	tasks   []*replicaTask
	db      *pgx.Conn
}

// replicaTask is an operation, each of another instance.
type replicaTask struct {
	task               string
	body               map[string]any
	name               string
	controllers        int // servers in the end
	workers            int
	kept               int // of those before
	instance, location string
	before             []string // its servers before
}

func replicaTasks(c *cluster) []*replicaTask {
	workers := func(change string) map[string]any { return map[string]any{"type": change, "aspectId": "worker_group"} }
	moved := map[string]any{"extVirtualLinks": []any{c.link("net_mgmt", "controller_CP2")}}
	return []*replicaTask{
		{name: "instantiate", task: "instantiate", body: c.instantiation(), controllers: 1, workers: 1},
		{name: "scale out", task: "scale", body: workers("SCALE_OUT"), controllers: 1, workers: 3, kept: 3},
		{name: "scale in", task: "scale", body: workers("SCALE_IN"), controllers: 1, workers: 1, kept: 2},
		{name: "heal a VNFC", task: "heal", body: map[string]any{"vnfcInstanceId": "controller"}, controllers: 1, workers: 2, kept: 2},
		{name: "heal the VNF", task: "heal", body: map[string]any{}, controllers: 1, workers: 2},
		{name: "change the connectivity", task: "change_ext_conn", body: moved, controllers: 1, workers: 2, kept: 3},
		{name: "terminate", task: "terminate", body: map[string]any{"terminationType": "FORCEFUL"}},
	}
}

func newTakeover(t *testing.T) *takeover {
	t.Helper()
	k := &takeover{cluster: newCluster(t, heattest.Options{})}
	k.network = k.connect()
	k.first = serve(t, k.network.url(), k.key)
	k.registerVim(k.first)
	k.tasks = replicaTasks(k.cluster)
	var err error
	if k.db, err = pgx.Connect(t.Context(), k.database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.db.Close(t.Context()) })
	return k
}

// prepare makes the instances as the operations need them: with two workers, which is the middle one of three levels.
func (k *takeover) prepare() {
	k.t.Helper()
	vnfd := k.onboard(k.first, samples.TwoVdu())
	for _, task := range k.tasks {
		task.instance = k.create(k.first, vnfd)
		if task.task == "instantiate" {
			continue
		}
		request := k.instantiation()
		request["instantiationLevelId"] = "instantiation_level_2"
		task.location = k.first.expect(http.StatusAccepted, http.MethodPost, task.instance+"/instantiate", request, nil).Header.Get("Location")
	}
	for _, task := range k.tasks {
		if task.location == "" {
			continue
		}
		k.first.await(task.location, "COMPLETED")
		for _, vnfc := range k.first.vnfcs(task.instance) {
			task.before = append(task.before, vnfc.ComputeResource.ResourceID)
			if task.body["vnfcInstanceId"] == vnfc.VduID {
				task.body["vnfcInstanceId"] = vnfc.ID
			}
		}
	}
}

// begin starts all operations and returns when Heat is at work for each of them.
func (k *takeover) begin() {
	k.t.Helper()
	const slow = 8 * time.Second
	k.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: slow, Delete: slow}, "OS::Neutron::Port": {Create: slow}})
	k.cloud.ResetCalls()
	for _, task := range k.tasks {
		task.location = k.first.expect(http.StatusAccepted, http.MethodPost, task.instance+"/"+task.task, task.body, nil).Header.Get("Location")
	}
	const waiting = `SELECT count(*) FROM vnf_lcm_op_steps s JOIN vnf_lcm_op_occs o ON o.id = s.op_id
		WHERE o.state = 'PROCESSING' AND s.state = 'RUNNING' AND s.name IN ('await_stack', 'delete_stack')`
	k.first.until("waiting for Heat", func() bool {
		var count int
		if err := k.db.QueryRow(k.t.Context(), waiting).Scan(&count); err != nil {
			k.t.Fatal(err)
		}
		return count == len(k.tasks)
	})
}

// runs are the numbers of the newest runs, by operation: a process that takes an operation over begins a new one.
func (k *takeover) runs() map[string]int64 {
	k.t.Helper()
	rows, err := k.db.Query(k.t.Context(), `SELECT id::text, run FROM vnf_lcm_op_occs`)
	if err != nil {
		k.t.Fatal(err)
	}
	runs := map[string]int64{}
	var id string
	var run int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &run}, func() error { runs[id] = run; return nil }); err != nil {
		k.t.Fatal(err)
	}
	return runs
}

// awaitResumption returns when every operation has a new run, and tells how long that took.
func (k *takeover) awaitResumption(second *process, before map[string]int64) {
	k.t.Helper()
	began := time.Now()
	var took []time.Duration
	second.until("resumed", func() bool {
		runs := k.runs()
		for _, task := range k.tasks {
			id := path.Base(task.location)
			if old, ok := before[id]; ok && runs[id] > old {
				took = append(took, time.Since(began))
				delete(before, id)
			}
		}
		return len(took) == len(k.tasks)
	})
	slices.Sort(took)
	k.t.Logf("%d operations resumed: median %v, maximum %v", len(took), took[len(took)/2].Round(time.Millisecond),
		took[len(took)-1].Round(time.Millisecond))
}

// expectOnce checks that Heat was asked once for every change, and that everything is as it was to be.
func (k *takeover) expectOnce(p *process) {
	k.t.Helper()
	const stack = "/orchestration/v1/{project}/stacks/{name}/{id}"
	calls := k.cloud.Calls()
	for call, times := range map[string]int{
		"POST /orchestration/v1/{project}/stacks": 2, // instantiate, and heal the whole VNF
		"PUT " + stack:    4, // scale out and in, heal a VNFC, change of the connectivity
		"DELETE " + stack: 2, // terminate, and heal the whole VNF
	} {
		if calls[call] != times {
			k.t.Errorf("%s: called %d times, want %d: %v", call, calls[call], times, calls)
		}
	}
	servers := 0
	for _, task := range k.tasks {
		var controllers, workers, kept int
		for _, vnfc := range p.vnfcs(task.instance) {
			if vnfc.VduID == "controller" {
				controllers++
			} else {
				workers++
			}
			if slices.Contains(task.before, vnfc.ComputeResource.ResourceID) {
				kept++
			}
		}
		if controllers != task.controllers || workers != task.workers || kept != task.kept {
			k.t.Errorf("after %s: %d controllers and %d workers, %d of them as before, want %d, %d and %d", task.name,
				controllers, workers, kept, task.controllers, task.workers, task.kept)
		}
		servers += task.controllers + task.workers
	}
	if found := len(k.servers()); found != servers {
		k.t.Errorf("%d servers exist, want %d", found, servers)
	}
}

// end terminates every instance by one process.
func (k *takeover) end(p *process) {
	k.t.Helper()
	k.cloud.SetDelays(heattest.DefaultDelays())
	for _, task := range k.tasks {
		if task.task != "terminate" {
			ended := p.expect(http.StatusAccepted, http.MethodPost, task.instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"}, nil)
			task.location = ended.Header.Get("Location")
		}
	}
	for _, task := range k.tasks {
		p.await(task.location, "COMPLETED")
	}
	k.leaveNothing()
}

// vnfc is what is read of a VNFC.
type vnfc struct {
	ID, VduID       string
	ComputeResource struct{ ResourceID string }
}

// vnfcs are those that an instance says it has.
func (p *process) vnfcs(instance string) []vnfc {
	p.t.Helper()
	var shown struct {
		InstantiatedVnfInfo struct{ VnfcResourceInfo []vnfc }
	}
	p.expect(http.StatusOK, http.MethodGet, instance, nil, &shown)
	return shown.InstantiatedVnfInfo.VnfcResourceInfo
}

func (p *process) signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

// TestAnotherProcessTakesOver lets something happen to a process that carries every operation out, each of another instance. The other
// one goes on with all of them, nothing is done twice, and the first one is of use again if it lives.
func TestAnotherProcessTakesOver(t *testing.T) {
	t.Parallel()
	cut := func(state string) func(*takeover) {
		return func(k *takeover) {
			k.network.set(state)
			k.first.until("aware of it", func() bool {
				return k.first.call(http.MethodGet, "/readyz", nil, nil).StatusCode == http.StatusServiceUnavailable
			})
		}
	}
	mend := func(k *takeover) { k.network.set(passing) }
	for _, row := range []struct {
		name   string
		happen func(*takeover)
		after  func(*takeover) // nil: it is dead
	}{
		{"killed", func(k *takeover) { k.first.kill() }, nil},
		{"stopped for longer than its lease", func(k *takeover) { k.first.signal(syscall.SIGSTOP) },
			func(k *takeover) { k.first.signal(syscall.SIGCONT) }},
		{"refused by the database", cut(refusing), mend},
		{"cut off from the database without a word", cut(silent), mend},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			k := newTakeover(t)
			k.prepare()
			k.begin()
			second := k.serve()
			before := k.runs()
			row.happen(k)
			k.awaitResumption(second, before)
			for _, task := range k.tasks {
				second.await(task.location, "COMPLETED")
			}
			if row.after == nil {
				k.expectOnce(second)
				k.end(second)
				return
			}
			row.after(k)
			k.first.until("ready", func() bool { return k.first.call(http.MethodGet, "/readyz", nil, nil).StatusCode == http.StatusOK })
			k.first.until("aware of it", func() bool {
				return strings.Count(k.first.log.String(), "another run has taken over") >= len(k.tasks)
			})
			k.first.metrics().atLeast(float64(len(k.tasks)), "vnfm_leases_lost_total")
			k.expectOnce(k.first)
			second.kill()
			k.end(k.first)
		})
	}
}
