package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver"
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
	nodes := slices.Concat(s.all(), s.removed)
	present := c.names(nodes)
	for _, n := range nodes {
		n.name = present[n.ip]
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
	return mgmtdriver.Done(namesOf(nodes)), nil
}

// goingMasters are the masters among nodes that go, in the order in which they leave: those that are ill first, since without them more
// may leave.
func (c *control) goingMasters(going []*node) []*node {
	rank := func(n *node) int {
		if known := c.find(n); known != nil && known.ready() {
			return 1
		}
		return 0
	}
	masters := filter(going, func(n *node) bool { return n.master })
	slices.SortStableFunc(masters, func(a, b *node) int { return rank(a) - rank(b) })
	return masters
}

// draining is what the step that drains keeps.
type draining struct {
	Since   time.Time       `json:"since"`
	Drained map[string]bool `json:"drained,omitempty"` // by name
}

// drainCall bounds one attempt to drain a node.
const drainCall = 20 * time.Second

// drain lets the pods leave the workers that go. What does not leave in time is left to its fate: a node that is dead never lets go of
// its pods.
func (s *site) drain(ctx context.Context) (mgmtdriver.Result, error) {
	going := filter(s.removed, func(n *node) bool { return !n.master && n.name != "" })
	if s.whole() || len(going) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	var state draining
	if json.Unmarshal(s.call.State, &state) != nil || state.Drained == nil {
		state = draining{Since: time.Now(), Drained: map[string]bool{}}
	}
	// First of all, so that no pod moves to a node that goes as well.
	if present := filter(going, func(n *node) bool { return c.find(n) != nil }); len(present) > 0 {
		cordon := []string{"cordon"}
		for _, n := range present {
			cordon = append(cordon, n.name)
		}
		if err := c.kubectl(ctx, cordon...); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	drained := make([]bool, len(going))
	// However many go, the step returns within a minute; it comes to the others when it is called again.
	trying, enough := context.WithTimeout(ctx, 2*drainCall)
	defer enough()
	_ = s.each(trying, going, func(ctx context.Context, n *node, _ *ssh.Host) error {
		known := c.find(n)
		if known == nil || !known.ready() || state.Drained[n.name] {
			drained[slices.Index(going, n)] = true // or as good as
			return nil
		}
		err := c.kubectl(ctx, "drain", n.name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout="+drainCall.String())
		drained[slices.Index(going, n)] = err == nil
		return nil
	})
	var left []string
	for i, n := range going {
		state.Drained[n.name] = drained[i]
		if !drained[i] {
			left = append(left, n.name)
		}
	}
	if len(left) > 0 && time.Since(state.Since) < s.driver.config.DrainTime {
		return mgmtdriver.Wait("pods have yet to leave " + strings.Join(left, ", ")).With(state), nil
	}
	if len(left) > 0 {
		s.call.Log.Warn("pods have not left nodes that go", "nodes", left)
	}
	return mgmtdriver.Done(nil), nil
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

// forget removes a node and what still runs on it, as far as the cluster knows.
func (c *control) forget(ctx context.Context, n *node) error {
	if n.name == "" {
		return nil
	}
	// Pods of a node that is dead are terminating for ever, and what replaces them may wait for that.
	err := c.kubectl(ctx, "delete", "pods", "--all-namespaces", "--field-selector", "spec.nodeName="+n.name, "--force", "--grace-period=0", "--wait=false")
	if err != nil {
		return fmt.Errorf("remove pods of %s: %w", n.name, err)
	}
	if err = c.kubectl(ctx, "delete", "node", n.name, "--ignore-not-found"); err != nil {
		return fmt.Errorf("remove node %s: %w", n.name, err)
	}
	return nil
}
