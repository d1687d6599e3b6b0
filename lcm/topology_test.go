package lcm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"vnfm/lcm"
	"vnfm/samples"
)

// neutron is a client of the cloud's Neutron.
func (b *bench) neutron() *gophercloud.ServiceClient {
	b.t.Helper()
	account := b.cloud.Account()
	provider, err := openstack.AuthenticatedClient(b.t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: b.cloud.AuthURL(), Username: account.User, Password: account.Password, TenantName: account.Project, DomainName: account.Domain,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	client, err := openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: account.Region})
	if err != nil {
		b.t.Fatal(err)
	}
	return client
}

// port makes a port of somebody else.
func (b *bench) port(network, address string) string {
	b.t.Helper()
	connections, err := b.vims.Choose(b.t.Context(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	stack := &lcm.Deployment{StackName: "others", Template: fmt.Sprintf(`{heat_template_version: "2018-08-31", resources: {
		port: {type: "OS::Neutron::Port", properties: {network: %s, fixed_ips: [{ip_address: %s}]}}}}`, network, address)}
	if stack.Vim, err = b.vims.Access(b.t.Context(), connections); err != nil {
		b.t.Fatal(err)
	}
	if stack.StackID, err = b.driver.Create(b.t.Context(), stack); err != nil {
		b.t.Fatal(err)
	}
	for {
		status, err := b.driver.Status(b.t.Context(), stack)
		if err != nil {
			b.t.Fatal(err)
		}
		if status.Phase == lcm.StackComplete {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	resources, err := b.driver.Resources(b.t.Context(), stack)
	if err != nil || len(resources) != 1 {
		b.t.Fatalf("resources %+v, %v", resources, err)
	}
	return resources[0].PhysicalID
}

// portsOf are the ports of a VDU's only server, as "<network>/<address>", sorted.
func (b *bench) portsOf(neutron *gophercloud.ServiceClient, instance *lcm.VnfInstance, vdu string) []string {
	b.t.Helper()
	names := map[string]string{b.cloud.NetworkID("net0"): "net0", b.cloud.NetworkID("net1"): "net1"}
	found := []string{}
	for _, server := range servers(b.read(instance), vdu) {
		pages, err := ports.List(neutron, ports.ListOpts{DeviceID: server}).AllPages(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		list, err := ports.ExtractPorts(pages)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, port := range list {
			found = append(found, fmt.Sprintf("%s/%s", names[port.NetworkID], port.FixedIPs[0].IPAddress))
		}
	}
	slices.Sort(found)
	return found
}

// TestConnectionsOfAVnfWithoutBaseHOT connects a VNF in the ways of SOL003 4.4.1.12 to 4.4.1.14.
func TestConnectionsOfAVnfWithoutBaseHOT(t *testing.T) {
	t.Parallel()
	b := setup(t)
	neutron := b.neutron()
	network := b.cloud.NetworkID("net0")
	given := b.port(network, "10.10.0.99")
	before := b.cloud.Leaks()
	tree := topology(t)
	instance := b.instanceOf(tree)
	external := func(cpConfig, more string) string {
		return fmt.Sprintf(`{"flavourId": "simple", "extVirtualLinks": [{"id": "service", "resourceId": %q, "extCps": [{"cpdId": "frontend_CP1",
			"cpConfig": [%s]}]%s}]}`, network, cpConfig, more)
	}
	address := func(address string) string {
		return external(fmt.Sprintf(`{"cpProtocolData": [{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {
			"ipAddresses": [{"type": "IPV4", "fixedAddresses": [%q]}]}}]}`, address), "")
	}
	for _, row := range []struct {
		name, request string
		frontend      string // the network and address of a port that the front end has to have
		networks      int    // that are made
	}{
		{"fixed address", address("10.10.0.77"), "net0/10.10.0.77", 1},
		{"existing port", external(`{"linkPortId": "p"}`, fmt.Sprintf(`, "extLinkPorts": [{"id": "p", "resourceHandle": {"resourceId": %q}}]`, given)),
			"net0/10.10.0.99", 1},
		{"managed network", strings.TrimSuffix(address("10.10.0.78"), "}") + fmt.Sprintf(`, "extManagedVirtualLinks": [{"id": "m",
			"vnfVirtualLinkDescId": "backbone", "resourceId": %q}]}`, b.cloud.NetworkID("net1")), "net1/10.10.1.", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			b.t = t
			b.expect(b.run(instance, b.manager.Instantiate, row.request, -1), lcm.StateCompleted)
			have := b.portsOf(neutron, instance, "frontend")
			if !slices.ContainsFunc(have, func(port string) bool { return strings.HasPrefix(port, row.frontend) }) || len(have) != 2 {
				t.Errorf("the front end has the ports %q, want two and %s", have, row.frontend)
			}
			if made := b.made("network"); len(made) != row.networks {
				t.Errorf("%+v were made, want %d networks", made, row.networks)
			}
			b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
			if diff := cmp.Diff(before, b.cloud.Leaks()); diff != "" {
				t.Errorf("what is there besides was (-) and is (+)\n%s", diff)
			}
		})
	}
	b.t = t
	// The front end moves while it runs.
	b.expect(b.run(instance, b.manager.Instantiate, address("10.10.0.77"), -1), lcm.StateCompleted)
	change := strings.Replace(address("10.10.0.79"), `"flavourId": "simple", `, "", 1)
	b.expect(b.run(instance, b.manager.ChangeExtConn, change, -1), lcm.StateCompleted)
	if have := b.portsOf(neutron, instance, "frontend"); !slices.Contains(have, "net0/10.10.0.79") {
		t.Errorf("after the change of connectivity the front end has %q", have)
	}
}

// TestPackageWithTemplatesAndImage has the image of a package uploaded whose templates are its own.
func TestPackageWithTemplatesAndImage(t *testing.T) {
	t.Parallel()
	files := files(t, samples.TwoVdu())
	const vnfd = "Definitions/two_vdu_df_simple.yaml"
	text := strings.Replace(string(files[vnfd].Data), "name: cirros-0.5.2-x86_64-disk", "name: own image", 1)
	text = strings.Replace(text, "      capabilities:", "      artifacts:\n        sw_image:\n          type: tosca.artifacts.nfv.SwImage\n"+
		"          file: ../Files/own.img\n      capabilities:", 1)
	content := []byte("an image")
	text = strings.Replace(text, "6b813aa46bb90b4da216a4d19376593fa3f4fc7e617f03a92b7fe11e9a3981cbe8f0959dbebe36225e5f53dc4492341a4863cac4ed1ee0909f3fc78ef9c3e869",
		sha512Of(content), 1)
	files["Files/own.img"], files[vnfd].Data = &fstest.MapFile{Data: content}, []byte(text)
	b := setup(t)
	instance := b.instanceOf(files)
	b.expect(b.run(instance, b.manager.Instantiate, string(b.request()), -1), lcm.StateCompleted)
	b.image()
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}
