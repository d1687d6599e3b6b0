package heattest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"
)

// neutron is the state of the network service. The cloud's lock guards it.
type neutron struct {
	networks table[*network]
	subnets  table[*subnet]
	ports    table[*port]
	fips     table[*floatingIP]
}

type network struct {
	id, name string
	external bool
	created  time.Time
}

type subnet struct {
	id, name string
	network  *network
	cidr     netip.Prefix
	gateway  netip.Addr // invalid without one
	dhcp     bool
	dns      []string
	used     map[netip.Addr]func() // what gives the address back to this computer
	next     netip.Addr            // where to look for a free address
	created  time.Time
}

type fixedIP struct {
	subnet *subnet
	addr   netip.Addr
}

type port struct {
	id, name, mac    string
	network          *network
	fixed            []fixedIP
	pairs            []object
	device           string // id of the server
	host             string
	security         bool
	groups           []any
	created, updated time.Time
	revision         int
}

type floatingIP struct {
	id      string
	address fixedIP
	port    *port // nil when not associated
	fixed   netip.Addr
	created time.Time
}

func (c *Cloud) findNetwork(ref string) *network {
	if n, ok := c.neutron.networks.get(ref); ok {
		return n
	}
	return first(c.neutron.networks.list(func(n *network) bool { return n.name == ref }))
}

func (c *Cloud) findSubnet(ref string) *subnet {
	if s, ok := c.neutron.subnets.get(ref); ok {
		return s
	}
	return first(c.neutron.subnets.list(func(s *subnet) bool { return s.name == ref }))
}

func (c *Cloud) findPort(ref string) *port {
	if p, ok := c.neutron.ports.get(ref); ok {
		return p
	}
	return first(c.neutron.ports.list(func(p *port) bool { return p.name == ref }))
}

func first[T any](items []*T) *T {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

func (c *Cloud) addNetwork(name string, external bool) *network {
	n := &network{id: newID(), name: name, external: external, created: time.Now()}
	c.neutron.networks.put(n.id, n)
	return n
}

func (c *Cloud) subnetsOf(n *network) []*subnet {
	return c.neutron.subnets.list(func(s *subnet) bool { return s.network == n })
}

func (c *Cloud) addSubnet(n *network, name string, cidr netip.Prefix, gateway netip.Addr) *subnet {
	cidr = cidr.Masked()
	s := &subnet{id: newID(), name: name, network: n, cidr: cidr, gateway: gateway, dhcp: true, used: map[netip.Addr]func(){}, created: time.Now()}
	s.next = cidr.Addr().Next().Next()
	if bits := cidr.Addr().BitLen() - cidr.Bits(); c.opts.VMs != nil && bits > 8 {
		// Processes that simulate beside each other begin at different places, so that they seldom meet.
		b := cidr.Addr().As4()
		b[2], b[3] = b[2]|byte(rand.IntN(1<<min(bits-8, 8))), 10 //nolint:gosec // a simulated address
		s.next = netip.AddrFrom4(b)
	}
	c.neutron.subnets.put(s.id, s)
	return s
}

// allocate takes a free address. Real Neutron hands them out in no order either.
func (c *Cloud) allocate(s *subnet) (netip.Addr, error) {
	start := s.next
	for addr := start; ; {
		next := addr.Next()
		if !s.cidr.Contains(next) || !s.cidr.Contains(next.Next()) { // the last one is the broadcast address
			next = s.cidr.Addr().Next()
		}
		if addr != s.gateway && s.used[addr] == nil {
			if release, err := c.reserve(addr); err == nil {
				s.used[addr], s.next = release, next
				return addr, nil
			}
		}
		if addr = next; addr == start {
			return netip.Addr{}, neutronConflict("IpAddressGenerationFailure", fmt.Sprintf("No more IP addresses available on network %s.", s.network.id))
		}
	}
}

// take takes the given address.
func (c *Cloud) take(s *subnet, addr netip.Addr) error {
	if s.used[addr] != nil {
		return neutronConflict("IpAddressAlreadyAllocated", fmt.Sprintf("IP address %s already allocated in subnet %s", addr, s.id))
	}
	release, err := c.reserve(addr)
	if err != nil {
		return neutronConflict("IpAddressAlreadyAllocated", fmt.Sprintf("IP address %s already allocated in subnet %s", addr, s.id))
	}
	s.used[addr] = release
	return nil
}

func (s *subnet) release(addr netip.Addr) {
	if release := s.used[addr]; release != nil {
		delete(s.used, addr)
		release()
	}
}

// reserve keeps an address for this process where machines will listen on it.
func (c *Cloud) reserve(addr netip.Addr) (func(), error) {
	if c.opts.VMs == nil || !addr.IsLoopback() {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(c.life, 5*time.Second)
	defer cancel()
	return c.opts.VMs.Reserve(ctx, addr)
}

// releaseAddresses gives every address back to this computer.
func (c *Cloud) releaseAddresses() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.neutron.subnets.list(nil) {
		for addr := range s.used {
			s.release(addr)
		}
	}
}

// wantedIP is one entry of fixed_ips: either part may be missing.
type wantedIP struct{ subnet, addr string }

// fixAddresses allocates what is wanted on a network; nothing wanted is one address of its first subnet.
func (c *Cloud) fixAddresses(n *network, wanted []wantedIP) ([]fixedIP, error) {
	subnets := c.subnetsOf(n)
	if len(wanted) == 0 {
		if len(subnets) == 0 {
			return nil, nil
		}
		wanted = []wantedIP{{subnet: subnets[0].id}}
	}
	var out []fixedIP
	for _, w := range wanted {
		ip, err := c.fixAddress(n, subnets, w)
		if err != nil {
			freeAddresses(out)
			return nil, err
		}
		out = append(out, ip)
	}
	return out, nil
}

func (c *Cloud) fixAddress(n *network, subnets []*subnet, w wantedIP) (fixedIP, error) {
	var s *subnet
	if w.subnet != "" {
		if s = c.findSubnet(w.subnet); s == nil {
			return fixedIP{}, neutronNotFound("Subnet", w.subnet)
		}
		if s.network != n {
			return fixedIP{}, neutronBadRequest("InvalidInput", fmt.Sprintf("Invalid input for operation: Failed to create port on network %s"+
				", because fixed_ips included invalid subnet %s.", n.id, s.id))
		}
	}
	if w.addr == "" {
		if s == nil {
			s = subnets[0]
		}
		addr, err := c.allocate(s)
		return fixedIP{s, addr}, err
	}
	addr, err := netip.ParseAddr(w.addr)
	if err != nil {
		return fixedIP{}, neutronBadRequest("InvalidInput", fmt.Sprintf("Invalid input for fixed_ips. Reason: '%s' is not a valid IP address.", w.addr))
	}
	for _, candidate := range subnets {
		if s == nil && candidate.cidr.Contains(addr) {
			s = candidate
		}
	}
	switch {
	case s == nil:
		return fixedIP{}, neutronBadRequest("InvalidIpForNetwork", fmt.Sprintf("IP address %s is not a valid IP for any of the subnets on the specified network.", addr))
	case !s.cidr.Contains(addr):
		return fixedIP{}, neutronBadRequest("InvalidIpForSubnet", fmt.Sprintf("IP address %s is not a valid IP for the specified subnet.", addr))
	}
	return fixedIP{s, addr}, c.take(s, addr)
}

func freeAddresses(ips []fixedIP) {
	for _, ip := range ips {
		ip.subnet.release(ip.addr)
	}
}

// addPort makes a port; an empty mac is made up.
func (c *Cloud) addPort(n *network, name, mac string, wanted []wantedIP) (*port, error) {
	fixed, err := c.fixAddresses(n, wanted)
	if err != nil {
		return nil, err
	}
	if mac == "" {
		mac = fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", rand.IntN(256), rand.IntN(256), rand.IntN(256)) //nolint:gosec // a simulated address
	}
	now := time.Now()
	p := &port{id: newID(), name: name, mac: mac, network: n, fixed: fixed, security: true, groups: []any{defaultSecurityGroup}, created: now, updated: now, revision: 1}
	c.neutron.ports.put(p.id, p)
	return p, nil
}

// defaultSecurityGroup is the id of the one group that exists.
const defaultSecurityGroup = "1288140c-1acf-48c8-b54d-6c6ba0578fcc"

func (c *Cloud) removePort(p *port) {
	for _, f := range c.neutron.fips.list(func(f *floatingIP) bool { return f.port == p }) {
		c.associate(f, nil, netip.Addr{})
	}
	c.neutron.ports.drop(p.id)
	freeAddresses(p.fixed)
}

func (p *port) touch() {
	p.updated = time.Now()
	p.revision++
}

func (c *Cloud) addFloatingIP(n *network, subnetRef, address string) (*floatingIP, error) {
	if !n.external {
		return nil, neutronBadRequest("BadRequest", fmt.Sprintf("Bad floatingip request: Network %s is not a valid external network.", n.id))
	}
	var wanted []wantedIP
	if subnetRef != "" || address != "" {
		wanted = []wantedIP{{subnetRef, address}}
	}
	fixed, err := c.fixAddresses(n, wanted)
	if err != nil {
		return nil, err
	}
	if len(fixed) == 0 {
		return nil, neutronConflict("ExternalIpAddressExhausted", fmt.Sprintf("Unable to find any IP address on external network %s.", n.id))
	}
	f := &floatingIP{id: newID(), address: fixed[0], created: time.Now()}
	c.neutron.fips.put(f.id, f)
	return f, nil
}

// associate points a floating IP to a port, or to none; the machine behind the port answers at it.
func (c *Cloud) associate(f *floatingIP, p *port, fixed netip.Addr) {
	if f.port != nil {
		c.detachAddress(f.port, f.address.addr)
	}
	f.port, f.fixed = p, fixed
	if p == nil {
		return
	}
	if !fixed.IsValid() && len(p.fixed) > 0 {
		f.fixed = p.fixed[0].addr
	}
	c.attachAddress(p, f.address.addr)
}

func (c *Cloud) removeFloatingIP(f *floatingIP) {
	c.associate(f, nil, netip.Addr{})
	c.neutron.fips.drop(f.id)
	freeAddresses([]fixedIP{f.address})
}
