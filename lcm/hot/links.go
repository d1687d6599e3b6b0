package hot

import (
	"fmt"
	"net/netip"
	"slices"

	"vnfm/vnfpkg"
)

// virtualLinks makes the networks that nobody else manages.
func (t *translation) virtualLinks() {
	for i, link := range t.Flavour.VirtualLinks {
		if _, ok := t.managed[link.Name]; ok {
			continue
		}
		t.define(t.top, link.Name, resource("OS::Neutron::Net", nil, t.netProperties(link)))
		for _, subnet := range t.subnetProperties(link, i) {
			name := link.Name + "_subnet"
			if n := len(t.subnets[link.Name]); n > 0 {
				name = fmt.Sprintf("%s%d", name, n+1)
			}
			t.define(t.top, name, resource("OS::Neutron::Subnet", nil, subnet))
			t.subnets[link.Name] = append(t.subnets[link.Name], name)
		}
	}
}

// protocols returns the elements of virtual_link_protocol_data (SOL001 6.2.23).
func (t *translation) protocols(link string) []any {
	return t.topology.items(t.topology.property(link, "vl_profile", "virtual_link_protocol_data"))
}

// netProperties reads the layer 2 data of a link (SOL001 6.2.25).
func (t *translation) netProperties(link vnfpkg.VirtualLink) object {
	specs := object{}
	for _, protocol := range t.protocols(link.Name) {
		l2 := t.topology.at(protocol, "l2_protocol_data")
		if kind := text(t.topology.at(l2, "network_type")); kind != "" && !specs.has("provider:network_type") {
			specs.add("provider:network_type", kind)
		}
		if asks(t.topology.at(l2, "vlan_transparent")) && !specs.has("vlan_transparent") {
			specs.add("vlan_transparent", true)
		}
		if mtu := t.topology.at(l2, "mtu"); asks(mtu) && !specs.has("mtu") {
			n, ok := whole(mtu)
			if !ok {
				t.refuse(link.Name, "its mtu is not a number")
			}
			specs.add("mtu", n)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	return object{{"value_specs", specs}}
}

// subnetProperties reads the layer 3 data of a link (SOL001 6.2.26). A link of an IP protocol without such data gets a subnet
// all the same, since Nova takes no port without an address.
func (t *translation) subnetProperties(link vnfpkg.VirtualLink, index int) []object {
	var subnets []object
	for _, protocol := range t.protocols(link.Name) {
		if l3 := t.topology.at(protocol, "l3_protocol_data"); asks(l3) {
			subnets = append(subnets, t.subnet(link.Name, l3))
		}
	}
	if len(subnets) > 0 {
		return subnets
	}
	for _, protocol := range link.LayerProtocols {
		cidr, ok := ownPrefix(protocol, index)
		if !ok {
			continue
		}
		t.note(link.Name, "no CIDR for "+protocol+" is given: "+cidr.String()+" is used")
		subnets = append(subnets, object{
			{"network", getResource(link.Name)}, {"ip_version", version(cidr)}, {"cidr", cidr.String()}, {"gateway_ip", nil},
		})
	}
	return subnets
}

// ownPrefix is the subnet of the n-th link that has none in the VNFD: of the addresses that RFC 6598 shares, which hardly
// collide with those of a site, and of a unique local prefix (RFC 4193).
func ownPrefix(protocol string, n int) (netip.Prefix, bool) {
	high, low := byte(n>>8), byte(n)
	switch protocol {
	case "ipv4":
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64 + high&0x3f, low, 0}), 24), true
	case "ipv6":
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0x76, 0x6e, 0x66, 0x6d, 0, high, low}), 64), true
	}
	return netip.Prefix{}, false
}

func version(prefix netip.Prefix) int {
	if prefix.Addr().Is4() {
		return 4
	}
	return 6
}

// subnet translates l3_protocol_data. Without gateway_ip there is no gateway: the network has no router, and a default route
// into it would cut the VDU off from its other networks.
func (t *translation) subnet(link string, l3 any) object {
	cidr, err := netip.ParsePrefix(text(t.topology.at(l3, "cidr")))
	if err != nil {
		t.refuse(link, "its cidr %q is not one", text(t.topology.at(l3, "cidr")))
		return nil
	}
	address := func(value any, what string) string {
		parsed, err := netip.ParseAddr(text(value))
		if err != nil || !cidr.Contains(parsed) {
			t.refuse(link, "its %s %q is not an address in %s", what, text(value), cidr)
		}
		return text(value)
	}
	properties := object{{"network", getResource(link)}, {"ip_version", version(cidr)}, {"cidr", cidr.Masked().String()}}
	if gateway := t.topology.at(l3, "gateway_ip"); asks(gateway) {
		properties.add("gateway_ip", address(gateway, "gateway_ip"))
	} else {
		properties.add("gateway_ip", nil)
	}
	if dhcp := t.topology.at(l3, "dhcp_enabled"); dhcp != nil {
		properties.add("enable_dhcp", asks(dhcp))
	}
	var pools []any
	for _, pool := range t.topology.items(t.topology.at(l3, "ip_allocation_pools")) {
		pools = append(pools, object{
			{"start", address(t.topology.at(pool, "start_ip_address"), "start_ip_address")},
			{"end", address(t.topology.at(pool, "end_ip_address"), "end_ip_address")},
		})
	}
	if len(pools) > 0 {
		properties.add("allocation_pools", pools)
	}
	if mode := text(t.topology.at(l3, "ipv6_address_mode")); mode != "" && version(cidr) == 6 {
		if !slices.Contains([]string{"slaac", "dhcpv6-stateful", "dhcpv6-stateless"}, mode) {
			t.refuse(link, "its ipv6_address_mode is %q", mode)
		}
		properties.add("ipv6_address_mode", mode)
		properties.add("ipv6_ra_mode", mode)
	}
	return properties
}
