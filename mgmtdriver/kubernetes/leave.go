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
	if invalid := (*mgmtdriver.Invalid)(nil); s.call.Hook == mgmtdriver.HealStart && errors.As(checkHeal(s.call, s.params), &invalid) {
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Masters cannot be healed", Status: http.StatusConflict, Detail: invalid.Detail}
	}
	if s.whole() {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := s.seek(ctx, c); err != nil {
		return mgmtdriver.Result{}, err
	}
	nodes := slices.Concat(s.all(), s.removed)
	present := c.names(nodes)
	for _, n := range nodes {
		if n.ip.IsValid() {
			n.name = present[n.ip]
		}
	}
	if masters := c.goingMasters(s.removed); len(masters) > 0 {
		members, err := c.members(ctx)
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		for _, n := range masters {
			if members, err = without(members, n.ip); err != nil {
				return mgmtdriver.Result{}, err
			}
		}
	}
	staying := c.names(s.all())
	for _, n := range s.removed {
		delete(staying, n.ip)
	}
	return mgmtdriver.Done(namesOf(nodes)), c.uncordon(ctx, staying)
}

// uncordon takes back what an operation that was given up has done to nodes, here by address.
func (c *control) uncordon(ctx context.Context, nodes map[netip.Addr]string) error {
	return c.Uncordon(ctx, slices.Sorted(maps.Values(nodes)))
}

// seek finds out where masters were that go and have lost their address: what etcd, or else the cluster, misses at an address that nobody has.
func (s *site) seek(ctx context.Context, c *control) error {
	lost := filter(s.removed, func(n *node) bool { return !n.ip.IsValid() })
	if len(lost) == 0 {
		return nil
	}
	members, err := c.members(ctx)
	if err != nil {
		return err
	}
	var missing []netip.Addr
	miss := func(ip netip.Addr) {
		known := slices.ContainsFunc(slices.Concat(s.all(), s.removed), func(n *node) bool { return n.ip == ip })
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
		lost[i].ip = ip
	}
	return nil
}

// masterLabel is what kubeadm labels masters with.
const masterLabel = "node-role.kubernetes.io/control-plane"

// goingMasters are the masters among nodes that go, in the order in which they leave: those that are ill first, since without them more
// may leave.
func (c *control) goingMasters(going []*node) []*node {
	rank := func(n *node) int {
		if known := c.find(n); known != nil && known.Ready() {
			return 1
		}
		return 0
	}
	masters := filter(going, func(n *node) bool { return n.master })
	slices.SortStableFunc(masters, func(a, b *node) int { return rank(a) - rank(b) })
	return masters
}

// drain lets the pods leave the workers that go.
func (s *site) drain(ctx context.Context) (mgmtdriver.Result, error) {
	going := filter(s.removed, func(n *node) bool { return !n.master && n.name != "" })
	if s.whole() || len(going) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	drain := kube.Drain{Time: s.driver.config.DrainTime, Together: s.driver.config.Together}
	for _, n := range going {
		drain.Nodes = append(drain.Nodes, n.name)
	}
	return c.Drain(ctx, s.call, drain)
}

// remove takes the nodes that go out of the cluster, masters one by one: etcd must not lose its majority.
func (s *site) remove(ctx context.Context) (mgmtdriver.Result, error) {
	if s.whole() || len(s.removed) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := s.seek(ctx, c); err != nil {
		return mgmtdriver.Result{}, err
	}
	workers := filter(s.removed, func(n *node) bool { return !n.master })
	for _, n := range c.goingMasters(s.removed) {
		if err := c.leaveEtcd(ctx, n.ip); err != nil {
			return mgmtdriver.Result{}, err
		}
		if err := c.forget(ctx, n); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	errs := make([]error, len(workers))
	_ = s.each(ctx, workers, func(ctx context.Context, n *node, _ *ssh.Host) error {
		errs[slices.Index(workers, n)] = c.forget(ctx, n)
		return nil
	})
	return mgmtdriver.Done(nil), errors.Join(errs...)
}

// forget removes a node from the cluster, if it has ever been one.
func (c *control) forget(ctx context.Context, n *node) error {
	if n.name == "" {
		return nil
	}
	return c.Forget(ctx, n.name)
}
