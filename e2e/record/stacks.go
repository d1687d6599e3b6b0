package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// vnf is what parameter nfv of vnf.yaml holds.
func vnf() object {
	machine := object{"flavor": "m1.tiny", "image": "cirros-0.5.2-x86_64-disk"}
	return object{
		"VDU": object{"worker": machine, "master": machine},
		"CP": object{
			"worker_cp": object{"network": "net0"},
			"master_cp": object{"network": "net0", "fixed_ips": []object{{"ip_address": "10.10.0.50"}}},
		},
	}
}

// lifeOfAStack records one stack from its creation over reads, updates, signals and healing to its deletion.
func (r *recorder) lifeOfAStack(ctx context.Context) error {
	body, err := stackBody("rec-vnf", "vnf.yaml", object{"nfv": vnf()}, "worker.yaml", "spare.yaml")
	if err != nil {
		return err
	}
	if _, err := r.rec(ctx, "heat-stack-by-name-unknown", 404, "orchestration", "GET", "/stacks/rec-vnf", nil); err != nil {
		return err
	}
	x, err := r.rec(ctx, "heat-stack-create", 201, "orchestration", "POST", "/stacks", body)
	if err != nil {
		return err
	}
	path := "/stacks/rec-vnf/" + x.str("stack", "id")
	for _, step := range []func(context.Context, string) error{
		func(ctx context.Context, path string) error { return r.whileCreating(ctx, path, body) },
		r.created, r.listings, r.servers, r.updates, r.signals, r.heal, r.deletion,
	} {
		if err := step(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) whileCreating(ctx context.Context, path string, body object) error {
	if _, err := r.get(ctx, "heat-stack-show-create-in-progress", "orchestration", path); err != nil {
		return err
	}
	for _, delay := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		if err := pause(ctx, delay); err != nil {
			return err
		}
		name := fmt.Sprintf("heat-resources-create-in-progress-%d", delay/time.Second)
		if _, err := r.get(ctx, name, "orchestration", path+"/resources?nested_depth=4"); err != nil {
			return err
		}
	}
	if _, err := r.rec(ctx, "heat-stack-create-duplicate", 409, "orchestration", "POST", "/stacks", body); err != nil {
		return err
	}
	status, err := r.settled(ctx, path)
	if err == nil && status != "CREATE_COMPLETE" {
		err = fmt.Errorf("rec-vnf is %s", status)
	}
	return err
}

func (r *recorder) created(ctx context.Context, path string) error {
	for _, c := range []struct{ name, method, path string }{
		{"heat-stack-by-name", "GET", "/stacks/rec-vnf"},
		{"heat-stack-by-id", "GET", "/stacks/" + strings.TrimPrefix(path, "/stacks/rec-vnf/")},
		{"heat-stack-delete-by-name", "DELETE", "/stacks/rec-vnf"},
		{"heat-resources-by-name", "GET", "/stacks/rec-vnf/resources?nested_depth=4"},
		{"heat-stack-update-by-name", "PATCH", "/stacks/rec-vnf"},
	} {
		var body any
		if c.method == "PATCH" {
			body = object{"parameters": object{}}
		}
		if _, err := r.rec(ctx, c.name, 302, "orchestration", c.method, c.path, body); err != nil {
			return err
		}
	}
	for _, c := range []struct{ name, path string }{
		{"heat-stack-show-created", ""},
		{"heat-stack-show-no-outputs", "?resolve_outputs=false"},
		{"heat-stack-template", "/template"},
		{"heat-stack-environment", "/environment"},
		{"heat-stack-files", "/files"},
		{"heat-outputs", "/outputs"},
		{"heat-output", "/outputs/worker_ips"},
		{"heat-resources", "/resources"},
		{"heat-resources-created", "/resources?nested_depth=4"},
		{"heat-resources-by-type", "/resources?type=OS::Nova::Server&nested_depth=4"},
		{"heat-resource-server", "/resources/master"},
		{"heat-resource-port", "/resources/master_cp"},
		{"heat-resource-volume", "/resources/master_volume"},
		{"heat-resource-group", "/resources/workers"},
		{"heat-resource-policy", "/resources/workers_scale_out"},
		{"heat-resource-metadata", "/resources/workers_scale_out/metadata"},
		{"heat-resource-events", "/resources/master/events"},
		{"heat-events", "/events"},
		{"heat-events-nested", "/events?nested_depth=4&limit=20&sort_dir=desc"},
	} {
		if _, err := r.get(ctx, c.name, "orchestration", path+c.path); err != nil {
			return err
		}
	}
	if _, err := r.rec(ctx, "heat-output-unknown", 404, "orchestration", "GET", path+"/outputs/nothing", nil); err != nil {
		return err
	}
	_, err := r.rec(ctx, "heat-resource-unknown", 404, "orchestration", "GET", path+"/resources/nothing", nil)
	return err
}

func (r *recorder) listings(ctx context.Context, path string) error {
	id := strings.TrimPrefix(path, "/stacks/rec-vnf/")
	for _, c := range []struct{ name, query string }{
		{"heat-stacks", ""},
		{"heat-stacks-by-name", "?name=rec-vnf"},
		{"heat-stacks-none", "?name=nothing"},
		{"heat-stacks-by-status", "?status=CREATE_COMPLETE"},
		{"heat-stacks-nested", "?show_nested=true"},
		{"heat-stacks-of-owner", "?owner_id=" + id + "&show_nested=true"},
		{"heat-stacks-limit", "?limit=1&sort_keys=created_at&sort_dir=desc"},
		{"heat-stacks-with-count", "?with_count=true"},
	} {
		if _, err := r.get(ctx, c.name, "orchestration", "/stacks"+c.query); err != nil {
			return err
		}
	}
	x, err := r.do(ctx, "orchestration", request{Method: "GET", Path: path + "/resources/workers"})
	if err != nil {
		return err
	}
	group := x.str("resource", "physical_resource_id")
	if _, err := r.rec(ctx, "heat-nested-stack-by-id", 302, "orchestration", "GET", "/stacks/"+group, nil); err != nil {
		return err
	}
	nested, err := r.do(ctx, "orchestration", request{Method: "GET", Path: path + "/resources?nested_depth=4"})
	if err != nil {
		return err
	}
	href := nestedHref(nested, "worker")
	_, tail, _ := strings.Cut(href, "/stacks/")
	stack, _, _ := strings.Cut(tail, "/resources/")
	if _, err := r.get(ctx, "heat-nested-stack-show", "orchestration", "/stacks/"+stack); err != nil {
		return err
	}
	_, err = r.get(ctx, "heat-nested-resource-server", "orchestration", "/stacks/"+tail)
	return err
}

// nestedHref gives the self link of the first resource of that name in a listing.
func nestedHref(listing *exchange, name string) string {
	for _, res := range listing.list("resources") {
		if res["resource_name"] != name {
			continue
		}
		for _, link := range res["links"].([]any) {
			if l := link.(map[string]any); l["rel"] == "self" {
				return l["href"].(string)
			}
		}
	}
	return ""
}

func (r *recorder) servers(ctx context.Context, path string) error {
	x, err := r.do(ctx, "orchestration", request{Method: "GET", Path: path + "/resources"})
	if err != nil {
		return err
	}
	id := func(name string) string {
		return first(x.list("resources"), "physical_resource_id", object{"resource_name": name})
	}
	return r.resources(ctx, id("master"), id("master_cp"), id("master_volume"))
}

func (r *recorder) updates(ctx context.Context, path string) error {
	grow, err := stackBody("", "vnf.yaml", object{"nfv": vnf(), "desired": 3}, "worker.yaml", "spare.yaml")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name, method string
		body         object
	}{
		{"heat-stack-update-put", "PUT", grow},
		{"heat-stack-update-patch", "PATCH", object{"parameters": object{"desired": 2, "spare_count": 2}}},
		{"heat-stack-update-nothing", "PATCH", object{"parameters": object{}}},
	} {
		if _, err := r.rec(ctx, c.name, 202, "orchestration", c.method, path, c.body); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-show-after-1s", "orchestration", path); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-resources-after-1s", "orchestration", path+"/resources?nested_depth=4"); err != nil {
			return err
		}
		if _, err := r.settled(ctx, path); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-show-done", "orchestration", path); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-resources-done", "orchestration", path+"/resources?nested_depth=4"); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		name   string
		want   int
		method string
		body   any
	}{
		{"heat-stack-update-put-no-template", 400, "PUT", object{"parameters": object{}}},
		{"heat-stack-update-put-missing-parameter", 400, "PUT", object{"template": grow["template"], "files": grow["files"]}},
		{"heat-stack-update-unknown-parameter", 202, "PATCH", object{"parameters": object{"nothing": 1}}},
	} {
		if _, err := r.rec(ctx, c.name, c.want, "orchestration", c.method, path, c.body); err != nil {
			return err
		}
		if _, err := r.settled(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) signals(ctx context.Context, path string) error {
	for _, c := range []struct {
		name, resource string
		want           int
	}{
		{"heat-signal-scale-out", "workers_scale_out", 200},
		{"heat-signal-scale-in", "workers_scale_in", 200},
		{"heat-signal-server", "master", 400},
		{"heat-signal-unknown", "nothing", 404},
	} {
		if _, err := r.rec(ctx, c.name, c.want, "orchestration", "POST", path+"/resources/"+c.resource+"/signal", object{}); err != nil {
			return err
		}
		if c.want != 200 {
			continue
		}
		before, err := r.get(ctx, c.name+"-resources-at-once", "orchestration", path+"/resources?nested_depth=4")
		if err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-show-at-once", "orchestration", path); err != nil {
			return err
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-show-after-2s", "orchestration", path); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-resources-after-2s", "orchestration", path+"/resources?nested_depth=4"); err != nil {
			return err
		}
		if err := r.scaled(ctx, path, len(before.list("resources"))); err != nil {
			return err
		}
		if _, err := r.get(ctx, c.name+"-resources-done", "orchestration", path+"/resources?nested_depth=4"); err != nil {
			return err
		}
	}
	return nil
}

// scaled polls until there are more or fewer resources than before and none is in progress at any depth. Heat begins with a signal's work
// seconds after it has answered, and the stack's own status never shows it. For a moment after that the group counts as "already in
// scaling" and ignores a signal, which it answers with 200 all the same.
func (r *recorder) scaled(ctx context.Context, path string, before int) error {
	for {
		x, err := r.do(ctx, "orchestration", request{Method: "GET", Path: path + "/resources?nested_depth=4"})
		if err != nil {
			return err
		}
		busy := len(x.list("resources")) == before
		for _, res := range x.list("resources") {
			busy = busy || strings.HasSuffix(res["resource_status"].(string), "_IN_PROGRESS")
		}
		if !busy {
			return pause(ctx, 5*time.Second)
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
}

// heal marks one worker with its volume, and the single server, unhealthy and updates the stack.
func (r *recorder) heal(ctx context.Context, path string) error {
	listing, err := r.do(ctx, "orchestration", request{Method: "GET", Path: path + "/resources?nested_depth=4"})
	if err != nil {
		return err
	}
	_, tail, _ := strings.Cut(nestedHref(listing, "worker"), "/stacks/")
	nested := "/stacks/" + strings.TrimSuffix(tail, "/resources/worker")
	mark := object{"mark_unhealthy": true, "resource_status_reason": "tried out"}
	for _, c := range []struct {
		name, path string
		want       int
	}{
		{"heat-mark-unhealthy-volume", nested + "/resources/worker_storage", 200},
		{"heat-mark-unhealthy-server", nested + "/resources/worker", 200},
		{"heat-mark-unhealthy-single", path + "/resources/master", 200},
		{"heat-mark-unhealthy-unknown", path + "/resources/nothing", 404},
	} {
		if _, err := r.rec(ctx, c.name, c.want, "orchestration", "PATCH", c.path, mark); err != nil {
			return err
		}
	}
	if _, err := r.rec(ctx, "heat-mark-unhealthy-bad-body", 400, "orchestration", "PATCH", path+"/resources/master", object{}); err != nil {
		return err
	}
	for _, c := range []struct{ name, path string }{
		{"heat-marked-stack-show", path}, {"heat-marked-nested-stack-show", nested},
		{"heat-marked-resources", path + "/resources?nested_depth=4"},
	} {
		if _, err := r.get(ctx, c.name, "orchestration", c.path); err != nil {
			return err
		}
	}
	if _, err := r.rec(ctx, "heat-heal-update", 202, "orchestration", "PATCH", path, object{"parameters": object{}}); err != nil {
		return err
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	if _, err := r.get(ctx, "heat-heal-resources-in-progress", "orchestration", path+"/resources?nested_depth=4"); err != nil {
		return err
	}
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	if _, err := r.get(ctx, "heat-heal-show-done", "orchestration", path); err != nil {
		return err
	}
	_, err = r.get(ctx, "heat-heal-resources-done", "orchestration", path+"/resources?nested_depth=4")
	return err
}

func (r *recorder) deletion(ctx context.Context, path string) error {
	if _, err := r.rec(ctx, "heat-stack-delete", 204, "orchestration", "DELETE", path, nil); err != nil {
		return err
	}
	for _, c := range [][2]string{
		{"heat-stack-show-delete-in-progress", ""}, {"heat-resources-delete-in-progress", "/resources?nested_depth=4"},
	} {
		if _, err := r.get(ctx, c[0], "orchestration", path+c[1]); err != nil {
			return err
		}
	}
	if _, err := r.settled(ctx, path); err != nil {
		return err
	}
	// For a moment after DELETE_COMPLETE the name still belongs to the stack.
	if err := r.any(ctx, "heat-stack-by-name-just-deleted", "orchestration", "/stacks/rec-vnf"); err != nil {
		return err
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	if _, err := r.get(ctx, "heat-stack-show-deleted", "orchestration", path); err != nil {
		return err
	}
	for _, c := range []struct {
		name, method, path string
		want               int
	}{
		{"heat-stack-by-name-deleted", "GET", "/stacks/rec-vnf", 404},
		{"heat-resources-deleted", "GET", path + "/resources?nested_depth=4", 200},
		{"heat-stack-delete-again", "DELETE", path, 404},
		{"heat-stack-delete-unknown-name", "DELETE", "/stacks/nothing", 404},
		{"heat-stack-update-deleted", "PATCH", path, 404},
	} {
		var body any
		if c.method == "PATCH" {
			body = object{"parameters": object{}}
		}
		if _, err := r.rec(ctx, c.name, c.want, "orchestration", c.method, c.path, body); err != nil {
			return err
		}
	}
	return nil
}
