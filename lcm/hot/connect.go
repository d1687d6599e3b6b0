package hot

import (
	"fmt"
	"net/netip"
	"reflect"

	"vnfm/lcm"
)

// connection is how one instance of an external connection point is connected (SOL003 4.4.1.13a).
type connection struct {
	at       string // JSON pointer of what asks for it
	network  string
	fixedIPs []any // as the property fixed_ips of OS::Neutron::Port
	mac      string
	port     string // an existing port instead of all the others

	addressAt, macAt, portAt string // JSON pointers of what only one instance can have; "" = it has none
}

// connect reads the connections of the external connection points and the networks of the externally managed links.
func (t *translation) connect() {
	for i, link := range t.Instantiate.ExtVirtualLinks {
		at := fmt.Sprintf("/extVirtualLinks/%d", i)
		if link.ResourceID == "" {
			t.invalid(at+"/resourceId", "the id of the network is missing")
		}
		used := map[string]bool{}
		for j, extCp := range link.ExtCps {
			t.connectCp(fmt.Sprintf("%s/extCps/%d", at, j), link, extCp, used)
		}
		for j, port := range link.ExtLinkPorts {
			if !used[port.ID] {
				t.invalid(fmt.Sprintf("%s/extLinkPorts/%d/id", at, j), "no cpConfig uses the link port %q", port.ID)
			}
		}
	}
	for i, managed := range t.Instantiate.ExtManagedVirtualLinks {
		at := fmt.Sprintf("/extManagedVirtualLinks/%d", i)
		name := managed.DescID()
		if _, ok := t.Flavour.VirtualLink(name); !ok {
			t.invalid(at+"/vnfVirtualLinkDescId", "the VNFD has no internal virtual link %q", name)
			continue
		}
		if managed.ResourceID == "" {
			t.invalid(at+"/resourceId", "the id of the network is missing")
		}
		if _, twice := t.managed[name]; twice {
			t.invalid(at, "the virtual link %q is given twice", name)
		}
		t.managed[name] = managed.ResourceID
	}
}

func (t *translation) connectCp(at string, link lcm.ExtVirtualLinkData, extCp lcm.VnfExtCpData, used map[string]bool) {
	cp, ok := t.Flavour.Cp(extCp.CpdID)
	switch {
	case !ok:
		t.invalid(at+"/cpdId", "the VNFD has no connection point %q", extCp.CpdID)
		return
	case cp.VirtualLink != "":
		t.invalid(at+"/cpdId", "%s is connected to the internal virtual link %s", cp.Name, cp.VirtualLink)
		return
	}
	configs := extCp.CpConfig
	if len(configs) == 0 {
		configs = []lcm.VnfExtCpConfig{{}}
	}
	for k, config := range configs {
		c := connection{at: fmt.Sprintf("%s/cpConfig/%d", at, k), network: link.ResourceID, fixedIPs: []any{}}
		if config.LinkPortID != "" {
			c.portAt = c.at + "/linkPortId"
			c.port = portOf(link, config.LinkPortID)
			used[config.LinkPortID] = true
			if c.port == "" {
				t.invalid(c.portAt, "the virtual link has no extLinkPort %q with a resourceId", config.LinkPortID)
			}
		}
		for l, protocol := range config.CpProtocolData {
			if protocol.IPOverEthernet != nil {
				t.address(&c, fmt.Sprintf("%s/cpProtocolData/%d/ipOverEthernet", c.at, l), *protocol.IPOverEthernet)
			}
		}
		if c.portAt != "" && (c.mac != "" || len(c.fixedIPs) > 0) {
			t.invalid(c.portAt, "an existing port has its addresses already: leave out cpProtocolData or linkPortId")
		}
		t.connections[cp.Name] = append(t.connections[cp.Name], c)
	}
}

func portOf(link lcm.ExtVirtualLinkData, id string) string {
	for _, port := range link.ExtLinkPorts {
		if port.ID == id {
			return port.ResourceHandle.ResourceID
		}
	}
	return ""
}

// address adds the addresses that a connection point is to have.
func (t *translation) address(c *connection, at string, data lcm.IPOverEthernetData) {
	if data.MacAddress != "" {
		if c.mac != "" {
			t.invalid(at+"/macAddress", "a connection point has one MAC address")
		}
		c.mac, c.macAt = data.MacAddress, at+"/macAddress"
	}
	anywhere := false // an address that Neutron chooses in any subnet
	for i, wanted := range data.IPAddresses {
		at := fmt.Sprintf("%s/ipAddresses/%d", at, i)
		for j, address := range wanted.FixedAddresses {
			at := fmt.Sprintf("%s/fixedAddresses/%d", at, j)
			t.fixedAddress(c, at, wanted, address)
		}
		if wanted.AddressRange != nil {
			t.invalid(at+"/addressRange", "a range of addresses cannot be asked of Neutron: give fixedAddresses or a subnetId")
		}
		dynamic := wanted.NumDynamicAddresses
		if dynamic == 0 && len(wanted.FixedAddresses) == 0 {
			dynamic = 1
		}
		switch {
		case wanted.SubnetID != "" && dynamic <= maxAddresses:
			for range dynamic {
				c.fixedIPs = append(c.fixedIPs, map[string]any{"subnet": wanted.SubnetID})
			}
		case dynamic > 1:
			t.invalid(at+"/numDynamicAddresses", "%d dynamic addresses need a subnetId and can be %d at most", dynamic, maxAddresses)
		case dynamic == 1:
			anywhere = true
		}
	}
	if anywhere && len(c.fixedIPs) > 0 {
		t.invalid(at+"/ipAddresses", "a dynamic address beside others needs a subnetId")
	}
}

// maxAddresses bounds what a request can make the template grow to; Neutron's own default limit is 5 of a port.
const maxAddresses = 64

func (t *translation) fixedAddress(c *connection, at string, wanted lcm.IPAddressData, address string) {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Zone() != "" || (wanted.Type == "IPV4" && !parsed.Is4()) || (wanted.Type == "IPV6" && !parsed.Is6()) {
		t.invalid(at, "%q is not an address of type %s", address, wanted.Type)
		return
	}
	entry := map[string]any{"ip_address": address}
	if wanted.SubnetID != "" {
		entry["subnet"] = wanted.SubnetID
	}
	c.fixedIPs = append(c.fixedIPs, entry)
	if c.addressAt == "" {
		c.addressAt = at
	}
}

// single sets the parameters of a connection point with one instance.
func (t *translation) single(cp string) {
	list := t.connections[cp]
	if len(list) == 0 {
		t.invalid("/extVirtualLinks", "the connection point %s is in no extCps: it has no network", cp)
		return
	}
	if len(list) > 1 {
		t.invalid(list[1].at, "%s has one instance: it can be connected once", cp)
	}
	c := list[0]
	parameters := map[string]any{"network": c.network, "fixed_ips": c.fixedIPs}
	if c.port != "" {
		parameters = map[string]any{"port": c.port}
	}
	if c.mac != "" {
		parameters["mac_address"] = c.mac
	}
	t.cpParameters[cp] = parameters
}

// scalable sets the parameters of a connection point whose instances come and go: all are connected alike, so none can have
// an address of its own.
func (t *translation) scalable(cp, why string) {
	list := t.connections[cp]
	if len(list) == 0 {
		t.invalid("/extVirtualLinks", "the connection point %s is in no extCps: it has no network", cp)
		return
	}
	for _, c := range list {
		for _, own := range []struct{ at, what string }{
			{c.addressAt, "fixed IP addresses"}, {c.macAt, "a MAC address"}, {c.portAt, "an existing port"},
		} {
			if own.at != "" {
				t.invalid(own.at, "%s cannot have %s: %s", cp, own.what, why)
			}
		}
		t.sameNetwork(cp, list[0], c)
		if !reflect.DeepEqual(c.fixedIPs, list[0].fixedIPs) {
			t.invalid(c.at, "%s: all instances have to be connected alike: %s", cp, why)
		}
	}
	t.cpParameters[cp] = map[string]any{"network": list[0].network, "fixed_ips": list[0].fixedIPs}
}

func (t *translation) sameNetwork(cp string, first, c connection) {
	if c.network != first.network {
		t.invalid(c.at, "all instances of %s have to be in one network", cp)
	}
}

// numbered sets the parameters of a connection point with a fixed number of instances: as many connections can have
// addresses of their own. It tells whether that is so.
func (t *translation) numbered(cp string, count int) bool {
	list := t.connections[cp]
	own, macs := false, 0
	for _, c := range list {
		own = own || c.addressAt != "" || c.macAt != ""
		if c.mac != "" {
			macs++
		}
	}
	if !own {
		t.scalable(cp, "its VDU has several instances")
		return false
	}
	if len(list) > count {
		t.invalid(list[count].at, "%s has %d instances", cp, count)
		return true
	}
	if macs > 0 && macs != count {
		t.invalid(list[0].at, "%s: give a MAC address for each of the %d instances, or for none", cp, count)
	}
	fixedIPs, addresses := make([]any, count), make([]any, 0, count)
	for i := range fixedIPs {
		fixedIPs[i] = []any{}
	}
	for i, c := range list {
		if c.portAt != "" {
			t.invalid(c.portAt, "%s cannot have an existing port: its VDU has several instances", cp)
		}
		t.sameNetwork(cp, list[0], c)
		fixedIPs[i] = c.fixedIPs
		addresses = append(addresses, c.mac)
	}
	t.cpParameters[cp] = map[string]any{"network": list[0].network, "fixed_ips": fixedIPs}
	if macs > 0 {
		t.cpParameters[cp]["mac_address"] = addresses
	}
	return true
}
