package hot

import "vnfm/vnfpkg"

// port adds the port of a connection point to a template, unless the request gives one, and returns what the server has in
// its networks. Of an indexed connection point each member of the group has addresses of its own.
func (t *translation) port(s *scope, cp vnfpkg.Cp, indexed bool) any {
	own := t.cpParameters[cp.Name]
	parameter := func(name, kind string) any {
		value := getParam("nfv", "CP", cp.Name, name)
		if !indexed || name == "network" {
			return s.pass(cp.Name+"_"+name, kind, value)
		}
		s.pass(cp.Name+"_"+name, "json", value)
		return getParam(cp.Name+"_"+name, getParam("index"))
	}
	if _, given := own["port"]; given {
		return object{{"port", parameter("port", "string")}}
	}
	var properties object
	var after []string
	if _, managed := t.managed[cp.VirtualLink]; cp.VirtualLink != "" && !managed {
		properties.add("network", s.pass(cp.VirtualLink+"_id", "string", getResource(cp.VirtualLink)))
		after = s.await(t.subnets[cp.VirtualLink])
		if len(t.subnets[cp.VirtualLink]) == 0 {
			properties.add("no_fixed_ips", true)
		}
	} else {
		properties.add("network", parameter("network", "string"))
	}
	if _, ok := own["fixed_ips"]; ok {
		properties.add("fixed_ips", parameter("fixed_ips", "json"))
	}
	if _, ok := own["mac_address"]; ok {
		properties.add("mac_address", parameter("mac_address", "string"))
	}
	if kind := text(t.topology.property(cp.Name, "vnic_type")); kind != "" && kind != "normal" {
		properties.add("binding:vnic_type", kind)
	}
	t.define(s, cp.Name, resource("OS::Neutron::Port", after, properties))
	return object{{"port", getResource(cp.Name)}}
}

// connectManaged sets the parameters of an internal connection point on a network that somebody else manages.
func (t *translation) connectManaged(cp vnfpkg.Cp) {
	if network, ok := t.managed[cp.VirtualLink]; ok {
		t.cpParameters[cp.Name] = map[string]any{"network": network}
	}
}
