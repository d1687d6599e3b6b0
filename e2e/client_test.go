//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The operator of the project that VNFs run in, as e2e/openstack makes it.
const (
	authURL  = "http://127.0.0.1:5000/v3"
	username = "nfv_user"
	password = "devstack"
	project  = "nfv"
	region   = "RegionOne"
)

// client runs the openstack client as nfv_user and returns what it printed, on both streams, and whether it succeeded. It finds vnfm
// through the catalog, service type nfv-orchestration.
func client(t *testing.T, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	return clientAs(t, username, project, args...)
}

// clientAs is client for another user, whose password is the same.
func clientAs(t *testing.T, username, project string, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "openstack", args...) // cleanups call it too
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C.UTF-8", "PYTHONWARNINGS=ignore", "COLUMNS=250",
		"OS_AUTH_URL=" + authURL, "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME=" + region,
		"OS_USERNAME=" + username, "OS_PASSWORD=" + password, "OS_PROJECT_NAME=" + project,
		"OS_USER_DOMAIN_NAME=Default", "OS_PROJECT_DOMAIN_NAME=Default",
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited { //nolint:errorlint // Run returns it as it is
		t.Fatalf("openstack %q: %v", args, err)
	}
	return out.String(), errs.String(), err == nil
}

// openstack runs a command of the client that has to succeed, and returns everything it printed: confirmations such as "has been
// accepted" come on standard output for some commands and on standard error for others.
func openstack(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, ok := client(t, args...)
	if !ok {
		t.Fatalf("openstack %q failed:\n%s%s", args, stdout, stderr)
	}
	return stdout + stderr
}

// openstackJSON is openstack for a command with a table, read as JSON: one object for show and create, a list for list. Its keys are the
// table's headings.
func openstackJSON[T map[string]any | []map[string]any](t *testing.T, args ...string) T {
	t.Helper()
	stdout, stderr, ok := client(t, append(args, "-f", "json")...)
	if !ok {
		t.Fatalf("openstack %q failed:\n%s%s", args, stdout, stderr)
	}
	var value T
	if err := json.Unmarshal([]byte(stdout), &value); err != nil {
		t.Fatalf("openstack %q printed no JSON: %v\n%s%s", args, err, stdout, stderr)
	}
	return value
}

// empty reports whether the client has shown nothing: what an answer lacks is an empty text in the client's JSON.
func empty(shown any) bool { return shown == nil || shown == "" }

// refused runs a command of the client that has to fail, and returns what it printed.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, ok := client(t, args...)
	if ok {
		t.Fatalf("openstack %q succeeded:\n%s%s", args, stdout, stderr)
	}
	return stdout + stderr
}

// script runs a script of this folder that has to succeed.
func script(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("./"+args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("e2e/%q: %v\n%s", args, err, out)
	}
}

// writeFile puts content into a new file and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
