package heattest

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// SSHVMs makes every server an SSH and SFTP machine in this process (see sshtest).
type SSHVMs struct {
	// Port is the SSH port of every machine; 0 is sshtest.DefaultPort.
	Port int
	// User and Password let in; a server's key pair does so, too.
	User     string
	Password string
	// Handler gives the handler of the commands of one machine; nil is sshtest.Unknown for all of them.
	Handler func(Machine) sshtest.Handler

	mu       sync.Mutex
	machines map[netip.Addr]*sshtest.Server
}

// Reserve keeps an address of this computer.
func (v *SSHVMs) Reserve(ctx context.Context, addr netip.Addr) (release func(), err error) {
	return sshtest.Reserve(ctx, addr, v.port())
}

// Machine is what answers at an address now; nil when nothing does.
func (v *SSHVMs) Machine(addr netip.Addr) *sshtest.Server {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.machines[addr]
}

// Boot starts a machine with a new host key at all addresses of the server. A server without a loopback address gets none: nobody could reach it.
func (v *SSHVMs) Boot(ctx context.Context, m Machine) (VM, error) {
	if len(m.Addresses) == 0 {
		return unreachable{}, nil
	}
	opts := sshtest.Options{Addr: m.Addresses[0], Port: v.port(), User: v.User, Password: v.Password}
	if m.PublicKey != "" {
		opts.AuthorizedKeys = []string{m.PublicKey}
	}
	if v.Handler != nil {
		opts.Handler = v.Handler(m)
	}
	server, err := sshtest.New(ctx, opts)
	if err != nil {
		return nil, err
	}
	vm := &sshVM{vms: v, server: server}
	vm.note(m.Addresses[0], true)
	for _, addr := range m.Addresses[1:] {
		if err := vm.Attach(ctx, addr); err != nil {
			return nil, errors.Join(err, vm.Close())
		}
	}
	return vm, nil
}

func (v *SSHVMs) port() int {
	if v.Port == 0 {
		return sshtest.DefaultPort
	}
	return v.Port
}

// sshVM is one machine and its entries in the map of its maker.
type sshVM struct {
	vms    *SSHVMs
	server *sshtest.Server
}

func (m *sshVM) note(addr netip.Addr, there bool) {
	m.vms.mu.Lock()
	defer m.vms.mu.Unlock()
	if m.vms.machines == nil {
		m.vms.machines = map[netip.Addr]*sshtest.Server{}
	}
	if there {
		m.vms.machines[addr] = m.server
	} else if m.vms.machines[addr] == m.server {
		delete(m.vms.machines, addr)
	}
}

// Attach makes the machine answer at a further address.
func (m *sshVM) Attach(ctx context.Context, addr netip.Addr) error {
	if err := m.server.Attach(ctx, addr); err != nil {
		return err
	}
	m.note(addr, true)
	return nil
}

// Detach ends that.
func (m *sshVM) Detach(ctx context.Context, addr netip.Addr) error {
	m.note(addr, false)
	return m.server.Detach(ctx, addr)
}

// Close switches the machine off.
func (m *sshVM) Close() error {
	m.vms.mu.Lock()
	for addr, server := range m.vms.machines {
		if server == m.server {
			delete(m.vms.machines, addr)
		}
	}
	m.vms.mu.Unlock()
	return m.server.Close()
}

// unreachable is a machine without an address that this computer has.
type unreachable struct{}

// Attach does nothing.
func (unreachable) Attach(context.Context, netip.Addr) error { return nil }

// Detach does nothing.
func (unreachable) Detach(context.Context, netip.Addr) error { return nil }

// Close does nothing.
func (unreachable) Close() error { return nil }
