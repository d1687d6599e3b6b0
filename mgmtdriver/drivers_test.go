package mgmtdriver_test

import (
	"encoding/json"
	"errors"
	"testing"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
)

func TestNoop(t *testing.T) {
	t.Parallel()
	driver, err := mgmtdriver.Drivers(nil).Find("vnflcm_noop")
	if err != nil {
		t.Fatal(err)
	}
	drivertest.Run(t, drivertest.Suite{Hooks: mgmtdriver.Hooks(), New: func(*testing.T) drivertest.World {
		return drivertest.World{
			Driver: driver,
			Call:   func(mgmtdriver.Hook) *mgmtdriver.Call { return &mgmtdriver.Call{} },
			State:  func() any { return nil },
		}
	}})
	for _, hook := range mgmtdriver.Hooks() {
		if steps := driver.Steps(hook); steps != nil {
			t.Errorf("%s: %d steps", hook, len(steps))
		}
	}
}

func TestDriversAreFoundByTheirName(t *testing.T) {
	t.Parallel()
	drivers := mgmtdriver.Drivers{"mine": mgmtdriver.Noop{}}
	if _, err := drivers.Find("mine"); err != nil {
		t.Error(err)
	}
	_, err := drivers.Find("other")
	var unknown *mgmtdriver.Unknown
	if !errors.As(err, &unknown) || unknown.Error() !=
		`the driver "other" specified in the VNFD is not one that this server has; known are mine, vnflcm_noop` {
		t.Errorf("got %v", err)
	}
}

func TestOutputOfAnEarlierStep(t *testing.T) {
	t.Parallel()
	call := &mgmtdriver.Call{Outputs: map[string]json.RawMessage{"heal_start/drain": json.RawMessage(`{"pods": 2}`)}}
	var drained struct{ Pods int }
	if err := call.Output("heal_start/drain", &drained); err != nil || drained.Pods != 2 {
		t.Errorf("got %+v, %v", drained, err)
	}
	if err := call.Output("heal_start/other", &drained); err == nil {
		t.Error("a step that was not done has an output")
	}
	if err := call.Output("heal_start/drain", new(int)); err == nil {
		t.Error("an object was read as a number")
	}
}
