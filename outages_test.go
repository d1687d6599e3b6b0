package main

import (
	"net/http"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
)

// outage is what happens to a VIM for a while.
type outage struct {
	name  string
	begin func(c *cluster) error
	lasts time.Duration
}

// short is longer than a VIM has for an answer in these tests.
const short = 1500 * time.Millisecond

var outages = []outage{
	// A minute of it once, for real.
	{"Heat answers 503", func(c *cluster) error {
		return c.cloud.Inject(heattest.Fault{Path: "^/orchestration/", Status: http.StatusServiceUnavailable})
	}, time.Minute},
	{"Heat answers 500", func(c *cluster) error {
		return c.cloud.Inject(heattest.Fault{Path: "^/orchestration/", Status: http.StatusInternalServerError})
	}, short},
	{"Heat does not answer", func(c *cluster) error {
		return c.cloud.Inject(heattest.Fault{Path: "^/orchestration/", Hang: true})
	}, 2 * short},
	{"Heat does what it is asked for and its answers are lost", func(c *cluster) error {
		return c.cloud.Inject(heattest.Fault{Path: "^/orchestration/", LoseReply: true})
	}, short},
	{"Heat closes connections", func(c *cluster) error {
		c.cloud.SetDown("orchestration", true)
		return nil
	}, short},
	{"Keystone answers 503 when tokens have ended", func(c *cluster) error {
		c.cloud.RevokeTokens()
		return c.cloud.Inject(heattest.Fault{Path: "^/identity/", Status: http.StatusServiceUnavailable})
	}, short},
	{"Keystone closes connections when tokens have ended", func(c *cluster) error {
		c.cloud.RevokeTokens()
		c.cloud.SetDown("identity", true)
		return nil
	}, short},
}

// TestOperationsOutliveOutages takes the VIM away before an operation reaches it, and while Heat is at work: every operation goes on by
// itself, and in the end there is what has been asked for, once.
func TestOperationsOutliveOutages(t *testing.T) {
	t.Parallel()
	for _, row := range outages {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWalk(t, "--vim-timeout", "1s")
			w.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: time.Second, Delete: time.Second}})
			lasts := row.lasts
			through := func(task string, body any, states ...string) {
				t.Helper()
				begin := func() {
					if err := row.begin(w.cluster); err != nil {
						t.Fatal(err)
					}
					end := time.AfterFunc(lasts, w.cloud.ClearFaults)
					t.Cleanup(func() { end.Stop() })
				}
				before := len(states) == 0
				if before {
					begin()
				}
				location := w.begin(task, body)
				if !before {
					w.p.until(states[0], func() bool {
						for _, item := range w.cloud.Inventory() {
							if item.Kind == "stack" && item.Name == w.stack() && item.Status == states[0] {
								return true
							}
						}
						return false
					})
					begin()
				}
				w.p.await(location, "COMPLETED")
				w.truth()
				lasts = min(row.lasts, 2*short) // the long outage is for the first operation alone
			}
			through("instantiate", w.instantiation(), "CREATE_IN_PROGRESS")
			through("scale", scale("SCALE_OUT", 1))
			through("heal", map[string]any{"vnfcInstanceId": w.vnfcs("controller")[0].ID}, "UPDATE_IN_PROGRESS")
			through("heal", map[string]any{})
			w.shape(1, 2)
			through("terminate", map[string]any{"terminationType": "FORCEFUL"}, "DELETE_IN_PROGRESS")
			w.gone()
		})
	}
}

// TestTokensEndDuringOperations has a Keystone whose tokens are valid for a second.
func TestTokensEndDuringOperations(t *testing.T) {
	t.Parallel()
	w := &walk{t: t, cluster: newCluster(t, heattest.Options{
		TokenLifetime: time.Second,
		Delays:        heattest.Delays{"OS::Nova::Server": {Create: 3 * time.Second, Delete: 3 * time.Second}},
	})}
	w.p = w.serve()
	w.registerVim(w.p)
	w.instance = w.cluster.instance(w.p)
	w.cloud.ResetCalls()
	w.do("instantiate", w.instantiation())
	w.do("scale", scale("SCALE_OUT", 1))
	w.shape(1, 2)
	w.leave()
	if logins := w.cloud.Calls()["POST /identity/v3/auth/tokens"]; logins < 6 {
		t.Errorf("%d logins, so the tokens have not ended", logins)
	}
}
