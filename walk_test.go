package main

import (
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"vnfm/lcm/heat/heattest"
)

// walk leads one instance through trouble, over the API alone.
type walk struct {
	*cluster
	t        *testing.T
	p        *process
	instance string
	hidden   bool // whether Heat keeps a server that it does not list
}

func newWalk(t *testing.T, args ...string) *walk {
	t.Helper()
	w := &walk{cluster: newCluster(t, heattest.Options{}), t: t}
	w.p = w.serve(args...)
	w.registerVim(w.p)
	w.instance = w.cluster.instance(w.p)
	return w
}

// instantiated is a walk with an instance that has the given number of workers, and one controller.
func instantiated(t *testing.T, workers int, args ...string) *walk {
	t.Helper()
	w := newWalk(t, args...)
	request := w.instantiation()
	request["instantiationLevelId"] = "instantiation_level_" + string(rune('0'+workers))
	w.do("instantiate", request)
	return w
}

func (w *walk) begin(task string, body any) string {
	w.t.Helper()
	return w.p.expect(http.StatusAccepted, http.MethodPost, w.instance+"/"+task, body, nil).Header.Get("Location")
}

// do carries an operation out.
func (w *walk) do(task string, body any) {
	w.t.Helper()
	w.p.await(w.begin(task, body), "COMPLETED")
}

// fails begins an operation that has to fail, for a reason that is told with these words.
func (w *walk) fails(task string, body any, words ...string) string {
	w.t.Helper()
	location := w.begin(task, body)
	failed := w.p.await(location, "FAILED_TEMP")
	for _, word := range words {
		if failed.Error == nil || !strings.Contains(failed.Error.Detail, word) {
			w.t.Errorf("%s: the reason %+v does not tell %q", task, failed.Error, word)
		}
	}
	return location
}

func (w *walk) rollback(location string) {
	w.t.Helper()
	w.p.expect(http.StatusAccepted, http.MethodPost, location+"/rollback", nil, nil)
	w.p.await(location, "ROLLED_BACK")
}

func (w *walk) retry(location string) {
	w.t.Helper()
	w.p.expect(http.StatusAccepted, http.MethodPost, location+"/retry", nil, nil)
	w.p.await(location, "COMPLETED")
}

// fail gives an operation up. The instance tells the truth after that.
func (w *walk) fail(location string) {
	w.t.Helper()
	var ended operation
	w.p.expect(http.StatusOK, http.MethodPost, location+"/fail", nil, &ended)
	if ended.OperationState != "FAILED" || ended.Error == nil {
		w.t.Errorf("given up: %+v", ended)
	}
	w.truth()
}

// truth checks that the instance tells of exactly the servers that there are.
func (w *walk) truth() {
	w.t.Helper()
	told, exist := map[string]bool{}, map[string]bool{}
	for _, vnfc := range w.p.vnfcs(w.instance) {
		told[vnfc.ComputeResource.ResourceID] = true
	}
	for _, server := range w.servers() {
		exist[server.ID] = true
	}
	if w.hidden {
		maps.DeleteFunc(exist, func(id string, _ bool) bool { return !told[id] })
	}
	if !maps.Equal(told, exist) {
		w.t.Errorf("the instance tells of the servers %v, and there are %v", slices.Collect(maps.Keys(told)), slices.Collect(maps.Keys(exist)))
	}
}

// shape checks how many controllers and workers there are, and the truth.
func (w *walk) shape(controllers, workers int) {
	w.t.Helper()
	if found := [2]int{len(w.vnfcs("controller")), len(w.vnfcs("worker"))}; found != [2]int{controllers, workers} {
		w.t.Errorf("%d controllers and %d workers, want %d and %d", found[0], found[1], controllers, workers)
	}
	w.truth()
}

func (w *walk) vnfcs(vdu string) []vnfc {
	w.t.Helper()
	return slices.DeleteFunc(w.p.vnfcs(w.instance), func(v vnfc) bool { return v.VduID != vdu })
}

// leave ends the instance, of which nothing remains.
func (w *walk) leave() {
	w.t.Helper()
	w.do("terminate", map[string]any{"terminationType": "FORCEFUL"})
	w.gone()
}

func (w *walk) gone() {
	w.t.Helper()
	w.leaveNothing()
	w.p.expect(http.StatusNoContent, http.MethodDelete, w.instance, nil, nil)
}

// stack is the name of the instance's stack.
func (w *walk) stack() string { return "vnf-" + path.Base(w.instance) }

// breakServers makes the next servers fail in an action.
func (w *walk) breakServers(action, name string, times int) {
	w.cloud.FailResource(heattest.ResourceFault{
		Type: "OS::Nova::Server", Name: name, Action: action, Times: times, Reason: "Message: No valid host was found., Code: 500",
	})
}

func scale(kind string, steps int) map[string]any {
	return map[string]any{"type": kind, "aspectId": "worker_group", "numberOfSteps": steps}
}
