package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// assess finds out how the nodes are called, and whether the masters that go can go, before anything is changed.
func (s *site) assess(ctx context.Context) (mgmtdriver.Result, error) {
	if err := kube.RefuseHeal(s.Call, checkHeal(s.Call, s.params)); err != nil {
		return mgmtdriver.Result{}, err
	}
	if s.Whole() {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.Settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := s.seek(ctx, c); err != nil {
		return mgmtdriver.Result{}, err
	}
	nodes := slices.Concat(s.All(), s.Removed)
	present := c.names(nodes)
	for _, n := range nodes {
		if n.IP.IsValid() {
			n.Name = present[n.IP]
		}
	}
	if masters := c.goingMasters(s.Removed); len(masters) > 0 {
		members, err := c.members(ctx)
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		for _, n := range masters {
			if members, err = without(members, n.IP); err != nil {
				return mgmtdriver.Result{}, err
			}
		}
	}
	staying := c.names(s.All())
	for _, n := range s.Removed {
		delete(staying, n.IP)
	}
	return mgmtdriver.Done(kube.FoundNames(nodes)), c.uncordon(ctx, staying)
}

// uncordon takes back what an operation that was given up has done to nodes, here by address.
func (c *control) uncordon(ctx context.Context, nodes map[netip.Addr]string) error {
	return c.Uncordon(ctx, slices.Sorted(maps.Values(nodes)))
}

// seek finds out where masters were that go and have lost their address: what etcd, or else the cluster, misses at an address that nobody has.
func (s *site) seek(ctx context.Context, c *control) error {
	lost := kube.Filter(s.Removed, func(n *kube.Machine) bool { return !n.IP.IsValid() })
	if len(lost) == 0 {
		return nil
	}
	members, err := c.members(ctx)
	if err != nil {
		return err
	}
	var missing []netip.Addr
	miss := func(ip netip.Addr) {
		known := slices.ContainsFunc(slices.Concat(s.All(), s.Removed), func(n *kube.Machine) bool { return n.IP == ip })
		if ip.IsValid() && !known && !slices.Contains(missing, ip) {
			missing = append(missing, ip)
		}
	}
	for _, m := range members {
		if !m.healthy {
			miss(m.ip)
		}
	}
	for i := range c.Nodes {
		if _, master := c.Nodes[i].Metadata.Labels[masterLabel]; master && !c.Nodes[i].Ready() {
			miss(c.Nodes[i].IP())
		}
	}
	if len(missing) > len(lost) {
		return &mgmtdriver.Failure{Title: "Master has no address", Status: http.StatusConflict, Detail: fmt.Sprintf(
			"masters at %v do not answer, and nobody knows which of them goes: heal the whole VNF, without vnfcInstanceId", missing)}
	}
	for i, ip := range missing {
		lost[i].IP = ip
	}
	return nil
}

// masterLabel is what kubeadm labels masters with.
const masterLabel = "node-role.kubernetes.io/control-plane"

// goingMasters are the masters among nodes that go, in the order in which they leave: those that are ill first, since without them more
// may leave.
func (c *control) goingMasters(going []*kube.Machine) []*kube.Machine {
	rank := func(n *kube.Machine) int {
		if known := c.find(n); known != nil && known.Ready() {
			return 1
		}
		return 0
	}
	masters := kube.Filter(going, func(n *kube.Machine) bool { return n.Master })
	slices.SortStableFunc(masters, func(a, b *kube.Machine) int { return rank(a) - rank(b) })
	return masters
}

// remove takes the nodes that go out of the cluster, masters one by one: etcd must not lose its majority.
func (s *site) remove(ctx context.Context) (mgmtdriver.Result, error) {
	if s.Whole() || len(s.Removed) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.Settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := s.seek(ctx, c); err != nil {
		return mgmtdriver.Result{}, err
	}
	workers := kube.Filter(s.Removed, func(n *kube.Machine) bool { return !n.Master })
	for _, n := range c.goingMasters(s.Removed) {
		if err := c.leaveEtcd(ctx, n.IP); err != nil {
			return mgmtdriver.Result{}, err
		}
		if err := c.forget(ctx, n); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	errs := make([]error, len(workers))
	_ = s.Each(ctx, workers, func(ctx context.Context, n *kube.Machine, _ *ssh.Host) error {
		errs[slices.Index(workers, n)] = c.forget(ctx, n)
		return nil
	})
	return mgmtdriver.Done(nil), errors.Join(errs...)
}

// forget removes a node from the cluster, if it has ever been one.
func (c *control) forget(ctx context.Context, n *kube.Machine) error {
	if n.Name == "" {
		return nil
	}
	return c.Forget(ctx, n.Name)
}
