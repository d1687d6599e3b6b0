package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/store/storetest"
)

// documented returns the command of docs/operations.md that begins like that.
func documented(t *testing.T, program string) string {
	t.Helper()
	guide, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    (` + program + ` .*)$`).FindSubmatch(guide)
	if command == nil {
		t.Fatalf("docs/operations.md has no command %s", program)
	}
	return string(command[1])
}

// inDatabase runs a command as the guide has it: where the database is, is in the variables of PostgreSQL.
func inDatabase(t *testing.T, dir, databaseURL, command string) {
	t.Helper()
	database, err := pgconn.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PGHOST="+database.Host, "PGPORT="+strconv.Itoa(int(database.Port)), "PGUSER="+database.User,
		"PGPASSWORD="+database.Password, "PGDATABASE="+database.Database)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
}

// content downloads a package.
func (p *process) content(pkg string) []byte {
	p.t.Helper()
	response, err := p.client.Get(p.url + path.Join("/vnfpkgm/v1/vnf_packages", path.Base(pkg), "package_content"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %v", response.Status, err)
	}
	return content
}

// TestBackupIsRestored makes a backup, by the commands of the guide, in the middle of an operation, loses the database, and goes on with what
// was restored: packages, credentials, VNFs and the operation.
func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve()
	c.registerVim(p)
	pkg := p.onboard(samples.TwoVdu())
	before := p.content(pkg.ID)
	running, under := c.create(p, pkg.VnfdID), c.create(p, pkg.VnfdID)
	p.await(p.expect(http.StatusAccepted, http.MethodPost, running+"/instantiate", c.instantiation(), nil).Header.Get("Location"), "COMPLETED")
	c.cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Create: 10 * time.Second}})
	location := p.expect(http.StatusAccepted, http.MethodPost, under+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	p.until("waiting for Heat", func() bool { return strings.Count(p.log.String(), "step=create_stack") == 2 })

	dir := t.TempDir()
	inDatabase(t, dir, c.database, documented(t, "pg_dump"))
	key, err := os.ReadFile(c.key)
	if err != nil {
		t.Fatal(err)
	}
	p.kill()
	if err := os.Remove(c.key); err != nil {
		t.Fatal(err)
	}

	database, keyFile := storetest.NewEmptyURL(t), filepath.Join(dir, "secret.key")
	inDatabase(t, dir, database, documented(t, "pg_restore"))
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	restored := serve(t, database, keyFile)
	restored.await(location, "COMPLETED")
	if after := restored.content(pkg.ID); !bytes.Equal(before, after) {
		t.Errorf("the package had %d bytes and has %d others now", len(before), len(after))
	}
	scaled := restored.expect(http.StatusAccepted, http.MethodPost, running+"/scale",
		map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"}, nil)
	restored.await(scaled.Header.Get("Location"), "COMPLETED")
	c.cloud.SetDelays(heattest.DefaultDelays())
	for _, instance := range []string{running, under} {
		ended := restored.expect(http.StatusAccepted, http.MethodPost, instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"}, nil)
		restored.await(ended.Header.Get("Location"), "COMPLETED")
	}
	c.leaveNothing()
	if again := restored.onboard(samples.Kubernetes()); again.OnboardingState != "ONBOARDED" {
		t.Errorf("another package: %+v", again)
	}
}
