package heattest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"vnfm/lcm/heat/heattest"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	const create = "POST /orchestration/v1/{project}/stacks"
	for _, row := range []struct {
		name     string
		fault    heattest.Fault
		statuses int // expected response code, 0 for a connection that ends without an answer
		made     int // stacks that exist after the failing call
	}{
		{"5xx is answered and nothing happens", heattest.Fault{Method: "POST", Path: `/stacks$`, Times: 1, Status: 503}, 503, 0},
		{"a lost reply leaves the stack", heattest.Fault{Method: "POST", Path: `/stacks$`, Times: 1, LoseReply: true}, 0, 1},
		{"a closed connection leaves nothing", heattest.Fault{Path: `/orchestration/`, Times: 1}, 0, 0},
		{"a hanging call leaves nothing", heattest.Fault{Method: "POST", Path: `/stacks$`, Times: 1, Hang: true}, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, heattest.Options{})
			if err := b.cloud.Inject(row.fault); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if row.fault.Hang {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
			}
			_, err := stacks.Create(ctx, b.heat, vnfBody("vnf")).Extract()
			if err == nil {
				t.Fatal("the call succeeded")
			}
			var unexpected gophercloud.ErrUnexpectedResponseCode
			if errors.As(err, &unexpected) != (row.statuses != 0) || unexpected.Actual != row.statuses {
				t.Errorf("error is %v", err)
			}
			if made := b.cloud.Calls()[create]; made != row.made {
				t.Errorf("%d creations reached Heat", made)
			}
			if _, err := stacks.Create(t.Context(), b.heat, vnfBody("other")).Extract(); err != nil {
				t.Errorf("the call after the fault: %v", err)
			}
			found := 0
			for _, item := range b.cloud.Leaks() {
				if item.Kind == "stack" && item.Name == "vnf" {
					found++
				}
			}
			if found != row.made {
				t.Errorf("%d stacks exist", found)
			}
		})
	}
}

func TestInvalidFaultsAreRefused(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	for _, f := range []heattest.Fault{{Path: "("}, {Status: 200}} {
		if cloud.Inject(f) == nil {
			t.Errorf("%+v was accepted", f)
		}
	}
}

func TestServiceThatIsDown(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	b.cloud.SetDown("orchestration", true)
	if _, err := stacks.List(b.heat, nil).AllPages(t.Context()); err == nil {
		t.Error("Heat answers")
	}
	if _, err := networks.List(b.neutron, nil).AllPages(t.Context()); err != nil {
		t.Errorf("Neutron: %v", err)
	}
	b.cloud.SetDown("orchestration", false)
	if _, err := stacks.List(b.heat, nil).AllPages(t.Context()); err != nil {
		t.Errorf("Heat is back: %v", err)
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{TokenLifetime: 300 * time.Millisecond})
	first := b.provider.Token()
	b.cloud.RevokeTokens()
	if _, err := stacks.List(b.heat, nil).AllPages(t.Context()); err != nil {
		t.Errorf("after revocation: %v", err)
	}
	second := b.provider.Token()
	select {
	case <-time.After(400 * time.Millisecond):
	case <-t.Context().Done():
	}
	if _, err := stacks.List(b.heat, nil).AllPages(t.Context()); err != nil {
		t.Errorf("after expiry: %v", err)
	}
	if first == second || second == b.provider.Token() {
		t.Error("a dead token was used")
	}
}

func TestInjectedResourceFailure(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Name: "worker", Action: "CREATE", Times: 1, Reason: "Message: out of luck, Code: 500"})
	s := b.create(vnfBody("vnf"))
	if s.Status != "CREATE_FAILED" || !strings.HasPrefix(s.StatusReason, "Resource CREATE failed: ResourceInError: resources.worker_instance.resources.") ||
		!strings.HasSuffix(s.StatusReason, `.resources.worker: Went to status ERROR due to "Message: out of luck, Code: 500"`) {
		t.Errorf("stack is %s: %s", s.Status, s.StatusReason)
	}
	// The next update repairs what failed.
	if s = b.update("vnf", s.ID, stackBody{}); s.Status != "UPDATE_COMPLETE" {
		t.Errorf("stack is %s: %s", s.Status, s.StatusReason)
	}
	if err := stacks.Delete(t.Context(), b.heat, "vnf", s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	b.settle("vnf", s.ID)
	if leaks := b.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left behind: %v", leaks)
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{InstanceQuota: 2})
	s := b.create(vnfBody("vnf"))
	if s.Status != "CREATE_FAILED" || !strings.Contains(s.StatusReason, "Quota exceeded for instances: Requested 1, but already used 2 of 2 instances (HTTP 403)") {
		t.Errorf("stack is %s: %s", s.Status, s.StatusReason)
	}
}

func TestDeleteDuringCreate(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: time.Hour}}})
	created, err := stacks.Create(t.Context(), b.heat, vnfBody("vnf")).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for len(b.cloud.Leaks()) < 6 {
		pause(t.Context())
	}
	if err := stacks.Delete(t.Context(), b.heat, "vnf", created.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if s := b.settle("vnf", created.ID); s.Status != "DELETE_COMPLETE" {
		t.Errorf("stack is %s: %s", s.Status, s.StatusReason)
	}
	if leaks := b.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left behind: %v", leaks)
	}
}

func TestUpdateDuringUpdateSupersedes(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf"))
	for _, n := range []string{"3", "1", "2"} {
		body := stackBody{"template": strings.Replace(vnfTemplate, "desired_capacity: 2", "desired_capacity: "+n, 1)}
		if err := stacks.UpdatePatch(t.Context(), b.heat, "vnf", s.ID, body).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	if s = b.settle("vnf", s.ID); s.Status != "UPDATE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	members := 0
	for _, r := range b.resources("vnf", s.ID) {
		if r.Type == "worker.yaml" {
			members++
		}
	}
	if members != 2 {
		t.Errorf("there are %d members", members)
	}
}

func TestServerDeletedBehindTheStack(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf"))
	worker := find(b.resources("vnf", s.ID), "worker")
	if err := servers.Delete(t.Context(), b.nova, worker.PhysicalID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if _, err := servers.Get(t.Context(), b.nova, worker.PhysicalID).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("the server is still there: %v", err)
	}
	b.mark(worker)
	if s = b.update("vnf", s.ID, stackBody{}); s.Status != "UPDATE_COMPLETE" {
		t.Errorf("stack is %s: %s", s.Status, s.StatusReason)
	}
	if b.cloud.DeleteServer("nobody") {
		t.Error("a server that does not exist was deleted")
	}
}

func TestControlEndpoint(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	call := func(method, path, body string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, b.cloud.URL()+heattest.ControlPath+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(answer)
	}
	for _, row := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "faults", `{"path": "/compute/", "times": 1, "status": 500}`, 204},
		{"POST", "faults", `{"path": "("}`, 400},
		{"POST", "faults", `{"surprise": 1}`, 400},
		{"POST", "resource-faults", `{"type": "OS::Nova::Server", "times": 1}`, 204},
		{"DELETE", "faults", ``, 204},
		{"PUT", "delays", `{"": {"create": "1ms"}, "OS::Nova::Server": {"create": "2ms", "update": "1ms", "delete": "1ms"}}`, 204},
		{"PUT", "delays", `{"": {"create": "soon"}}`, 400},
		{"PUT", "delays", `{"": {"explode": "1s"}}`, 400},
		{"PUT", "quota", `{"instances": 9}`, 204},
		{"PUT", "down", `{"service": "compute", "down": true}`, 204},
		{"PUT", "down", `{"service": "compute", "down": false}`, 204},
		{"POST", "tokens/revoke", ``, 204},
		{"DELETE", "servers/nobody", ``, 400},
		{"GET", "calls", ``, 200},
		{"DELETE", "calls", ``, 204},
		{"GET", "inventory?leaks=true", ``, 200},
	} {
		if status, answer := call(row.method, row.path, row.body); status != row.status {
			t.Errorf("%s %s %s: %d %s", row.method, row.path, row.body, status, answer)
		}
	}
	if _, leaks := call("GET", "inventory?leaks=true", ""); strings.TrimSpace(leaks) != "[]" {
		t.Errorf("leaks: %s", leaks)
	}
	if _, all := call("GET", "inventory", ""); !strings.Contains(all, `"name":"net0"`) {
		t.Errorf("inventory: %s", all)
	}
}

func TestReadsThroughGophercloud(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf"))
	master := find(b.resources("vnf", s.ID), "master")
	pages, err := ports.List(b.neutron, ports.ListOpts{DeviceID: master.PhysicalID}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil || len(list) != 1 || list[0].ID != find(b.resources("vnf", s.ID), "master_CP").PhysicalID || list[0].NetworkID != b.cloud.NetworkID("net0") {
		t.Errorf("ports of the server: %+v, %v", list, err)
	}
	server, err := servers.Get(t.Context(), b.nova, master.PhysicalID).Extract()
	if err != nil || server.Status != "ACTIVE" || server.Host == "" || len(server.AttachedVolumes) != 1 {
		t.Errorf("server: %+v, %v", server, err)
	}
	nets, err := networks.List(b.neutron, networks.ListOpts{Name: "net1"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found, err := networks.ExtractNetworks(nets); err != nil || len(found) != 1 || found[0].ID != b.cloud.NetworkID("net1") {
		t.Errorf("networks: %+v, %v", found, err)
	}
}
