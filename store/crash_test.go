package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store"
	"vnfm/store/postgres"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// lease is that of the runs in these tests.
const lease = 2 * time.Second

// runner holds an operation for as long as hold lasts, telling when it has got it, and then asks for no further run.
type runner struct {
	db   *storetest.Database
	got  chan<- int64 // the number of each run
	hold <-chan struct{}
}

func (r runner) Run(ctx context.Context, id uuid.UUID) (*time.Duration, error) {
	run, err := r.db.AcquireRun(ctx, id, lease)
	if errors.Is(err, lcm.ErrNothingToDo) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.got <- run.Number
	for {
		select {
		case <-r.hold:
			run.Operation.State = lcm.StateFailedTemp
			return nil, r.db.CommitRun(ctx, run, lcm.Commit{Operation: true, Release: new(time.Duration)})
		case <-ctx.Done():
			again := new(time.Duration)
			return again, r.db.CommitRun(context.WithoutCancel(ctx), run, lcm.Commit{Release: again})
		case <-time.After(lease / 4):
			if err := r.db.RenewRun(ctx, run, lease); err != nil {
				return nil, err
			}
		}
	}
}

// processor tells which packages it gets, and onboards them. The content that it fetches is body.
type processor struct {
	db   *storetest.Database
	got  chan<- uuid.UUID
	body func(*vnfpkg.Source) io.Reader
}

func (p processor) Fetch(ctx context.Context, id uuid.UUID) error {
	return p.db.FetchContent(ctx, id, func(source *vnfpkg.Source) (io.ReadCloser, error) {
		return io.NopCloser(p.body(source)), nil
	}, 1<<30)
}

func (p processor) Process(ctx context.Context, id uuid.UUID) error {
	_, err := p.db.UpdatePackage(ctx, id, func(pkg *vnfpkg.Package) error {
		if pkg.OnboardingState == vnfpkg.Processing {
			pkg.OnboardingState, pkg.Description = vnfpkg.Onboarded, &vnfpkg.Description{VnfdID: id.String()}
		}
		return nil
	})
	p.got <- id
	return err
}

// silent is the log of workers in tests, most of which break something.
var silent = slog.New(slog.DiscardHandler)

func work(t *testing.T, db *storetest.Database, r store.OperationRunner, p store.PackageProcessor) *store.Workers {
	t.Helper()
	workers, err := store.NewWorkers(db.Store, r, p, store.WorkersConfig{SweepInterval: 200 * time.Millisecond, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workers.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return workers
}

// childRole and childURL tell a second process of this test binary what to do, and where.
const (
	childRole = "VNFM_STORE_TEST_CHILD"
	childURL  = "VNFM_STORE_TEST_DATABASE"
)

// TestChild is no test: it is what the second process does until it is killed. It says so on its standard output.
func TestChild(t *testing.T) {
	role, id, _ := strings.Cut(os.Getenv(childRole), " ")
	if role == "" {
		t.Skip("only run by other tests")
	}
	switch role {
	case "server": // a private PostgreSQL, whose directory id is
		server, err := postgres.StartPrivate(t.Context(), id, "fsync=off")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("READY", server.URL())
		select {}
	case "run":
		db, got := storetest.Existing(t, os.Getenv(childURL)), make(chan int64, 10)
		work(t, db, runner{db: db, got: got}, processor{db: db, got: make(chan uuid.UUID, 10)})
		fmt.Println("READY", <-got)
		select {}
	case "fetch":
		db := storetest.Existing(t, os.Getenv(childURL))
		work(t, db, runner{db: db}, processor{db: db, body: func(*vnfpkg.Source) io.Reader {
			return io.MultiReader(&zeros{left: 3 << 20}, tell{}, endless{context.WithoutCancel(t.Context())})
		}})
		select {}
	case "upload":
		db := storetest.Existing(t, os.Getenv(childURL))
		body := io.MultiReader(&zeros{left: 3 << 20}, tell{}, endless{context.WithoutCancel(t.Context())})
		t.Fatal(db.WriteContent(t.Context(), uuid.MustParse(id), body, 1<<30))
	}
}

// tell is an empty part of a body that says when it is reached.
type tell struct{}

func (tell) Read([]byte) (int, error) {
	fmt.Println("READY")
	return 0, io.EOF
}

// child starts a second process and returns when it has said that it is where it is wanted.
func child(t *testing.T, role, url string) (kill func(), said string) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childRole+"="+role, childURL+"="+url)
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill() // with SIGKILL
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if said, ok := strings.CutPrefix(lines.Text(), "READY"); ok {
			return kill, strings.TrimSpace(said)
		}
	}
	t.Fatalf("the process has ended too early: %v", lines.Err())
	return nil, ""
}

func TestOperationOfKilledProcessGoesOn(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	operation := started(t, db, created(t, db))
	kill, _ := child(t, "run", db.URL())
	got, hold := make(chan int64, 10), make(chan struct{})
	work(t, db, runner{db: db, got: got, hold: hold}, processor{db: db, got: make(chan uuid.UUID, 10)})
	select {
	case number := <-got:
		t.Fatalf("run %d began although the first one was alive", number)
	case <-time.After(2 * lease):
	}
	kill()
	killed := time.Now()
	if number := <-got; number != 2 {
		t.Errorf("the next run has the number %d", number)
	}
	t.Logf("resumed %v after the kill, with a lease of %v", time.Since(killed).Round(time.Millisecond), lease)
	close(hold)
	awaitState(t, db, operation.ID, lcm.StateFailedTemp)
}

func awaitState(t *testing.T, db *storetest.Database, id uuid.UUID, want lcm.OperationState) {
	t.Helper()
	for {
		operation, err := db.Operation(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if operation.State == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func awaitPackage(t *testing.T, db *storetest.Database, id uuid.UUID, want vnfpkg.OnboardingState) *vnfpkg.Package {
	t.Helper()
	for {
		pkg, err := db.Package(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if pkg.OnboardingState == want {
			return pkg
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestUploadOfKilledProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	kill, _ := child(t, "upload "+pkg.ID.String(), db.URL())
	got := make(chan uuid.UUID, 10)
	work(t, db, runner{db: db}, processor{db: db, got: got})
	time.Sleep(time.Second) // some sweeps
	awaitPackage(t, db, pkg.ID, vnfpkg.Uploading)
	kill()
	killed := time.Now()
	read := awaitPackage(t, db, pkg.ID, vnfpkg.Created)
	t.Logf("given up %v after the kill", time.Since(killed).Round(time.Millisecond))
	if read.Failure == nil || !strings.Contains(read.Failure.Detail, "interrupted") {
		t.Errorf("failure: %+v", read.Failure)
	}
	expectObjects(t, db, 0)
	if err := db.WriteContent(t.Context(), pkg.ID, strings.NewReader("again"), 100); err != nil {
		t.Fatal(err)
	}
	<-got
	awaitPackage(t, db, pkg.ID, vnfpkg.Onboarded)
}

func TestDownloadOfKilledProcessIsDoneByAnother(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	source := &vnfpkg.Source{URL: "http://127.0.0.1/package", Username: "me", Password: "geheim"}
	if err := db.RequestContent(t.Context(), pkg.ID, source); err != nil {
		t.Fatal(err)
	}
	var plain bool
	const query = `SELECT source IS NOT NULL AND position('geheim' IN encode(source, 'escape')) > 0 FROM vnf_packages`
	if err := connect(t, db.URL()).QueryRow(t.Context(), query).Scan(&plain); err != nil || plain {
		t.Errorf("the password can be read in the database: %t, %v", plain, err)
	}
	kill, _ := child(t, "fetch", db.URL())
	got := make(chan uuid.UUID, 10)
	work(t, db, runner{db: db}, processor{db: db, got: got, body: func(found *vnfpkg.Source) io.Reader {
		if *found != *source {
			t.Errorf("the source that was kept is %+v", *found)
		}
		return strings.NewReader("content")
	}})
	time.Sleep(time.Second) // some sweeps
	awaitPackage(t, db, pkg.ID, vnfpkg.Uploading)
	kill()
	killed := time.Now()
	<-got
	t.Logf("done by another process %v after the kill", time.Since(killed).Round(time.Millisecond))
	read := awaitPackage(t, db, pkg.ID, vnfpkg.Onboarded)
	if read.Content.SizeBytes != int64(len("content")) {
		t.Errorf("content: %+v", read.Content)
	}
	expectObjects(t, db, 1)
}

func TestPrivateServerOfKilledProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(outsideTempDir(t), "private")
	kill, url := child(t, "server "+dir, "")
	if _, err := postgres.StartPrivate(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another process uses") {
		t.Errorf("a directory in use was taken: %v", err)
	}
	if _, err := connect(t, url).Exec(t.Context(), `CREATE TABLE kept ()`); err != nil {
		t.Fatal(err)
	}
	kill()
	server, err := postgres.StartPrivate(t.Context(), dir, "fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	if _, err := connect(t, server.URL()).Exec(t.Context(), `SELECT FROM kept`); err != nil {
		t.Error(err)
	}
}

// outsideTempDir makes a directory that an unprivileged account can reach, too.
func outsideTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vnfm-test-") //nolint:usetesting // those of testing are closed to other accounts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestStoreAndWorkersOutliveARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	dir := outsideTempDir(t)
	server, err := postgres.StartPrivate(t.Context(), dir, "fsync=off")
	if err != nil {
		t.Skipf("NO DATABASE TO TEST WITH: %v", err)
	}
	t.Cleanup(func() { // of the last one, after all that use it
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	db := storetest.Existing(t, server.URL())
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, hold := make(chan int64, 10), make(chan struct{})
	work(t, db, runner{db: db, got: got, hold: hold}, processor{db: db, got: make(chan uuid.UUID, 10)})
	operation := started(t, db, created(t, db))
	<-got
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); err == nil {
		t.Error("ready without a database")
	}
	if server, err = postgres.StartPrivate(t.Context(), dir, "fsync=off"); err != nil {
		t.Fatal(err)
	}
	restarted := time.Now()
	for db.Ready(t.Context()) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("ready again after %v", time.Since(restarted).Round(time.Millisecond))
	close(hold)
	awaitState(t, db, operation.ID, lcm.StateFailedTemp)
	t.Logf("operation done after %v", time.Since(restarted).Round(time.Millisecond))
}
