package kubetest

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
)

// Deploy makes machines the nodes of a cluster, as kubespray does: a new one, unless the masters are one. Nodes that it has stay.
func (w *World) Deploy(masters, workers map[string]netip.Addr) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var c *cluster
	for _, address := range masters {
		if m := w.machines[address]; m != nil && m.alive() && m.cluster != nil {
			c = m.cluster
		}
	}
	if c == nil {
		var err error
		if c, err = w.newCluster(""); err != nil {
			return err
		}
	}
	for _, group := range []map[string]netip.Addr{masters, workers} {
		for name, address := range group {
			m := w.machines[address]
			if m == nil || !m.alive() {
				return fmt.Errorf("no machine has the address %s", address)
			}
			if m.cluster == c && c.nodes[name] != nil {
				continue
			}
			if known := c.nodes[name]; known != nil && known.machine.ready(c) {
				return fmt.Errorf("there is a node %s already", name)
			}
			m.name, m.begun = name, true
			c.add(m, slices.Contains(values(masters), address))
			m.tell("has joined as %s", name)
		}
	}
	for address := range w.machines {
		if m := w.machines[address]; m.cluster == c && m.master() {
			m.put("/etc/kubernetes/admin.conf", kubeconfig(c))
		}
	}
	return nil
}

func values(group map[string]netip.Addr) []netip.Addr {
	var found []netip.Addr
	for _, address := range group {
		found = append(found, address)
	}
	return found
}

func kubeconfig(c *cluster) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: admin
contexts:
- {name: admin, context: {cluster: cluster.local, user: admin}}
users:
- {name: admin, user: {client-key-data: geheim}}
clusters:
- name: cluster.local
  cluster:
    certificate-authority-data: %s
    server: https://127.0.0.1:6443
`, base64.StdEncoding.EncodeToString([]byte(c.ca)))
}

// Withdraw takes nodes out of their cluster, as kubespray does. Their machines are what they were before, if reset.
func (w *World) Withdraw(names []string, reset bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.clusters {
		for _, name := range names {
			n := c.nodes[name]
			if n == nil {
				continue
			}
			if !n.closed && n.machine.ready(c) {
				w.surprise("%s leaves without having been drained", name)
			}
			n.machine.tell("removes %s from the cluster", name)
			if reset {
				n.machine.cluster, n.machine.begun = nil, false
			}
			delete(c.nodes, name)
			c.pods = slices.DeleteFunc(c.pods, func(p pod) bool { return p.node == name })
		}
	}
}
