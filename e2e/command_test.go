//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestCommandsThatFollowUp are those of the client that do two things: create with instantiation, terminate with deletion.
func TestCommandsThatFollowUp(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	c := openCloud(t)
	registerVim(t)
	pkg := onboard(t, buildPackage(t))
	request, err := json.Marshal(instantiation(t, c))
	if err != nil {
		t.Fatal(err)
	}
	out := openstack(t, "vnflcm", "create", "--name", t.Name(), "--description", "made at once", pkg.VnfdID, "--I", writeFile(t, "instantiate.json", string(request)))
	var id string
	for _, row := range openstackJSON[[]map[string]any](t, "vnflcm", "list") {
		if row["VNF Instance Name"] == t.Name() {
			id = row["ID"].(string)
		}
	}
	if id == "" {
		t.Fatalf("the instance is not in the list; create printed\n%s", out)
	}
	t.Cleanup(func() { removeInstance(t, id) })
	for _, op := range operations(t, id) {
		completed(t, op.ID)
	}
	c.onlyStack(t, id, "CREATE_COMPLETE")
	if out := openstack(t, "vnflcm", "terminate", "--termination-type", "FORCEFUL", "--D", id); !strings.Contains(out, "deleted successfully") {
		t.Errorf("terminate --D printed\n%s", out)
	}
	refused(t, "vnflcm", "show", id)
}

// TestDecisionsAboutFailedOperations retries, rolls back and gives up with the client.
func TestDecisionsAboutFailedOperations(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	f := setup(t)
	servers := f.cloud.servers(t)
	setInstanceQuota(t, servers+1)
	op := operate(t, f.instanceID, "instantiate", f.request)
	failed(t, op)
	// As for cancel: the client fails after the server has accepted.
	stdout, stderr, _ := client(t, "vnflcm", "op", "retry", op)
	if !strings.Contains(stdout+stderr, "accepted") {
		t.Errorf("retry: %s%s", stdout, stderr)
	}
	failed(t, op) // nothing has changed
	stdout, stderr, _ = client(t, "vnflcm", "op", "rollback", op)
	if !strings.Contains(stdout+stderr, "accepted") {
		t.Errorf("rollback: %s%s", stdout, stderr)
	}
	if op := settled(t, op); op.OperationState != "ROLLED_BACK" {
		t.Errorf("after rollback the operation is %s", op.OperationState)
	}
	op = operate(t, f.instanceID, "instantiate", f.request)
	failed(t, op)
	if shown := openstackJSON[map[string]any](t, "vnflcm", "op", "fail", op); shown["Operation State"] != "FAILED" {
		t.Errorf("fail shows %v", shown)
	}
	refused(t, "vnflcm", "op", "retry", op)
	for filter, want := range map[string]bool{"(eq,operationState,FAILED)": true, "(eq,operationState,COMPLETED)": false} {
		rows := openstackJSON[[]map[string]any](t, "vnflcm", "op", "list", "--filter", filter)
		if found := slices.ContainsFunc(rows, func(row map[string]any) bool { return row["ID"] == op }); found != want {
			t.Errorf("op list --filter %s lists the operation: %t, want %t", filter, found, want)
		}
	}
	openstack(t, "vnflcm", "op", "list", "--exclude-fields", "operationParams,error")
	openstack(t, "vnflcm", "op", "list", "--fields", "resourceChanges")
	refused(t, "vnflcm", "op", "list", "--exclude-fields", "nosuch")
	// What the failed instantiation has left goes with terminate.
	completed(t, operate(t, f.instanceID, "terminate", map[string]any{"terminationType": "FORCEFUL"}))
	openstack(t, "vnflcm", "delete", f.instanceID)
}

// TestSubscriptions subscribes with the client, and hears of the life of an instance.
func TestSubscriptions(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	var mu sync.Mutex
	var heard []string
	consumer := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		var notification struct{ NotificationType, OperationState string }
		if request.Method == http.MethodPost && json.NewDecoder(request.Body).Decode(&notification) == nil {
			mu.Lock()
			heard = append(heard, strings.TrimSpace(notification.NotificationType+" "+notification.OperationState))
			mu.Unlock()
		}
		response.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(consumer.Close)
	file := writeFile(t, "subscription.json", `{"callbackUri": "`+consumer.URL+`/notify", "filter": {"notificationTypes":
		["VnfIdentifierCreationNotification", "VnfIdentifierDeletionNotification"]}}`)
	made := openstackJSON[map[string]any](t, "vnflcm", "subsc", "create", file)
	id := made["ID"].(string)
	another := openstackJSON[map[string]any](t, "vnflcm", "subsc", "create", writeFile(t, "another.json", `{"callbackUri": "`+consumer.URL+`/other",
		"filter": {"operationStates": ["FAILED"], "notificationTypes": ["VnfLcmOperationOccurrenceNotification"]}}`))["ID"].(string)
	t.Cleanup(func() {
		for _, id := range []string{id, another} {
			call(t, http.MethodDelete, "/vnflcm/v1/subscriptions/"+id, nil)
		}
	})
	if shown := openstackJSON[map[string]any](t, "vnflcm", "subsc", "show", id); shown["Callback URI"] != consumer.URL+"/notify" || empty(shown["Filter"]) {
		t.Errorf("the subscription is shown as %v", shown)
	}
	rows := openstackJSON[[]map[string]any](t, "vnflcm", "subsc", "list", "--filter", "(cont,callbackUri,notify)")
	if len(rows) != 1 || rows[0]["ID"] != id {
		t.Errorf("subsc list --filter lists %v", rows)
	}
	if rows := openstackJSON[[]map[string]any](t, "vnflcm", "subsc", "list"); len(rows) != 2 {
		t.Errorf("subsc list lists %v", rows)
	}

	registerVim(t)
	pkg := onboard(t, buildPackage(t))
	instance := createInstance(t, pkg.VnfdID)
	openstack(t, "vnflcm", "delete", instance)
	eventually(t, "the consumer was told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) == 2
	})
	if want := []string{"VnfIdentifierCreationNotification", "VnfIdentifierDeletionNotification"}; !slices.Equal(heard, want) {
		t.Errorf("the consumer heard %v", heard)
	}
	refused(t, "vnflcm", "subsc", "create", writeFile(t, "bad.json", `{"callbackUri": "nowhere"}`))
	if out := openstack(t, "vnflcm", "subsc", "delete", id, another); !strings.Contains(out, "deleted successfully") {
		t.Errorf("subsc delete printed %q", out)
	}
	refused(t, "vnflcm", "subsc", "show", id)
}

// TestPackageLists filters packages and selects their fields with the client, and has one uploaded from an address.
func TestPackageLists(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	content := http.FileServer(http.Dir(strings.TrimSuffix(buildPackage(t), "/two-vdu.csar")))
	files := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "me" || password != "geheim" {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		content.ServeHTTP(response, request)
	}))
	t.Cleanup(files.Close)
	id := openstackJSON[map[string]any](t, "vnf", "package", "create", "--user-data", "owner=me")["ID"].(string)
	t.Cleanup(func() { removePackage(t, id) })
	openstack(t, "vnf", "package", "upload", "--url", files.URL+"/two-vdu.csar", "--user-name", "me", "--password", "geheim", id)
	pkg := onboarded(t, id)
	for _, args := range [][]string{
		{"--filter", "(eq,onboardingState,ONBOARDED);(eq,vnfdId," + pkg.VnfdID + ")"}, {"--all_fields"}, {"--exclude_default"},
		{"--fields", "softwareImages,userDefinedData/owner"}, {"--exclude_fields", "checksum"},
	} {
		rows := openstackJSON[[]map[string]any](t, append([]string{"vnf", "package", "list"}, args...)...)
		if !slices.ContainsFunc(rows, func(row map[string]any) bool { return row["Id"] == id || row["ID"] == id }) {
			t.Errorf("vnf package list %v lists %v", args, rows)
		}
	}
	if rows := openstackJSON[[]map[string]any](t, "vnf", "package", "list", "--filter", "(eq,vnfdId,other)"); len(rows) > 0 {
		t.Errorf("a filter that nothing fits lists %v", rows)
	}
	refused(t, "vnf", "package", "list", "--filter", "(eq,nosuch,x)")
}
