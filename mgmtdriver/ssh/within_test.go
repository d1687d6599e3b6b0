package ssh_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

func TestDriveWithinALimit(t *testing.T) {
	t.Parallel()
	_, _, host := shellHost(t, t.TempDir())
	job := script("a", `echo begun; until [ -e go ]; do sleep 0.01; done`)
	call := &mgmtdriver.Call{}
	until(t, "the job says something", func() bool {
		result, err := host.DriveWithin(t.Context(), call, job, "the work", time.Hour)
		if err != nil || !result.Again {
			t.Fatalf("%+v, %v", result, err)
		}
		if call.State, err = json.Marshal(result.State); err != nil {
			t.Fatal(err)
		}
		return result.Detail == "the work: begun"
	})
	var failure *mgmtdriver.Failure
	_, err := host.DriveWithin(t.Context(), call, job, "the work", 0)
	if !errors.As(err, &failure) || !strings.Contains(failure.Detail, "the work has taken longer than 0s; the last it said was: begun") {
		t.Fatalf("over the limit: %v", err)
	}
	if progress, err := host.Poll(t.Context(), job); err != nil || progress.Phase != ssh.JobAbsent {
		t.Errorf("what is left of it: %+v, %v", progress, err)
	}
	until(t, "another job ends", func() bool {
		result, err := host.DriveWithin(t.Context(), call, script("a", "exit 0"), "the work", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return !result.Again
	})
}
