package drivertest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"vnfm/mgmtdriver"
)

// trouble is how often a step is repeated that fails with what may be better the next time.
const trouble = 3

// Do carries a step out, as the engine does, with a pause between two calls. call makes what it is called with, but for its state. It returns the
// output, or the error that ends the step.
func Do(tb testing.TB, step mgmtdriver.Step, pause time.Duration, call func() *mgmtdriver.Call) (json.RawMessage, error) {
	tb.Helper()
	var state json.RawMessage
	failed, detail := 0, ""
	for began := time.Now(); time.Since(began) < patience; <-time.After(pause) {
		c := call()
		c.State = state
		result, err := step.Do(tb.Context(), c)
		detail = result.Detail
		switch {
		case errors.As(err, new(*mgmtdriver.Failure)), err != nil && failed == trouble:
			return nil, err
		case err != nil:
			failed++
		case !result.Again:
			return json.Marshal(result.Output)
		case result.State != nil:
			state, _ = json.Marshal(result.State)
		}
	}
	tb.Fatalf("%s does not end: %s", step.Name, detail)
	return nil, nil
}
