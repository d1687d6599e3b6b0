package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"vnfm/lcm"
	"vnfm/store"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// onboarded stores a package that instances can be made of.
func onboarded(tb testing.TB, db *storetest.Database, vnfdID string) *vnfpkg.Package {
	tb.Helper()
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(tb.Context(), pkg); err != nil {
		tb.Fatal(err)
	}
	if err := db.WriteContent(tb.Context(), pkg.ID, strings.NewReader("a CSAR"), 100); err != nil {
		tb.Fatal(err)
	}
	pkg, err := db.UpdatePackage(tb.Context(), pkg.ID, func(pkg *vnfpkg.Package) error {
		pkg.OnboardingState, pkg.OperationalState = vnfpkg.Onboarded, vnfpkg.Enabled
		pkg.Description = &vnfpkg.Description{VnfdID: vnfdID, Provider: "Company", Vnfd: &vnfpkg.Vnfd{}}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return pkg
}

func created(t *testing.T, db *storetest.Database) *lcm.VnfInstance {
	t.Helper()
	pkg := onboarded(t, db, uuid.NewString())
	instance := &lcm.VnfInstance{
		ID: uuid.New(), Name: "vnf", VnfdID: pkg.Description.VnfdID, VnfPkgID: pkg.ID, InstantiationState: lcm.NotInstantiated,
		Metadata: map[string]any{"key": "value"},
	}
	if err := db.CreateInstance(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	return instance
}

func started(t *testing.T, db *storetest.Database, instance *lcm.VnfInstance) *lcm.Operation {
	t.Helper()
	operation := &lcm.Operation{
		ID: uuid.New(), State: lcm.StateStarting, VnfInstanceID: instance.ID, Type: lcm.OpInstantiate,
		Params: json.RawMessage(`{"password": "***"}`),
	}
	err := db.StartOperation(t.Context(), operation, json.RawMessage(`{"password": "geheim"}`), lcm.Precondition{State: lcm.NotInstantiated})
	if err != nil {
		t.Fatal(err)
	}
	return operation
}

func TestInstanceComesBackAsItWasStored(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	stored := created(t, db)
	read, err := db.Instance(t.Context(), stored.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, read); diff != "" {
		t.Error(diff)
	}
	if _, err := db.Instance(t.Context(), uuid.New()); !errors.As(err, new(*lcm.NotFound)) {
		t.Errorf("unknown instance: %v", err)
	}
}

func TestPagesHoldEachInstanceOnce(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	first := created(t, db)
	want := map[uuid.UUID]bool{first.ID: true}
	for range 6 {
		next := *first
		next.ID = uuid.New()
		if err := db.CreateInstance(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
		want[next.ID] = true
	}
	got, page, more := map[uuid.UUID]bool{}, lcm.Page{Limit: 3}, true
	for more {
		var instances []*lcm.VnfInstance
		var err error
		if instances, more, err = db.Instances(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		for _, instance := range instances {
			if got[instance.ID] {
				t.Errorf("instance %s came twice", instance.ID)
			}
			if instance.Metadata != nil {
				t.Error("a list holds metadata, which SOL003 leaves out by default")
			}
			got[instance.ID] = true
			page.After = lcm.Cursor{CreatedAt: instance.CreatedAt.UnixMicro(), ID: instance.ID}
		}
		// An element that goes does not disturb the rest.
		if len(instances) > 0 && more {
			if err := db.DeleteInstance(t.Context(), instances[len(instances)-1].ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOneOfManyClientsStartsAnOperation(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	instance := created(t, db)
	outcomes := make(chan error, 10)
	for range cap(outcomes) {
		go func() {
			operation := &lcm.Operation{
				ID: uuid.New(), State: lcm.StateStarting, VnfInstanceID: instance.ID, Type: lcm.OpInstantiate, Params: json.RawMessage(`{}`),
			}
			outcomes <- db.StartOperation(t.Context(), operation, json.RawMessage(`{}`), lcm.Precondition{State: lcm.NotInstantiated})
		}()
	}
	won := 0
	for range cap(outcomes) {
		err := <-outcomes
		if err == nil {
			won++
		} else if !errors.As(err, new(*lcm.Conflict)) {
			t.Errorf("loser got %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d clients started an operation", won)
	}
	if err := db.DeleteInstance(t.Context(), instance.ID); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion during an operation: %v", err)
	}
}

func TestSupersededRunCannotWrite(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	const lease = 2 * time.Second // long enough for a slow machine to ask twice
	old, err := db.AcquireRun(t.Context(), operation.ID, lease)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.AcquireRun(t.Context(), operation.ID, time.Minute); !errors.Is(err, lcm.ErrNothingToDo) {
		t.Errorf("second run beside a living one: %v", err)
	}
	time.Sleep(lease + 100*time.Millisecond)
	current, err := db.AcquireRun(t.Context(), operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	old.Operation.State = lcm.StateFailedTemp
	if err := db.CommitRun(t.Context(), old, lcm.Commit{Operation: true}); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("commit of a superseded run: %v", err)
	}
	if err := db.RenewRun(t.Context(), old, time.Minute); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("renewal of a superseded run: %v", err)
	}
	if err := db.RenewRun(t.Context(), current, time.Minute); err != nil {
		t.Error(err)
	}
	read, err := db.Operation(t.Context(), operation.ID)
	if err != nil || read.State != lcm.StateStarting {
		t.Errorf("operation is %s, %v", read.State, err)
	}
}

func TestCommitIsReadBackByTheNextRun(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	run, err := db.AcquireRun(t.Context(), operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"password": "geheim"}`, string(run.Request)); diff != "" {
		t.Error(diff)
	}
	run.Operation.State = lcm.StateProcessing
	run.Deployment = &lcm.Deployment{StackName: "vnf-x", Parameters: map[string]any{"password": "geheim"}}
	step := lcm.StepRecord{Name: "plan", State: lcm.StepDone, Output: json.RawMessage(`{"secret":"geheim"}`)}
	err = db.CommitRun(t.Context(), run, lcm.Commit{
		Operation: true, Deployment: true, Steps: []lcm.StepRecord{step}, Release: new(time.Duration),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CommitRun(t.Context(), run, lcm.Commit{Operation: true}); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("commit after the release: %v", err)
	}
	again, err := db.AcquireRun(t.Context(), operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if again.Operation.State != lcm.StateProcessing || again.Deployment.StackName != "vnf-x" ||
		again.Deployment.Parameters["password"] != "geheim" || len(again.Operation.Steps) != 1 ||
		string(again.Operation.Steps[0].Output) != string(step.Output) {
		t.Errorf("the next run reads %+v, %+v", again.Operation, again.Deployment)
	}
	shown, err := db.Operation(t.Context(), operation.ID)
	if err != nil || shown.Steps[0].Output != nil {
		t.Errorf("reading for the API opens a seal: %+v, %v", shown.Steps, err)
	}
}

func TestSealedValuesOpenOnlyWhereTheyBelong(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	one, two := started(t, db, created(t, db)), started(t, db, created(t, db))
	connection, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(context.WithoutCancel(t.Context()))
	_, err = connection.Exec(t.Context(), `UPDATE vnf_lcm_op_occs SET request = (SELECT request FROM vnf_lcm_op_occs WHERE id = $1) WHERE id = $2`,
		one.ID, two.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.AcquireRun(t.Context(), two.ID, time.Minute); err == nil || !strings.Contains(err.Error(), "belongs elsewhere") {
		t.Errorf("a request that was moved to another row opened: %v", err)
	}
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "new", "secret.key")
	group := errgroup.Group{}
	for range 8 {
		group.Go(func() error {
			_, err := store.OpenKeyring(name, silent)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.OpenKeyring(name, silent); err == nil || !strings.Contains(err.Error(), "read by others") {
		t.Errorf("a key file that others can read is taken: %v", err)
	}
}

func TestVims(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	vim := &lcm.Vim{ID: uuid.New(), Name: "one", Type: "openstack", IsDefault: true, AuthCred: map[string]any{"password": "geheim"},
		Regions: []string{"RegionOne"}}
	if err := db.CreateVim(t.Context(), vim); err != nil {
		t.Fatal(err)
	}
	read, err := db.Vim(t.Context(), vim.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(vim, read); diff != "" {
		t.Error(diff)
	}
	for name, other := range map[string]*lcm.Vim{
		"second default": {ID: uuid.New(), Name: "two", IsDefault: true}, "same name": {ID: uuid.New(), Name: "one"},
	} {
		if err := db.CreateVim(t.Context(), other); !errors.As(err, new(*lcm.Conflict)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	operation := started(t, db, created(t, db))
	run, err := db.AcquireRun(t.Context(), operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	run.Deployment = &lcm.Deployment{VimConnectionInfo: []lcm.VimConnectionInfo{{VimID: vim.ID.String()}}}
	if err := db.CommitRun(t.Context(), run, lcm.Commit{Deployment: true}); err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteVim(t.Context(), vim.ID); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion of a VIM in use: %v", err)
	}
	run.Deployment = nil
	if err := db.CommitRun(t.Context(), run, lcm.Commit{Deployment: true}); err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteVim(t.Context(), vim.ID); err != nil {
		t.Error(err)
	}
}

func TestProcessesMigrateTogether(t *testing.T) {
	t.Parallel()
	url := storetest.NewEmptyURL(t)
	group := errgroup.Group{}
	for range 6 {
		group.Go(func() error {
			db, err := store.Open(t.Context(), store.Config{URL: url, Keys: store.NewKeyring(storetest.Key(t))})
			if err != nil {
				return err
			}
			defer db.Close()
			if err := db.Migrate(t.Context()); err != nil {
				return err
			}
			return db.Ready(t.Context())
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
