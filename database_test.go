package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
	"vnfm/store/postgres"
)

// restartable is a PostgreSQL server that can be stopped and started again.
type restartable struct {
	t      *testing.T
	dir    string
	server *postgres.Private
}

func startDatabase(t *testing.T) *restartable {
	t.Helper()
	dir, err := os.MkdirTemp("", "vnfm-test-") //nolint:usetesting // those of testing are closed to the account of PostgreSQL
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &restartable{t: t, dir: dir}
	r.start()
	t.Cleanup(r.stop)
	return r
}

// start keeps to what PostgreSQL promises when only the server dies, and not the machine.
func (r *restartable) start() {
	r.t.Helper()
	var err error
	if r.server, err = postgres.StartPrivate(r.t.Context(), r.dir, "fsync=off"); err != nil {
		r.t.Fatal(err)
	}
}

// stop is pg_ctl stop -m immediate.
func (r *restartable) stop() {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, "data", "postmaster.pid"))
	if err != nil {
		return // it is stopped
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		r.t.Error(err)
	}
	if err := r.server.Stop(); err != nil {
		r.t.Error(err)
	}
}

// watch asks for paths again and again until end is called, and counts in away how often the answer was that the database is away.
// Whatever happens, an answer is one of the OpenAPI documents, and none is a mistake of the server.
func (p *process) watch(paths ...string) (away *atomic.Int64, end func()) {
	away = &atomic.Int64{}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			path := paths[i%len(paths)]
			var answer json.RawMessage
			switch response := p.call(http.MethodGet, path, nil, &answer); {
			case response.StatusCode == http.StatusServiceUnavailable && bytes.Contains(answer, []byte("database")):
				away.Add(1)
			case response.StatusCode != http.StatusOK:
				p.t.Errorf("%s: %s %s", path, response.Status, answer)
			}
		}
	})
	return away, func() {
		close(stop)
		watching.Wait()
	}
}

// TestDatabaseRestartsInTheMiddle stops PostgreSQL at once, without a checkpoint, while operations run.
func TestDatabaseRestartsInTheMiddle(t *testing.T) {
	t.Parallel()
	database := startDatabase(t)
	c := newClusterOn(t, database.server.URL(), heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 5 * time.Second, Delete: 5 * time.Second}}})
	p := c.serve()
	c.registerVim(p)
	instance := c.instance(p)
	through := func(task string, body any) {
		t.Helper()
		location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/"+task, body, nil).Header.Get("Location")
		p.await(location, "PROCESSING")
		paths := []string{instance, location, "/vnflcm/v1/vnf_instances", "/v1.0/vims", "/vnfpkgm/v1/vnf_packages", "/readyz"}
		away, end := p.watch(paths...)
		defer end()
		database.stop()
		p.expect(http.StatusServiceUnavailable, http.MethodGet, "/readyz", nil, nil)
		p.expect(http.StatusOK, http.MethodGet, "/healthz", nil, nil)
		p.expect(http.StatusServiceUnavailable, http.MethodPost, instance+"/heal", map[string]any{}, nil)
		p.expect(http.StatusServiceUnavailable, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{}, nil)
		p.expect(http.StatusServiceUnavailable, http.MethodPost, location+"/fail", nil, nil)
		p.until("known to be away", func() bool { return away.Load() > 5*int64(len(paths)) })
		database.start()
		restarted := time.Now()
		p.until("ready", func() bool { return p.call(http.MethodGet, "/readyz", nil, nil).StatusCode == http.StatusOK })
		p.await(location, "COMPLETED")
		t.Logf("%s completed %v after the restart", task, time.Since(restarted).Round(time.Millisecond))
	}
	through("instantiate", c.instantiation())
	through("scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group", "numberOfSteps": "2"})
	if servers := len(c.servers()); servers != 4 {
		t.Errorf("%d servers, want 4", servers)
	}
	through("terminate", map[string]any{"terminationType": "FORCEFUL"})
	c.leaveNothing()
	p.expect(http.StatusNoContent, http.MethodDelete, instance, nil, nil)
}
