package heattest

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
)

// plug finds or makes the ports of a server.
func (c *Cloud) plug(s *server, p object) error {
	nets, given := p["networks"].([]any)
	if !given { // Nova gives it a port on the only network there is
		own := c.neutron.networks.list(func(n *network) bool { return !n.external })
		if len(own) != 1 {
			return novaFailure(http.StatusConflict, "conflictingRequest", "Multiple possible networks found, use a Network ID to be more specific.")
		}
		nets = []any{object{"network": own[0].id}}
	}
	for _, entry := range nets {
		e, _ := entry.(object)
		port, own, err := c.portFor(s, e)
		if err != nil {
			c.unplug(s)
			return err
		}
		if port == nil {
			continue
		}
		s.ports = append(s.ports, port)
		if own {
			s.ownPorts = append(s.ownPorts, port)
		}
	}
	return nil
}

func (c *Cloud) portFor(s *server, e object) (p *port, own bool, err error) {
	if ref := text(e, "port"); ref != "" {
		p = c.findPort(ref)
		if p == nil {
			return nil, false, novaFailure(http.StatusNotFound, "itemNotFound", "Port "+ref+" could not be found.")
		}
		return p, false, nil
	}
	ref := text(e, "network")
	if ref == "" {
		ref = text(e, "uuid")
	}
	var n *network
	if ref != "" {
		n = c.findNetwork(ref)
	} else if sub := c.findSubnet(text(e, "subnet")); sub != nil {
		n = sub.network
	}
	if n == nil {
		if text(e, "allocate_network") == "none" {
			return nil, false, nil
		}
		return nil, false, novaFailure(http.StatusBadRequest, "badRequest", "Network "+ref+" could not be found.")
	}
	var wanted []wantedIP
	if text(e, "subnet") != "" || text(e, "fixed_ip") != "" {
		wanted = []wantedIP{{text(e, "subnet"), text(e, "fixed_ip")}}
	}
	p, err = c.addPort(n, s.name+"-port-"+fmt.Sprint(len(s.ports)), "", wanted)
	return p, true, err
}

// unplug removes what was made for a server that does not come into being.
func (c *Cloud) unplug(s *server) {
	for _, p := range s.ownPorts {
		c.removePort(p)
	}
	for _, v := range s.volumes {
		if v.ownedByServer {
			c.cinder.volumes.drop(v.id)
		}
	}
	s.ports, s.ownPorts = nil, nil
}

// replug gives a running server other ports.
func (c *Cloud) replug(s *server, after object) error {
	fresh := &server{name: s.name}
	if err := c.plug(fresh, after); err != nil {
		return err
	}
	for _, p := range fresh.ports {
		if p.device != "" && p.device != s.id {
			c.unplug(fresh)
			return novaFailure(http.StatusBadRequest, "badRequest", fmt.Sprintf("Port %s is still in use.", p.id))
		}
	}
	for _, p := range s.ports {
		if !slices.Contains(fresh.ports, p) {
			c.eachAddress(p, c.detachAddress)
			p.device, p.host = "", ""
			p.touch()
		}
	}
	for _, p := range s.ownPorts {
		c.removePort(p)
	}
	for _, p := range fresh.ports {
		if p.device == "" {
			p.device, p.host = s.id, s.host
			p.touch()
			c.eachAddress(p, c.attachAddress)
		}
	}
	s.ports, s.ownPorts = fresh.ports, fresh.ownPorts
	return nil
}

// eachAddress does something to every address of a port.
func (c *Cloud) eachAddress(p *port, change func(*port, netip.Addr)) {
	for _, ip := range p.fixed {
		change(p, ip.addr)
	}
	for _, f := range c.neutron.fips.list(func(f *floatingIP) bool { return f.port == p }) {
		change(p, f.address.addr)
	}
}
