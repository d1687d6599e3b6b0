package postgres_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"vnfm/store/postgres"
)

// directory makes one that an unprivileged account can reach, too, which those of testing are not.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vnfm-test-") //nolint:usetesting // those of testing are closed to other accounts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, dir string) *postgres.Private {
	t.Helper()
	server, err := postgres.StartPrivate(t.Context(), dir, "fsync=off")
	if err != nil && strings.Contains(err.Error(), "no PostgreSQL server is installed") {
		t.Skipf("NO DATABASE TO TEST WITH: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func execute(t *testing.T, server *postgres.Private, sql string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	if _, err := connection.Exec(t.Context(), sql); err != nil {
		t.Error(err)
	}
}

func TestDataOutlivesStopAndStart(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	server := start(t, dir)
	execute(t, server, `CREATE TABLE kept ()`)
	if _, err := postgres.StartPrivate(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another process uses") {
		t.Errorf("a second server on the same data: %v", err)
	}
	for range 2 {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}
	execute(t, start(t, dir), `SELECT FROM kept`)
}

func TestDataOutlivesTheDeathOfTheServer(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	server := start(t, dir)
	execute(t, server, `CREATE TABLE kept ()`)
	if err := syscall.Kill(serverProcess(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	execute(t, start(t, dir), `SELECT FROM kept`)
}

func serverProcess(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// After a restart of the machine the number of a dead server may be that of anybody.
func TestStrangerWithTheNumberOfTheServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	other := directory(t)
	stranger := start(t, other)
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	defer ended.Wait() // until then it is a zombie
	for name, pid := range map[string]int{"another server": serverProcess(t, other), "a zombie": ended.Process.Pid} {
		dir := directory(t)
		if err := start(t, dir).Stop(); err != nil {
			t.Fatal(err)
		}
		stale := fmt.Sprintf("%d\n%s\n1\n5432\n%s\n\n  1 1\n", pid, filepath.Join(dir, "data"), dir)
		if err := os.WriteFile(filepath.Join(dir, "data", "postmaster.pid"), []byte(stale), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		execute(t, start(t, dir), `SELECT 1`)
		execute(t, stranger, `SELECT 1`)
	}
}

func TestDataOfAnotherVersionIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	if err := start(t, dir).Stop(); err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(dir, "data", "PG_VERSION")
	if err := os.WriteFile(version, []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := postgres.StartPrivate(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "the data is of PostgreSQL 9") {
		t.Errorf("data of version 9: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "global", "pg_control")); err != nil {
		t.Error(err)
	}
}

func TestDirectoryMayHaveAnyPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("long", 30), "with space, & and 100%"} {
		dir := filepath.Join(directory(t), name)
		server := start(t, dir)
		execute(t, server, `SELECT 1`)
		socket := socketDir(t, server)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(socket); filepath.Dir(socket) != dir && !os.IsNotExist(err) {
			t.Errorf("the temporary directory %s is left: %v", socket, err)
		}
	}
}

func socketDir(t *testing.T, server *postgres.Private) string {
	t.Helper()
	parsed, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query().Get("host")
}

func TestOnlyTheOwnerReachesTheServer(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	server := start(t, dir)
	for _, name := range []string{socketDir(t, server), filepath.Join(dir, "data")} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	connection, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	var addresses string
	if err := connection.QueryRow(t.Context(), `SHOW listen_addresses`).Scan(&addresses); err != nil || addresses != "" {
		t.Errorf("the server listens on %q, %v", addresses, err)
	}
}
