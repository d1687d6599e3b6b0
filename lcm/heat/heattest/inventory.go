package heattest

import "slices"

// Item is one thing that exists in the cloud.
type Item struct {
	Kind   string `json:"kind"` // stack, server, port, volume, network, subnet, floatingip, servergroup, flavor or image
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status,omitempty"` // of stacks, servers, volumes and images
}

// Inventory lists everything that exists: stacks (with nested ones, without deleted ones), servers, ports, volumes, networks, subnets, floating
// IPs, server groups, flavors and images.
func (c *Cloud) Inventory() []Item {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inventory()
}

// Leaks is the Inventory without what was there at the beginning. It is empty when every client cleaned up.
func (c *Cloud) Leaks() []Item {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(c.inventory(), func(i Item) bool { return c.builtin[i.ID] })
}

func (c *Cloud) inventory() []Item {
	var out []Item
	for _, s := range c.stacks.list(func(s *stack) bool { return s.deleted.IsZero() }) {
		out = append(out, Item{"stack", s.id, s.name, s.action + "_" + s.status})
	}
	for _, s := range c.nova.servers.list(nil) {
		out = append(out, Item{"server", s.id, s.name, s.status})
	}
	for _, p := range c.neutron.ports.list(nil) {
		out = append(out, Item{"port", p.id, p.name, ""})
	}
	for _, v := range c.cinder.volumes.list(nil) {
		out = append(out, Item{"volume", v.id, v.name, v.status})
	}
	for _, n := range c.neutron.networks.list(nil) {
		out = append(out, Item{"network", n.id, n.name, ""})
	}
	for _, s := range c.neutron.subnets.list(nil) {
		out = append(out, Item{"subnet", s.id, s.name, ""})
	}
	for _, f := range c.neutron.fips.list(nil) {
		out = append(out, Item{"floatingip", f.id, f.address.addr.String(), ""})
	}
	for _, g := range c.nova.groups.list(nil) {
		out = append(out, Item{"servergroup", g.id, g.name, ""})
	}
	for _, f := range c.nova.flavors.list(nil) {
		out = append(out, Item{"flavor", f.id, f.name, ""})
	}
	for _, i := range c.images.list(nil) {
		out = append(out, Item{"image", i.id, i.name, i.status})
	}
	return out
}
