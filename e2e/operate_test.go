//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// TestOperate stops and starts the servers of a VNF, and a VNFC among them.
func TestOperate(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	completed(t, operate(t, f.instanceID, "instantiate", f.request))

	completed(t, operate(t, f.instanceID, "operate", map[string]any{"changeStateTo": "STOPPED", "stopType": "GRACEFUL", "gracefulStopTimeout": 1}))
	f.cloud.inStatus(t, "SHUTOFF", 2)
	if state := read[vnfInstance](t, instancePath(f.instanceID)).InstantiatedVnfInfo.VnfState; state != "STOPPED" {
		t.Errorf("vnfState %s of a VNF that is stopped", state)
	}
	for vnfc := range workers(t, f.instanceID) {
		completed(t, operate(t, f.instanceID, "operate", map[string]any{"changeStateTo": "STARTED", "vnfcInstanceId": []string{vnfc}}))
	}
	f.cloud.inStatus(t, "SHUTOFF", 1)
	completed(t, operate(t, f.instanceID, "operate", map[string]any{"changeStateTo": "STARTED"}))
	f.cloud.inStatus(t, "SHUTOFF", 0)
}

// inStatus checks how many servers of the project are in a status.
func (c *cloud) inStatus(t *testing.T, status string, want int) {
	t.Helper()
	pages, err := servers.List(c.nova, servers.ListOpts{Status: status}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := servers.ExtractServers(pages)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != want {
		t.Errorf("%d servers are %s, want %d", len(found), status, want)
	}
}

// TestModify changes an instance with the real client.
func TestModify(t *testing.T) {
	f := setup(t)
	openstack(t, "vnflcm", "update", f.instanceID, "--I",
		writeFile(t, "changes.json", `{"vnfInstanceName": "renamed", "vnfInstanceDescription": "changed", "metadata": {"key": "value"}}`))
	completed(t, lastOperation(t, f.instanceID, "MODIFY_INFO"))
	shown := openstackJSON[map[string]any](t, "vnflcm", "show", f.instanceID)
	if shown["VNF Instance Name"] != "renamed" || shown["VNF Instance Description"] != "changed" {
		t.Errorf("after the update the client shows %v", shown)
	}
}

// TestCancel cancels an instantiation that Heat is at, with the real client, and goes on with it.
func TestCancel(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	id := operate(t, f.instanceID, "instantiate", f.request)
	// The client fails after the server has accepted: it looks for a table in an empty answer.
	stdout, stderr, _ := client(t, "vnflcm", "op", "cancel", id, "--cancel-mode", "FORCEFUL")
	if !strings.Contains(stdout+stderr, "accepted") {
		t.Errorf("cancel: %s%s", stdout, stderr)
	}
	switch op := settled(t, id); op.OperationState {
	case "ROLLED_BACK": // cancelled in STARTING
	case "FAILED_TEMP":
		expect(t, http.StatusAccepted, http.MethodPost, operationPath(id)+"/retry", nil)
		completed(t, id)
	default:
		t.Errorf("a cancelled operation is %s", op.OperationState)
	}
}
