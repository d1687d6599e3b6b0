package heattest

import (
	"net/http"
	"net/netip"

	"vnfm/lcm/heat/heattest/hotlang"
)

var fixedIPs = property{typ: "list", item: &property{typ: "map", fields: map[string]property{
	"subnet": {typ: "string", exists: "neutron.subnet"}, "subnet_id": {typ: "string", exists: "neutron.subnet"}, "ip_address": {typ: "string", exists: "ip_addr"},
}}}

// portKind is OS::Neutron::Port.
func portKind() *kind {
	return &kind{
		properties: portProperties(), create: createPort, update: updatePort, attribute: portAttribute,
		check: func(_ *Cloud, p object, name string) error {
			if p["network"] == nil && p["network_id"] == nil {
				return validation("Property error: : resources." + name + ".properties: : Property network not assigned")
			}
			return nil
		},
		yield: func(c *Cloud, r *resource) {
			if p, ok := c.neutron.ports.get(r.physical); ok {
				freeAddresses(p.fixed)
				p.fixed = nil
			}
		},
		remove: func(c *Cloud, r *resource) error {
			if p, ok := c.neutron.ports.get(r.physical); ok {
				c.removePort(p)
			}
			return nil
		},
		attributes: func(c *Cloud, r *resource) object {
			p, ok := c.neutron.ports.get(r.physical)
			if !ok {
				return object{}
			}
			return c.portView(p)
		},
	}
}

func portProperties() map[string]property {
	return map[string]property{
		"name": {typ: "string"}, "network": {typ: "string", exists: "neutron.network", replace: true},
		"network_id": {typ: "string", exists: "neutron.network", replace: true}, "fixed_ips": fixedIPs, "mac_address": {typ: "string", replace: true},
		"allowed_address_pairs": {typ: "list", item: &property{typ: "map", fields: map[string]property{
			"ip_address": {typ: "string", required: true}, "mac_address": {typ: "string"}}}},
		"security_groups": {typ: "list"}, "port_security_enabled": {typ: "boolean"}, "admin_state_up": {typ: "boolean"}, "qos_policy": {typ: "string"},
		"value_specs": {typ: "map"}, "device_id": {typ: "string"}, "device_owner": {typ: "string"}, "binding:vnic_type": {typ: "string"}, "tags": {typ: "list"},
		"dns_name": {typ: "string"}, "no_fixed_ips": {typ: "boolean"}, "propagate_uplink_status": {typ: "boolean", replace: true},
	}
}

// portAttribute adds to Neutron's view what Heat offers to get_attr alone.
func portAttribute(c *Cloud, r *resource, name string, path []any) (value any, rest []any, err error) {
	p, ok := c.neutron.ports.get(r.physical)
	if !ok {
		return nil, nil, nil
	}
	switch name {
	case "network":
		return jsonValue(c.networkView(p.network)), path, nil
	case "subnets":
		return jsonValue(listOf(p.fixed, func(ip fixedIP) object { return c.subnetView(ip.subnet) })), path, nil
	}
	value, known := c.portView(p)[name]
	if !known {
		return nil, nil, badAttribute(r.name, name)
	}
	return jsonValue(value), path, nil
}

func networkRef(p object) string {
	if ref := text(p, "network"); ref != "" {
		return ref
	}
	return text(p, "network_id")
}

func wantedIPs(p object) []wantedIP {
	var out []wantedIP
	list, _ := p["fixed_ips"].([]any)
	for _, item := range list {
		ip, _ := item.(object)
		ref := text(ip, "subnet")
		if ref == "" {
			ref = text(ip, "subnet_id")
		}
		out = append(out, wantedIP{ref, text(ip, "ip_address")})
	}
	return out
}

func createPort(c *Cloud, r *resource) error {
	n := c.findNetwork(networkRef(r.properties))
	if n == nil {
		return neutronNotFound("Network", networkRef(r.properties))
	}
	name := text(r.properties, "name")
	if name == "" {
		name = r.physicalName
	}
	p, err := c.addPort(n, name, text(r.properties, "mac_address"), wantedIPs(r.properties))
	if err != nil {
		return err
	}
	p.configure(r.properties)
	r.physical = p.id
	return nil
}

// configure takes over the properties without addresses.
func (p *port) configure(properties object) {
	p.pairs = nil
	pairs, _ := properties["allowed_address_pairs"].([]any)
	for _, pair := range pairs {
		if m, ok := pair.(object); ok {
			p.pairs = append(p.pairs, m)
		}
	}
	if groups, ok := properties["security_groups"].([]any); ok {
		p.groups = groups
	}
	if on, ok := properties["port_security_enabled"].(bool); ok {
		p.security = on
	}
	if name := text(properties, "name"); name != "" {
		p.name = name
	}
}

func updatePort(c *Cloud, r *resource, before, after object) error {
	p, ok := c.neutron.ports.get(r.physical)
	if !ok {
		return neutronNotFound("Port", r.physical)
	}
	p.configure(after)
	p.touch()
	if hotlang.Equal(before["fixed_ips"], after["fixed_ips"]) {
		return nil
	}
	old := p.fixed
	for _, ip := range old {
		c.detachAddress(p, ip.addr)
	}
	freeAddresses(old)
	fixed, err := c.fixAddresses(p.network, wantedIPs(after))
	if err != nil {
		p.fixed = nil
		return err
	}
	p.fixed = fixed
	for _, ip := range fixed {
		c.attachAddress(p, ip.addr)
	}
	return nil
}

// netKind is OS::Neutron::Net.
func netKind() *kind {
	return &kind{
		properties: map[string]property{
			"name": {typ: "string"}, "admin_state_up": {typ: "boolean"}, "shared": {typ: "boolean"}, "value_specs": {typ: "map"}, "dns_domain": {typ: "string"},
			"port_security_enabled": {typ: "boolean"}, "qos_policy": {typ: "string"}, "tenant_id": {typ: "string", replace: true}, "tags": {typ: "list"},
			"availability_zone_hints": {typ: "list", replace: true}, "dhcp_agent_ids": {typ: "list"},
		},
		create: func(c *Cloud, r *resource) error {
			name := text(r.properties, "name")
			if name == "" {
				name = r.physicalName
			}
			r.physical = c.addNetwork(name, false).id
			return nil
		},
		update: func(c *Cloud, r *resource, _, after object) error {
			if n, ok := c.neutron.networks.get(r.physical); ok && text(after, "name") != "" {
				n.name = text(after, "name")
			}
			return nil
		},
		remove: func(c *Cloud, r *resource) error {
			n, ok := c.neutron.networks.get(r.physical)
			if !ok {
				return nil
			}
			if len(c.neutron.ports.list(func(p *port) bool { return p.network == n })) > 0 {
				return neutronConflict("NetworkInUse", "Unable to complete operation on network "+n.id+". There are one or more ports still in use on the network.")
			}
			for _, s := range c.subnetsOf(n) {
				c.neutron.subnets.drop(s.id)
			}
			c.neutron.networks.drop(n.id)
			return nil
		},
		attributes: func(c *Cloud, r *resource) object {
			n, ok := c.neutron.networks.get(r.physical)
			if !ok {
				return object{}
			}
			return c.networkView(n)
		},
	}
}

// subnetKind is OS::Neutron::Subnet.
func subnetKind() *kind {
	return &kind{
		properties: map[string]property{
			"name": {typ: "string"}, "network": {typ: "string", exists: "neutron.network", replace: true},
			"network_id": {typ: "string", exists: "neutron.network", replace: true}, "cidr": {typ: "string", exists: "net_cidr", replace: true},
			"gateway_ip": {typ: "string"}, "enable_dhcp": {typ: "boolean"}, "ip_version": {typ: "integer", replace: true}, "dns_nameservers": {typ: "list"},
			"allocation_pools": {typ: "list"}, "host_routes": {typ: "list"}, "tenant_id": {typ: "string", replace: true}, "value_specs": {typ: "map"},
			"ipv6_address_mode": {typ: "string", replace: true}, "ipv6_ra_mode": {typ: "string", replace: true}, "subnetpool": {typ: "string", replace: true},
			"prefixlen": {typ: "integer"}, "tags": {typ: "list"}, "segment": {typ: "string"},
		},
		create: createSubnet,
		update: func(*Cloud, *resource, object, object) error { return nil },
		remove: func(c *Cloud, r *resource) error {
			s, ok := c.neutron.subnets.get(r.physical)
			if ok && len(s.used) > 0 {
				return neutronConflict("SubnetInUse", "Unable to complete operation on subnet "+s.id+": One or more ports have an IP allocation from this subnet.")
			}
			c.neutron.subnets.drop(r.physical)
			return nil
		},
		attributes: func(c *Cloud, r *resource) object {
			s, ok := c.neutron.subnets.get(r.physical)
			if !ok {
				return object{}
			}
			return c.subnetView(s)
		},
	}
}

func createSubnet(c *Cloud, r *resource) error {
	p := r.properties
	n := c.findNetwork(networkRef(p))
	if n == nil {
		return neutronNotFound("Network", networkRef(p))
	}
	cidr, err := netip.ParsePrefix(text(p, "cidr"))
	if err != nil || !cidr.Addr().Is4() || cidr.Bits() > 30 {
		return neutronFailure(http.StatusBadRequest, "BadRequest", "Bad subnets request: a subnetpool must be specified in the absence of a cidr.")
	}
	for _, other := range c.subnetsOf(n) {
		if other.cidr.Overlaps(cidr) {
			return neutronBadRequest("InvalidInput", "Invalid input for operation: Requested subnet with cidr: "+cidr.String()+" for network: "+n.id+
				" overlaps with another subnet.")
		}
	}
	gateway := cidr.Masked().Addr().Next()
	if given, ok := p["gateway_ip"].(string); ok {
		gateway, _ = netip.ParseAddr(given) // an empty text is no gateway
	}
	name := text(p, "name")
	if name == "" {
		name = r.physicalName
	}
	s := c.addSubnet(n, name, cidr, gateway)
	if dhcp, ok := p["enable_dhcp"].(bool); ok {
		s.dhcp = dhcp
	}
	if dns, ok := p["dns_nameservers"].([]any); ok {
		for _, d := range dns {
			s.dns = append(s.dns, hotlang.Text(d))
		}
	}
	if pools, ok := p["allocation_pools"].([]any); ok && len(pools) > 0 {
		if pool, ok := pools[0].(object); ok {
			if start, err := netip.ParseAddr(text(pool, "start")); err == nil && cidr.Contains(start) {
				s.next = start
			}
		}
	}
	r.physical = s.id
	return nil
}

// floatingIPKind is OS::Neutron::FloatingIP.
func floatingIPKind() *kind {
	return &kind{
		properties: map[string]property{
			"floating_network":    {typ: "string", exists: "neutron.network", required: true, replace: true},
			"floating_network_id": {typ: "string", exists: "neutron.network", replace: true},
			"floating_subnet":     {typ: "string", exists: "neutron.subnet", replace: true},
			"floating_ip_address": {typ: "string", exists: "ip_addr", replace: true},
			"port_id":             {typ: "string"}, "fixed_ip_address": {typ: "string", exists: "ip_addr"}, "value_specs": {typ: "map"}, "dns_domain": {typ: "string"},
			"dns_name": {typ: "string"},
		},
		create: func(c *Cloud, r *resource) error {
			n := c.findNetwork(text(r.properties, "floating_network"))
			if n == nil {
				return neutronNotFound("Network", text(r.properties, "floating_network"))
			}
			f, err := c.addFloatingIP(n, text(r.properties, "floating_subnet"), text(r.properties, "floating_ip_address"))
			if err != nil {
				return err
			}
			r.physical = f.id
			return c.pointFloatingIP(f, r.properties)
		},
		update: func(c *Cloud, r *resource, _, after object) error {
			f, ok := c.neutron.fips.get(r.physical)
			if !ok {
				return neutronNotFound("Floating IP", r.physical)
			}
			return c.pointFloatingIP(f, after)
		},
		yield: func(c *Cloud, r *resource) {
			if f, ok := c.neutron.fips.get(r.physical); ok {
				c.associate(f, nil, netip.Addr{})
			}
		},
		remove: func(c *Cloud, r *resource) error {
			if f, ok := c.neutron.fips.get(r.physical); ok {
				c.removeFloatingIP(f)
			}
			return nil
		},
		attributes: func(c *Cloud, r *resource) object {
			f, ok := c.neutron.fips.get(r.physical)
			if !ok {
				return object{}
			}
			return c.floatingIPView(f)
		},
	}
}

func (c *Cloud) pointFloatingIP(f *floatingIP, p object) error {
	ref := text(p, "port_id")
	if ref == "" {
		c.associate(f, nil, netip.Addr{})
		return nil
	}
	target := c.findPort(ref)
	if target == nil {
		return neutronNotFound("Port", ref)
	}
	fixed, _ := netip.ParseAddr(text(p, "fixed_ip_address")) // empty is the first of the port
	c.associate(f, target, fixed)
	return nil
}

// associationKind is OS::Neutron::FloatingIPAssociation.
func associationKind() *kind {
	return &kind{
		properties: map[string]property{
			"floatingip_id": {typ: "string", required: true}, "port_id": {typ: "string"}, "fixed_ip_address": {typ: "string", exists: "ip_addr"},
		},
		create: func(c *Cloud, r *resource) error {
			f, ok := c.neutron.fips.get(text(r.properties, "floatingip_id"))
			if !ok {
				return neutronNotFound("Floating IP", text(r.properties, "floatingip_id"))
			}
			r.physical = f.id
			return c.pointFloatingIP(f, r.properties)
		},
		update: func(c *Cloud, r *resource, _, after object) error {
			f, ok := c.neutron.fips.get(text(after, "floatingip_id"))
			if !ok {
				return neutronNotFound("Floating IP", text(after, "floatingip_id"))
			}
			r.physical = f.id
			return c.pointFloatingIP(f, after)
		},
		remove: func(c *Cloud, r *resource) error {
			if f, ok := c.neutron.fips.get(r.physical); ok {
				c.associate(f, nil, netip.Addr{})
			}
			return nil
		},
		attributes: func(*Cloud, *resource) object { return object{} },
	}
}
