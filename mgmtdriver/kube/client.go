package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// AdminConfig is where a master keeps the configuration of the administrator.
const AdminConfig = "/etc/kubernetes/admin.conf"

// Client is a cluster, worked on through one of its masters.
type Client struct {
	Host   *ssh.Host // the master
	Master *Machine  // the same
	Nodes  []Node    // of the cluster, when it was opened
}

// Node is what is read of a Node of Kubernetes.
type Node struct {
	Metadata struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Unschedulable bool `json:"unschedulable"` // it is cordoned
	} `json:"spec"`
	Status struct {
		Addresses []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		NodeInfo struct {
			ContainerRuntimeVersion string `json:"containerRuntimeVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// Ready reports whether the node works.
func (n *Node) Ready() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// IP is the address of the node within the cluster.
func (n *Node) IP() netip.Addr {
	for _, a := range n.Status.Addresses {
		if address, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" {
			return address
		}
	}
	return netip.Addr{}
}

// Open opens the cluster through the first of some masters that answers for it.
func (s *Site) Open(ctx context.Context, masters []*Machine) (*Client, error) {
	// All at once, and only until one answers, since it takes long to find out that one is dead.
	asking, enough := context.WithCancel(ctx)
	defer enough()
	found := make([]*Client, len(masters))
	err := s.Each(asking, masters, func(ctx context.Context, master *Machine, host *ssh.Host) error {
		c := &Client{Host: host, Master: master}
		var list struct{ Items []Node }
		err := c.JSON(ctx, &list, "get", "nodes", "-o", "json")
		if err == nil {
			c.Nodes = list.Items
			found[slices.Index(masters, master)] = c
			enough()
		}
		return err
	})
	if i := slices.IndexFunc(found, func(c *Client) bool { return c != nil }); i >= 0 {
		return found[i], nil
	}
	var hosts *ssh.HostErrors
	if !errors.As(err, &hosts) {
		return nil, cmp.Or(err, errors.New("the cluster has no master"))
	}
	if !slices.ContainsFunc(hosts.Errs, func(err error) bool { return !errors.As(err, new(*mgmtdriver.Failure)) }) {
		return nil, err
	}
	// Masters that restart, or agree on a leader, answer after a while.
	return nil, &mgmtdriver.Unavailable{Peer: "Kubernetes API of " + s.Name, Err: err}
}

// Node is what the cluster knows of the node of that name; nil if it does not know it.
func (c *Client) Node(name string) *Node {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Metadata.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Nodes[i]
}

// Run runs kubectl as the administrator of the cluster.
func (c *Client) Run(ctx context.Context, arguments ...string) error {
	_, err := c.Host.Run(ctx, ssh.Command{Argv: append([]string{"kubectl", "--kubeconfig", AdminConfig}, arguments...), Root: true})
	return err
}

// JSON runs kubectl, which changes nothing, and reads what it answers.
func (c *Client) JSON(ctx context.Context, into any, arguments ...string) error {
	output, err := c.Host.Run(ctx, ssh.Command{
		Argv: append([]string{"kubectl", "--kubeconfig", AdminConfig}, arguments...), Root: true, Quiet: true, Limit: 64 << 20,
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(output.Stdout), into); err != nil {
		return fmt.Errorf("%s: read answer of kubectl %s: %w", c.Host, arguments[0], err)
	}
	return nil
}
