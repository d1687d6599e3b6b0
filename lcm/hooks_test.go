package lcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

func TestHooksOfEveryOperationSeeTheirVnfcs(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	instance = b.instantiate(instance)
	driver.expect(t, "instantiate_start 0>0", "instantiate_end 0>2 +controller +worker")
	for _, vnfc := range driver.seen[mgmtdriver.InstantiateEnd].After {
		if len(vnfc.Ports) != 2 || len(vnfc.Ports[0].Addresses) != 1 || vnfc.Zone == "" || vnfc.ServerID == "" {
			t.Errorf("VNFC %+v lacks a port, an address or the zone", vnfc)
		}
		if port, ok := vnfc.Port(vnfc.VduID + "_CP1"); !ok || port.ID == "" {
			t.Errorf("VNFC %+v lacks its port", vnfc)
		}
		if (vnfc.VduID == "controller") != (len(vnfc.Volumes) == 1) {
			t.Errorf("%s has volumes %+v", vnfc.VduID, vnfc.Volumes)
		}
		for _, volume := range vnfc.Volumes {
			if volume.Name != "controller_volume" || volume.ID == "" || volume.Device != "/dev/sdb" {
				t.Errorf("the volume is %+v", volume)
			}
		}
	}
	vdus := []mgmtdriver.Vdu{{ID: "controller", Cps: []string{"controller_CP1", "controller_CP2"}, Storages: []string{"controller_volume"}},
		{ID: "worker", AspectID: "worker_group", Cps: []string{"worker_CP1", "worker_CP2"}}}
	if diff := cmp.Diff(vdus, driver.seen[mgmtdriver.InstantiateEnd].Vdus); diff != "" {
		t.Errorf("VDUs (-want +got):\n%s", diff)
	}

	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group", "numberOfSteps": 2}`, -1), lcm.StateCompleted)
	driver.expect(t, "scale_end 2>4 +worker +worker")
	before := servers(b.read(instance), "worker")
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_IN", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
	driver.expect(t, "scale_start 4>3 -worker")
	after := servers(b.read(instance), "worker")
	for _, vnfc := range driver.seen[mgmtdriver.ScaleStart].Removed {
		if after[vnfc.ID] != "" || before[vnfc.ID] != vnfc.ServerID || len(vnfc.Ports[0].Addresses) == 0 {
			t.Errorf("the driver was told of %+v; before %v, after %v", vnfc, before, after)
		}
	}

	b.expect(b.run(instance, b.manager.ScaleToLevel, `{"instantiationLevelId": "instantiation_level_3"}`, -1), lcm.StateCompleted)
	driver.expect(t, "scale_to_level_end 3>4 +worker")
	b.expect(b.run(instance, b.manager.ScaleToLevel, `{"instantiationLevelId": "instantiation_level_1"}`, -1), lcm.StateCompleted)
	driver.expect(t, "scale_to_level_start 4>2 -worker -worker")

	for id, server := range servers(b.read(instance), "worker") {
		b.expect(b.run(instance, b.manager.Heal, `{"vnfcInstanceId": "`+id+`"}`, -1), lcm.StateCompleted)
		healed := driver.seen[mgmtdriver.HealEnd]
		if healed.Removed[0].ServerID != server || healed.Added[0].ID != id || healed.Added[0].ServerID != servers(b.read(instance), "worker")[id] {
			t.Errorf("healed %+v, now %+v", healed.Removed, healed.Added)
		}
	}
	driver.expect(t, "heal_start 2>1 -worker", "heal_end 2>2 -worker +worker")
	b.expect(b.run(instance, b.manager.Heal, `{}`, -1), lcm.StateCompleted)
	driver.expect(t, "heal_start 2>0 -controller -worker", "heal_end 2>2 -controller -worker +controller +worker")

	b.expect(b.run(instance, b.manager.ChangeExtConn, b.moved(), -1), lcm.StateCompleted)
	if len(driver.notes) != 2 || !strings.HasPrefix(driver.notes[0], "change_external_connectivity_start 2>2") ||
		!strings.HasPrefix(driver.notes[1], "change_external_connectivity_end 2>2") {
		t.Errorf("change of the connectivity: %q", driver.notes)
	}
	driver.notes = nil
	b.expect(b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1), lcm.StateCompleted)
	if start, end := driver.seen[mgmtdriver.ChangeFlavourStart], driver.seen[mgmtdriver.ChangeFlavourEnd]; start.Instance.FlavourID != "simple" ||
		end.Instance.FlavourID != "large" {
		t.Errorf("change of flavour: from %s to %s", start.Instance.FlavourID, end.Instance.FlavourID)
	}
	driver.notes = nil
	there := len(b.read(instance).InstantiatedVnfInfo.VnfcResourceInfo)
	b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
	for _, hook := range []mgmtdriver.Hook{mgmtdriver.TerminateStart, mgmtdriver.TerminateEnd} {
		if call := driver.seen[hook]; len(call.Removed) != there || len(call.After) != 0 || len(call.Before[0].Ports[0].Addresses) == 0 {
			t.Errorf("%s is told of %+v", hook, call.Before)
		}
	}
	b.leaveNothing()
}

// mortal carries an operation on with processes that die before their second commit, so that every commit is lost once.
func (b *bench) mortal(operation *lcm.Operation, err error) *lcm.Operation {
	b.t.Helper()
	for err == nil && operation.State.Transient() {
		_, _ = b.engine(&dying{b.db, 1}).Run(b.t.Context(), operation.ID)
		time.Sleep(20 * time.Millisecond)
		operation, err = b.manager.Operation(b.t.Context(), operation.ID)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return operation
}

func TestHooksWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	b.expect(b.mortal(b.manager.Instantiate(t.Context(), instance.ID, b.request())), lcm.StateCompleted)
	driver.expect(t, "instantiate_start 0>0", "instantiate_end 0>2 +controller +worker")
	request := json.RawMessage(`{"type": "SCALE_OUT", "aspectId": "worker_group"}`)
	b.expect(b.mortal(b.manager.Scale(t.Context(), instance.ID, request)), lcm.StateCompleted)
	driver.expect(t, "scale_end 2>3 +worker")

	driver.faults["scale_end"], driver.stubborn = &mgmtdriver.Failure{Detail: "no"}, true
	failed := b.mortal(b.manager.Scale(t.Context(), instance.ID, request))
	b.expect(failed, lcm.StateFailedTemp)
	b.expect(b.mortal(b.manager.Rollback(t.Context(), failed.ID)), lcm.StateRolledBack)
	driver.expect(t, "scale_end 3>4 +worker", "scale_start 4>3 -worker back")
	b.tellsTheTruth(b.read(instance), 2)

	for id := range servers(b.read(instance), "controller") {
		request = json.RawMessage(`{"vnfcInstanceId": "` + id + `"}`)
		b.expect(b.mortal(b.manager.Heal(t.Context(), instance.ID, request)), lcm.StateCompleted)
	}
	driver.expect(t, "heal_start 3>2 -controller", "heal_end 3>3 -controller +controller")
	b.expect(b.mortal(b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))), lcm.StateCompleted)
	driver.expect(t, "terminate_start 3>0 -controller -worker -worker", "terminate_end 3>0 -controller -worker -worker")
	b.leaveNothing()
}

func TestFailedHooks(t *testing.T) {
	t.Parallel()
	const (
		out = `{"type": "SCALE_OUT", "aspectId": "worker_group"}`
		in  = `{"type": "SCALE_IN", "aspectId": "worker_group"}`
	)
	instantiated := []string{"instantiate_start 0>0", "instantiate_end 0>2 +controller +worker"}
	for _, row := range []struct {
		hook     mgmtdriver.Hook
		way      string
		expected []string // the hooks that follow
		workers  int      // that the instance says it has then; -1: it is not instantiated
	}{
		{"instantiate_start", "retry", instantiated, 1},
		{"instantiate_start", "rollback", []string{"instantiate_start 0>0", "terminate_end 0>0 back"}, -1},
		{"instantiate_start", "fail", []string{"instantiate_start 0>0"}, -1},
		{"instantiate_end", "retry", instantiated, 1},
		{"instantiate_end", "rollback", append(slices.Clone(instantiated), "terminate_start 2>0 -controller -worker back", "terminate_end 0>0 back"), -1},
		{"instantiate_end", "fail", instantiated, -1},
		{"scale_end", "retry", []string{"scale_end 2>3 +worker"}, 2},
		{"scale_end", "rollback", []string{"scale_end 2>3 +worker", "scale_start 3>2 -worker back"}, 1},
		{"scale_end", "fail", []string{"scale_end 2>3 +worker"}, 2},
		{"scale_start", "retry", []string{"scale_start 3>2 -worker"}, 1},
		{"scale_start", "fail", []string{"scale_start 3>2 -worker"}, 2},
		{"heal_start", "fail", []string{"heal_start 2>0 -controller -worker"}, 1},
		{"heal_end", "retry", []string{"heal_start 2>0 -controller -worker", "heal_end 2>2 -controller -worker +controller +worker"}, 1},
		{"heal_end", "fail", []string{"heal_start 2>0 -controller -worker", "heal_end 2>2 -controller -worker +controller +worker"}, 1},
		{"terminate_start", "retry", []string{"terminate_start 2>0 -controller -worker", "terminate_end 2>0 -controller -worker"}, -1},
		{"terminate_end", "retry", []string{"terminate_start 2>0 -controller -worker", "terminate_end 2>0 -controller -worker"}, -1},
		{"terminate_end", "fail", []string{"terminate_start 2>0 -controller -worker", "terminate_end 2>0 -controller -worker"}, 0},
	} {
		t.Run(string(row.hook)+" "+row.way, func(t *testing.T) {
			t.Parallel()
			b, driver, instance := setupHooked(t)
			operation, _, _ := strings.Cut(string(row.hook), "_")
			if operation != "instantiate" {
				b.instantiate(instance)
			}
			if row.hook == "scale_start" {
				b.expect(b.run(instance, b.manager.Scale, out, -1), lcm.StateCompleted)
			}
			driver.notes, driver.faults[string(row.hook)] = nil, &mgmtdriver.Failure{Title: "Node lost", Status: 502, Detail: "worker7 does not join"}
			var failed *lcm.Operation
			switch operation {
			case "instantiate":
				failed = b.run(instance, b.manager.Instantiate, string(b.request()), -1)
			case "scale":
				failed = b.run(instance, b.manager.Scale, map[bool]string{true: in, false: out}[row.hook == "scale_start"], -1)
			case "heal":
				failed = b.run(instance, b.manager.Heal, `{}`, -1)
			case "terminate":
				failed = b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1)
			}
			b.expect(failed, lcm.StateFailedTemp)
			want := &lcm.Problem{Title: "Node lost", Status: 502, Detail: "step " + string(row.hook) + "/end: worker7 does not join"}
			if diff := cmp.Diff(want, failed.Error); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			decide, state := b.manager.Retry, lcm.StateCompleted
			switch row.way {
			case "rollback":
				decide, state = b.manager.Rollback, lcm.StateRolledBack
			case "fail":
				decide, state = b.manager.Fail, lcm.StateFailed
			}
			if _, err := decide(t.Context(), failed.ID); err != nil {
				t.Fatal(err)
			}
			b.expect(b.follow(b.engine(b.db), failed.ID), state)
			driver.expect(t, row.expected...)
			b.tellsTheTruth(b.read(instance), row.workers)
			if b.read(instance).Deployed || b.read(instance).InstantiationState == lcm.Instantiated {
				b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
			}
			b.leaveNothing()
			if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// tellsTheTruth checks that an instance says of its workers what there is in the cloud; -1: it is not instantiated.
func (b *bench) tellsTheTruth(instance *lcm.VnfInstance, workers int) {
	b.t.Helper()
	if (instance.InstantiatedVnfInfo == nil) != (workers < 0) {
		b.t.Fatalf("the instance is %s", instance.InstantiationState)
	}
	if workers < 0 {
		return
	}
	told := servers(instance, "worker")
	maps.Copy(told, servers(instance, "controller"))
	var there []string
	for _, item := range serversIn(b) {
		there = append(there, item.ID)
	}
	slices.Sort(there)
	if diff := cmp.Diff(there, slices.Sorted(maps.Values(told))); diff != "" || len(servers(instance, "worker")) != workers {
		b.t.Errorf("in the cloud and told, with %d workers (-want +got):\n%s", workers, diff)
	}
	if level := instance.InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel; workers > 0 && level != workers-1 {
		b.t.Errorf("scale level %d with %d workers", level, workers)
	}
}

func TestRollbackOfAChangeCallsTheOtherHook(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		failing mgmtdriver.Hook
		hooks   []string // what is called
	}{
		{mgmtdriver.ChangeExtConnEnd, []string{"change_external_connectivity_start", "change_external_connectivity_end",
			"change_external_connectivity_start back", "change_external_connectivity_end back"}},
		{mgmtdriver.ChangeFlavourStart, []string{"change_flavour_start", "change_flavour_end back"}},
	} {
		t.Run(string(row.failing), func(t *testing.T) {
			t.Parallel()
			b, driver, instance := setupHooked(t)
			b.instantiate(instance)
			driver.notes, driver.faults[string(row.failing)] = nil, &mgmtdriver.Failure{Detail: "no"}
			var failed *lcm.Operation
			if row.failing == mgmtdriver.ChangeFlavourStart {
				failed = b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
			} else {
				failed = b.run(instance, b.manager.ChangeExtConn, b.moved(), -1)
			}
			b.expect(failed, lcm.StateFailedTemp)
			b.expect(b.rollBack(failed), lcm.StateRolledBack)
			var hooks []string
			for _, note := range driver.notes {
				words := strings.Fields(note)
				if hook := words[0]; words[len(words)-1] == "back" {
					hooks = append(hooks, hook+" back")
				} else {
					hooks = append(hooks, hook)
				}
			}
			if diff := cmp.Diff(row.hooks, hooks); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
			for hook, call := range driver.seen {
				if strings.HasPrefix(string(hook), "change") && call.Instance.FlavourID != "simple" {
					t.Errorf("%s of flavour %s", hook, call.Instance.FlavourID)
				}
			}
			b.tellsTheTruth(b.read(instance), 1)
		})
	}
}

// moved asks for another network of a connection point.
func (b *bench) moved() string {
	return `{"extVirtualLinks": [{"id": "moved", "resourceId": "` + b.cloud.NetworkID("net_mgmt") + `", "extCps": [{"cpdId": "controller_CP2", "cpConfig": []}]}]}`
}

func TestOnlyTheHooksOfTheVnfdAreCalled(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t, mgmtdriver.InstantiateEnd, mgmtdriver.TerminateEnd)
	driver.faults["instantiate_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.Instantiate, string(b.request()), -1)
	b.expect(failed, lcm.StateFailedTemp)
	b.expect(b.rollBack(failed), lcm.StateRolledBack)
	// What instantiate_end has registered elsewhere can be removed, though the VNFD has no instantiate_start.
	driver.expect(t, "instantiate_end 0>2 +controller +worker", "terminate_end 0>0 back")
	b.instantiate(instance)
	driver.expect(t, "instantiate_end 0>2 +controller +worker")
	b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
	driver.expect(t)
}

func TestTroubleOfADriverMayPass(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	driver.faults["instantiate_start"] = &mgmtdriver.Unavailable{Peer: "VM", Err: errors.New("no route to host")}
	driver.faults["instantiate_end"] = errors.New("something unforeseen")
	b.instantiate(instance)
	driver.expect(t, "instantiate_start 0>0", "instantiate_end 0>2 +controller +worker")
}

func TestDriversCheckRequests(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	var request map[string]any
	if err := json.Unmarshal(b.request(), &request); err != nil {
		t.Fatal(err)
	}
	request["additionalParams"] = map[string]any{"size": "wrong"}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var invalid *lcm.InvalidRequest
	if _, err := b.manager.Instantiate(t.Context(), instance.ID, body); !errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/size" {
		t.Errorf("instantiate: %v", err)
	}
	cps := []string{"controller_CP1", "controller_CP2", "worker_CP1", "worker_CP2"}
	if diff := cmp.Diff(slices.Concat(cps, cps), driver.ports); diff != "" {
		t.Errorf("names of ports (-want +got):\n%s", diff)
	}
	b.instantiate(instance)
	for name, start := range map[string]operate{
		`"type": "SCALE_OUT", "aspectId": "worker_group"`: b.manager.Scale,
		`"cause": "ill"`:                                  b.manager.Heal,
		`"terminationType": "FORCEFUL"`:                   b.manager.Terminate,
		`"newFlavourId": "large"`:                         b.manager.ChangeFlavour,
		`"extVirtualLinks": []`:                           b.manager.ChangeExtConn,
		`"instantiationLevelId": "instantiation_level_3"`: b.manager.ScaleToLevel,
	} {
		_, err := start(t.Context(), instance.ID, json.RawMessage(`{`+name+`, "additionalParams": {"size": "wrong"}}`))
		if !errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/size" {
			t.Errorf("%s: %v", name, err)
		}
		_, err = start(t.Context(), instance.ID, json.RawMessage(`{`+name+`, "additionalParams": {"size": "impossible"}}`))
		if !errors.As(err, new(*lcm.Unprocessable)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDriverThatTheServerHasNoMore(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	b.instantiate(instance)
	driver.notes = nil
	operation, err := b.manager.Scale(t.Context(), instance.ID, json.RawMessage(`{"type": "SCALE_OUT", "aspectId": "worker_group"}`))
	if err != nil {
		t.Fatal(err)
	}
	// The server is started anew without the driver.
	b.drivers = nil
	failed := b.follow(b.engine(b.db), operation.ID)
	b.expect(failed, lcm.StateFailedTemp)
	if want := `the driver "recorder" specified in the VNFD is not one that this server has; known are vnflcm_noop`; !strings.Contains(failed.Error.Detail, want) {
		t.Errorf("error %+v", failed.Error)
	}
	without := lcm.NewManager(b.db, b.db, b.packages, b.vims, b.driver, nil)
	if _, err := without.Heal(t.Context(), instance.ID, json.RawMessage(`{}`)); !errors.As(err, new(*lcm.Unprocessable)) {
		t.Errorf("request with an unknown driver: %v", err)
	}
	b.drivers = mgmtdriver.Drivers{"recorder": driver}
	if _, err := b.manager.Retry(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), failed.ID), lcm.StateCompleted)
	driver.expect(t, "scale_end 2>3 +worker")
}

func TestRollbackBeginsAgainAfterARetry(t *testing.T) {
	t.Parallel()
	b, driver, instance := setupHooked(t)
	before := servers(b.instantiate(instance), "worker")
	driver.faults["scale_end"] = &mgmtdriver.Failure{Detail: "no"}
	failed := b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1)
	b.expect(failed, lcm.StateFailedTemp)
	decide := func(way func(context.Context, uuid.UUID) (*lcm.Operation, error), state lcm.OperationState) {
		t.Helper()
		if _, err := way(t.Context(), failed.ID); err != nil {
			t.Fatal(err)
		}
		b.expect(b.follow(b.engine(b.db), failed.ID), state)
	}
	// The new worker is marked as the one to go, and then the stack cannot be changed.
	if err := b.cloud.Inject(heattest.Fault{Method: http.MethodPut, Status: http.StatusBadRequest}); err != nil {
		t.Fatal(err)
	}
	decide(b.manager.Rollback, lcm.StateFailedTemp)
	b.cloud.ClearFaults()
	driver.faults["scale_end"] = &mgmtdriver.Failure{Detail: "no"}
	decide(b.manager.Retry, lcm.StateFailedTemp) // which makes a new worker in the place of the marked one
	decide(b.manager.Rollback, lcm.StateRolledBack)
	if diff := cmp.Diff(before, servers(b.read(instance), "worker")); diff != "" {
		t.Errorf("workers (-before +rolled back):\n%s", diff)
	}
	b.tellsTheTruth(b.read(instance), 1)
}
