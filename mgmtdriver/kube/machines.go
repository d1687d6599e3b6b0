package kube

import (
	"fmt"
	"net/http"
	"slices"

	"vnfm/mgmtdriver"
)

// Machines are the VNFCs of a call as nodes of a cluster.
type Machines struct {
	Masters, Workers []*Machine // that there are when the operation is over
	Added, Removed   []*Machine
}

// ReadMachines finds the nodes of a call. other tells VNFCs that are no nodes, whatever group they are of; nil = none is. A master that goes
// may have no address. *[mgmtdriver.Failure] if a node that stays has none, or if there is no master.
func ReadMachines(call *mgmtdriver.Call, groups Groups, other func(*mgmtdriver.Vnfc) bool) (*Machines, error) {
	m, known := &Machines{}, map[string]*Machine{}
	find := func(vnfc *mgmtdriver.Vnfc) (*Machine, error) {
		if other != nil && other(vnfc) {
			return nil, nil
		}
		return groups.Machine(vnfc)
	}
	for i := range call.After {
		n, err := find(&call.After[i])
		if err != nil {
			return nil, err
		}
		switch {
		case n == nil:
			continue
		case n.Master:
			m.Masters = append(m.Masters, n)
		default:
			m.Workers = append(m.Workers, n)
		}
		known[n.Vnfc.ServerID] = n
	}
	for i := range call.Added {
		if n := known[call.Added[i].ServerID]; n != nil {
			m.Added = append(m.Added, n)
		}
	}
	for i := range call.Removed {
		n, err := find(&call.Removed[i])
		if err != nil {
			call.Log.Warn("a node that goes has lost its address", "error", err)
		}
		// Of masters etcd has to be told that they go: where they were is found out there.
		if n != nil && (err == nil || n.Master) {
			m.Removed = append(m.Removed, n)
		}
	}
	if len(m.Masters) == 0 && len(call.Added) > 0 {
		return nil, &mgmtdriver.Failure{Title: "Cluster has no master", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"no VNFC is of the aspect of master_node, %q, or else has its nic_cp_name, %s", groups.Master.AspectID, groups.Master.NicCp)}
	}
	return m, nil
}

// All are the nodes that there are when the operation is over, masters first.
func (m *Machines) All() []*Machine { return slices.Concat(m.Masters, m.Workers) }

// IsNew reports whether a node has yet to join.
func (m *Machines) IsNew(n *Machine) bool { return slices.Contains(m.Added, n) }

// New are the nodes that have yet to join, masters first.
func (m *Machines) New() []*Machine { return Filter(m.All(), m.IsNew) }

// NewMasters are the masters that have yet to join.
func (m *Machines) NewMasters() []*Machine { return Filter(m.Masters, m.IsNew) }

// NewWorkers are the workers that have yet to join.
func (m *Machines) NewWorkers() []*Machine { return Filter(m.Workers, m.IsNew) }

// Settled are the masters that were there before the operation and stay.
func (m *Machines) Settled() []*Machine {
	return Filter(m.Masters, func(n *Machine) bool { return !m.IsNew(n) })
}

// Whole reports whether all nodes go, or have come.
func (m *Machines) Whole() bool { return len(m.Settled()) == 0 }

// Leaving are the workers that go, have been nodes, and leave others behind.
func (m *Machines) Leaving() []*Machine {
	if m.Whole() {
		return nil
	}
	return Filter(m.Removed, func(n *Machine) bool { return !n.Master && n.Name != "" })
}

// Filter are the nodes that are to be kept.
func Filter(nodes []*Machine, keep func(*Machine) bool) []*Machine {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *Machine) bool { return !keep(n) })
}

// Titles are the names of nodes, for people.
func Titles(nodes []*Machine) []string {
	found := make([]string, len(nodes))
	for i, n := range nodes {
		found[i] = n.Title()
	}
	return found
}

// Found is the output of the steps "names" and "assess", which find out how nodes are called.
type Found struct {
	Names map[string]string `json:"names"`         // by server
	MTU   int               `json:"mtu,omitempty"` // of the network of the nodes, for drivers that need to know
}

// FoundNames are the names of nodes that have one.
func FoundNames(nodes []*Machine) Found {
	found := Found{Names: map[string]string{}}
	for _, n := range nodes {
		if n.Name != "" {
			found.Names[n.Vnfc.ServerID] = n.Name
		}
	}
	return found
}

// Recall gives the nodes the names that were found out in this hook.
func (m *Machines) Recall(call *mgmtdriver.Call) (found Found, err error) {
	for _, step := range []string{"names", "assess"} {
		key := string(call.Hook) + "/" + step
		if _, ok := call.Outputs[key]; !ok {
			continue
		}
		found = Found{}
		if err := call.Output(key, &found); err != nil {
			return found, err
		}
		for _, n := range slices.Concat(m.All(), m.Removed) {
			n.Name = found.Names[n.Vnfc.ServerID]
		}
	}
	return found, nil
}
