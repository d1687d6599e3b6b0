//go:build e2e

package e2e

import (
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestInstantiateTwice asks for an operation while another one runs, and for one in a state that does not allow it.
func TestInstantiateTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	op := operate(t, f.instanceID, "instantiate", f.request)
	expect(t, http.StatusConflict, http.MethodPost, instancePath(f.instanceID)+"/instantiate", f.request).problem(t)
	expect(t, http.StatusConflict, http.MethodPost, instancePath(f.instanceID)+"/terminate", map[string]any{"terminationType": "FORCEFUL"}).problem(t)
	completed(t, op)
	f.cloud.onlyStack(t, f.instanceID, "CREATE_COMPLETE")
	expect(t, http.StatusConflict, http.MethodPost, instancePath(f.instanceID)+"/instantiate", f.request).problem(t)
	if out := refused(t, "vnflcm", "delete", f.instanceID); !strings.Contains(out, f.instanceID) {
		t.Errorf("delete of an instantiated VNF printed %q", out)
	}
}

// TestRequestThatIsRefused asks for what the VNFD or the VIM registry lacks, and in a form that is wrong: both are 400 and known
// before an operation is begun.
func TestRequestThatIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	for _, c := range []struct {
		name, attribute string
		value           any
		status          int
	}{
		{"unknown flavour", "flavourId", "nope", 400},
		{"unknown instantiation level", "instantiationLevelId", "nope", 400},
		{"unknown VIM", "vimConnectionInfo", []any{map[string]any{
			"id": "v", "vimId": "1a8a2a3e-0b31-4b0a-9c1e-2f62a1f1c001", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		}}, 400},
		{"links that are no list", "extVirtualLinks", "nope", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := maps.Clone(f.request)
			request[c.attribute] = c.value
			a := call(t, http.MethodPost, instancePath(f.instanceID)+"/instantiate", request)
			if a.status != c.status {
				t.Fatalf("status %d, want %d: %s", a.status, c.status, a.body)
			}
			if detail := a.problem(t).Detail; !strings.Contains(detail, c.attribute) {
				t.Errorf("the reason does not name %s: %s", c.attribute, detail)
			}
			if ops := operations(t, f.instanceID); len(ops) > 0 {
				t.Errorf("there are operations: %v", ops)
			}
		})
	}
}

// TestUnknownNetwork connects the VNF to a network that is not there. Heat refuses that at once.
func TestUnknownNetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	const nowhere = "0d0d0d0d-1111-4111-8111-0d0d0d0d0d0d"
	f.request["extVirtualLinks"].([]any)[0].(map[string]any)["resourceId"] = nowhere
	if reason := failed(t, operate(t, f.instanceID, "instantiate", f.request)); !strings.Contains(reason, nowhere) {
		t.Errorf("the reason does not name the network: %s", reason)
	}
	cleanedUp(t, f)
}

// TestQuotaExceeded has a quota that suffices for the first server only. The stack fails after Heat has made some of its resources.
func TestQuotaExceeded(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	setInstanceQuota(t, f.cloud.servers(t)+1)
	op := operate(t, f.instanceID, "instantiate", f.request)
	if reason := failed(t, op); !strings.Contains(reason, "Quota exceeded for instances") {
		t.Errorf("the reason is not Heat's: %s", reason)
	}
	if out := openstack(t, "vnflcm", "op", "show", op); !strings.Contains(out, "Quota exceeded") {
		t.Errorf("the reason is not shown:\n%s", out)
	}
	cleanedUp(t, f)
}

// cleanedUp rolls the failed instantiation back: nothing is left, and the instance can be deleted.
func cleanedUp(t *testing.T, f *fixture) {
	t.Helper()
	var resources []resource
	for id := range f.cloud.stacks(t, f.instanceID) {
		resources = f.cloud.resources(t, f.instanceID, id)
	}
	for _, op := range operations(t, f.instanceID) {
		rollBack(t, op)
	}
	f.cloud.gone(t, f.instanceID, resources)
	openstack(t, "vnflcm", "delete", f.instanceID)
}

// setInstanceQuota limits the servers of the project until the end of the test.
func setInstanceQuota(t *testing.T, instances int) {
	t.Helper()
	t.Cleanup(func() { asAdmin(t, "quota", "set", "--force", "--instances", "500", project) })
	asAdmin(t, "quota", "set", "--force", "--instances", strconv.Itoa(instances), project)
}

// asAdmin runs a command of the client as the cloud's administrator.
func asAdmin(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("openstack", append([]string{
		"--os-auth-url", authURL, "--os-username", "admin", "--os-password", password, "--os-project-name", "admin",
		"--os-user-domain-name", "Default", "--os-project-domain-name", "Default", "--os-identity-api-version", "3",
	}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("openstack %q: %v\n%s", args, err, out)
	}
}
