package hot_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"vnfm/lcm/heat/heattest"
	"vnfm/lcm/hot"
)

// TestTranslateOnSimulator makes a stack of each template on the simulator, and takes it down.
func TestTranslateOnSimulator(t *testing.T) {
	t.Parallel()
	for _, row := range golden {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.ipv6 {
				t.Skip("the simulator has no IPv6")
			}
			sim := heattest.Start(t, heattest.Options{})
			account := sim.Account()
			c := open(t, gophercloud.AuthOptions{
				IdentityEndpoint: sim.AuthURL(), Username: account.User, Password: account.Password, TenantName: account.Project, DomainName: account.Domain,
			}, account.Region)
			c.walk(row.request, row.servers)
		})
	}
}

// TestTranslateOnOpenStack does the same on the OpenStack whose Keystone VNFM_TEST_OPENSTACK names. The accounts, networks,
// images and flavors are those of e2e/.
func TestTranslateOnOpenStack(t *testing.T) {
	authURL := os.Getenv("VNFM_TEST_OPENSTACK")
	if authURL == "" {
		t.Skip("VNFM_TEST_OPENSTACK, the URL of a Keystone, is not set")
	}
	for _, row := range golden {
		t.Run(row.name, func(t *testing.T) {
			c := open(t, gophercloud.AuthOptions{
				IdentityEndpoint: authURL, Username: "nfv_user", Password: "devstack", TenantName: "nfv", DomainName: "Default",
			}, "")
			c.walk(row.request, row.servers)
		})
	}
}

// cloud is an OpenStack and a test that uses it.
type cloud struct {
	*testing.T
	heat, neutron *gophercloud.ServiceClient
}

func open(t *testing.T, auth gophercloud.AuthOptions, region string) *cloud {
	t.Helper()
	provider, err := openstack.AuthenticatedClient(t.Context(), auth)
	if err != nil {
		t.Fatal(err)
	}
	provider.HTTPClient.Transport = &http.Transport{}
	t.Cleanup(func() { provider.HTTPClient.Transport.(*http.Transport).CloseIdleConnections() })
	c := &cloud{T: t}
	endpoint := gophercloud.EndpointOpts{Region: region}
	if c.heat, err = openstack.NewOrchestrationV1(provider, endpoint); err != nil {
		t.Fatal(err)
	}
	if c.neutron, err = openstack.NewNetworkV2(provider, endpoint); err != nil {
		t.Fatal(err)
	}
	return c
}

// body is that of a stack to create or update; gophercloud's own options would read templates from the disk.
type body map[string]any

func (b body) ToStackCreateMap() (map[string]any, error) { return b, nil }
func (b body) ToStackUpdateMap() (map[string]any, error) { return b, nil }

// walk makes the stack of a request, looks at what is in it, scales it if it can be, and deletes it.
func (c *cloud) walk(request func(*testing.T, attachments) hot.Request, servers int) {
	c.Helper()
	n := c.networks()
	r := request(c.T, n)
	name := "hot-" + rand.Text()[:8]
	id := c.create(name, c.translate(r))
	c.expect(name, id, r, servers)
	for aspect, level := range r.ScaleLevels {
		c.heal(name, id, r) // before all hosts have a worker: Nova needs another one for the replacement
		before := c.resources(name, id)
		r.ScaleLevels = map[string]int{aspect: level + 1}
		c.update(name, id, c.translate(r))
		c.expect(name, id, r, servers+1)
		after := c.resources(name, id)
		for key, resource := range before {
			if after[key].PhysicalID != resource.PhysicalID {
				c.Errorf("scaling out has replaced %s", key)
			}
		}
	}
	c.delete(name, id)
}

// heal replaces a worker alone: its volumes and its port stay.
func (c *cloud) heal(name, id string, r hot.Request) {
	c.Helper()
	before := c.resources(name, id)
	broken := ""
	for key, resource := range before {
		if resource.Name == "worker" {
			broken = key
		}
	}
	sick := before[broken]
	options := stackresources.MarkUnhealthyOpts{MarkUnhealthy: true, ResourceStatusReason: "test"}
	if err := stackresources.MarkUnhealthy(c.Context(), c.heat, sick.stackName, sick.stackID, sick.Name, options).ExtractErr(); err != nil {
		c.Fatal(err)
	}
	c.update(name, id, c.translate(r))
	after := c.resources(name, id)
	for key, resource := range before {
		replaced := after[key].PhysicalID != resource.PhysicalID
		// An attachment has a new id when it is made anew.
		if resource.Type != "OS::Cinder::VolumeAttachment" && replaced != (key == broken) {
			c.Errorf("healing %s: %s is replaced: %t", broken, key, replaced)
		}
	}
}

// resource is a resource with the stack that holds it.
type resource struct {
	stackresources.Resource
	stackName, stackID string
}

// resources lists all of a stack and the stacks inside, by stack and name.
func (c *cloud) resources(name, id string) map[string]resource {
	c.Helper()
	pages, err := stackresources.List(c.heat, name, id, stackresources.ListOpts{Depth: 5}).AllPages(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	list, err := stackresources.ExtractResources(pages)
	if err != nil {
		c.Fatal(err)
	}
	found := map[string]resource{}
	for _, r := range list {
		for _, link := range r.Links {
			if link.Rel != "stack" {
				continue
			}
			path := strings.Split(link.Href, "/")
			holder := resource{r, path[len(path)-2], path[len(path)-1]}
			found[holder.stackID+"/"+r.Name] = holder
		}
	}
	return found
}

func (c *cloud) translate(r hot.Request) *hot.Template {
	c.Helper()
	template, err := hot.Translate(r)
	if err != nil {
		c.Fatal(err)
	}
	return template
}

func (c *cloud) networks() attachments {
	c.Helper()
	n := attachments{}
	for name, id := range map[string]*string{"net0": &n.net0, "net1": &n.net1} {
		pages, err := networks.List(c.neutron, networks.ListOpts{Name: name}).AllPages(c.Context())
		if err != nil {
			c.Fatal(err)
		}
		found, err := networks.ExtractNetworks(pages)
		if err != nil || len(found) != 1 {
			c.Fatalf("network %s: %v, %v", name, found, err)
		}
		*id = found[0].ID
	}
	network, err := networks.Get(c.Context(), c.neutron, n.net1).Extract()
	if err != nil {
		c.Fatal(err)
	}
	n.subnet1 = network.Subnets[0]
	subnet, err := subnets.Get(c.Context(), c.neutron, n.subnet1).Extract()
	if err != nil {
		c.Fatal(err)
	}
	first := netip.MustParsePrefix(subnet.CIDR).Addr().As4()
	n.address1 = netip.AddrFrom4([4]byte{first[0], first[1], first[2], 241}).String()
	n.address2 = netip.AddrFrom4([4]byte{first[0], first[1], first[2], 242}).String()
	stack := "hot-port-" + rand.Text()[:8]
	n.port = c.physical(stack, c.create(stack, &hot.Template{
		Top:        "heat_template_version: 2018-08-31\nparameters: {net: {type: string}}\nresources: {p: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}}",
		Parameters: map[string]any{"net": n.net0},
	}), "p")
	return n
}

func (c *cloud) create(name string, template *hot.Template) string {
	c.Helper()
	made, err := stacks.Create(c.Context(), c.heat, body{
		"stack_name": name, "template": template.Top, "files": template.Files, "parameters": template.Parameters, "disable_rollback": true,
	}).Extract()
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		ctx := context.WithoutCancel(c.Context())
		if err := stacks.Delete(ctx, c.heat, name, made.ID).ExtractErr(); err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			c.Errorf("delete stack %s: %v", name, err)
		}
	})
	c.wait(name, made.ID, "CREATE_COMPLETE")
	return made.ID
}

func (c *cloud) physical(name, id, resource string) string {
	c.Helper()
	found, err := stackresources.Get(c.Context(), c.heat, name, id, resource).Extract()
	if err != nil {
		c.Fatal(err)
	}
	return found.PhysicalID
}

func (c *cloud) update(name, id string, template *hot.Template) {
	c.Helper()
	err := stacks.Update(c.Context(), c.heat, name, id, body{
		"template": template.Top, "files": template.Files, "parameters": template.Parameters,
	}).ExtractErr()
	if err != nil {
		c.Fatal(err)
	}
	c.wait(name, id, "UPDATE_COMPLETE")
}

func (c *cloud) delete(name, id string) {
	c.Helper()
	if err := stacks.Delete(c.Context(), c.heat, name, id).ExtractErr(); err != nil {
		c.Fatal(err)
	}
	c.wait(name, id, "DELETE_COMPLETE")
}

// wait polls until the stack has a status. It gives up on any other final one, and on a stack that somebody else deletes.
func (c *cloud) wait(name, id, status string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Minute)
	defer cancel()
	for {
		stack, err := stacks.Get(ctx, c.heat, name, id).Extract()
		switch {
		case status == "DELETE_COMPLETE" && gophercloud.ResponseCodeIs(err, http.StatusNotFound):
			return
		case err != nil:
			c.Fatal(err)
		case stack.Status == status:
			return
		case strings.HasSuffix(stack.Status, "_FAILED"), status != "DELETE_COMPLETE" && strings.HasPrefix(stack.Status, "DELETE_"):
			c.Fatalf("%s: %s: %s", name, stack.Status, stack.StatusReason)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// expect compares the stack with the request: the servers that there are, and the addresses that were asked for.
func (c *cloud) expect(name, id string, r hot.Request, servers int) {
	c.Helper()
	count, made := 0, map[string][]string{} // addresses and MACs by connection point
	for _, resource := range c.resources(name, id) {
		switch resource.Type {
		case "OS::Nova::Server":
			count++
			if _, ok := r.Flavour.Vdu(resource.Name); !ok {
				c.Errorf("the server %s has not the name of a VDU", resource.Name)
			}
		case "OS::Neutron::Port":
			port, err := ports.Get(c.Context(), c.neutron, resource.PhysicalID).Extract()
			if err != nil {
				c.Fatal(err)
			}
			if len(port.FixedIPs) == 0 || port.DeviceID == "" {
				c.Errorf("the port %s has no address or no server", resource.Name)
			}
			made[resource.Name] = append(made[resource.Name], port.MACAddress)
			for _, ip := range port.FixedIPs {
				made[resource.Name] = append(made[resource.Name], ip.IPAddress)
			}
		}
	}
	if count != servers {
		c.Errorf("%d servers, want %d", count, servers)
	}
	for _, link := range r.Instantiate.ExtVirtualLinks {
		for _, cp := range link.ExtCps {
			for _, config := range cp.CpConfig {
				for _, protocol := range config.CpProtocolData {
					wanted := []string{}
					if mac := protocol.IPOverEthernet.MacAddress; mac != "" {
						wanted = append(wanted, mac)
					}
					for _, addresses := range protocol.IPOverEthernet.IPAddresses {
						wanted = append(wanted, addresses.FixedAddresses...)
					}
					for _, address := range wanted {
						if !slices.Contains(made[cp.CpdID], address) {
							c.Errorf("%s has %v, not %s", cp.CpdID, made[cp.CpdID], address)
						}
					}
				}
			}
		}
	}
}
