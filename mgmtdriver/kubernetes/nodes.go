package kubernetes

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/param"
)

// node is a VNFC as a node of the cluster.
type node struct {
	vnfc   *mgmtdriver.Vnfc
	master bool
	login  param.Login
	ssh    netip.Addr // where it is logged in to
	ip     netip.Addr // in the network of the cluster
	name   string     // in the cluster; "" until it is known
}

// cluster is what the VNFCs of a call are as a cluster.
type cluster struct {
	*params
	masters, workers []*node // that there are when the operation is over
	added, removed   []*node
	address          netip.Addr // of the Kubernetes API
	outside          netip.Addr // the same for those that need a floating IP address; invalid = address
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
		}
		// Of masters etcd has to be told that they go: where they were is found out there.
		if n != nil && (err == nil || n.master) {
			c.removed = append(c.removed, n)
		}
	}
	return c, c.locate(call)
}

// node is a VNFC as a node; nil if it is none. One without an address comes with the error.
func (p *params) node(vnfc *mgmtdriver.Vnfc) (*node, error) {
	n := &node{vnfc: vnfc}
	group := &p.worker
	switch {
	case p.isStorage(vnfc):
		return nil, nil
	case p.isMaster(vnfc):
		n.master, group = true, &p.master.group
	case !p.isWorker(vnfc):
		return nil, nil
	}
	n.login = group.login
	var err error
	if n.ssh, err = vnfc.Address(group.sshCpName); err != nil {
		return n, err
	}
	n.ip, err = vnfc.Address(group.nicCpName)
	return n, err
}

// isMaster reports whether a VNFC is a master: of the aspect, or else by its connection point.
func (p *params) isMaster(vnfc *mgmtdriver.Vnfc) bool { return p.master.has(vnfc) }

func (p *params) isWorker(vnfc *mgmtdriver.Vnfc) bool { return p.worker.has(vnfc) }

func (g *group) has(vnfc *mgmtdriver.Vnfc) bool {
	if g.aspectID != "" && vnfc.AspectID != "" {
		return vnfc.AspectID == g.aspectID
	}
	_, ok := vnfc.Port(g.nicCpName)
	return ok
}

// ha reports whether the cluster has several masters, behind a virtual address.
func (c *cluster) ha() bool { return len(c.masters) > 1 }

// port is that of the Kubernetes API at its address: HAProxy's, or the API server's own.
func (c *cluster) port() int {
	if c.ha() {
		return 16443
	}
	return 6443
}

// locate finds the addresses of the Kubernetes API.
func (c *cluster) locate(call *mgmtdriver.Call) error {
	switch {
	case len(c.masters) > 0:
	case len(call.Added) == 0:
		return nil // all is going
	default:
		return &mgmtdriver.Failure{Title: "Cluster has no master", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"no VNFC is of the aspect of master_node, %q, or else has its nic_cp_name, %s", c.master.aspectID, c.master.nicCpName)}
	}
	name := c.master.clusterCpName
	if !c.ha() {
		if port, ok := c.masters[0].vnfc.Port(name); ok && len(port.Addresses) > 0 {
			c.address = port.Addresses[0]
		}
	}
	find := func(name string) netip.Addr {
		i := slices.IndexFunc(call.Ports, func(p mgmtdriver.Port) bool { return p.Name == name && len(p.Addresses) > 0 })
		if i < 0 {
			return netip.Addr{}
		}
		return call.Ports[i].Addresses[0]
	}
	if !c.address.IsValid() {
		c.address = find(name)
	}
	if !c.address.IsValid() {
		return &mgmtdriver.Failure{Title: "Cluster has no address", Status: http.StatusUnprocessableEntity,
			Detail: fmt.Sprintf("Failed to get the cluster ip: there is no port %s with an address", name)}
	}
	switch fip := c.master.clusterFipName; {
	case fip != "":
		if c.outside = find(fip); !c.outside.IsValid() && !c.ha() {
			c.outside, _ = c.masters[0].vnfc.Address(fip)
		}
		if !c.outside.IsValid() {
			return &mgmtdriver.Failure{Title: "Cluster has no floating IP address", Status: http.StatusUnprocessableEntity,
				Detail: fmt.Sprintf("there is no floating IP %s with an address", fip)}
		}
	case !c.ha() && c.masters[0].ssh != c.masters[0].ip:
		c.outside = c.masters[0].ssh
	}
	return nil
}

// all are the nodes that there are when the operation is over, masters first.
func (c *cluster) all() []*node { return slices.Concat(c.masters, c.workers) }

// isNew reports whether a node has yet to join.
func (c *cluster) isNew(n *node) bool { return slices.Contains(c.added, n) }

// newNodes are those that have yet to join, masters first.
func (c *cluster) newNodes() []*node { return filter(c.all(), c.isNew) }

// newMasters and newWorkers are the same by role.
func (c *cluster) newMasters() []*node { return filter(c.masters, c.isNew) }
func (c *cluster) newWorkers() []*node { return filter(c.workers, c.isNew) }

// settled are the masters that were there before the operation and stay.
func (c *cluster) settled() []*node {
	return filter(c.masters, func(n *node) bool { return !c.isNew(n) })
}

func filter(nodes []*node, keep func(*node) bool) []*node {
	var kept []*node
	for _, n := range nodes {
		if keep(n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// role is the first part of the name of a node.
func (n *node) role() string {
	if n.master {
		return kube.Master
	}
	return kube.Worker
}

// names are those that a node may be given, the one that people expect first.
func (n *node) names() []string { return kube.Names(n.role(), n.ip) }

// name gives every node its name. present are the nodes of the cluster by address: their names stay.
func (c *cluster) name(present map[netip.Addr]string) {
	taken := map[string]bool{}
	for _, name := range present {
		taken[name] = true
	}
	for _, n := range c.all() {
		if n.name = present[n.ip]; n.name == "" {
			n.name = kube.FreeName(n.role(), n.ip, taken)
		}
	}
}
