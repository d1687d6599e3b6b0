package heat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"vnfm/lcm"
)

// stack is what is read of a stack.
type stack struct {
	ID     string `json:"id"`
	Status string `json:"stack_status"` // ACTION_PHASE
	Reason string `json:"stack_status_reason"`
}

// find returns the stack of a deployment by its name, nil if there is none. Stacks that were deleted do not count.
func (d *Driver) find(ctx context.Context, deployment *lcm.Deployment) (*stack, error) {
	var answer struct {
		Stacks []stack `json:"stacks"`
	}
	err := d.do(ctx, deployment.Vim, heatService, call{
		method: http.MethodGet, path: []string{"stacks"}, query: url.Values{"name": {deployment.StackName}}, ok: []int{http.StatusOK},
	}, &answer)
	for i := range answer.Stacks {
		// For some seconds Heat lists a stack that it has deleted.
		if answer.Stacks[i].Status != "DELETE_COMPLETE" {
			return &answer.Stacks[i], nil
		}
	}
	return nil, err
}

// body is what Heat takes to make or change a stack. Files come from the package alone.
func (d *Driver) body(deployment *lcm.Deployment) map[string]any {
	body := map[string]any{
		"template":         deployment.Template,
		"files":            deployment.Files,
		"parameters":       deployment.Parameters,
		"timeout_mins":     max(1, int(d.config.StackTimeout.Minutes())),
		"disable_rollback": true,
	}
	if deployment.Files == nil {
		body["files"] = map[string]string{}
	}
	if deployment.Parameters == nil {
		body["parameters"] = map[string]any{}
	}
	return body
}

// Create implements [lcm.InfraDriver]. The name is taken if an earlier call has succeeded whose answer or commit was lost: that
// stack is adopted. One that failed is changed to what it should be, which makes Heat go on.
func (d *Driver) Create(ctx context.Context, deployment *lcm.Deployment) (string, error) {
	body := d.body(deployment)
	body["stack_name"] = deployment.StackName
	var answer struct {
		Stack stack `json:"stack"`
	}
	err := d.do(ctx, deployment.Vim, heatService, call{
		method: http.MethodPost, path: []string{"stacks"}, body: body, ok: []int{http.StatusCreated},
	}, &answer)
	if !refusedWith(err, http.StatusConflict) {
		return answer.Stack.ID, err
	}
	existing, findErr := d.find(ctx, deployment)
	switch {
	case findErr != nil:
		return "", findErr
	case existing == nil: // its deletion has ended between the two calls
		return "", &lcm.Unavailable{Peer: heatService.peer(deployment.Vim), Err: err}
	}
	action, phase := split(existing.Status)
	adopted := *deployment
	adopted.StackID = existing.ID
	switch {
	case action == "DELETE" && phase == lcm.StackFailed:
		err := d.Delete(ctx, &adopted)
		return "", errors.Join(err, beingDeleted(deployment))
	case action == "DELETE":
		return "", beingDeleted(deployment)
	case phase == lcm.StackFailed:
		return existing.ID, d.Update(ctx, &adopted)
	}
	return existing.ID, nil
}

func beingDeleted(deployment *lcm.Deployment) error {
	return &lcm.Unavailable{Peer: heatService.peer(deployment.Vim),
		Err: fmt.Errorf("the former stack %s is still being deleted", deployment.StackName)}
}

// Update implements [lcm.InfraDriver]. It returns when Heat has begun: until then the status is that of the stack before.
func (d *Driver) Update(ctx context.Context, deployment *lcm.Deployment) error {
	before, err := d.read(ctx, deployment)
	if err != nil {
		return err
	}
	err = d.do(ctx, deployment.Vim, heatService, call{
		method: http.MethodPut, path: d.path(deployment), body: d.body(deployment), ok: []int{http.StatusAccepted},
	}, nil)
	if err != nil || before == nil {
		return err
	}
	return d.awaitBegin(ctx, deployment, before)
}

// beginTime is how long Heat gets to begin an update that it has accepted. It counts in whole seconds, so that two updates in one
// second look alike; nothing is lost then but this time.
const beginTime = 3 * time.Second

func (d *Driver) awaitBegin(ctx context.Context, deployment *lcm.Deployment, before *detail) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(beginTime); time.Now().Before(end); {
		now, err := d.read(ctx, deployment)
		if err != nil || now == nil || now.UpdatedTime != before.UpdatedTime || now.Status != before.Status {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// detail is a stack with the time of its last change.
type detail struct {
	stack
	UpdatedTime string `json:"updated_time"`
}

func (d *Driver) path(deployment *lcm.Deployment, more ...string) []string {
	return append([]string{"stacks", deployment.StackName, deployment.StackID}, more...)
}

// read returns a stack by its id, nil if it does not exist or was deleted.
func (d *Driver) read(ctx context.Context, deployment *lcm.Deployment) (*detail, error) {
	var answer struct {
		Stack detail `json:"stack"`
	}
	err := d.do(ctx, deployment.Vim, heatService, call{method: http.MethodGet, path: d.path(deployment), ok: []int{http.StatusOK}}, &answer)
	if refusedWith(err, http.StatusNotFound) || (err == nil && answer.Stack.Status == "DELETE_COMPLETE") {
		return nil, nil
	}
	return &answer.Stack, err
}

// Status implements [lcm.InfraDriver].
func (d *Driver) Status(ctx context.Context, deployment *lcm.Deployment) (lcm.StackStatus, error) {
	known := *deployment
	if known.StackID == "" {
		found, err := d.find(ctx, deployment)
		if err != nil {
			return lcm.StackStatus{}, err
		}
		if found == nil {
			return lcm.StackStatus{Phase: lcm.StackAbsent}, nil
		}
		known.StackID = found.ID
	}
	found, err := d.read(ctx, &known)
	if err != nil {
		return lcm.StackStatus{}, err
	}
	if found == nil {
		return lcm.StackStatus{Phase: lcm.StackAbsent}, nil
	}
	action, phase := split(found.Status)
	status := lcm.StackStatus{ID: known.StackID, Action: action, Phase: phase}
	if phase == lcm.StackFailed {
		status.Reason = lcm.Legible(found.Reason) + d.failures(ctx, &known)
	}
	return status, nil
}

// split takes Heat's status apart, e.g. CREATE_IN_PROGRESS.
func split(status string) (action string, phase lcm.StackPhase) {
	for _, phase := range []lcm.StackPhase{lcm.StackInProgress, lcm.StackComplete, lcm.StackFailed} {
		if action, ok := strings.CutSuffix(status, "_"+string(phase)); ok {
			return action, phase
		}
	}
	return status, lcm.StackInProgress
}

// failures tells which resources have failed and why, as far as the stack's own reason does not say so.
func (d *Driver) failures(ctx context.Context, deployment *lcm.Deployment) string {
	resources, err := d.list(ctx, deployment)
	if err != nil {
		return ""
	}
	var told strings.Builder
	for _, resource := range resources {
		if !strings.HasSuffix(resource.Status, "_FAILED") || resource.link("nested") != "" || resource.Reason == "" {
			continue
		}
		fmt.Fprintf(&told, "; resource %s (%s) is %s: %s", resource.Name, resource.Type, resource.Status, resource.Reason)
		if told.Len() > lcm.MaxWords {
			break
		}
	}
	return lcm.Legible(told.String())
}

// Delete implements [lcm.InfraDriver].
func (d *Driver) Delete(ctx context.Context, deployment *lcm.Deployment) error {
	known := *deployment
	if known.StackID == "" {
		found, err := d.find(ctx, deployment)
		if err != nil || found == nil {
			return err
		}
		known.StackID = found.ID
	}
	err := d.do(ctx, deployment.Vim, heatService, call{method: http.MethodDelete, path: d.path(&known), ok: []int{http.StatusNoContent}}, nil)
	if refusedWith(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// resource is what is read of a resource.
type resource struct {
	Name       string    `json:"resource_name"`
	Type       string    `json:"resource_type"`
	PhysicalID string    `json:"physical_resource_id"`
	Status     string    `json:"resource_status"`
	Reason     string    `json:"resource_status_reason"`
	Parent     string    `json:"parent_resource"`
	Created    time.Time `json:"creation_time"`
	Links      []struct {
		Href string `json:"href"`
		Rel  string `json:"rel"`
	} `json:"links"`
}

func (r *resource) link(rel string) string {
	for _, link := range r.Links {
		if link.Rel == rel {
			return link.Href
		}
	}
	return ""
}

// nestedDepth is how deep stacks are looked into: a group, its member, and a stack within that, with one to spare.
const nestedDepth = "5"

// list returns the resources of the whole tree of stacks in one call.
func (d *Driver) list(ctx context.Context, deployment *lcm.Deployment) ([]resource, error) {
	var answer struct {
		Resources []resource `json:"resources"`
	}
	err := d.do(ctx, deployment.Vim, heatService, call{
		method: http.MethodGet, path: d.path(deployment, "resources"), query: url.Values{"nested_depth": {nestedDepth}},
		ok: []int{http.StatusOK},
	}, &answer)
	return answer.Resources, err
}

// Resources implements [lcm.InfraDriver].
func (d *Driver) Resources(ctx context.Context, deployment *lcm.Deployment) ([]lcm.Resource, error) {
	found, err := d.list(ctx, deployment)
	if err != nil {
		return nil, err
	}
	resources := make([]lcm.Resource, 0, len(found))
	for _, r := range found {
		// …/stacks/NAME/ID
		elements := strings.Split(strings.TrimRight(r.link("stack"), "/"), "/")
		if len(elements) < 2 {
			return nil, fmt.Errorf("resource %s: Heat does not tell its stack", r.Name)
		}
		resources = append(resources, lcm.Resource{
			Name: r.Name, Type: r.Type, PhysicalID: r.PhysicalID, Parent: r.Parent, CreatedAt: r.Created,
			StackName: elements[len(elements)-2], StackID: elements[len(elements)-1],
		})
	}
	return slices.Clip(resources), nil
}

// MarkUnhealthy implements [lcm.InfraDriver].
func (d *Driver) MarkUnhealthy(ctx context.Context, deployment *lcm.Deployment, resource lcm.Resource, reason string) error {
	err := d.do(ctx, deployment.Vim, heatService, call{
		method: http.MethodPatch, path: []string{"stacks", resource.StackName, resource.StackID, "resources", resource.Name},
		body: map[string]any{"mark_unhealthy": true, "resource_status_reason": reason}, ok: []int{http.StatusOK},
	}, nil)
	if refusedWith(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// Attributes implements [lcm.InfraDriver].
func (d *Driver) Attributes(ctx context.Context, deployment *lcm.Deployment, resource lcm.Resource) (map[string]any, error) {
	var answer struct {
		Resource struct {
			Attributes map[string]any `json:"attributes"`
		} `json:"resource"`
	}
	err := d.do(ctx, deployment.Vim, heatService, call{
		method: http.MethodGet, path: []string{"stacks", resource.StackName, resource.StackID, "resources", resource.Name}, ok: []int{http.StatusOK},
	}, &answer)
	if refusedWith(err, http.StatusNotFound) {
		return nil, nil
	}
	return answer.Resource.Attributes, err
}
