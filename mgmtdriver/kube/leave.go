package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	// Reasons say why nodes were not drained when it was last tried, by name.
	Reasons map[string]string `json:"reasons,omitempty"`
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
	if state.Reasons == nil {
		state.Reasons = map[string]string{}
	}
	// First of all, so that no pod moves to a node that goes as well.
	if err := c.cordon(ctx, call.Operation.ID, drain.Nodes); err != nil {
		return mgmtdriver.Result{}, err
	}
	drained, errs := make([]bool, len(drain.Nodes)), make([]error, len(drain.Nodes))
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
				errs[i] = c.Run(trying, "drain", name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout="+drainCall.String())
				drained[i] = errs[i] == nil
			}
			return nil
		})
	}
	_ = group.Wait()
	var left []string
	for i, name := range drain.Nodes {
		state.Drained[name] = drained[i]
		if errs[i] != nil {
			state.Reasons[name] = errs[i].Error()
		}
		if !drained[i] {
			left = append(left, strings.TrimSuffix(name+": "+state.Reasons[name], ": "))
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

// leaving is the annotation of a node that an operation has cordoned; its value is the operation.
const leaving = "vnfm/leaving"

// cordon keeps further pods away from nodes. Those that somebody else has cordoned are not marked: they stay so, whatever comes.
func (c *Client) cordon(ctx context.Context, operation string, names []string) error {
	var marked, open []string
	for _, name := range names {
		switch known := c.Node(name); {
		case known == nil:
		case known.Spec.Unschedulable && known.Metadata.Annotations[leaving] == "":
		default:
			marked = append(marked, name)
			if !known.Spec.Unschedulable {
				open = append(open, name)
			}
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := c.Run(ctx, slices.Concat([]string{"annotate", "node"}, marked, []string{"--overwrite", leaving + "=" + operation})...); err != nil {
		return err
	}
	return c.Run(ctx, append([]string{"cordon"}, open...)...)
}

// Uncordon lets pods come again to nodes that stay, but were cordoned by an operation that was given up before they left.
func (c *Client) Uncordon(ctx context.Context, names []string) error {
	var back []string
	for _, name := range names {
		if known := c.Node(name); known != nil && known.Metadata.Annotations[leaving] != "" {
			back = append(back, name)
		}
	}
	if len(back) == 0 {
		return nil
	}
	if err := c.Run(ctx, append([]string{"uncordon"}, back...)...); err != nil {
		return err
	}
	return c.Run(ctx, slices.Concat([]string{"annotate", "node"}, back, []string{leaving + "-"})...)
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
