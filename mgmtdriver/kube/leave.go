package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"vnfm/mgmtdriver"
)

// Drain says which nodes are drained.
type Drain struct {
	Nodes    []string // names
	Time     time.Duration
	Together int // nodes that are drained at once
}

// draining is what the step that drains keeps.
type draining struct {
	Since   time.Time       `json:"since"`
	Drained map[string]bool `json:"drained,omitempty"` // by name
}

// drainCall bounds one attempt to drain a node.
const drainCall = 20 * time.Second

// Drain is a step that lets the pods leave nodes that go. What does not leave in time is left to its fate: a node that is dead never lets go of
// its pods.
func (c *Client) Drain(ctx context.Context, call *mgmtdriver.Call, drain Drain) (mgmtdriver.Result, error) {
	var state draining
	if json.Unmarshal(call.State, &state) != nil || state.Drained == nil {
		state = draining{Since: time.Now(), Drained: map[string]bool{}}
	}
	// First of all, so that no pod moves to a node that goes as well.
	cordon := []string{"cordon"}
	for _, name := range drain.Nodes {
		if c.Node(name) != nil {
			cordon = append(cordon, name)
		}
	}
	if len(cordon) > 1 {
		if err := c.Run(ctx, cordon...); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	drained := make([]bool, len(drain.Nodes))
	// However many go, the step returns within a minute; it comes to the others when it is called again.
	trying, enough := context.WithTimeout(ctx, 2*drainCall)
	defer enough()
	var group errgroup.Group
	group.SetLimit(max(drain.Together, 1))
	for i, name := range drain.Nodes {
		group.Go(func() error {
			known := c.Node(name)
			if known == nil || !known.Ready() || state.Drained[name] {
				drained[i] = true // or as good as
			} else if trying.Err() == nil {
				drained[i] = c.Run(trying, "drain", name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout="+drainCall.String()) == nil
			}
			return nil
		})
	}
	_ = group.Wait()
	var left []string
	for i, name := range drain.Nodes {
		state.Drained[name] = drained[i]
		if !drained[i] {
			left = append(left, name)
		}
	}
	if len(left) > 0 && time.Since(state.Since) < drain.Time {
		return mgmtdriver.Wait("pods have yet to leave " + strings.Join(left, ", ")).With(state), nil
	}
	if len(left) > 0 {
		call.Log.Warn("pods have not left nodes that go", "nodes", left)
	}
	return mgmtdriver.Done(nil), nil
}

// Forget removes a node and what still runs on it, as far as the cluster knows.
func (c *Client) Forget(ctx context.Context, name string) error {
	// Pods of a node that is dead are terminating for ever, and what replaces them may wait for that.
	err := c.Run(ctx, "delete", "pods", "--all-namespaces", "--field-selector", "spec.nodeName="+name, "--force", "--grace-period=0", "--wait=false")
	if err != nil {
		return fmt.Errorf("remove pods of %s: %w", name, err)
	}
	if err = c.Run(ctx, "delete", "node", name, "--ignore-not-found"); err != nil {
		return fmt.Errorf("remove node %s: %w", name, err)
	}
	return nil
}
