package kubespray

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
)

// node is a VNFC as a node of the cluster.
type node struct {
	vnfc   *mgmtdriver.Vnfc
	master bool
	ssh    netip.Addr // where it is logged in to
	ip     netip.Addr // in the network of the cluster
	name   string     // in the inventory and in the cluster; "" until it is known
}

// front is the load balancer.
type front struct {
	vnfc  *mgmtdriver.Vnfc // nil if its VNFC is not known
	ssh   netip.Addr       // where it is logged in to, and where the Kubernetes API answers
	isNew bool
	goes  bool
}

// cluster is what the VNFCs of a call are as a cluster.
type cluster struct {
	*params
	masters, workers []*node // that there are when the operation is over
	added, removed   []*node
	front            *front // nil = none
}

// readCluster finds the nodes of a call.
func readCluster(call *mgmtdriver.Call, p *params) (*cluster, error) {
	c := &cluster{params: p}
	known := map[string]*node{}
	for i := range call.After {
		n, err := p.node(&call.After[i])
		if err != nil {
			return nil, err
		}
		switch {
		case n == nil:
			continue
		case n.master:
			c.masters = append(c.masters, n)
		default:
			c.workers = append(c.workers, n)
		}
		known[n.vnfc.ServerID] = n
	}
	for i := range call.Added {
		if n := known[call.Added[i].ServerID]; n != nil {
			c.added = append(c.added, n)
		}
	}
	for i := range call.Removed {
		n, err := p.node(&call.Removed[i])
		if err != nil {
			call.Log.Warn("a node that goes has lost its address", "error", err)
		} else if n != nil {
			c.removed = append(c.removed, n)
		}
	}
	if len(c.masters) == 0 && len(call.Added) > 0 {
		return nil, &mgmtdriver.Failure{Title: "Cluster has no master", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"no VNFC is of the aspect of master_node, %q, or else has its nic_cp_name, %s", p.master.aspectID, p.master.nicCpName)}
	}
	return c, c.findFront(call)
}

// node is a VNFC as a node; nil if it is none. One without an address comes with the error.
func (p *params) node(vnfc *mgmtdriver.Vnfc) (*node, error) {
	n := &node{vnfc: vnfc}
	group := &p.worker
	switch {
	case p.master.has(vnfc):
		n.master, group = true, &p.master.group
	case !p.worker.has(vnfc):
		return nil, nil
	}
	var err error
	if n.ssh, err = vnfc.Address(group.sshCpName); err != nil {
		return n, err
	}
	n.ip, err = vnfc.Address(group.nicCpName)
	return n, err
}

// has reports whether a VNFC is one of the group: of its aspect, or else by its connection point.
func (g *group) has(vnfc *mgmtdriver.Vnfc) bool {
	if g.aspectID != "" && vnfc.AspectID != "" {
		return vnfc.AspectID == g.aspectID
	}
	_, ok := vnfc.Port(g.nicCpName)
	return ok
}

// findFront finds the load balancer: the VNFC that has its connection point or, if a floating IP address of no VNFC is named, the only one
// that is no node.
func (c *cluster) findFront(call *mgmtdriver.Call) error {
	if c.balancer == nil {
		return nil
	}
	name := c.balancer.sshCpName
	var others []*mgmtdriver.Vnfc // that are no nodes
	for _, list := range [][]mgmtdriver.Vnfc{call.After, call.Removed} {
		for i := range list {
			vnfc := &list[i]
			healed := slices.ContainsFunc(others, func(other *mgmtdriver.Vnfc) bool { return other.ID == vnfc.ID })
			if healed || c.master.has(vnfc) || c.worker.has(vnfc) {
				continue
			}
			others = append(others, vnfc)
			if port, ok := vnfc.Port(name); ok && len(port.Addresses) > 0 && c.front == nil {
				c.front = &front{vnfc: vnfc, ssh: port.Addresses[0]}
			}
		}
	}
	if i := slices.IndexFunc(call.Ports, func(p mgmtdriver.Port) bool { return p.Name == name && len(p.Addresses) > 0 }); i >= 0 && c.front == nil {
		if c.front = &(front{ssh: call.Ports[i].Addresses[0]}); len(others) == 1 {
			c.front.vnfc = others[0]
		}
	}
	switch {
	case c.front == nil && len(call.Added) > 0:
		return &mgmtdriver.Failure{Title: "Load balancer has no address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"no VNFC has the connection point %s of external_lb_param, and there is no floating IP address of that name", name)}
	case c.front != nil && c.front.vnfc == nil && len(call.Added) > 0:
		return &mgmtdriver.Failure{Title: "Load balancer is not known", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"%s of external_lb_param is a port of no VNFC, such as a floating IP address, and %d VNFCs are no nodes: give the connection point of the load balancer, or let it be the only one",
			name, len(others))}
	case c.front != nil && c.front.vnfc != nil:
		is := func(v mgmtdriver.Vnfc) bool { return v.ServerID == c.front.vnfc.ServerID }
		c.front.isNew, c.front.goes = slices.ContainsFunc(call.Added, is), slices.ContainsFunc(call.Removed, is)
	}
	return nil
}

// address is where the Kubernetes API answers.
func (c *cluster) address() netip.Addr {
	if c.front != nil {
		return c.front.ssh
	}
	return c.masters[0].ssh
}

// all are the nodes that there are when the operation is over, masters first.
func (c *cluster) all() []*node { return slices.Concat(c.masters, c.workers) }

// isNew reports whether a node has yet to join.
func (c *cluster) isNew(n *node) bool { return slices.Contains(c.added, n) }

// newWorkers are those that have yet to join.
func (c *cluster) newWorkers() []*node { return filter(c.workers, c.isNew) }

// going are the workers that go.
func (c *cluster) going() []*node {
	return filter(c.removed, func(n *node) bool { return !n.master })
}

// settled are the masters that were there before the operation and stay.
func (c *cluster) settled() []*node {
	return filter(c.masters, func(n *node) bool { return !c.isNew(n) })
}

// whole reports whether all nodes go, or have come.
func (c *cluster) whole() bool { return len(c.settled()) == 0 }

func filter(nodes []*node, keep func(*node) bool) []*node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return !keep(n) })
}

func (n *node) role() string {
	if n.master {
		return kube.Master
	}
	return kube.Worker
}

// title names a node for people, also before it has its name.
func (n *node) title() string { return cmp.Or(n.name, kube.Names(n.role(), n.ip)[0]) }

// addresses are those of nodes within the cluster.
func addresses(nodes []*node) []netip.Addr {
	found := make([]netip.Addr, len(nodes))
	for i, n := range nodes {
		found[i] = n.ip
	}
	return found
}

// titles are the names of nodes.
func titles(nodes []*node) []string {
	found := make([]string, len(nodes))
	for i, n := range nodes {
		found[i] = n.title()
	}
	return found
}
