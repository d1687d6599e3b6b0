package heattest

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"vnfm/lcm/heat/heattest/hotlang"
)

func (c *Cloud) networkRoutes() {
	c.open("GET "+networkPrefix+"/{$}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return ok(object{"versions": []object{{"id": "v2.0", "status": "CURRENT",
			"links": []object{{"rel": "self", "href": c.baseURL(r) + networkPrefix + "/v2.0/"}}}}})
	})
	collection(c, "network", "Network", &c.neutron.networks, c.networkView, nil)
	collection(c, "subnet", "Subnet", &c.neutron.subnets, c.subnetView, nil)
	collection(c, "port", "Port", &c.neutron.ports, c.portView, func(p *port) error {
		if p.device != "" {
			return neutronConflict("PortInUse", "Port "+p.id+" is in use.")
		}
		c.removePort(p)
		return nil
	})
	collection(c, "floatingip", "Floating IP", &c.neutron.fips, c.floatingIPView, func(f *floatingIP) error {
		c.removeFloatingIP(f)
		return nil
	})
}

// collection registers list and show of one kind of thing, and delete where it is possible.
func collection[T any](c *Cloud, name, title string, items *table[*T], view func(*T) object, remove func(*T) error) {
	path := networkPrefix + "/v2.0/" + name + "s"
	c.guarded("GET "+path, func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		found := listOf(items.list(nil), view)
		found = slices.DeleteFunc(found, func(o object) bool { return !matches(o, r.URL.Query()) })
		page, links := paginate(found, r, c.baseURL(r)+path)
		body := object{name + "s": page}
		if links != nil {
			body[name+"s_links"] = links
		}
		return ok(body)
	})
	find := func(r *http.Request) (*T, error) {
		item, found := items.get(r.PathValue("id"))
		if !found {
			return nil, neutronNotFound(title, r.PathValue("id"))
		}
		return item, nil
	}
	c.guarded("GET "+path+"/{id}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		item, err := find(r)
		if err != nil {
			return nil, err
		}
		return ok(object{name: view(item)})
	})
	if remove == nil {
		return
	}
	c.guarded("DELETE "+path+"/{id}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		item, err := find(r)
		if err != nil {
			return nil, err
		}
		if err := remove(item); err != nil {
			return nil, err
		}
		return &reply{status: http.StatusNoContent}, nil
	})
}

// matches applies filters such as ?name=a&name=b&fixed_ips=ip_address=10.10.0.5: values of one key are alternatives.
func matches(o object, query url.Values) bool {
	for key, wanted := range query {
		switch key {
		case "limit", "marker", "fields", "sort_key", "sort_dir", "page_reverse":
			continue
		case "fixed_ips":
			if !slices.ContainsFunc(wanted, func(w string) bool { return hasFixedIP(o, w) }) {
				return false
			}
			continue
		}
		value, known := o[key]
		if known && !slices.Contains(wanted, neutronText(value)) {
			return false
		}
	}
	return true
}

func hasFixedIP(o object, want string) bool {
	ips, _ := o["fixed_ips"].([]object)
	return slices.ContainsFunc(ips, func(ip object) bool {
		return want == "ip_address="+text(ip, "ip_address") || want == "subnet_id="+text(ip, "subnet_id")
	})
}

// neutronText is a value as a query writes it.
func neutronText(v any) string {
	if b, ok := v.(bool); ok {
		return strconv.FormatBool(b)
	}
	return hotlang.Text(v)
}

// paginate cuts a list by ?limit and ?marker and makes the links to the next page.
func paginate(items []object, r *http.Request, self string) (page, links []object) {
	query := r.URL.Query()
	if marker := query.Get("marker"); marker != "" {
		if i := slices.IndexFunc(items, func(o object) bool { return text(o, "id") == marker }); i >= 0 {
			items = items[i+1:]
		}
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit <= 0 || limit >= len(items) {
		return items, nil
	}
	items = items[:limit]
	query.Set("marker", text(items[limit-1], "id"))
	return items, []object{{"rel": "next", "href": self + "?" + query.Encode()}}
}

func (c *Cloud) networkView(n *network) object {
	subnets := []string{}
	for _, s := range c.subnetsOf(n) {
		subnets = append(subnets, s.id)
	}
	o := object{
		"id": n.id, "name": n.name, "tenant_id": c.account.ProjectID, "project_id": c.account.ProjectID, "admin_state_up": true, "mtu": 1450,
		"status": "ACTIVE", "subnets": subnets, "shared": c.builtin[n.id] && !n.external, "availability_zone_hints": []string{},
		"availability_zones": []string{}, "ipv4_address_scope": nil, "ipv6_address_scope": nil, "router:external": n.external, "description": "",
		"port_security_enabled": true, "qos_policy_id": nil, "tags": []string{}, "created_at": stamp(n.created), "updated_at": stamp(n.created),
		"revision_number": 2, "provider:network_type": "vxlan", "provider:physical_network": nil, "provider:segmentation_id": 3527,
	}
	if n.external {
		o["is_default"] = false
		o["mtu"], o["provider:network_type"], o["provider:physical_network"], o["provider:segmentation_id"] = 1500, "flat", n.name, nil
	}
	return o
}

func (c *Cloud) subnetView(s *subnet) object {
	first, last := s.cidr.Addr().Next(), lastAddr(s.cidr)
	if first == s.gateway {
		first = first.Next()
	}
	var gateway any
	if s.gateway.IsValid() {
		gateway = s.gateway.String()
	}
	dns := s.dns
	if dns == nil {
		dns = []string{}
	}
	return object{
		"id": s.id, "name": s.name, "tenant_id": c.account.ProjectID, "project_id": c.account.ProjectID, "network_id": s.network.id, "ip_version": 4,
		"subnetpool_id": nil, "enable_dhcp": s.dhcp, "ipv6_ra_mode": nil, "ipv6_address_mode": nil, "gateway_ip": gateway, "cidr": s.cidr.String(),
		"allocation_pools": []object{{"start": first.String(), "end": last.String()}}, "host_routes": []any{}, "dns_nameservers": dns,
		"description": "", "service_types": []any{}, "tags": []string{}, "created_at": stamp(s.created), "updated_at": stamp(s.created), "revision_number": 0,
	}
}

// lastAddr is the last address that a host may have.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(b).Prev()
}

func (c *Cloud) portView(p *port) object {
	status, owner, vif := "DOWN", "", "unbound"
	details := object{}
	if p.device != "" {
		status, owner, vif = "ACTIVE", "compute:nova", "bridge"
		details = object{"port_filter": false, "bound_drivers": object{"0": "testbed"}}
	}
	ips := []object{}
	for _, ip := range p.fixed {
		ips = append(ips, object{"subnet_id": ip.subnet.id, "ip_address": ip.addr.String()})
	}
	pairs := []object{}
	for _, pair := range p.pairs {
		mac := text(pair, "mac_address")
		if mac == "" {
			mac = p.mac
		}
		pairs = append(pairs, object{"mac_address": mac, "ip_address": pair["ip_address"]})
	}
	return object{
		"id": p.id, "name": p.name, "network_id": p.network.id, "tenant_id": c.account.ProjectID, "project_id": c.account.ProjectID, "mac_address": p.mac,
		"admin_state_up": true, "status": status, "device_id": p.device, "device_owner": owner, "fixed_ips": ips, "allowed_address_pairs": pairs,
		"extra_dhcp_opts": []any{}, "security_groups": p.groups, "description": "", "binding:vnic_type": "normal", "binding:profile": object{},
		"binding:host_id": p.host, "binding:vif_type": vif, "binding:vif_details": details, "port_security_enabled": p.security, "qos_policy_id": nil,
		"qos_network_policy_id": nil, "resource_request": nil, "tags": []string{}, "created_at": stamp(p.created), "updated_at": stamp(p.updated),
		"revision_number": p.revision,
	}
}

func (c *Cloud) floatingIPView(f *floatingIP) object {
	o := object{
		"id": f.id, "tenant_id": c.account.ProjectID, "project_id": c.account.ProjectID, "floating_ip_address": f.address.addr.String(),
		"floating_network_id": f.address.subnet.network.id, "router_id": nil, "port_id": nil, "fixed_ip_address": nil, "status": "DOWN", "description": "",
		"qos_policy_id": nil, "port_details": nil, "tags": []string{}, "created_at": stamp(f.created), "updated_at": stamp(f.created), "revision_number": 0,
		"dns_domain": "", "dns_name": "", "port_forwardings": []any{},
	}
	if f.port != nil {
		o["port_id"], o["fixed_ip_address"], o["status"], o["router_id"] = f.port.id, f.fixed.String(), "ACTIVE", routerID
		o["port_details"] = object{"name": f.port.name, "network_id": f.port.network.id, "mac_address": f.port.mac, "admin_state_up": true,
			"status": "ACTIVE", "device_id": f.port.device, "device_owner": "compute:nova"}
	}
	return o
}

// routerID is the router that floating IPs pretend to go through.
const routerID = "5f6d7a10-3b0e-4c43-9c55-0d6c6a1f5b2e"

func neutronFailure(status int, typ, message string) error {
	return &failure{status: status, message: message, body: object{"NeutronError": object{"type": typ, "message": message, "detail": ""}}}
}

func neutronConflict(typ, message string) error {
	return neutronFailure(http.StatusConflict, typ, message)
}

func neutronBadRequest(typ, message string) error {
	return neutronFailure(http.StatusBadRequest, typ, message)
}

func neutronNotFound(what, id string) error {
	typ := strings.ReplaceAll(what, " ", "") + "NotFound"
	return neutronFailure(http.StatusNotFound, typ, what+" "+id+" could not be found.")
}
