package kube

import (
	"context"
	"net/netip"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Site is a cluster on behalf of a call.
type Site struct {
	*Machines
	Call    *mgmtdriver.Call
	Pool    *ssh.Pool
	Config  Config
	Secrets *ssh.Redactor // what is known of them is shown nowhere
	Name    string        // of the cluster, as a VIM
}

// Host is a node to work on.
func (s *Site) Host(n *Machine) *ssh.Host {
	return s.Pool.Host(s.Call, n.Login.Target(n.Title(), n.Vnfc, netip.AddrPortFrom(n.SSH, s.Config.SSHPort)), s.Secrets)
}

// Hosts are nodes to work on.
func (s *Site) Hosts(nodes []*Machine) []*ssh.Host {
	hosts := make([]*ssh.Host, len(nodes))
	for i, n := range nodes {
		hosts[i] = s.Host(n)
	}
	return hosts
}

// Each does something on nodes at once, also on the others if it fails on one.
func (s *Site) Each(ctx context.Context, nodes []*Machine, do func(context.Context, *Machine, *ssh.Host) error) error {
	return ssh.Each(ctx, s.Hosts(nodes), s.Config.Together, func(ctx context.Context, i int, host *ssh.Host) error {
		return do(ctx, nodes[i], host)
	})
}

// DrainLeaving is a step that lets the pods leave the workers that go.
func (s *Site) DrainLeaving(ctx context.Context) (mgmtdriver.Result, error) {
	going := s.Leaving()
	if len(going) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.Open(ctx, s.Settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	return c.Drain(ctx, s.Call, Drain{Nodes: Titles(going), Time: s.Config.DrainTime, Together: s.Config.Together})
}

// UnregisterWhole is a step that removes the VIM when all of the cluster goes to be made again.
func (s *Site) UnregisterWhole(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.Whole() {
		return mgmtdriver.Done(nil), nil
	}
	return Unregister(ctx, s.Call)
}

// Unregister is a step that removes the VIM.
func Unregister(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
	return mgmtdriver.Done(nil), call.Vims.Remove(ctx)
}
