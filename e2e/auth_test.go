//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// issued is the token that tests without the client call with.
var issued struct {
	sync.Mutex
	token string
	at    time.Time
}

// token is one of nfv_user, some minutes old at the most.
func token(t *testing.T) string {
	t.Helper()
	issued.Lock()
	defer issued.Unlock()
	if time.Since(issued.at) > 10*time.Minute {
		issued.token, issued.at = issue(t, username, project), time.Now()
	}
	return issued.token
}

// issue asks Keystone for a token.
func issue(t *testing.T, username, project string) string {
	t.Helper()
	stdout, stderr, ok := clientAs(t, username, project, "token", "issue", "-f", "value", "-c", "id")
	if !ok {
		t.Fatalf("token issue: %s", stderr)
	}
	return strings.TrimSpace(stdout)
}

// status is that of an answer to a list of instances that is asked for with a token.
func status(t *testing.T, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, baseURL+"/vnflcm/v1/vnf_instances", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("WWW-Authenticate")
}

// TestKeystoneSaysWhoMayCall has a user of another project come and go.
func TestKeystoneSaysWhoMayCall(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	for _, wrong := range []string{"", "made-up"} {
		if got, challenge := status(t, wrong); got != http.StatusUnauthorized || !strings.HasPrefix(challenge, "Keystone uri=") {
			t.Errorf("token %q: status %d, WWW-Authenticate %q", wrong, got, challenge)
		}
	}
	admin := func(args ...string) {
		if stdout, stderr, ok := clientAs(t, "admin", "admin", args...); !ok {
			t.Fatalf("openstack %q: %s%s", args, stdout, stderr)
		}
	}
	const other, stranger = "e2e-other", "e2e-stranger"
	admin("project", "create", "--or-show", other)
	t.Cleanup(func() { admin("project", "delete", other) })
	admin("user", "create", "--or-show", "--password", password, stranger)
	t.Cleanup(func() { admin("user", "delete", stranger) })
	admin("role", "add", "--user", stranger, "--project", other, "member")

	name := "e2e-of-nfv"
	if _, stderr, ok := clientAs(t, "nfv_member", project, "vnf", "package", "create", "--user-data", "name="+name); !ok {
		t.Fatal(stderr)
	}
	list := func(username, project string) string {
		stdout, stderr, ok := clientAs(t, username, project, "vnf", "package", "list", "-f", "json")
		if !ok {
			t.Fatal(stderr)
		}
		return stdout
	}
	mine := openstackJSON[[]map[string]any](t, "vnf", "package", "list")
	if len(mine) == 0 {
		t.Error("a member's package is not there for others of the project")
	}
	for _, found := range mine {
		id, _ := found["Id"].(string)
		if strings.Contains(list(stranger, other), id) {
			t.Errorf("package %s is there for another project", id)
		}
		if stdout, _, ok := clientAs(t, stranger, other, "vnf", "package", "delete", id); ok && !strings.Contains(stdout, "fail") {
			t.Errorf("another project deletes package %s: %s", id, stdout)
		}
	}
	for _, found := range openstackJSON[[]map[string]any](t, "vnf", "package", "list") {
		if id, _ := found["Id"].(string); found["Onboarding State"] == "CREATED" {
			openstack(t, "vnf", "package", "delete", id)
		}
	}

	// A token that was revoked is good for a minute at the most.
	revoked := issue(t, stranger, other)
	if got, _ := status(t, revoked); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	admin("token", "revoke", revoked)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		got, _ := status(t, revoked)
		if got == http.StatusUnauthorized {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the token is still good: status %d", got)
		}
	}
}
