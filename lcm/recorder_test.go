package lcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
	"vnfm/samples"
)

// recorder is a driver that notes what it is called with. Each hook has two steps; the first waits once, with a state.
type recorder struct {
	mu       sync.Mutex
	notes    []string                            // in the order of the calls, repetitions left out
	seen     map[mgmtdriver.Hook]mgmtdriver.Call // the last call of each hook
	faults   map[string]error                    // by hook: what it fails with, once
	stubborn bool                                // it fails every time
	faulty   []string                            // what is wrong with the calls
	ports    []string                            // names of ports that the last check was told of
}

func newRecorder() *recorder {
	return &recorder{seen: map[mgmtdriver.Hook]mgmtdriver.Call{}, faults: map[string]error{}}
}

func (r *recorder) Check(_ context.Context, call *mgmtdriver.Call) error {
	r.mu.Lock()
	r.ports = call.PortNames
	r.mu.Unlock()
	if call.Operation.AdditionalParams["size"] == "wrong" {
		return &mgmtdriver.Invalid{Attribute: "/additionalParams/size", Detail: "must be right"}
	}
	if call.Operation.AdditionalParams["size"] == "impossible" {
		return &mgmtdriver.Failure{Detail: "cannot be had"}
	}
	return nil
}

func (r *recorder) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	return []mgmtdriver.Step{
		{Name: "begin", Do: func(_ context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
			if call.Hook != hook {
				r.wrong("%s is called as %s", hook, call.Hook)
			}
			if len(call.State) == 0 {
				return mgmtdriver.Wait("work").With(map[string]any{"handle": string(hook)}), nil
			}
			var state struct{ Handle mgmtdriver.Hook }
			if err := json.Unmarshal(call.State, &state); err != nil || state.Handle != hook {
				r.wrong("%s: state %s", hook, call.State)
			}
			return mgmtdriver.Done("of " + string(hook)), nil
		}},
		{Name: "end", Do: func(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
			var output string
			if err := call.Output(string(hook)+"/begin", &output); err != nil || output != "of "+string(hook) {
				r.wrong("%s: output %q, %v", hook, output, err)
			}
			if file, err := call.Package.Open(ctx, "Scripts/status.sh"); err != nil {
				r.wrong("%s: %v", hook, err)
			} else if content, err := io.ReadAll(file); err != nil || len(content) == 0 || file.Close() != nil {
				r.wrong("%s: read %d bytes, %v", hook, len(content), err)
			}
			if _, err := call.Package.Open(ctx, "none"); !errors.Is(err, fs.ErrNotExist) {
				r.wrong("%s: file that there is not: %v", hook, err)
			}
			return mgmtdriver.Done(nil), r.note(call)
		}},
	}
}

func (r *recorder) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faulty = append(r.faulty, fmt.Sprintf(format, args...))
}

func (r *recorder) note(call *mgmtdriver.Call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	note := fmt.Sprintf("%s %d>%d", call.Hook, len(call.Before), len(call.After))
	for _, vnfc := range call.Removed {
		note += " -" + vnfc.VduID
	}
	for _, vnfc := range call.Added {
		note += " +" + vnfc.VduID
	}
	if call.Operation.RollingBack {
		note += " back"
	}
	if len(r.notes) == 0 || r.notes[len(r.notes)-1] != note {
		r.notes = append(r.notes, note)
	}
	r.seen[call.Hook] = *call
	err := r.faults[string(call.Hook)]
	if !r.stubborn {
		delete(r.faults, string(call.Hook))
	}
	return err
}

func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(want, r.notes); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	if len(r.faulty) > 0 {
		t.Errorf("wrong calls: %q", r.faulty)
	}
	r.notes = nil
}

// hooked is the sample package with a driver for the given hooks of both flavours, all of them if none is given.
func hooked(t *testing.T, driver string, hooks ...mgmtdriver.Hook) fs.FS {
	t.Helper()
	if hooks == nil {
		hooks = mgmtdriver.Hooks()
	}
	var lines strings.Builder
	for _, hook := range hooks {
		fmt.Fprintf(&lines, "          %s: { implementation: %s }\n", hook, driver)
	}
	tree := fstest.MapFS{}
	source := samples.TwoVdu()
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		if strings.Contains(name, "_df_") {
			const node = "      type: vnfm.samples.TwoVdu\n"
			content = []byte(strings.Replace(string(content), node, node+"      interfaces:\n        Vnflcm:\n"+lines.String(), 1))
		}
		tree[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func setupHooked(t *testing.T, hooks ...mgmtdriver.Hook) (*bench, *recorder, *lcm.VnfInstance) {
	t.Helper()
	driver := newRecorder()
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"recorder": driver})
	return b, driver, b.create(b.onboard(hooked(t, "recorder", hooks...)).Description.VnfdID)
}
