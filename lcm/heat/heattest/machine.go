package heattest

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"vnfm/lcm/heat/heattest/hotlang"
)

// machine is the reachable side of a server. What is done to it is done in order and without the cloud's lock.
type machine struct {
	vm    VM
	tasks sync.Mutex // one change at a time
	gone  chan struct{}
	once  sync.Once
}

// boot makes a server reachable, after whatever had its addresses before is switched off, and then calls done with the lock held.
func (c *Cloud) boot(s *server, done func(error)) {
	if c.opts.VMs == nil {
		done(nil)
		return
	}
	m := &machine{gone: make(chan struct{})}
	s.machine = m
	before := c.leaving(s.addresses())
	description := Machine{ID: s.id, Name: s.name, Addresses: slices.DeleteFunc(s.addresses(), func(a netip.Addr) bool { return !a.IsLoopback() }),
		UserData: decodeUserData(s.userData), PublicKey: c.nova.keys[s.key], Metadata: map[string]string{}}
	for k, v := range s.metadata {
		description.Metadata[k] = hotlang.Text(v)
	}
	for _, f := range c.neutron.fips.list(func(f *floatingIP) bool { return slices.Contains(s.ports, f.port) }) {
		if f.address.addr.IsLoopback() {
			description.Addresses = append(description.Addresses, f.address.addr)
		}
	}
	c.machines[m] = description.Addresses
	var failed error
	m.tasks.Lock()
	c.outside(func(ctx context.Context) {
		defer m.tasks.Unlock()
		for _, old := range before {
			<-old.gone
		}
		if m.vm, failed = c.opts.VMs.Boot(ctx, description); failed != nil {
			failed = fmt.Errorf("boot server %s: %w", description.Name, failed)
		}
	}, func() { done(failed) })
}

func decodeUserData(encoded string) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return encoded
	}
	return string(raw)
}

// leaving lists machines that still use one of the addresses.
func (c *Cloud) leaving(addrs []netip.Addr) []*machine {
	var out []*machine
	for m, used := range c.machines {
		if slices.ContainsFunc(used, func(a netip.Addr) bool { return slices.Contains(addrs, a) }) {
			out = append(out, m)
		}
	}
	return out
}

// shutMachine switches the server's machine off for good.
func (c *Cloud) shutMachine(s *server) {
	m := s.machine
	if m == nil {
		return
	}
	s.machine = nil
	c.outside(func(context.Context) { c.off(m) }, func() { delete(c.machines, m) })
}

// off closes a machine once; it waits for what is being done to it.
func (c *Cloud) off(m *machine) {
	m.once.Do(func() {
		m.tasks.Lock()
		defer m.tasks.Unlock()
		defer close(m.gone)
		if m.vm == nil {
			return
		}
		if err := m.vm.Close(); err != nil {
			c.log.Warn("switch a machine off", "error", err)
		}
	})
}

// closeMachines switches every machine off. The lock is not held, and the cloud is closed.
func (c *Cloud) closeMachines() {
	c.mu.Lock()
	machines := slices.Collect(maps.Keys(c.machines))
	c.mu.Unlock()
	for _, m := range machines {
		c.off(m)
	}
}

// attachAddress makes the machine behind a port answer at a further address.
func (c *Cloud) attachAddress(p *port, addr netip.Addr) {
	c.changeAddress(p, addr, func(ctx context.Context, vm VM) error { return vm.Attach(ctx, addr) })
}

// detachAddress ends that.
func (c *Cloud) detachAddress(p *port, addr netip.Addr) {
	c.changeAddress(p, addr, func(ctx context.Context, vm VM) error { return vm.Detach(ctx, addr) })
}

func (c *Cloud) changeAddress(p *port, addr netip.Addr, change func(context.Context, VM) error) {
	s, ok := c.nova.servers.get(p.device)
	if !ok || s.machine == nil || !addr.IsLoopback() {
		return
	}
	m := s.machine
	c.outside(func(ctx context.Context) {
		m.tasks.Lock()
		defer m.tasks.Unlock()
		if m.vm == nil {
			return
		}
		if err := change(ctx, m.vm); err != nil {
			c.log.Warn("change an address of a machine", "address", addr.String(), "error", err)
		}
	}, func() {})
}
