// Package drivertest is the conformance suite of management drivers: what the engine relies on, whatever a driver does.
//
//	drivertest.Run(t, drivertest.Suite{
//		Hooks: []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.TerminateEnd},
//		New: func(t *testing.T) drivertest.World { … },
//	})
package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
)

// World is a driver in surroundings that nobody else uses.
type World struct {
	Driver mgmtdriver.Driver
	// Call is what the driver is called with at a hook. Hook, State and Outputs are set by the suite.
	Call func(hook mgmtdriver.Hook) *mgmtdriver.Call
	// State is everything that the driver may have changed, in a form that can be compared. It is the same in another world after
	// the same calls.
	State func() any
}

// Refused is a request that the driver must refuse.
type Refused struct {
	Name      string
	Hook      mgmtdriver.Hook
	Change    func(*mgmtdriver.Call) // makes a right call wrong
	Attribute string                 // of the *[mgmtdriver.Invalid]
}

// Suite says how a driver is tested.
type Suite struct {
	Hooks   []mgmtdriver.Hook // the life of a VNF, in order; a hook may come several times
	New     func(t *testing.T) World
	Refused []Refused
}

// Run tests a driver: its list of steps is stable and has usable names; right requests pass the check and wrong ones do not, and a
// check changes nothing; and wherever the process dies after the effect of a step and before its result is stored, the repetition
// gives the same output and in the end everything is as if nothing had happened.
func Run(t *testing.T, suite Suite) {
	t.Helper()
	t.Run("steps", func(t *testing.T) { t.Parallel(); steps(t, suite.New(t).Driver) })
	t.Run("check", func(t *testing.T) { t.Parallel(); checks(t, suite) })
	t.Run("death", func(t *testing.T) { t.Parallel(); deaths(t, suite) })
}

func steps(t *testing.T, driver mgmtdriver.Driver) {
	t.Helper()
	if len(driver.Steps("no_such_hook")) > 0 {
		t.Error("the driver has steps for a hook that does not exist")
	}
	for _, hook := range mgmtdriver.Hooks() {
		names := map[string]bool{}
		first, second := driver.Steps(hook), driver.Steps(hook)
		for i, step := range first {
			if step.Name == "" || strings.Contains(step.Name, "/") || names[step.Name] || step.Do == nil {
				t.Errorf("%s: step %d has the name %q", hook, i, step.Name)
			}
			names[step.Name] = true
			if len(second) != len(first) || second[i].Name != step.Name {
				t.Errorf("%s: the steps are not the same when asked again", hook)
				break
			}
		}
	}
}

func checks(t *testing.T, suite Suite) {
	t.Helper()
	world := suite.New(t)
	before := world.State()
	for _, hook := range suite.Hooks {
		if err := world.Driver.Check(t.Context(), world.call(hook)); err != nil {
			t.Errorf("%s: a right request is refused: %v", hook, err)
		}
	}
	for _, row := range suite.Refused {
		call := world.call(row.Hook)
		row.Change(call)
		err := world.Driver.Check(t.Context(), call)
		var invalid *mgmtdriver.Invalid
		if !errors.As(err, &invalid) || invalid.Attribute != row.Attribute || invalid.Detail == "" {
			t.Errorf("%s: got %v, want a refusal of %s with the reason", row.Name, err, row.Attribute)
		}
	}
	if diff := cmp.Diff(before, world.State()); diff != "" {
		t.Errorf("a check has changed something:\n%s", diff)
	}
}

func (w *World) call(hook mgmtdriver.Hook) *mgmtdriver.Call {
	call := w.Call(hook)
	call.Hook, call.Outputs = hook, map[string]json.RawMessage{}
	if call.Log == nil {
		call.Log = slog.New(slog.DiscardHandler)
	}
	return call
}

// deaths compares the life of a VNF with one in which the process dies after a step, for every step.
func deaths(t *testing.T, suite Suite) {
	t.Helper()
	usual := suite.New(t)
	outputs := live(t, suite.Hooks, &usual, -1)
	want := usual.State()
	for dead := range outputs {
		t.Run(outputs[dead].step, func(t *testing.T) {
			t.Parallel()
			world := suite.New(t)
			if diff := cmp.Diff(outputs, live(t, suite.Hooks, &world, dead), cmp.AllowUnexported(output{})); diff != "" {
				t.Errorf("outputs (-usual +repeated):\n%s", diff)
			}
			if diff := cmp.Diff(want, world.State()); diff != "" {
				t.Errorf("state (-usual +repeated):\n%s", diff)
			}
		})
	}
}

type output struct{ step, document string }

// live calls all steps of all hooks. The result of the step with number dead is lost, and so is what
// it keeps when it waits first.
func live(t *testing.T, hooks []mgmtdriver.Hook, world *World, dead int) []output {
	t.Helper()
	var outputs []output
	for _, hook := range hooks {
		done := map[string]json.RawMessage{}
		for _, step := range world.Driver.Steps(hook) {
			name := string(hook) + "/" + step.Name
			call := func(forgetful bool) json.RawMessage { return carryOut(t, world, hook, step, done, forgetful) }
			dies := len(outputs) == dead
			document := call(dies)
			if dies {
				document = call(false)
			}
			done[name] = document
			outputs = append(outputs, output{name, string(document)})
		}
	}
	return outputs
}

// patience bounds how long the suite waits for a step.
const patience = time.Minute

// carryOut calls a step until it is done. If forgetful, what it keeps at its first wait is lost.
func carryOut(
	t *testing.T, world *World, hook mgmtdriver.Hook, step mgmtdriver.Step, done map[string]json.RawMessage, forgetful bool,
) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var state json.RawMessage
	for {
		call := world.call(hook)
		call.State, call.Outputs = state, done
		result, err := step.Do(ctx, call)
		if err != nil && !errors.As(err, new(*mgmtdriver.Unavailable)) {
			t.Fatalf("%s/%s: %v", hook, step.Name, err)
		}
		if err == nil && !result.Again {
			return marshal(t, result.Output)
		}
		state = nil
		if result.State != nil && !forgetful {
			state = marshal(t, result.State)
		}
		forgetful = false
		select {
		case <-ctx.Done():
			t.Fatalf("%s/%s is not done after %s: %s", hook, step.Name, patience, result.Detail)
		case <-time.After(max(result.After, 10*time.Millisecond)):
		}
	}
}

func marshal(t *testing.T, value any) json.RawMessage {
	t.Helper()
	document, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return document
}
