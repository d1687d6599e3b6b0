package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"vnfm/lcm"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// These tests hold one party at a certain point by a transaction of their own, so that the other comes exactly then.

// held begins a transaction and does something in it.
func held(t *testing.T, db *storetest.Database, sql string, args ...any) pgx.Tx {
	t.Helper()
	tx, err := connect(t, db.URL()).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	return tx
}

// waiting returns once somebody waits for a lock in the database.
func waiting(t *testing.T, db *storetest.Database) {
	t.Helper()
	connection := connect(t, db.URL())
	for waits := 0; waits == 0; time.Sleep(5 * time.Millisecond) {
		const query = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
		if err := connection.QueryRow(t.Context(), query).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRequestDuringCommitOfRunIsAConflict(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	instance := created(t, db)
	running := started(t, db, instance)
	run, err := db.AcquireRun(t.Context(), running.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// A request that has locked the instance and not yet stored its operation, and meanwhile a commit.
	tx := held(t, db, `SELECT FROM vnf_instances WHERE id = $1 FOR UPDATE`, instance.ID)
	group := errgroup.Group{}
	group.Go(func() error { return db.CommitRun(t.Context(), run, lcm.Commit{Operation: true, Deployment: true}) })
	waiting(t, db)
	const insert = `
		INSERT INTO vnf_lcm_op_occs (id, state, vnf_instance_id, type, is_automatic_invocation, params, request, lease_until)
		VALUES (gen_random_uuid(), 'STARTING', $1, 'INSTANTIATE', false, '{}', '', now()) ON CONFLICT DO NOTHING`
	if _, err := tx.Exec(t.Context(), insert, instance.ID); err != nil {
		t.Errorf("the request: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if err := group.Wait(); err != nil {
		t.Errorf("the commit: %v", err)
	}
}

func TestPackageThatGetsAnInstanceIsNotDeleted(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := onboarded(t, db, "vnfd")
	const create = `
		WITH package AS (SELECT id FROM vnf_packages WHERE id = $1 FOR SHARE)
		INSERT INTO vnf_instances (id, name, description, vnfd_id, vnf_pkg_id, provider, product_name, software_version, vnfd_version,
			instantiation_state)
		SELECT gen_random_uuid(), '', '', '', id, '', '', '', '', 'NOT_INSTANTIATED' FROM package`
	tx := held(t, db, create, pkg.ID)
	group := errgroup.Group{}
	inUse := errors.New("in use")
	group.Go(func() error {
		return db.DeletePackage(t.Context(), pkg.ID, func(pkg *vnfpkg.Package) error {
			if pkg.UsageState == vnfpkg.InUse {
				return inUse
			}
			return nil
		})
	})
	waiting(t, db)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); !errors.Is(err, inUse) {
		t.Errorf("deletion: %v", err)
	}
}

func TestVimThatGetsAnInstanceIsNotDeleted(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	vim := &lcm.Vim{ID: uuid.New(), Name: "one", Type: "openstack"}
	if err := db.CreateVim(t.Context(), vim); err != nil {
		t.Fatal(err)
	}
	instance := created(t, db)
	tx := held(t, db, `UPDATE vnf_instances SET vim_id = $1 WHERE id = $2`, vim.ID, instance.ID)
	group := errgroup.Group{}
	group.Go(func() error { return db.DeleteVim(t.Context(), vim.ID) })
	waiting(t, db)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion: %v", err)
	}
}

// endless is the body of a client that sends nothing more and does not go away.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func TestSlowClientsLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	stored := onboarded(t, db, "vnfd")
	slow, end := context.WithCancel(t.Context())
	group := errgroup.Group{}
	t.Cleanup(func() {
		end()
		_ = group.Wait()
	})
	for range 40 {
		pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
		if err := db.CreatePackage(t.Context(), pkg); err != nil {
			t.Fatal(err)
		}
		group.Go(func() error { return db.WriteContent(slow, pkg.ID, endless{slow}, 100) })
		reader, err := db.OpenContent(t.Context(), stored.ID) // a download that nobody goes on with
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
	}
	uploading := func() (n int) {
		packages, _, err := db.Packages(t.Context(), vnfpkg.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pkg := range packages {
			if pkg.OnboardingState == vnfpkg.Uploading {
				n++
			}
		}
		return n
	}
	for uploading() < 10 {
		time.Sleep(10 * time.Millisecond)
	}
	operation := started(t, db, createdOf(t, db, stored))
	if _, err := db.AcquireRun(t.Context(), operation.ID, time.Minute); err != nil {
		t.Error(err)
	}
}

func createdOf(tb testing.TB, db *storetest.Database, pkg *vnfpkg.Package) *lcm.VnfInstance {
	tb.Helper()
	instance := &lcm.VnfInstance{ID: uuid.New(), VnfdID: "vnfd", VnfPkgID: pkg.ID, InstantiationState: lcm.NotInstantiated}
	if err := db.CreateInstance(tb.Context(), instance); err != nil {
		tb.Fatal(err)
	}
	return instance
}

func TestContentThatIsRemovedWhileReadIsNotFound(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := onboarded(t, db, "vnfd")
	reader, err := db.OpenContent(t.Context(), pkg.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := db.DeletePackage(t.Context(), pkg.ID, func(*vnfpkg.Package) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(io.NewSectionReader(reader, 0, reader.Size())); !errors.Is(err, vnfpkg.ErrNotFound) {
		t.Errorf("reading: %v", err)
	}
}

func TestOnlyOneOfTwoUploadsIsTaken(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan error, 2)
	for range cap(outcomes) {
		go func() { outcomes <- db.WriteContent(t.Context(), pkg.ID, &zeros{left: 4 << 20}, 8<<20) }()
	}
	first, second := <-outcomes, <-outcomes
	if (first == nil) == (second == nil) || !errors.As(errors.Join(first, second), new(*vnfpkg.Conflict)) {
		t.Errorf("outcomes: %v, %v", first, second)
	}
	expectObjects(t, db, 1)
}

// zeros is a body of zeros that comes in parts of the size of network packets.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left, 1400)
	clear(p[:n])
	z.left -= n
	return n, nil
}

func TestSealedValuesHoldWhatTheApiMasks(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	run, err := db.AcquireRun(t.Context(), operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	run.Deployment = &lcm.Deployment{Parameters: map[string]any{"password": "geheim"}}
	step := lcm.StepRecord{Name: "plan", State: lcm.StepDone, Output: json.RawMessage(`{"password":"geheim"}`)}
	if err := db.CommitRun(t.Context(), run, lcm.Commit{Deployment: true, Steps: []lcm.StepRecord{step}}); err != nil {
		t.Fatal(err)
	}
	vim := &lcm.Vim{ID: uuid.New(), Name: "one", Type: "openstack", AuthCred: map[string]any{"password": "geheim"}}
	if err := db.CreateVim(t.Context(), vim); err != nil {
		t.Fatal(err)
	}
	// Nothing of it is to be found in the tables, that of the jobs included.
	for _, table := range []string{"vims", "vnf_instances", "vnf_lcm_op_occs", "vnf_lcm_op_steps", "river.river_job"} {
		var plain int
		query := `SELECT count(*) FROM ` + table + ` r WHERE r::text LIKE '%geheim%' OR r::text LIKE '%' || encode('geheim', 'hex') || '%'`
		if err := connect(t, db.URL()).QueryRow(t.Context(), query).Scan(&plain); err != nil || plain != 0 {
			t.Errorf("%d rows of %s hold a secret in clear, %v", plain, table, err)
		}
	}
}

// TestPausedTransactionGivesItsLocksUp has a process that is paused in the middle of a transaction: its connection lives, so only the
// database can tell that it does nothing.
func TestPausedTransactionGivesItsLocksUp(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	locked, over := make(chan struct{}), make(chan struct{})
	paused := errgroup.Group{}
	paused.Go(func() error {
		return db.InTx(t.Context(), func(tx pgx.Tx) error {
			defer close(locked)
			if _, err := tx.Exec(t.Context(), `SELECT FROM vnf_lcm_op_occs WHERE id = $1 FOR UPDATE`, operation.ID); err != nil {
				return err
			}
			locked <- struct{}{}
			<-over
			return nil
		})
	})
	<-locked
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := db.Open(t).AcquireRun(ctx, operation.ID, time.Minute); err != nil {
		t.Errorf("the other process: %v", err)
	}
	close(over)
	if err := paused.Wait(); err == nil {
		t.Error("the paused process has committed")
	}
}

func TestOperationThatChangesWhileItIsEnded(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	to := func(state lcm.OperationState) func(*lcm.Operation) error {
		return func(o *lcm.Operation) error {
			o.State = state
			return nil
		}
	}
	if _, err := db.ChangeOperation(t.Context(), operation.ID, to(lcm.StateFailedTemp)); err != nil {
		t.Fatal(err)
	}
	_, err := db.EndOperation(t.Context(), operation.ID, func(run *lcm.Run) error {
		run.Operation.State = lcm.StateFailed
		_, err := db.ChangeOperation(t.Context(), operation.ID, to(lcm.StateProcessing))
		return err
	})
	if !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("ended although it is retried: %v", err)
	}
	awaitState(t, db, operation.ID, lcm.StateProcessing)
}
