package server_test

import (
	"encoding/json"
	"net/http"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/mgmtdriver"
)

func TestNodeLogsOfAnOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.registerVim()
	_, vnfdID, _ := b.onboard()
	opOcc := b.start(b.instance(vnfdID), "instantiate", b.instantiation())
	show := func() (shown []map[string]any) {
		t.Helper()
		if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, opOcc+"/node_logs", "").body, &shown); err != nil {
			t.Fatal(err)
		}
		return shown
	}
	if shown := show(); shown == nil || len(shown) > 0 {
		t.Errorf("of an operation without nodes: %v", shown)
	}
	run, err := b.db.AcquireRun(t.Context(), uuid.MustParse(path.Base(opOcc)), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	err = b.db.KeepNodeLogs(t.Context(), run, []lcm.NodeLog{
		{Node: "worker111 (10.0.0.5)", VnfcID: "vnfc-1", Job: "prepare", State: mgmtdriver.JobRunning, Lines: "Reading package lists\nUnpacking"},
		{Node: "ansible (10.0.0.9)", Job: "cluster.yml", State: mgmtdriver.JobFailed},
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := show()
	for _, log := range shown {
		if _, err := time.Parse(time.RFC3339, log["changedTime"].(string)); err != nil { //nolint:forcetypeassert // the document says so
			t.Error(err)
		}
		delete(log, "changedTime")
	}
	want := []map[string]any{
		{"node": "ansible (10.0.0.9)", "job": "cluster.yml", "state": "FAILED", "lines": ""},
		{"node": "worker111 (10.0.0.5)", "vnfcInstanceId": "vnfc-1", "job": "prepare", "state": "RUNNING", "lines": "Reading package lists\nUnpacking"},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	b.expect(http.StatusNotFound, http.MethodGet, "/vnflcm/v1/vnf_lcm_op_occs/"+uuid.NewString()+"/node_logs", "")
}
