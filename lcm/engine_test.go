package lcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
	"vnfm/samples"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// bench is everything that operations need, with the real Heat driver on a simulated OpenStack and a real database.
type bench struct {
	t        *testing.T
	db       *storetest.Database
	cloud    *heattest.Cloud
	driver   *heat.Driver
	packages *vnfpkg.Registry
	vims     *lcm.VimRegistry
	drivers  mgmtdriver.Drivers
	manager  *lcm.Manager
}

func setup(t *testing.T) *bench {
	t.Helper()
	return setupWith(t, heattest.Options{}, nil)
}

func setupWith(t *testing.T, cloud heattest.Options, drivers mgmtdriver.Drivers) *bench {
	t.Helper()
	b := &bench{t: t, drivers: drivers, db: storetest.New(t), cloud: heattest.Start(t, cloud), driver: heat.New(heat.Config{})}
	b.packages = vnfpkg.NewRegistry(b.db, b.db, vnfpkg.DefaultLimits(), lcm.CheckDrivers(drivers))
	b.vims = lcm.NewVimRegistry(b.db, b.driver)
	b.manager = lcm.NewManager(b.db, b.db, b.packages, b.vims, b.driver, b.drivers)
	account := b.cloud.Account()
	_, err := b.vims.Register(t.Context(), &lcm.Vim{
		Name: "cloud", Type: "openstack", AuthURL: b.cloud.AuthURL(), IsDefault: true,
		VimProject: map[string]any{"name": account.Project, "project_domain_name": account.Domain},
		AuthCred:   map[string]any{"username": account.User, "password": account.Password, "user_domain_name": account.Domain},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// quick are the times of an engine in tests: a dead run is replaced at once.
var quick = lcm.EngineConfig{Lease: 700 * time.Millisecond, Patience: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}

func (b *bench) engine(runs lcm.RunStore) *lcm.Engine {
	return lcm.NewEngine(runs, b.packages, b.vims, b.driver, b.drivers, quick)
}

// instance onboards the sample package and creates an instance of it.
func (b *bench) instance() *lcm.VnfInstance {
	b.t.Helper()
	return b.create(b.onboard(samples.TwoVdu()).Description.VnfdID)
}

func (b *bench) create(vnfdID string) *lcm.VnfInstance {
	b.t.Helper()
	instance, err := b.manager.CreateInstance(b.t.Context(), lcm.CreateRequest{VnfdID: vnfdID})
	if err != nil {
		b.t.Fatal(err)
	}
	return instance
}

func (b *bench) onboard(files fs.FS) *vnfpkg.Package {
	b.t.Helper()
	var csar bytes.Buffer
	if err := vnfpkg.BuildFS(b.t.Context(), files, &csar); err != nil {
		b.t.Fatal(err)
	}
	pkg, err := b.packages.Create(b.t.Context(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.packages.Upload(b.t.Context(), pkg.ID, &csar); err != nil {
		b.t.Fatal(err)
	}
	if err := b.packages.Process(b.t.Context(), pkg.ID); err != nil {
		b.t.Fatal(err)
	}
	if pkg, err = b.packages.Package(b.t.Context(), pkg.ID); err != nil || pkg.OnboardingState != vnfpkg.Onboarded {
		b.t.Fatalf("onboarding: %+v, %v", pkg.Failure, err)
	}
	return pkg
}

func (b *bench) request() json.RawMessage {
	b.t.Helper()
	link := func(network string, cpds ...string) map[string]any {
		cps := []any{}
		for _, cpd := range cpds {
			cps = append(cps, map[string]any{"cpdId": cpd, "cpConfig": []any{}})
		}
		return map[string]any{"id": network, "resourceId": b.cloud.NetworkID(network), "extCps": cps}
	}
	encoded, err := json.Marshal(map[string]any{
		"flavourId":       "simple",
		"extVirtualLinks": []any{link("net0", "controller_CP1", "worker_CP1"), link("net1", "controller_CP2", "worker_CP2")},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return encoded
}

// follow runs an operation, as the workers of any number of processes do, until it is in a state that needs no run.
func (b *bench) follow(engine *lcm.Engine, id uuid.UUID) *lcm.Operation {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		_, _ = engine.Run(b.t.Context(), id) // what it cannot record, the next run does
		operation, err := b.manager.Operation(b.t.Context(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		if !operation.State.Transient() {
			return operation
		}
	}
	b.t.Fatal("the operation does not end")
	return nil
}

func (b *bench) expect(operation *lcm.Operation, state lcm.OperationState) {
	b.t.Helper()
	if operation.State != state {
		b.t.Fatalf("operation is %s, want %s: %+v", operation.State, state, operation.Error)
	}
}

func (b *bench) leaveNothing() {
	b.t.Helper()
	if leaks := b.cloud.Leaks(); len(leaks) > 0 {
		b.t.Errorf("left behind in the cloud: %+v", leaks)
	}
}

// dying fails the commit of a given number, and everything after it, as a process does that is killed just before it.
type dying struct {
	lcm.RunStore
	commits int
}

var errKilled = errors.New("killed")

func (d *dying) CommitRun(ctx context.Context, run *lcm.Run, commit lcm.Commit) error {
	if d.commits == 0 {
		return errKilled
	}
	d.commits--
	return d.RunStore.CommitRun(ctx, run, commit)
}

func (d *dying) RenewRun(ctx context.Context, run *lcm.Run, lease time.Duration) error {
	if d.commits == 0 {
		return errKilled
	}
	return d.RunStore.RenewRun(ctx, run, lease)
}

// TestDeathBeforeEveryCommit kills the process after the work and before the commit of every step of an operation; a second process
// goes on, and everything ends as if nothing had happened.
func TestDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	for kill := range 17 {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instance()
			operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = b.engine(&dying{b.db, kill}).Run(t.Context(), operation.ID)
			b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
			alive, err := b.manager.Instance(t.Context(), instance.ID)
			if err != nil || alive.InstantiationState != lcm.Instantiated || len(alive.InstantiatedVnfInfo.VnfcResourceInfo) != 2 {
				t.Fatalf("instance: %+v, %v", alive, err)
			}
			servers := 0
			for _, item := range b.cloud.Leaks() {
				if item.Kind == "server" {
					servers++
				}
			}
			if servers != 2 {
				t.Errorf("%d servers exist, want 2", servers)
			}

			operation, err = b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = b.engine(&dying{b.db, kill}).Run(t.Context(), operation.ID)
			b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestDeathDuringRollback(t *testing.T) {
	t.Parallel()
	for kill := range 20 {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instance()
			b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Reason: "No valid host was found."})
			operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
			if err != nil {
				t.Fatal(err)
			}
			failed := b.follow(b.engine(b.db), operation.ID)
			b.expect(failed, lcm.StateFailedTemp)
			if !strings.Contains(failed.Error.Detail, "No valid host was found") {
				t.Errorf("error %+v", failed.Error)
			}
			if _, err := b.manager.Rollback(t.Context(), operation.ID); err != nil {
				t.Fatal(err)
			}
			_, _ = b.engine(&dying{b.db, kill}).Run(t.Context(), operation.ID)
			b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateRolledBack)
			b.leaveNothing()
			if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRetryMakesTheFailedStackGood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "No valid host was found."})
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateFailedTemp)
	if _, err := b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`)); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("another operation in FAILED_TEMP: %v", err)
	}
	if _, err := b.manager.Retry(t.Context(), operation.ID); err != nil {
		t.Fatal(err)
	}
	completed := b.follow(b.engine(b.db), operation.ID)
	b.expect(completed, lcm.StateCompleted)
	if completed.Error != nil {
		t.Errorf("a completed operation has the error %+v", completed.Error)
	}
}

func TestRequestsThatCannotBeRightAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	for _, row := range []struct{ name, change, attribute string }{
		{"flavour", `{"flavourId": "none-such"}`, "/flavourId"},
		{"level", `{"instantiationLevelId": "none-such"}`, "/instantiationLevelId"},
		{"connection point", `{"extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [{"cpdId": "none-such", "cpConfig": []}]}]}`,
			"/extVirtualLinks/0/extCps/0/cpdId"},
		{"no network", `{"extVirtualLinks": []}`, "/extVirtualLinks"},
		{"VIM", `{"vimConnectionInfo": [{"id": "a", "vimId": "none-such", "vimType": "openstack"}]}`, "/vimConnectionInfo/0/vimId"},
		{"type of VIM", `{"vimConnectionInfo": [{"id": "a", "vimType": "none-such"}]}`, "/vimConnectionInfo/0/vimType"},
		{"half of the user data", `{"additionalParams": {"lcm-operation-user-data": "./UserData/a.py"}}`,
			"/additionalParams/lcm-operation-user-data-class"},
		{"user data file", `{"additionalParams": {"lcm-operation-user-data": "./a.py", "lcm-operation-user-data-class": "NoneSuch"}}`,
			"/additionalParams/lcm-operation-user-data"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var request map[string]any
			if err := errors.Join(json.Unmarshal(b.request(), &request), json.Unmarshal([]byte(row.change), &request)); err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.manager.Instantiate(t.Context(), instance.ID, body)
			var invalid *lcm.InvalidRequest
			if !errors.As(err, &invalid) || invalid.Attribute != row.attribute {
				t.Errorf("got %v, want a refusal of %s", err, row.attribute)
			}
		})
	}
}

func TestInstancesNeedAnEnabledPackage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	known := b.instance()
	if _, err := b.manager.CreateInstance(t.Context(), lcm.CreateRequest{VnfdID: uuid.NewString()}); !errors.As(err, new(*lcm.Unprocessable)) {
		t.Errorf("unknown VNFD: %v", err)
	}
	if _, err := b.packages.Modify(t.Context(), known.VnfPkgID, vnfpkg.Modification{OperationalState: vnfpkg.Disabled}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.manager.CreateInstance(t.Context(), lcm.CreateRequest{VnfdID: known.VnfdID}); !errors.As(err, new(*lcm.Unprocessable)) {
		t.Errorf("disabled package: %v", err)
	}
	if err := b.packages.Delete(t.Context(), known.VnfPkgID); !errors.As(err, new(*vnfpkg.Conflict)) {
		t.Errorf("deletion of a package in use: %v", err)
	}
}

func TestGracefulTerminationWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	began := time.Now()
	body := json.RawMessage(`{"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 1}`)
	if operation, err = b.manager.Terminate(t.Context(), instance.ID, body); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	if time.Since(began) < time.Second {
		t.Errorf("the stack was deleted after %s", time.Since(began))
	}
	b.leaveNothing()
}
