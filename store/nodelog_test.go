package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"vnfm/api/access"
	"vnfm/lcm"
	"vnfm/mgmtdriver"
	"vnfm/store/storetest"
)

func TestNodeLogsAreReplacedNodeByNode(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	run := acquired(t, db, created(t, db), time.Minute)
	worker1 := lcm.NodeLog{Node: "worker (10.0.0.5)", VnfcID: "vnfc-1", Job: "prepare", State: mgmtdriver.JobRunning, Lines: "Reading package lists"}
	worker2 := lcm.NodeLog{Node: "worker (10.0.0.6)", VnfcID: "vnfc-2", Job: "prepare", State: mgmtdriver.JobRunning}
	keep := func(want []lcm.NodeLog, logs ...lcm.NodeLog) []lcm.NodeLog {
		t.Helper()
		if err := db.KeepNodeLogs(t.Context(), run, logs); err != nil {
			t.Fatal(err)
		}
		found, err := db.NodeLogs(t.Context(), run.Operation.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found, cmpopts.IgnoreFields(lcm.NodeLog{}, "ChangedAt")); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		return found
	}
	before := keep([]lcm.NodeLog{worker1, worker2}, worker2, worker1)
	worker2.Job, worker2.State, worker2.Lines = "join", mgmtdriver.JobFailed, "refused"
	after := keep([]lcm.NodeLog{worker1, worker2}, worker2)
	if !after[0].ChangedAt.Equal(before[0].ChangedAt) || !after[1].ChangedAt.After(before[1].ChangedAt) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if _, err := db.NodeLogs(t.Context(), uuid.New()); !errors.As(err, new(*lcm.NotFound)) {
		t.Errorf("of an operation that there is not: %v", err)
	}
}

func TestRunThatWasReplacedKeepsNoNodeLogs(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	stale := acquired(t, db, created(t, db), 0)
	run, err := db.AcquireRun(t.Context(), stale.Operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	log := lcm.NodeLog{Node: "worker", State: mgmtdriver.JobRunning, Lines: "new"}
	if err := db.KeepNodeLogs(t.Context(), run, []lcm.NodeLog{log}); err != nil {
		t.Fatal(err)
	}
	log.Lines = "old"
	if err := db.KeepNodeLogs(t.Context(), stale, []lcm.NodeLog{log}); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("got %v", err)
	}
	if found, err := db.NodeLogs(t.Context(), run.Operation.ID); err != nil || len(found) != 1 || found[0].Lines != "new" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestNodeLogsAreThoseOfTheProject(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	run := acquired(t, db, created(t, db), time.Minute)
	if _, err := connect(t, db.URL()).Exec(t.Context(), `UPDATE vnf_lcm_op_occs SET project_id = 'mine'`); err != nil {
		t.Fatal(err)
	}
	if err := db.KeepNodeLogs(t.Context(), run, []lcm.NodeLog{{Node: "worker", State: mgmtdriver.JobRunning}}); err != nil {
		t.Fatal(err)
	}
	for project, want := range map[string]int{"mine": 1, "theirs": 0, "": 0} {
		found, err := db.NodeLogs(access.With(t.Context(), &access.Caller{User: "ann", Project: project}), run.Operation.ID)
		if len(found) != want || (want == 0) != errors.As(err, new(*lcm.NotFound)) {
			t.Errorf("project %q sees %+v, %v", project, found, err)
		}
	}
}

func TestNodeLogThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	run := acquired(t, db, created(t, db), time.Minute)
	logs := []lcm.NodeLog{
		{Node: "worker1", State: mgmtdriver.JobRunning, Lines: "one"}, {Node: "worker2", State: mgmtdriver.JobFailed, Lines: "two"},
	}
	if err := db.KeepNodeLogs(t.Context(), run, logs); err != nil {
		t.Fatal(err)
	}
	const damage = `UPDATE vnf_lcm_op_node_logs SET lines = '\x0102030405' WHERE node = 'worker1'`
	if _, err := connect(t, db.URL()).Exec(t.Context(), damage); err != nil {
		t.Fatal(err)
	}
	logs[0].Lines = ""
	found, err := db.NodeLogs(t.Context(), run.Operation.ID)
	if diff := cmp.Diff(logs, found, cmpopts.IgnoreFields(lcm.NodeLog{}, "ChangedAt")); err != nil || diff != "" {
		t.Errorf("%v, found (-want +got):\n%s", err, diff)
	}
}

// They are removed some weeks after the end of the operation, whenever they came, but not while it goes on or waits for somebody's decision.
func TestNodeLogsAreForgotten(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	connection := connect(t, db.URL())
	kept := map[lcm.OperationState]uuid.UUID{}
	for _, state := range []lcm.OperationState{lcm.StateCompleted, lcm.StateRolledBack, lcm.StateFailedTemp, lcm.StateProcessing, lcm.StateFailed} {
		run := acquired(t, db, created(t, db), time.Minute)
		if err := db.KeepNodeLogs(t.Context(), run, []lcm.NodeLog{{Node: "worker", State: mgmtdriver.JobDone}}); err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Exec(t.Context(), `UPDATE vnf_lcm_op_occs SET state = $2 WHERE id = $1`, run.Operation.ID, state); err != nil {
			t.Fatal(err)
		}
		kept[state] = run.Operation.ID
	}
	age := func(written, ended int, operations ...uuid.UUID) {
		t.Helper()
		for update, days := range map[string]int{
			`UPDATE vnf_lcm_op_node_logs SET created_at = now() - $1 * interval '1 day' WHERE op_id = ANY($2)`: written,
			`UPDATE vnf_lcm_op_occs SET state_entered_at = now() - $1 * interval '1 day' WHERE id = ANY($2)`:   ended,
		} {
			if _, err := connection.Exec(t.Context(), update, days, operations); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := func(state lcm.OperationState) int {
		t.Helper()
		found, err := db.NodeLogs(t.Context(), kept[state])
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	age(29, 29, kept[lcm.StateCompleted])
	age(60, 1, kept[lcm.StateRolledBack]) // after a long wait
	age(31, 31, kept[lcm.StateFailed], kept[lcm.StateFailedTemp], kept[lcm.StateProcessing])
	work(t, db, runner{db: db}, processor{db: db, got: make(chan uuid.UUID, 10)})
	for range 1000 {
		if count(lcm.StateFailed) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for state, want := range map[lcm.OperationState]int{lcm.StateFailed: 0, lcm.StateCompleted: 1, lcm.StateRolledBack: 1, lcm.StateFailedTemp: 1, lcm.StateProcessing: 1} {
		if got := count(state); got != want {
			t.Errorf("%s: %d are kept, want %d", state, got, want)
		}
	}
}
