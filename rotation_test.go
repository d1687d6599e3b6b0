package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"vnfm/lcm/heat/heattest"
)

// rotate runs vnfm secrets rotate.
func (c *cluster) rotate(args ...string) (string, error) {
	c.t.Helper()
	args = append([]string{"secrets", "rotate", "--database-url", c.database, "--secret-key-file", c.key}, args...)
	output, err := command(c.t, args...).CombinedOutput()
	return string(output), err
}

// The key is replaced while two servers carry operations out, although who replaces it is killed in the middle.
func TestKeyIsRotatedUnderServersAtWork(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	first, second := c.serve(), c.serve()
	c.registerVim(first)
	former, err := os.ReadFile(c.key)
	if err != nil {
		t.Fatal(err)
	}
	vnfd := c.onboard(first, withDriver(t, "vnflcm_noop", "instantiate_end"))
	instances := []string{c.create(first, vnfd), c.create(second, vnfd)}
	both := func(task string, body any) {
		t.Helper()
		locations := make([]string, 2)
		for i, p := range []*process{first, second} {
			path := strings.TrimPrefix(instances[i], first.url)
			locations[i] = p.expect(http.StatusAccepted, http.MethodPost, strings.TrimPrefix(path, second.url)+"/"+task, body, nil).Header.Get("Location")
		}
		for i, p := range []*process{first, second} {
			p.await(locations[i], "COMPLETED")
		}
	}
	both("instantiate", c.instantiation())

	// The rotation does not come to its end while the VIM's row is locked.
	connection, err := pgx.Connect(t.Context(), c.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(context.WithoutCancel(t.Context())) })
	tx, err := connection.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `SELECT FROM vims FOR NO KEY UPDATE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	killed := command(t, "secrets", "rotate", "--database-url", c.database, "--secret-key-file", c.key)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	first.until("rotated in part", func() bool {
		content, err := os.ReadFile(c.key)
		return err == nil && bytes.Count(content, []byte("\n")) == 2
	})
	both("scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"})
	if output, err := c.rotate("--retire"); err == nil {
		t.Errorf("retired in the middle of a rotation: %s", output)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait() // killed
	first.until("free for another rotation", func() bool {
		output, err := c.rotate("--retire")
		if err == nil {
			t.Fatalf("retired although the VIM is sealed with the former key: %s", output)
		}
		return strings.Contains(output, "rotate first")
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	both("scale", map[string]any{"type": "SCALE_IN", "aspectId": "worker_group"})

	if output, err := c.rotate(); err != nil || !strings.Contains(output, "carried on") {
		t.Fatalf("%v: %s", err, output)
	}
	if output, err := c.rotate("--retire"); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if content, err := os.ReadFile(c.key); err != nil || bytes.Contains(content, bytes.TrimSpace(former)) {
		t.Errorf("the former key is in the file: %v", err)
	}
	both("scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"})
	second.kill()
	second = c.serve()
	both("terminate", map[string]any{"terminationType": "FORCEFUL"})
	c.leaveNothing()
	for _, p := range []*process{first, second} {
		if strings.Contains(p.log.String(), "sealed with another key") {
			t.Error("a server could not open what the other had sealed")
		}
	}
}

// Also the key of a private database is replaced while its server runs.
func TestKeyOfAPrivateDatabase(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "vnfm-test-") //nolint:usetesting // those of testing are closed to the account of PostgreSQL
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p, cloud := start(t, "--data-dir", dir), &cluster{t: t, cloud: heattest.Start(t, heattest.Options{})}
	cloud.registerVim(p)
	for _, args := range [][]string{nil, {"--retire"}} {
		output, err := command(t, append([]string{"secrets", "rotate", "--data-dir", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("rotate %q: %v: %s", args, err, output)
		}
	}
	p.expect(http.StatusOK, http.MethodGet, "/v1.0/vims", nil, nil)
	p.terminate()
	if output, err := command(t, "secrets", "rotate", "--data-dir", dir).CombinedOutput(); err != nil || !strings.Contains(string(output), "a new key") {
		t.Errorf("rotate while no server runs: %v: %s", err, output)
	}
}
