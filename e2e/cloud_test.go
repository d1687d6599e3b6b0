//go:build e2e

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	gopher "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
)

// cloud is OpenStack seen past vnfm.
type cloud struct {
	heat, nova, neutron, cinder, glance *gophercloud.ServiceClient
}

func openCloud(t *testing.T) *cloud {
	t.Helper()
	provider, err := gopher.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: authURL, Username: username, Password: password, TenantName: project, DomainName: "Default",
	})
	if err != nil {
		t.Fatal(err)
	}
	service := func(open func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) *gophercloud.ServiceClient {
		client, err := open(provider, gophercloud.EndpointOpts{Region: region})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	return &cloud{
		heat: service(gopher.NewOrchestrationV1), nova: service(gopher.NewComputeV2),
		neutron: service(gopher.NewNetworkV2), cinder: service(gopher.NewBlockStorageV3), glance: service(gopher.NewImageV2),
	}
}

// network is a network's id with that of its subnet.
func (c *cloud) network(t *testing.T, name string) (networkID, subnetID string) {
	t.Helper()
	pages, err := networks.List(c.neutron, networks.ListOpts{Name: name}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := networks.ExtractNetworks(pages)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d networks are called %s: %v", len(found), name, err)
	}
	pages, err = subnets.List(c.neutron, subnets.ListOpts{NetworkID: found[0].ID}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of, err := subnets.ExtractSubnets(pages)
	if err != nil || len(of) != 1 {
		t.Fatalf("network %s has %d subnets: %v", name, len(of), err)
	}
	return found[0].ID, of[0].ID
}

// stacks are the stacks of a VNF instance that exist, by their ids with their states. A VNF has one, or none.
func (c *cloud) stacks(t *testing.T, vnfInstanceID string) map[string]string {
	t.Helper()
	pages, err := stacks.List(c.heat, stacks.ListOpts{Name: "vnf-" + vnfInstanceID}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := stacks.ExtractStacks(pages)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]string{}
	for _, stack := range found {
		// For some seconds Heat lists a stack that it has deleted.
		if stack.Status != "DELETE_COMPLETE" {
			byID[stack.ID] = stack.Status
		}
	}
	return byID
}

// onlyStack is the id of the VNF's one stack, which has to be there and in the state.
func (c *cloud) onlyStack(t *testing.T, vnfInstanceID, status string) string {
	t.Helper()
	found := c.stacks(t, vnfInstanceID)
	for id, is := range found {
		if len(found) == 1 && is == status {
			return id
		}
	}
	t.Fatalf("the stacks vnf-%s are %v, not one that is %s", vnfInstanceID, found, status)
	return ""
}

// resource is what the tests look at of a Heat resource.
type resource struct{ Name, Type, ID, Status string }

// resources are those of a stack and of all stacks nested in it.
func (c *cloud) resources(t *testing.T, vnfInstanceID, stackID string) []resource {
	t.Helper()
	pages, err := stackresources.List(c.heat, "vnf-"+vnfInstanceID, stackID, stackresources.ListOpts{Depth: 4}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := stackresources.ExtractResources(pages)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]resource, len(found))
	for i, r := range found {
		all[i] = resource{r.Name, r.Type, r.PhysicalID, r.Status}
	}
	return all
}

// idsOf are the ids, in order, of the resources of one type.
func idsOf(all []resource, kind string) []string {
	var ids []string
	for _, r := range all {
		if r.Type == kind {
			ids = append(ids, r.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// gone checks that nothing is left of the stack's resources, neither in Heat nor in the service that had them.
func (c *cloud) gone(t *testing.T, vnfInstanceID string, all []resource) {
	t.Helper()
	if left := c.stacks(t, vnfInstanceID); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
	for _, r := range all {
		var err error
		switch r.Type {
		case "OS::Nova::Server":
			err = servers.Get(t.Context(), c.nova, r.ID).Err
		case "OS::Neutron::Port":
			err = ports.Get(t.Context(), c.neutron, r.ID).Err
		case "OS::Neutron::Net":
			err = networks.Get(t.Context(), c.neutron, r.ID).Err
		case "OS::Cinder::Volume":
			err = volumes.Get(t.Context(), c.cinder, r.ID).Err
		default:
			continue
		}
		if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Errorf("%s %s is left (%v)", r.Type, r.ID, err)
		}
	}
}

// complete reports the resources that are not in a state of success.
func complete(all []resource) (bad []resource) {
	for _, r := range all {
		if !strings.HasSuffix(r.Status, "_COMPLETE") {
			bad = append(bad, r)
		}
	}
	return bad
}

// servers is how many servers the project has.
func (c *cloud) servers(t *testing.T) int {
	t.Helper()
	pages, err := servers.List(c.nova, servers.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := servers.ExtractServers(pages)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
