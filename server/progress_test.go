package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm/heat/heattest"
)

func TestProgressOfAnOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.registerVim()
	_, vnfdID, _ := b.onboard()
	b.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: time.Hour}})
	opOcc := b.start(b.instance(vnfdID), "instantiate", b.instantiation())
	working, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.engine.Run(working, uuid.MustParse(path.Base(opOcc)))
	}()
	defer func() { stop(); <-ended }()

	type operation struct {
		Progress *struct {
			Step   string
			Since  time.Time
			Detail string
		}
	}
	var shown operation
	for i := 0; shown.Progress == nil || shown.Progress.Step != "await_stack"; i++ {
		if i > 1000 {
			t.Fatalf("the operation tells %+v", shown)
		}
		time.Sleep(10 * time.Millisecond)
		if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, opOcc, "").body, &shown); err != nil {
			t.Fatal(err)
		}
	}
	if shown.Progress.Since.IsZero() {
		t.Error("nobody knows since when")
	}
	for query, want := range map[string][2]int{ // operations, and how many of them tell what they do
		"":           {1, 0},
		"all_fields": {1, 1},
		"fields=progress/detail&filter=(eq,progress/step,await_stack)":          {1, 1},
		"filter=(eq,progress/step,read_resources)":                              {0, 0},
		"filter=" + url.QueryEscape("(gt,progress/since,2026-01-01T00:00:00Z)"): {1, 0},
	} {
		var list []operation
		if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, "/vnflcm/v1/vnf_lcm_op_occs?"+query, "").body, &list); err != nil {
			t.Fatal(err)
		}
		got := [2]int{len(list)}
		for _, one := range list {
			if one.Progress != nil {
				got[1]++
			}
		}
		if got != want {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}
