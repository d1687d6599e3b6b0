package main

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/store/storetest"
)

// TestRollingUpgrade replaces two servers of the former version, one after the other, while operations are under way. In between both
// versions work on one database, which the newer one has migrated.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	program := os.Getenv("VNFM_TEST_FORMER")
	if program == "" {
		t.Skip("VNFM_TEST_FORMER names no vnfm of a former version; make test-upgrade builds one")
	}
	c := newClusterOn(t, storetest.NewEmptyURL(t), heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 5 * time.Second}}})
	old := func() *process {
		p := serveProgram(t, program, c.database, c.key)
		p.client = http.DefaultClient // its answers are those of its own documents
		return p
	}
	first, second := old(), old()
	c.registerVim(first)
	vnfd := c.onboard(first, samples.TwoVdu())
	instances := []string{}
	begin := func(p *process) (location string) {
		instances = append(instances, c.create(p, vnfd))
		return p.expect(http.StatusAccepted, http.MethodPost, instances[len(instances)-1]+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	}
	underWay := begin(first)
	first.await(underWay, "PROCESSING")
	first.terminate()
	third := c.serve()
	byOld, byNew := begin(second), begin(third)
	if pkg := second.onboard(samples.Kubernetes()); pkg.OnboardingState != "ONBOARDED" {
		t.Errorf("the former version cannot onboard a package any more: %+v", pkg)
	}
	for _, location := range []string{underWay, byOld, byNew} {
		third.await(location, "COMPLETED")
		second.await(location, "COMPLETED")
	}
	second.expect(http.StatusOK, http.MethodGet, "/readyz", nil, nil)
	again := begin(second)
	second.await(again, "PROCESSING")
	second.terminate()
	old().terminate() // it can be started on the new schema, too
	fourth := c.serve()
	fourth.await(again, "COMPLETED")

	scaled := fourth.expect(http.StatusAccepted, http.MethodPost, instances[0]+"/scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"}, nil)
	fourth.await(scaled.Header.Get("Location"), "COMPLETED")
	for _, instance := range instances {
		ended := third.expect(http.StatusAccepted, http.MethodPost, instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"}, nil)
		third.await(ended.Header.Get("Location"), "COMPLETED")
	}
	c.leaveNothing()
}

// TestServerWorksOnTheSchemaOfTheNextVersion lets a migration to come happen under a server, as far as the rule for migrations allows: every
// table gets a column, and there is a new one.
func TestServerWorksOnTheSchemaOfTheNextVersion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 3 * time.Second}}})
	running := c.serve()
	c.registerVim(running)
	instance := c.instance(running)
	location := running.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	running.await(location, "PROCESSING")
	migrateFurther(t, c.database)
	running.await(location, "COMPLETED")
	started := c.serve()
	for _, p := range []*process{running, started} {
		sink := newSink(t)
		sink.subscribe(p, "vnflcm")
		another := c.create(p, c.vnfdOf(p, instance))
		made := p.expect(http.StatusAccepted, http.MethodPost, another+"/instantiate", c.instantiation(), nil)
		p.await(made.Header.Get("Location"), "COMPLETED")
		p.until("telling its consumer", func() bool { return len(sink.told()) >= 4 })
	}
	if pkg := started.onboard(samples.Kubernetes()); pkg.OnboardingState != "ONBOARDED" {
		t.Errorf("a package: %+v", pkg)
	}
	ended := started.expect(http.StatusAccepted, http.MethodPost, instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"}, nil)
	running.await(ended.Header.Get("Location"), "COMPLETED")
}

// vnfdOf is the VNFD of an instance.
func (*cluster) vnfdOf(p *process, instance string) string {
	p.t.Helper()
	var shown struct{ VnfdID string }
	p.expect(http.StatusOK, http.MethodGet, instance, nil, &shown)
	return shown.VnfdID
}

// migrateFurther does what a migration of the next version may do.
func migrateFurther(t *testing.T, databaseURL string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	rows, err := db.Query(t.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 8 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	statements := []string{`CREATE TABLE of_the_next_version (id uuid PRIMARY KEY)`, `UPDATE schema_migrations SET version = version + 1`}
	for _, table := range tables {
		statements = append(statements, fmt.Sprintf(`ALTER TABLE %s ADD COLUMN next_version text NOT NULL DEFAULT 'x'`, table))
	}
	for _, statement := range statements {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
