// Package storetest gives every test a database of its own, on a private PostgreSQL server that is started once for a test
// process and ends with it. With VNFM_TEST_DATABASE_URL set that server is used instead.
package storetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/store"
	"vnfm/store/postgres"
)

// Database is a migrated database and an open store on it.
type Database struct {
	*store.Store
	url string
}

// URL is where the database is.
func (d *Database) URL() string { return d.url }

// New makes a database for the length of a test. The test is skipped if there is no PostgreSQL.
func New(tb testing.TB) *Database {
	tb.Helper()
	return open(tb, NewURL(tb))
}

// NewURL makes a migrated database for the length of a test and returns where it is.
func NewURL(tb testing.TB) string {
	tb.Helper()
	return create(tb, func(s *server) string { return " TEMPLATE " + s.template })
}

// NewEmptyURL makes a database without a schema.
func NewEmptyURL(tb testing.TB) string {
	tb.Helper()
	return create(tb, func(*server) string { return "" })
}

func create(tb testing.TB, options func(*server) string) string {
	tb.Helper()
	started, err := start()
	if err != nil {
		tb.Skipf("NO DATABASE TO TEST WITH: %v", err)
	}
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	execute(tb, started.url, `CREATE DATABASE `+name+options(started))
	tb.Cleanup(func() { execute(tb, started.url, `DROP DATABASE `+name+` WITH (FORCE)`) })
	return withDatabase(started.url, name)
}

// Key returns the key of all test databases.
func Key(tb testing.TB) store.Key {
	tb.Helper()
	key, err := store.NewKey([]byte("a key of 32 bytes, for tests  !!"))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// Open opens one more store on a database.
func (d *Database) Open(tb testing.TB) *Database {
	tb.Helper()
	return open(tb, d.url)
}

// Existing opens a store on a database that the test has from elsewhere.
func Existing(tb testing.TB, databaseURL string) *Database {
	tb.Helper()
	return open(tb, databaseURL)
}

func open(tb testing.TB, databaseURL string) *Database {
	tb.Helper()
	opened, err := store.Open(tb.Context(), store.Config{URL: databaseURL, Keys: store.NewKeyring(Key(tb))})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(opened.Close)
	return &Database{Store: opened, url: databaseURL}
}

func execute(tb testing.TB, databaseURL, statement string) {
	tb.Helper()
	if err := executeOn(context.WithoutCancel(tb.Context()), databaseURL, statement); err != nil {
		tb.Error(err)
	}
}

func executeOn(ctx context.Context, databaseURL, statement string) error {
	connection, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, statement)
	return err
}

func withDatabase(server, name string) string {
	parsed, err := url.Parse(server)
	if err != nil {
		panic(err) // it was connected to before
	}
	parsed.Path = "/" + name
	return parsed.String()
}

// server is the PostgreSQL server of this process, with a migrated database to copy.
type server struct{ url, template string }

// start starts the server once for the process, with which it ends.
var start = sync.OnceValues(func() (*server, error) {
	return startServer(context.Background())
})

func startServer(ctx context.Context) (*server, error) {
	started := &server{url: os.Getenv("VNFM_TEST_DATABASE_URL"), template: "template_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	if started.url == "" {
		removeLeftovers()
		dir := filepath.Join(os.TempDir(), fmt.Sprintf("vnfm-storetest-%d", os.Getpid()))
		// What a test writes need not survive a power cut.
		private, err := postgres.StartPrivate(ctx, dir, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
		if err != nil {
			return nil, err
		}
		started.url = private.URL()
	}
	if err := executeOn(ctx, started.url, `CREATE DATABASE `+started.template); err != nil {
		return nil, err
	}
	key, err := store.NewKey(make([]byte, 32))
	if err != nil {
		return nil, err
	}
	opened, err := store.Open(ctx, store.Config{URL: withDatabase(started.url, started.template), Keys: store.NewKeyring(key)})
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return started, opened.Migrate(ctx)
}

// removeLeftovers removes the data of test processes that are gone.
func removeLeftovers() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "vnfm-storetest-*")) // a constant pattern is well-formed
	for _, dir := range left {
		pid := strings.TrimPrefix(filepath.Base(dir), "vnfm-storetest-")
		if _, err := os.Stat("/proc/" + pid); os.IsNotExist(err) {
			_ = os.RemoveAll(dir) // another process may do the same
		}
	}
}
