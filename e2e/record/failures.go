package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// failures records stacks that Heat accepts and that fail later: what the stack, its resources and its events say, and that they go.
func (r *recorder) failures(ctx context.Context) error {
	for _, c := range []struct {
		name       string
		top        string
		parameters object
		quota      int
	}{
		{"quota", "server.yaml", nil, 0},
		{"quota-in-group", "group.yaml", nil, 1},
		{"no-valid-host", "server.yaml", object{"flavor": "rec.huge"}, 10},
		{"no-valid-host-in-group", "group.yaml", object{"flavor": "rec.huge"}, 10},
		{"bad-zone", "server.yaml", object{"zone": "nowhere"}, 10},
		{"volume-quota", "server.yaml", object{"size": 500000}, 10},
		{"address-outside-subnet", "server.yaml", object{"ip": "10.99.0.1"}, 10},
	} {
		if err := r.lab.setInstanceQuota(ctx, c.quota); err != nil {
			return err
		}
		body, err := stackBody("rec-"+c.name, c.top, c.parameters, "server.yaml")
		if err != nil {
			return err
		}
		if err := r.failedStack(ctx, c.name, body); err != nil {
			return err
		}
	}
	if err := r.addressTaken(ctx); err != nil {
		return err
	}
	if err := r.rollback(ctx); err != nil {
		return err
	}
	if err := r.failedUpdate(ctx); err != nil {
		return err
	}
	return r.overtaken(ctx)
}

// failedStack creates the stack, waits until it has failed and records what can be seen of it.
func (r *recorder) failedStack(ctx context.Context, name string, body object) error {
	x, err := r.rec(ctx, "heat-failed-"+name+"-create", 201, "orchestration", "POST", "/stacks", body)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/stacks/rec-%s/%s", name, x.str("stack", "id"))
	status, err := r.settled(ctx, path)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(status, "_FAILED") && status != "ROLLBACK_COMPLETE" {
		r.surprises = append(r.surprises, name+" is "+status)
	}
	if err := r.post(ctx, "heat-failed-"+name, path); err != nil {
		return err
	}
	return r.discard(ctx, path)
}

// post records stack, resources and events after the fact.
func (r *recorder) post(ctx context.Context, name, path string) error {
	for _, c := range [][2]string{{"-show", ""}, {"-resources", "/resources?nested_depth=4"}, {"-events", "/events?nested_depth=4"}} {
		if _, err := r.get(ctx, name+c[0], "orchestration", path+c[1]); err != nil {
			return err
		}
	}
	return nil
}

// addressTaken asks for a fixed address that another stack's port has.
func (r *recorder) addressTaken(ctx context.Context) error {
	body, err := stackBody("rec-address", "server.yaml", object{"ip": "10.10.0.77"})
	if err != nil {
		return err
	}
	x, err := r.must(ctx, "orchestration", "POST", "/stacks", body)
	if err != nil {
		return err
	}
	path := "/stacks/rec-address/" + x.str("stack", "id")
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	body["stack_name"] = "rec-address-taken"
	if err := r.failedStack(ctx, "address-taken", body); err != nil {
		return err
	}
	return r.discard(ctx, path)
}

// rollback creates a stack that fails with disable_rollback false.
func (r *recorder) rollback(ctx context.Context) error {
	body, err := stackBody("rec-rollback", "server.yaml", object{"zone": "nowhere"})
	if err != nil {
		return err
	}
	body["disable_rollback"] = false
	return r.failedStack(ctx, "rollback", body)
}

// failedUpdate lets an update fail, and repairs it by another one.
func (r *recorder) failedUpdate(ctx context.Context) error {
	body, err := stackBody("rec-update", "server.yaml", nil)
	if err != nil {
		return err
	}
	x, err := r.must(ctx, "orchestration", "POST", "/stacks", body)
	if err != nil {
		return err
	}
	path := "/stacks/rec-update/" + x.str("stack", "id")
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if _, err := r.rec(ctx, "heat-failed-update-patch", 202, "orchestration", "PATCH", path, object{"parameters": object{"zone": "nowhere"}}); err != nil {
		return err
	}
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if err := r.post(ctx, "heat-failed-update", path); err != nil {
		return err
	}
	if _, err := r.must(ctx, "orchestration", "PATCH", path, object{"parameters": object{"zone": "nova"}}); err != nil {
		return err
	}
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if err := r.post(ctx, "heat-repaired-update", path); err != nil {
		return err
	}
	return r.discard(ctx, path)
}

// overtaken updates a stack while its creation runs, and deletes it while the update runs.
func (r *recorder) overtaken(ctx context.Context) error {
	body, err := stackBody("rec-overtaken", "group.yaml", nil, "server.yaml")
	if err != nil {
		return err
	}
	x, err := r.must(ctx, "orchestration", "POST", "/stacks", body)
	if err != nil {
		return err
	}
	path := "/stacks/rec-overtaken/" + x.str("stack", "id")
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if _, err := r.rec(ctx, "heat-overtaken-update", 202, "orchestration", "PATCH", path, object{"parameters": object{}}); err != nil {
		return err
	}
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if err := r.post(ctx, "heat-overtaken", path); err != nil {
		return err
	}
	body["stack_name"] = "rec-interrupted"
	if x, err = r.must(ctx, "orchestration", "POST", "/stacks", body); err != nil {
		return err
	}
	interrupted := "/stacks/rec-interrupted/" + x.str("stack", "id")
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if _, err := r.rec(ctx, "heat-interrupted-delete", 204, "orchestration", "DELETE", interrupted, nil); err != nil {
		return err
	}
	if _, err := r.settled(ctx, interrupted); err != nil {
		return err
	}
	if err := r.post(ctx, "heat-interrupted", interrupted); err != nil {
		return err
	}
	return r.discard(ctx, path)
}

// floatingIP records a stack with a router and a floating IP address.
func (r *recorder) floatingIP(ctx context.Context) error {
	body, err := stackBody("rec-floating", "floating.yaml", nil)
	if err != nil {
		return err
	}
	x, err := r.rec(ctx, "heat-floating-create", 201, "orchestration", "POST", "/stacks", body)
	if err != nil {
		return err
	}
	path := "/stacks/rec-floating/" + x.str("stack", "id")
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if err := r.post(ctx, "heat-floating", path); err != nil {
		return err
	}
	if _, err := r.get(ctx, "heat-resource-floating-ip", "orchestration", path+"/resources/floating"); err != nil {
		return err
	}
	if _, err := r.get(ctx, "network-floating-ips", "network", "/v2.0/floatingips"); err != nil {
		return err
	}
	return r.discard(ctx, path)
}
