package store_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

func TestStoppedWorkersGiveTheirOperationsBack(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	got := make(chan int64, 10)
	none := processor{db: db, got: make(chan uuid.UUID, 10)}
	first, err := store.NewWorkers(db.Store, runner{db: db, got: got}, none, store.WorkersConfig{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-got
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	hold := make(chan struct{})
	close(hold)
	second := db.Open(t)
	work(t, second, runner{db: second, got: got, hold: hold}, none)
	if number := <-got; number != 2 {
		t.Errorf("run %d", number)
	}
	t.Logf("taken up %v after the stop", time.Since(stopped).Round(time.Millisecond))
	awaitState(t, db, operation.ID, lcm.StateFailedTemp)
}

// flaky fails some times, as when the database is away, and then asks to be called again at once.
type flaky struct {
	calls atomic.Int32
	done  chan struct{}
}

func (f *flaky) Run(context.Context, uuid.UUID) (*time.Duration, error) {
	switch f.calls.Add(1) {
	case 1:
		return nil, errors.New("database away")
	case 2:
		panic("a defect")
	case 3:
		return new(time.Duration), nil
	default:
		close(f.done)
		return nil, nil
	}
}

func TestJobThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	f := &flaky{done: make(chan struct{})}
	none := processor{db: db, got: make(chan uuid.UUID, 10)}
	workers, err := store.NewWorkers(db.Store, f, none, store.WorkersConfig{SweepInterval: time.Hour, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer workers.Stop(t.Context())
	started(t, db, created(t, db))
	<-f.done
}

// A job may begin before the upload that has asked for it has given its lock back.
func TestOnboardingWaitsForTheEndOfTheUpload(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	if err := db.WriteContent(t.Context(), pkg.ID, strings.NewReader("a CSAR"), 100); err != nil {
		t.Fatal(err)
	}
	connection := connect(t, db.URL())
	if _, err := connection.Exec(t.Context(), `SELECT pg_advisory_lock(716011846, hashtext($1::text))`, pkg.ID.String()); err != nil {
		t.Fatal(err)
	}
	got := make(chan uuid.UUID, 10)
	workers, err := store.NewWorkers(db.Store, runner{db: db}, processor{db: db, got: got}, store.WorkersConfig{SweepInterval: time.Hour, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer workers.Stop(t.Context())
	for tries := 0; tries == 0; time.Sleep(10 * time.Millisecond) {
		const query = `SELECT count(*) FROM river.river_job WHERE state = 'scheduled' OR metadata ? 'snoozes'`
		if err := connect(t, db.URL()).QueryRow(t.Context(), query).Scan(&tries); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := connection.Exec(t.Context(), `SELECT pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	<-got
	awaitPackage(t, db, pkg.ID, vnfpkg.Onboarded)
}

// The process that had taken the job is gone: the job counts as running, and nobody has the package's lock.
func TestLostOnboardingIsTakenUp(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	if err := db.WriteContent(t.Context(), pkg.ID, strings.NewReader("a CSAR"), 100); err != nil {
		t.Fatal(err)
	}
	const take = `
		WITH job AS (UPDATE river.river_job SET state = 'running', attempted_at = now())
		UPDATE vnf_packages SET updated_at = now() - interval '1 minute'`
	if _, err := connect(t, db.URL()).Exec(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	got := make(chan uuid.UUID, 10)
	work(t, db, runner{db: db}, processor{db: db, got: got})
	<-got
	awaitPackage(t, db, pkg.ID, vnfpkg.Onboarded)
}
