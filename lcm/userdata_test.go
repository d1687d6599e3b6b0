package lcm_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/samples"
)

// scripted is the sample package scripted with the class's file replaced, unless script is "".
func scripted(t *testing.T, script string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, samples.Scripted()); err != nil {
		t.Fatal(err)
	}
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "UserData", "pool.py"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return os.DirFS(dir)
}

// poolRequest instantiates the package scripted at a level, on a network, or on none.
func (b *bench) poolRequest(level, network string) json.RawMessage {
	b.t.Helper()
	links := []any{}
	if network != "" {
		links = append(links, map[string]any{"id": "link", "resourceId": b.cloud.NetworkID(network),
			"extCps": []any{map[string]any{"cpdId": "worker_CP", "cpConfig": []any{map[string]any{}}}}})
	}
	encoded, err := json.Marshal(map[string]any{
		"flavourId": "simple", "instantiationLevelId": level, "extVirtualLinks": links,
		"additionalParams": map[string]any{
			"lcm-operation-user-data": "./UserData/pool.py", "lcm-operation-user-data-class": "PoolUserData", "ssh_password": "hidden-thing",
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return encoded
}

// parameters are those that the instance's stack has, as a run of its next operation sees them.
func (b *bench) parameters(operation *lcm.Operation) map[string]any {
	b.t.Helper()
	run, err := b.db.AcquireRun(b.t.Context(), operation.ID, time.Nanosecond)
	if err != nil {
		b.t.Fatal(err)
	}
	return run.Deployment.Parameters
}

func TestPackagesOwnUserDataThroughTheLifeOfAVNF(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.create(b.onboard(samples.Scripted()).Description.VnfdID)
	b.expect(b.run(instance, func(ctx context.Context, id uuid.UUID, _ json.RawMessage) (*lcm.Operation, error) {
		return b.manager.Instantiate(ctx, id, b.poolRequest("instantiation_level_2", "net0"))
	}, "", -1), lcm.StateCompleted)
	size := func(want int, after string) {
		t.Helper()
		instance = b.read(instance)
		if got := len(servers(instance, "worker")); got != want {
			t.Fatalf("%d workers after %s, want %d", got, after, want)
		}
	}
	size(2, "instantiation at level 2")
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "workers", "numberOfSteps": 2}`, -1), lcm.StateCompleted)
	size(4, "scaling out")
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_IN", "aspectId": "workers"}`, -1), lcm.StateCompleted)
	size(3, "scaling in")
	b.expect(b.run(instance, b.manager.ScaleToLevel, `{"scaleInfo": [{"aspectId": "workers", "scaleLevel": 1}]}`, -1), lcm.StateCompleted)
	size(2, "scaling to a level")
	for id := range servers(instance, "worker") {
		b.expect(b.run(instance, b.manager.Heal, `{"vnfcInstanceId": "`+id+`"}`, -1), lcm.StateCompleted)
		break
	}
	size(2, "healing")
	b.expect(b.run(instance, b.manager.Heal, `{}`, -1), lcm.StateCompleted)
	size(2, "healing the whole")
	connect := `{"extVirtualLinks": [{"id": "link", "resourceId": "` + b.cloud.NetworkID("net1") +
		`", "extCps": [{"cpdId": "worker_CP", "cpConfig": [{}]}]}]}`
	b.expect(b.run(instance, b.manager.ChangeExtConn, connect, -1), lcm.StateCompleted)
	size(2, "changing the connectivity")

	end, err := b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"size": 2.0, "healed": 3.0, // one VNFC, and then both
		"nfv": map[string]any{
			"VDU": map[string]any{"worker": map[string]any{"flavor": "m1.tiny", "image": "cirros-0.5.2-x86_64-disk"}},
			"CP":  map[string]any{"worker_CP": map[string]any{"network": b.cloud.NetworkID("net1"), "fixed_ips": []any{}}},
		},
	}
	if diff := cmp.Diff(want, b.parameters(end)); diff != "" {
		t.Errorf("parameters, -want +got:\n%s", diff)
	}
	b.expect(b.follow(b.engine(b.db), end.ID), lcm.StateCompleted)
	b.leaveNothing()
}

const poolClass = "from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData\n" +
	"class PoolUserData(AbstractUserData):\n    @staticmethod\n    def instantiate(*arguments):\n"

func TestUserDataThatFailsIsTheFailureOfTheOperation(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, script, network, says string }{
		{"an exception of the sample", "", "",
			"PoolUserData.instantiate of ./UserData/pool.py: ValueError: the request connects worker_CP to no network (UserData/pool.py, line 15)"},
		{"no dict", poolClass + "        return 1\n", "net0", "not in dict format"},
		{"a secret of the request in the message", poolClass + "        raise Exception(arguments[2].additional_params['ssh_password'])\n", "net0",
			"Exception: *** (UserData/pool.py, line 5)"},
		{"a parameter that the template lacks", poolClass + "        return {'size': 1, 'healed': 0, 'nfv': {}, 'other': 1}\n", "net0", "other"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.create(b.onboard(scripted(t, row.script)).Description.VnfdID)
			operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.poolRequest("", row.network))
			if err != nil {
				t.Fatal(err)
			}
			operation = b.follow(b.engine(b.db), operation.ID)
			b.expect(operation, lcm.StateFailedTemp)
			if operation.Error == nil || !strings.Contains(operation.Error.Detail, row.says) || strings.Contains(operation.Error.Detail, "hidden-thing") {
				t.Errorf("error %+v, want one that says %q", operation.Error, row.says)
			}
			b.expect(b.rollBack(operation), lcm.StateRolledBack)
			b.leaveNothing()
		})
	}
}

func TestScriptsDoNotRunWhileTheRequestIsServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.create(b.onboard(scripted(t, "while True: pass\n")).Description.VnfdID)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // in which an endless script would still run
	defer cancel()
	operation, err := b.manager.Instantiate(ctx, instance.ID, b.poolRequest("", "net0"))
	if err != nil {
		t.Fatal(err)
	}
	// A process that is told to stop ends the script, and the operation waits for another one.
	stopping, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	again, err := b.engine(b.db).Run(stopping, operation.ID)
	if err != nil || again == nil {
		t.Errorf("%v, %v, want another run", again, err)
	}
	if operation, err = b.manager.Operation(t.Context(), operation.ID); err != nil || operation.State != lcm.StateProcessing {
		t.Errorf("%v, %v, want an operation that goes on", operation.State, err)
	}
}

func TestAScriptRunsOnceForAnOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	random := "import uuid\n" + poolClass + "        return {'size': 1, 'healed': 0, 'nfv': {'VDU': {'worker': {'flavor': 'm1.tiny', 'image':" +
		" 'cirros-0.5.2-x86_64-disk'}}, 'CP': {'worker_CP': {'network': '" + b.cloud.NetworkID("net0") + "'}}, 'run': str(uuid.uuid4())}}\n"
	instance := b.create(b.onboard(scripted(t, random)).Description.VnfdID)
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.poolRequest("", "net0"))
	if err != nil {
		t.Fatal(err)
	}
	// The process dies before the commit of the step after the one that computes.
	_, _ = b.engine(&dying{b.db, 10}).Run(t.Context(), operation.ID)
	var before map[string]any
	for deadline := time.Now().Add(time.Minute); before == nil && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if run, err := b.db.AcquireRun(t.Context(), operation.ID, time.Nanosecond); err == nil {
			before = run.Deployment.Parameters
		}
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	end, err := b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.parameters(end)); diff != "" || before == nil {
		t.Errorf("parameters of the first run and of the last:\n%s", diff)
	}
}
