package mgmtdriver_test

import (
	"testing"
	"time"

	"vnfm/mgmtdriver"
)

func TestSinceWhenAStepWaits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, row := range []struct {
		name, state string
		kept        bool
	}{
		{"first call", "", false},
		{"later", `"2026-01-02T03:04:05Z"`, true},
		{"after a call in a former release", `{"since": "2026-01-02T03:04:05Z"}`, true},
		{"nothing of the kind", `{"since": 7}`, false},
		{"state of another step", `{"jobs": []}`, false},
	} {
		since := (&mgmtdriver.Call{State: []byte(row.state)}).Since()
		if kept := since.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); kept != row.kept || !kept && since.Before(now) {
			t.Errorf("%s: since %s", row.name, since)
		}
	}
}
