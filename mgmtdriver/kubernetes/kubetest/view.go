package kubetest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// View is what a world looks like.
type View struct {
	Nodes     map[string]Node
	Members   []string            // of etcd, by name
	Pods      map[string]int      // of applications, by node
	Hosts     map[string]string   // /etc/hosts by address of the machine, those that are alive
	Balancers map[string][]string // addresses of the servers of HAProxy as it runs, by address of the machine
	Logins    map[string][]string // at registries, by address of the machine
	Volumes   map[string]Volume   // PersistentVolumes of the last cluster
	Mounts    map[string][]string // directories at which a disk is mounted, by address of the machine
	Exports   map[string][]string // directories and clients, by address of the machine
	Packages  map[string][]string // that were installed, by address of the machine
}

// Node is a node of a cluster.
type Node struct {
	Address string
	Master  bool
	Ready   bool
	Closed  bool // cordoned
	Labels  map[string]string
}

// Secrets are those that the clusters have made: the tokens and keys of who joins, and what their administrators log in with.
func (w *World) Secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	for _, c := range w.clusters {
		found = slices.Concat(found, c.tokens, c.keys)
		for _, secret := range c.secrets {
			encoded, _ := secret["data"].(map[string]any)["token"].(string)
			if token, err := base64.StdEncoding.DecodeString(encoded); err == nil {
				found = append(found, string(token))
			}
		}
	}
	return found
}

// View tells what the machines that are alive, and their clusters, are like.
func (w *World) View() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := View{Nodes: map[string]Node{}, Pods: map[string]int{}, Hosts: map[string]string{}, Balancers: map[string][]string{},
		Logins: map[string][]string{}, Volumes: map[string]Volume{}, Mounts: map[string][]string{}, Exports: map[string][]string{},
		Packages: map[string][]string{}}
	for _, c := range w.clusters {
		for name, n := range c.nodes {
			v.Nodes[name] = Node{Address: n.ip.String(), Master: n.master, Ready: n.machine.ready(c), Closed: n.closed, Labels: maps.Clone(n.labels)}
		}
		for _, m := range c.members {
			v.Members = append(v.Members, m.name)
		}
		for _, p := range c.pods {
			if !p.daemon {
				v.Pods[p.node]++
			}
		}
	}
	slices.Sort(v.Members)
	if len(w.clusters) > 0 {
		for name, p := range w.clusters[len(w.clusters)-1].volumes {
			v.Volumes[name] = p.Volume
		}
	}
	for address, m := range w.machines {
		if m.addresses[0] != address || !m.alive() {
			continue
		}
		key := address.String()
		v.Hosts[key] = m.read("/etc/hosts")
		if servers := serversIn(m.loaded); servers != nil {
			v.Balancers[key] = servers
		}
		if len(m.logins) > 0 {
			v.Logins[key] = m.logins
		}
		m.viewStorage(&v, key)
	}
	return v
}

func serversIn(config string) []string {
	var servers []string
	for line := range strings.Lines(config) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "server" {
			servers = append(servers, fields[1]+" "+fields[2])
		}
	}
	slices.Sort(servers)
	return servers
}
