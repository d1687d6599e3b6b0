package hot_test

import (
	"bytes"
	"os"
	"testing"
	"testing/fstest"

	"vnfm/lcm"
	"vnfm/lcm/hot"
	"vnfm/vnfpkg"
)

// readFlavour reads the only flavour of a VNFD through a package made of it.
func readFlavour(t *testing.T, vnfd string) *vnfpkg.Flavour {
	t.Helper()
	var csar bytes.Buffer
	tree := fstest.MapFS{
		"vnfd.yaml":                 {Data: []byte(vnfd)},
		"TOSCA-Metadata/TOSCA.meta": {Data: []byte("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-by: Example\nEntry-Definitions: vnfd.yaml\n")},
	}
	if err := vnfpkg.BuildFS(t.Context(), tree, &csar); err != nil {
		t.Fatal(err)
	}
	archive, err := vnfpkg.OpenCSAR(bytes.NewReader(csar.Bytes()), int64(csar.Len()), vnfpkg.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	description, err := archive.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, flavour := range description.Vnfd.Flavours {
		return flavour
	}
	return nil
}

func readVnfd(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// attachments are what the cases connect to; their ids differ from cloud to cloud.
type attachments struct {
	net0, net1, subnet1 string
	port                string // an existing port in net0
	address1, address2  string // free addresses in net1
}

// named are the networks of the golden templates.
var named = attachments{"net0", "net1", "subnet1", "port", "10.10.1.41", "10.10.1.42"}

// golden are the requests whose templates are recorded and tried on clouds.
var golden = []struct {
	name    string
	request func(t *testing.T, n attachments) hot.Request
	servers int
	ipv6    bool // the VNF has a network of its own with IPv6
}{
	{name: "registry", request: registryRequest, servers: 1},
	{name: "scaling", request: scalingRequest, servers: 3},
	{name: "pair", request: pairRequest, servers: 3},
	{name: "dual", request: dualRequest, servers: 3, ipv6: true},
}

func registryRequest(t *testing.T, n attachments) hot.Request {
	t.Helper()
	return hot.Request{
		Flavour:     readFlavour(t, readVnfd(t, "registry")),
		Instantiate: &lcm.InstantiateRequest{FlavourID: "simple", ExtVirtualLinks: []lcm.ExtVirtualLinkData{external(n.net0, "CP1", lcm.VnfExtCpConfig{})}},
	}
}

func scalingRequest(t *testing.T, n attachments) hot.Request {
	t.Helper()
	return hot.Request{
		Flavour: readFlavour(t, readVnfd(t, "scaling")),
		Instantiate: &lcm.InstantiateRequest{FlavourID: "scaling", ExtVirtualLinks: []lcm.ExtVirtualLinkData{
			external(n.net0, "controller_CP", lcm.VnfExtCpConfig{}),
			external(n.net1, "worker_CP1", addressed("", lcm.IPAddressData{Type: "IPV4", SubnetID: n.subnet1})),
		}},
		ScaleLevels: map[string]int{"workers": 1},
		Zones:       map[string]string{"worker": "nova"},
	}
}

func dualRequest(t *testing.T, _ attachments) hot.Request {
	t.Helper()
	return hot.Request{Flavour: readFlavour(t, readVnfd(t, "dual")), Instantiate: &lcm.InstantiateRequest{FlavourID: "dual"}}
}

func pairRequest(t *testing.T, n attachments) hot.Request {
	t.Helper()
	front := external(n.net0, "front_CP", lcm.VnfExtCpConfig{LinkPortID: "link-port"})
	front.ExtLinkPorts = []lcm.ExtLinkPortData{{ID: "link-port", ResourceHandle: lcm.ResourceHandle{ResourceID: n.port}}}
	return hot.Request{
		Flavour: readFlavour(t, readVnfd(t, "pair")),
		Prefix:  "vnf1",
		Instantiate: &lcm.InstantiateRequest{
			FlavourID: "pair",
			ExtVirtualLinks: []lcm.ExtVirtualLinkData{
				front,
				external(n.net1, "back_CP",
					addressed("fa:16:3e:00:00:41", lcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{n.address1}}),
					addressed("fa:16:3e:00:00:42", lcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{n.address2}, SubnetID: n.subnet1})),
			},
			ExtManagedVirtualLinks: []lcm.ExtManagedVirtualLinkData{{ID: "m", VirtualLinkDescID: "inner", ResourceID: n.net1}},
		},
	}
}

func external(network, cpd string, configs ...lcm.VnfExtCpConfig) lcm.ExtVirtualLinkData {
	return lcm.ExtVirtualLinkData{ID: "ext-" + cpd, ResourceID: network, ExtCps: []lcm.VnfExtCpData{{CpdID: cpd, CpConfig: configs}}}
}

func addressed(mac string, addresses ...lcm.IPAddressData) lcm.VnfExtCpConfig {
	return lcm.VnfExtCpConfig{CpProtocolData: []lcm.CpProtocolData{{
		LayerProtocol:  "IP_OVER_ETHERNET",
		IPOverEthernet: &lcm.IPOverEthernetData{MacAddress: mac, IPAddresses: addresses},
	}}}
}
