package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
)

const noHost = "No valid host was found"

// TestRequestsBeyondTheVnf asks an instance for what it does not have; what it has, it still does.
func TestRequestsBeyondTheVnf(t *testing.T) {
	t.Parallel()
	w := instantiated(t, 2)
	for _, row := range []struct {
		name, task string
		body       map[string]any
		words      []string
	}{
		{"too far out", "scale", scale("SCALE_OUT", 2), []string{"/numberOfSteps", "level 1", "0 to 2"}},
		{"too far in", "scale", scale("SCALE_IN", 2), []string{"/numberOfSteps", "level 1", "0 to 2"}},
		{"aspect", "scale", map[string]any{"type": "SCALE_OUT", "aspectId": "none-such"}, []string{"/aspectId", "none-such"}},
		{"level", "scale_to_level", map[string]any{"instantiationLevelId": "none-such"}, []string{"/instantiationLevelId", "none-such"}},
		{"scale level", "scale_to_level", map[string]any{"scaleInfo": []any{map[string]any{"aspectId": "worker_group", "scaleLevel": 3}}},
			[]string{"/scaleInfo/0/scaleLevel", "0 to 2"}},
		{"VNFC", "heal", map[string]any{"vnfcInstanceId": []string{"none-such"}}, []string{"/vnfcInstanceId/0", "none-such"}},
		{"VNFC as a string", "heal", map[string]any{"vnfcInstanceId": "none-such"}, []string{"/vnfcInstanceId", "none-such"}},
		{"flavour", "change_flavour", map[string]any{"newFlavourId": "none-such"}, []string{"/newFlavourId", "none-such"}},
		{"connection point", "change_ext_conn", map[string]any{"extVirtualLinks": []any{w.link("net0", "none-such")}},
			[]string{"/extVirtualLinks/0/extCps/0/cpdId", "none-such"}},
	} {
		var problem struct {
			Status int
			Detail string
		}
		w.p.expect(http.StatusBadRequest, http.MethodPost, w.instance+"/"+row.task, row.body, &problem)
		for _, word := range row.words {
			if problem.Status != http.StatusBadRequest || !strings.Contains(problem.Detail, word) {
				t.Errorf("%s: %+v does not tell %q", row.name, problem, word)
			}
		}
	}
	w.do("scale", scale("SCALE_OUT", 1))
	w.shape(1, 3)
	w.leave()
}

func TestOperationDuringAnother(t *testing.T) {
	t.Parallel()
	w := instantiated(t, 1)
	w.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: 2 * time.Second}})
	running := w.begin("scale", scale("SCALE_OUT", 1))
	for task, body := range map[string]map[string]any{
		"scale": scale("SCALE_OUT", 1), "scale_to_level": {"instantiationLevelId": "instantiation_level_2"}, "heal": {},
		"change_flavour":  {"newFlavourId": "large"},
		"change_ext_conn": {"extVirtualLinks": []any{w.link("net_mgmt", "controller_CP2")}},
		"terminate":       {"terminationType": "FORCEFUL"},
	} {
		var problem struct{ Detail string }
		w.p.expect(http.StatusConflict, http.MethodPost, w.instance+"/"+task, body, &problem)
		if !strings.Contains(problem.Detail, "another operation") {
			t.Errorf("%s: %q", task, problem.Detail)
		}
	}
	for _, task := range []string{"retry", "rollback", "fail"} {
		w.p.expect(http.StatusConflict, http.MethodPost, running+"/"+task, nil, nil)
	}
	w.p.await(running, "COMPLETED")
	w.shape(1, 2)
	w.leave()
}

// TestStackDeletedBehindOurBack walks every way on from there.
func TestStackDeletedBehindOurBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, task string
		body       func(w *walk) map[string]any
	}{
		{"scale out", "scale", func(*walk) map[string]any { return scale("SCALE_OUT", 1) }},
		{"scale in", "scale", func(*walk) map[string]any { return scale("SCALE_IN", 1) }},
		{"scale to level", "scale_to_level", func(*walk) map[string]any { return map[string]any{"instantiationLevelId": "instantiation_level_1"} }},
		{"heal a VNFC", "heal", func(w *walk) map[string]any { return map[string]any{"vnfcInstanceId": w.vnfcs("controller")[0].ID} }},
		{"change the connectivity", "change_ext_conn", func(w *walk) map[string]any {
			return map[string]any{"extVirtualLinks": []any{w.link("net_mgmt", "controller_CP2")}}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := instantiated(t, 2)
			body := row.body(w)
			w.cloud.DeleteStack(w.stack())
			w.p.until("gone", func() bool { return len(w.cloud.Leaks()) == 0 })
			w.fail(w.fails(row.task, body, "does not exist any more", "heal the whole VNF, or terminate it"))
			w.shape(0, 0)
			// The same again, now that it is known.
			w.fail(w.fails("scale", scale("SCALE_IN", 1), "does not exist any more", "heal the whole VNF, or terminate it"))
			w.do("heal", map[string]any{})
			w.shape(1, 2)
			w.cloud.DeleteStack(w.stack())
			w.leave()
		})
	}
}

func TestVirtualMachineDeletedBehindOurBack(t *testing.T) {
	t.Parallel()
	for _, vdu := range []string{"controller", "worker"} {
		t.Run(vdu, func(t *testing.T) {
			t.Parallel()
			w := instantiated(t, 2)
			victim := w.vnfcs(vdu)[0]
			if !w.cloud.DeleteServer(victim.ComputeResource.ResourceID) {
				t.Fatal("the server does not exist")
			}
			w.do("scale", scale("SCALE_OUT", 1)) // Heat does not look at what is to stay
			w.do("heal", map[string]any{"vnfcInstanceId": victim.ID})
			w.shape(1, 3)
			victim = w.vnfcs(vdu)[0]
			w.cloud.DeleteServer(victim.ComputeResource.ResourceID)
			w.do("scale", scale("SCALE_IN", 1))
			if slices.ContainsFunc(w.vnfcs(vdu), func(v vnfc) bool { return v.ID == victim.ID }) {
				w.do("heal", map[string]any{"vnfcInstanceId": []string{victim.ID}})
			}
			w.shape(1, 2)
			w.cloud.DeleteServer(w.vnfcs(vdu)[0].ComputeResource.ResourceID)
			w.leave()
		})
	}
}

func TestHalfCreatedStackThatIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, again := range []string{"terminate", "instantiate"} {
		t.Run(again, func(t *testing.T) {
			t.Parallel()
			w := newWalk(t)
			w.breakServers("CREATE", "worker", 1)
			location := w.fails("instantiate", w.instantiation(), noHost, "worker")
			w.p.expect(http.StatusOK, http.MethodPost, location+"/fail", nil, nil)
			var given struct {
				ResourceChanges struct{ AffectedVnfcs []vnfc }
			}
			w.p.expect(http.StatusOK, http.MethodGet, location, nil, &given)
			if told, exist := len(given.ResourceChanges.AffectedVnfcs), len(w.servers()); told != exist || told == 0 {
				t.Errorf("the operation tells of %d servers that it has left, and there are %d", told, exist)
			}
			var shown struct {
				Links map[string]any `json:"_links"`
			}
			w.p.expect(http.StatusOK, http.MethodGet, w.instance, nil, &shown)
			if shown.Links["terminate"] == nil {
				t.Error("the instance does not say that it can be terminated")
			}
			w.p.expect(http.StatusConflict, http.MethodDelete, w.instance, nil, nil)
			if again == "instantiate" {
				w.do("instantiate", w.instantiation())
				w.shape(1, 1)
			}
			w.leave()
		})
	}
}

// TestTemplateThatHeatRefuses has a package that is right by itself, with a type of resource that this VIM does not know.
func TestTemplateThatHeatRefuses(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	files := fstest.MapFS{}
	err := fs.WalkDir(samples.TwoVdu(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(samples.TwoVdu(), name)
		if path.Dir(path.Dir(name)) == "BaseHOT" {
			content = bytes.ReplaceAll(content, []byte("OS::Cinder::Volume\n"), []byte("OS::Nowhere::Volume\n"))
		}
		content = bytes.ReplaceAll(content, []byte("5c9d2b0e-6a41-4f7e-9d3c-2f8e1a7b4c60"), []byte("5c9d2b0e-6a41-4f7e-9d3c-2f8e1a7b4c61"))
		files[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.instance = w.create(w.p, w.onboard(w.p, files))
	location := w.fails("instantiate", w.instantiation(), "OS::Nowhere::Volume", "Heat of the VIM at")
	if status := w.p.await(location, "FAILED_TEMP").Error.Status; status != http.StatusBadRequest {
		t.Errorf("status %d, want that of Heat", status)
	}
	w.p.expect(http.StatusOK, http.MethodPost, location+"/fail", nil, nil)
	w.gone()
}

func TestStepsThatFailHalfway(t *testing.T) {
	t.Parallel()
	heal := func(w *walk) map[string]any { return map[string]any{"vnfcInstanceId": w.vnfcs("controller")[0].ID} }
	whole := func(*walk) map[string]any { return map[string]any{} }
	out := func(*walk) map[string]any { return scale("SCALE_OUT", 2) }
	in := func(*walk) map[string]any { return scale("SCALE_IN", 1) }
	after := func(task string, body func(*walk) map[string]any, controllers, workers int) func(*walk, string) {
		return func(w *walk, failed string) {
			w.fail(failed)
			w.hidden = false
			w.do(task, body(w))
			w.shape(controllers, workers)
		}
	}
	for _, row := range []struct {
		name    string
		workers int
		action  string // of the server that fails, and its name
		server  string
		task    string
		body    func(*walk) map[string]any
		way     func(w *walk, failed string)
		hidden  bool // whether Heat keeps what was to be replaced, without listing it
	}{
		{"scale out: retry", 1, "CREATE", "worker", "scale", out, (*walk).retry, false},
		{"scale out: rollback", 1, "CREATE", "worker", "scale", out, (*walk).rollback, false},
		{"scale out: give up, heal", 1, "CREATE", "worker", "scale", out, after("heal", whole, 1, 1), false},
		{"scale out: give up, again", 1, "CREATE", "worker", "scale", out, after("scale", out, 1, 3), false},
		{"scale out: give up, terminate", 1, "CREATE", "worker", "scale", out, (*walk).fail, false},
		{"scale in: retry", 2, "DELETE", "worker", "scale", in, (*walk).retry, false},
		{"scale in: give up, heal", 2, "DELETE", "worker", "scale", in, after("heal", whole, 1, 2), false},
		{"scale in: give up, again", 2, "DELETE", "worker", "scale", in, after("scale", in, 1, 1), false},
		{"heal: retry", 1, "CREATE", "controller", "heal", heal, (*walk).retry, false},
		{"heal: give up, heal", 1, "CREATE", "controller", "heal", heal, after("heal", whole, 1, 1), true},
		{"change of the flavour: give up, heal", 1, "CREATE", "worker", "change_flavour", func(*walk) map[string]any {
			return map[string]any{"newFlavourId": "large"}
		}, after("heal", whole, 1, 1), true},
		{"heal whole: retry", 2, "CREATE", "worker", "heal", whole, (*walk).retry, false},
		{"heal whole: give up, heal", 2, "CREATE", "worker", "heal", whole, after("heal", whole, 1, 2), false},
		{"heal whole: give up, terminate", 2, "CREATE", "worker", "heal", whole, (*walk).fail, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := instantiated(t, row.workers)
			w.breakServers(row.action, row.server, 1)
			failed := w.fails(row.task, row.body(w), noHost, row.server)
			w.hidden = row.hidden
			row.way(w, failed)
			w.truth()
			w.leave()
		})
	}
}

// TestTerminationThatFails has servers that Nova does not delete, and then does.
func TestTerminationThatFails(t *testing.T) {
	t.Parallel()
	w := instantiated(t, 2)
	w.breakServers("DELETE", "worker", 0)
	failed := w.fails("terminate", map[string]any{"terminationType": "FORCEFUL"}, noHost, "DELETE_FAILED")
	w.fail(failed)
	w.shape(0, 2)
	w.cloud.ClearFaults()
	w.leave()
}

func TestGivenUpWhileHeatIsAway(t *testing.T) {
	t.Parallel()
	w := instantiated(t, 1, "--vim-patience", "1s")
	w.cloud.SetDown("orchestration", true)
	location := w.fails("scale", scale("SCALE_OUT", 1), "cannot be reached")
	w.p.expect(http.StatusOK, http.MethodPost, location+"/fail", nil, nil)
	if ended := w.p.await(location, "FAILED"); !strings.Contains(ended.Error.Detail, "could not be read") {
		t.Errorf("the operation does not say that the instance may not be as it is shown: %+v", ended.Error)
	}
	w.cloud.ClearFaults()
	w.do("scale", scale("SCALE_OUT", 1))
	w.shape(1, 2)
	w.leave()
}
