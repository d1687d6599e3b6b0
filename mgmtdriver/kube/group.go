package kube

import (
	"cmp"
	"net/netip"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/param"
)

// Group says how the nodes of one role are found and logged in to.
type Group struct {
	AspectID string // "" = NicCp alone tells them
	SSHCp    string // name of the connection point where they are logged in to
	NicCp    string // the same in the network of the cluster
	Login    param.Login
}

// Has reports whether a VNFC is one of the group: of its aspect, or else by its connection point.
func (g *Group) Has(vnfc *mgmtdriver.Vnfc) bool {
	if g.AspectID != "" && vnfc.AspectID != "" {
		return vnfc.AspectID == g.AspectID
	}
	_, ok := vnfc.Port(g.NicCp)
	return ok
}

// check refuses an aspect and ports that the package does not have. at is where the group is in the request.
func (g *Group) check(call *mgmtdriver.Call, at string) error {
	if g.AspectID != "" {
		if err := call.CheckAspect(at+"/aspect_id", g.AspectID); err != nil {
			return err
		}
	}
	return cmp.Or(call.CheckPort(at+"/ssh_cp_name", g.SSHCp), call.CheckPort(at+"/nic_cp_name", g.NicCp))
}

// Groups are those of a cluster. A VNFC that is of none is no node.
type Groups struct{ Master, Worker *Group }

// Check refuses aspects and ports that the package does not have. at is the JSON pointer of what has master_node and worker_node.
func (g Groups) Check(call *mgmtdriver.Call, at string) error {
	return cmp.Or(g.Master.check(call, at+"/master_node"), g.Worker.check(call, at+"/worker_node"))
}

// Machine is a VNFC as a node of the cluster.
type Machine struct {
	Vnfc   *mgmtdriver.Vnfc
	Master bool
	Login  param.Login
	SSH    netip.Addr // where it is logged in to
	IP     netip.Addr // in the network of the cluster
	Name   string     // in the cluster; "" until it is known
}

// Machine is a VNFC as a node; nil if it is none. One without an address comes with the error.
func (g Groups) Machine(vnfc *mgmtdriver.Vnfc) (*Machine, error) {
	m, group := &Machine{Vnfc: vnfc}, g.Worker
	switch {
	case g.Master.Has(vnfc):
		m.Master, group = true, g.Master
	case !g.Worker.Has(vnfc):
		return nil, nil
	}
	m.Login = group.Login
	var err error
	if m.SSH, err = vnfc.Address(group.SSHCp); err != nil {
		return m, err
	}
	m.IP, err = vnfc.Address(group.NicCp)
	return m, err
}

// Role is the first part of the name of the node.
func (m *Machine) Role() string {
	if m.Master {
		return Master
	}
	return Worker
}

// Names are those that the node may be given, the one that people expect first.
func (m *Machine) Names() []string { return Names(m.Role(), m.IP) }

// Title names the node for people, also before it has its name.
func (m *Machine) Title() string { return cmp.Or(m.Name, m.Names()[0]) }
