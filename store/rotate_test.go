package store_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"vnfm/lcm"
	"vnfm/lcm/notify"
	"vnfm/mgmtdriver"
	"vnfm/store"
	"vnfm/store/storetest"
	"vnfm/vnfpkg"
)

// sealedColumns are the columns of the schema that hold sealed values: all that are binary, but for the ids of keys.
func sealedColumns(t *testing.T, connection *pgx.Conn) [][2]string {
	t.Helper()
	const query = `
		SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name <> 'retired_keys' ORDER BY 1, 2`
	rows, err := connection.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (column [2]string, err error) {
		return column, row.Scan(&column[0], &column[1])
	})
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

// keysOf returns by which keys the values of each column are sealed.
func keysOf(t *testing.T, connection *pgx.Conn) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, column := range sealedColumns(t, connection) {
		query := fmt.Sprintf(`SELECT DISTINCT encode(substring(%s FROM 1 FOR 4), 'hex') FROM %s WHERE %[1]s IS NOT NULL`, column[1], column[0])
		rows, err := connection.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if found[column[0]+"."+column[1]], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// sealAll stores a value in every sealed column and returns a function that opens them.
func sealAll(t *testing.T, db *store.Store) func(*store.Store) error {
	t.Helper()
	ctx := t.Context()
	vim := &lcm.Vim{ID: uuid.New(), Name: "one", Type: "openstack", AuthCred: map[string]any{"password": "geheim"}}
	if err := db.CreateVim(ctx, vim); err != nil {
		t.Fatal(err)
	}
	of := storetest.Database{Store: db}
	operation := started(t, &of, created(t, &of))
	run, err := db.AcquireRun(ctx, operation.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	run.Deployment = &lcm.Deployment{}
	steps := []lcm.StepRecord{
		{Name: "plan", State: lcm.StepDone, Output: []byte(`"geheim"`)}, {Name: "create_stack", State: lcm.StepDone, Output: []byte(`"geheim"`)},
	}
	if err := db.KeepNodeLogs(ctx, run, []lcm.NodeLog{{Node: "worker", State: mgmtdriver.JobDone, Lines: "geheim"}}); err != nil {
		t.Fatal(err)
	}
	err = db.CommitRun(ctx, run, lcm.Commit{Deployment: true, Steps: steps, Release: new(time.Duration)})
	if err != nil {
		t.Fatal(err)
	}
	subscription := &notify.Subscription{ID: uuid.New(), Interface: notify.Vnflcm, CallbackURI: "https://consumer/",
		Authentication: &notify.Authentication{ParamsBasic: &notify.BasicParams{UserName: "me", Password: "geheim"}}}
	if err := db.CreateSubscription(ctx, subscription); err != nil {
		t.Fatal(err)
	}
	pkg := &vnfpkg.Package{ID: uuid.New(), OnboardingState: vnfpkg.Created, OperationalState: vnfpkg.Disabled}
	if err := db.CreatePackage(ctx, pkg); err != nil {
		t.Fatal(err)
	}
	if err := db.RequestContent(ctx, pkg.ID, &vnfpkg.Source{URL: "https://packages/geheim"}); err != nil {
		t.Fatal(err)
	}
	return func(db *store.Store) error {
		read, err := db.Vim(t.Context(), vim.ID)
		if err != nil || read.AuthCred["password"] != "geheim" {
			return fmt.Errorf("VIM: %v, %w", read, err)
		}
		run, err := db.AcquireRun(t.Context(), operation.ID, 0)
		if err != nil || run.Deployment == nil || len(run.Operation.Steps) != 2 || string(run.Operation.Steps[0].Output) != `"geheim"` {
			return fmt.Errorf("run: %+v, %w", run, err)
		}
		logs, err := db.NodeLogs(t.Context(), operation.ID)
		if err != nil || len(logs) != 1 || logs[0].Lines != "geheim" {
			return fmt.Errorf("node logs: %+v, %w", logs, err)
		}
		return nil
	}
}

func TestKeyIsRotatedWhileServersWork(t *testing.T) {
	t.Parallel()
	url, name := storetest.NewURL(t), filepath.Join(t.TempDir(), "key")
	servers := []*store.Store{with(t, url, keyring(t, name)), with(t, url, keyring(t, name))}
	open := sealAll(t, servers[0])
	connection := connect(t, url)
	before := keysOf(t, connection)
	for column, keys := range before {
		if len(keys) != 1 {
			t.Fatalf("%s holds values of the keys %v, want one", column, keys)
		}
	}
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	var writes atomic.Int64
	working, stop := context.WithCancel(t.Context())
	defer stop()
	var group errgroup.Group
	for i, db := range servers {
		group.Go(func() error {
			for n := 0; working.Err() == nil; n++ {
				vim := &lcm.Vim{ID: uuid.New(), Name: fmt.Sprintf("%d/%d", i, n), AuthCred: map[string]any{"password": "geheim"}}
				if err := db.CreateVim(t.Context(), vim); err != nil {
					return err
				}
				if _, err := servers[1-i].Vim(t.Context(), vim.ID); err != nil { // sealed by the other one
					return err
				}
				writes.Add(1)
			}
			return nil
		})
	}
	reaches := func(n int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); writes.Load() < n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the servers do not work")
			}
		}
	}
	reaches(100)
	administrator := with(t, url, keyring(t, name))
	if values, begun, err := administrator.RotateKey(t.Context()); err != nil || begun || values < 100 {
		t.Fatalf("%d values, begun before: %t, %v", values, begun, err)
	}
	reaches(writes.Load() + 100)
	if retired, err := administrator.RetireKeys(t.Context()); err != nil || retired != 1 {
		t.Fatalf("%d keys are retired, %v", retired, err)
	}
	reaches(writes.Load() + 100)
	stop()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	now, err := os.ReadFile(name)
	if err != nil || bytes.Contains(now, bytes.TrimSpace(old)) || bytes.Count(now, []byte("\n")) != 1 {
		t.Errorf("the key file still has the former key, or not one: %v", err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file is %v, %v", info.Mode(), err)
	}
	for column, keys := range keysOf(t, connection) {
		if len(keys) != 1 || keys[0] == before[column][0] {
			t.Errorf("%s holds values of the keys %v, the former one was %v", column, keys, before[column])
		}
	}
	if err := open(with(t, url, keyring(t, name))); err != nil {
		t.Error(err)
	}
	// A server with the former file can neither read nor write what nobody could read.
	stale := filepath.Join(t.TempDir(), "stale")
	if err := os.WriteFile(stale, old, 0o600); err != nil {
		t.Fatal(err)
	}
	err = with(t, url, keyring(t, stale)).CreateVim(t.Context(), &lcm.Vim{ID: uuid.New(), Name: "stale", AuthCred: map[string]any{}})
	if err == nil || !strings.Contains(err.Error(), "retired") {
		t.Errorf("a server with the former key writes: %v", err)
	}
}

func TestRotationGoesOnWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(t *testing.T, db *store.Store, connection *pgx.Conn, file string){
		"before the new key was in its place": func(t *testing.T, _ *store.Store, _ *pgx.Conn, file string) {
			t.Helper()
			if err := os.WriteFile(file+".new", []byte("half a k"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"before anything was sealed with it": func(t *testing.T, db *store.Store, connection *pgx.Conn, _ string) {
			t.Helper()
			holding(t, connection, `SELECT FROM vims FOR UPDATE`, func(ctx context.Context) {
				if _, _, err := db.RotateKey(ctx); err == nil {
					t.Error("done although a row was locked")
				}
			})
		},
		"while the former key was retired": func(t *testing.T, db *store.Store, connection *pgx.Conn, _ string) {
			t.Helper()
			if _, _, err := db.RotateKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			for column, keys := range keysOf(t, connection) {
				if len(keys) != 1 {
					t.Errorf("%s: %v", column, keys)
				}
			}
			holding(t, connection, `UPDATE vims SET auth_cred = auth_cred`, func(ctx context.Context) {
				if retired, err := db.RetireKeys(ctx); err == nil || retired != 0 {
					t.Error("retired although somebody was writing")
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, file := storetest.NewURL(t), filepath.Join(t.TempDir(), "key")
			db := with(t, url, keyring(t, file))
			open := sealAll(t, db)
			connection := connect(t, url)
			former := keysOf(t, connection)["vims.auth_cred"][0]
			cut(t, db, connection, file)

			again := with(t, url, keyring(t, file))
			if err := open(again); err != nil {
				t.Errorf("in between: %v", err)
			}
			if _, _, err := again.RotateKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := again.RetireKeys(t.Context()); err != nil {
				t.Fatal(err)
			}
			for column, keys := range keysOf(t, connection) {
				if len(keys) != 1 || keys[0] == former {
					t.Errorf("%s: sealed by %v, formerly %s", column, keys, former)
				}
			}
			if err := open(with(t, url, keyring(t, file))); err != nil {
				t.Error(err)
			}
			if content, err := os.ReadFile(file); err != nil || bytes.Count(content, []byte("\n")) != 1 {
				t.Errorf("%d keys are left, %v", bytes.Count(content, []byte("\n")), err)
			}
		})
	}
}

// holding holds the locks of a statement while do works; do is cut off once it waits for them.
func holding(t *testing.T, connection *pgx.Conn, statement string, do func(ctx context.Context)) {
	t.Helper()
	tx, err := connection.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	do(ctx)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestKeyThatIsUsedIsNotRetired(t *testing.T) {
	t.Parallel()
	url, name := storetest.NewURL(t), filepath.Join(t.TempDir(), "key")
	db := with(t, url, keyring(t, name))
	open := sealAll(t, db)
	if retired, err := db.RetireKeys(t.Context()); err != nil || retired != 0 {
		t.Errorf("with one key: %d retired, %v", retired, err)
	}
	// The new key is there, and nothing was sealed with it.
	other := filepath.Join(t.TempDir(), "key")
	keyring(t, other)
	var content []byte
	for _, file := range []string{other, name} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, part...)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := db.RetireKeys(t.Context()); err == nil || !strings.Contains(err.Error(), "rotate first") {
		t.Errorf("retired although it is used: %v", err)
	}
	if err := open(db); err != nil {
		t.Error(err)
	}
}

// Servers on machines of their own get the key before any of them uses it.
func TestKeyThatIsPrepared(t *testing.T) {
	t.Parallel()
	url, dir := storetest.NewURL(t), t.TempDir()
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	share := func() {
		t.Helper()
		content, err := os.ReadFile(ours)
		if err == nil {
			err = os.WriteFile(theirs, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db := with(t, url, keyring(t, ours))
	open := sealAll(t, db)
	share()
	peer := with(t, url, keyring(t, theirs))
	connection := connect(t, url)
	both := func(when string) {
		t.Helper()
		for i, one := range []*store.Store{db, peer} {
			id := uuid.New()
			if err := one.CreateVim(t.Context(), &lcm.Vim{ID: id, Name: id.String(), AuthCred: map[string]any{}}); err != nil {
				t.Errorf("%s: server %d writes: %v", when, i, err)
			}
			if err := open(one); err != nil {
				t.Errorf("%s: server %d: %v", when, i, err)
			}
			for j, other := range []*store.Store{db, peer} {
				if _, err := other.Vim(t.Context(), id); err != nil {
					t.Errorf("%s: server %d reads what server %d has written: %v", when, j, i, err)
				}
			}
		}
	}
	for range 2 {
		if err := db.PrepareKey(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	both("prepared here")
	share()
	both("prepared everywhere")
	if keys := keysOf(t, connection)["vims.auth_cred"]; len(keys) != 1 {
		t.Errorf("a key that is prepared seals: %v", keys)
	}
	if _, begun, err := db.RotateKey(t.Context()); err != nil || begun {
		t.Fatalf("begun before: %t, %v", begun, err)
	}
	both("rotated here")
	share()
	both("rotated everywhere")
	if _, begun, err := db.RotateKey(t.Context()); err != nil || !begun {
		t.Fatalf("begun before: %t, %v", begun, err)
	}
	if retired, err := db.RetireKeys(t.Context()); err != nil || retired != 1 {
		t.Fatalf("%d retired, %v", retired, err)
	}
	both("retired here")
	share()
	both("retired everywhere")
}

func TestEverySealedColumnRefusesRetiredKeys(t *testing.T) {
	t.Parallel()
	connection := connect(t, storetest.NewURL(t))
	const query = `
		SELECT event_object_table::text, replace(trigger_name, '_key', '') FROM information_schema.triggers
		WHERE action_condition LIKE '%sealed_with_retired_key%' GROUP BY 1, 2 HAVING count(*) = 2 ORDER BY 1, 2`
	rows, err := connection.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (column [2]string, err error) {
		return column, row.Scan(&column[0], &column[1])
	})
	if want := sealedColumns(t, connection); err != nil || !slices.Equal(guarded, want) {
		t.Errorf("guarded are %v, want %v; %v", guarded, want, err)
	}
}

func TestKeyFilesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ content, want string }{
		"empty":                {"", "holds no key"},
		"not base64":           {"?\n", "not base64"},
		"half a key":           {"aGFsYg==\n", "has 4 bytes"},
		"only a key to come":   {"next:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n", "holds no key"},
		"something after keys": {"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\nmore\n", "has"},
	} {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(row.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.OpenKeyring(file, silent); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}
