package heattest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

const stackBase = stacksBase + "/{name}/{id}"

// stackDetailRoutes are what hangs below one stack.
func (c *Cloud) stackDetailRoutes() {
	c.guarded("GET "+stackBase+"/resources", c.onStack(c.listResources))
	c.guarded("GET "+stackBase+"/resources/{resource}", c.onResource(c.showResource))
	c.guarded("GET "+stackBase+"/resources/{resource}/metadata", c.onResource(func(_ http.ResponseWriter, _ *http.Request, r *resource) (*reply, error) {
		return ok(object{"metadata": r.metadata})
	}))
	c.guarded("PATCH "+stackBase+"/resources/{resource}", c.onResource(c.markUnhealthy))
	c.guarded("POST "+stackBase+"/resources/{resource}/signal", c.onResource(c.signalResource))
	c.guarded("GET "+stackBase+"/resources/{resource}/events", c.onResource(func(_ http.ResponseWriter, r *http.Request, res *resource) (*reply, error) {
		return c.eventPage(r, c.eventsOf(r, res.stack, res.name, 0))
	}))
	c.guarded("GET "+stackBase+"/events", c.onStack(func(_ http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
		return c.eventPage(r, c.eventsOf(r, s, "", depthOf(r.URL.Query())))
	}))
	c.guarded("GET "+stackBase+"/template", c.onStack(func(_ http.ResponseWriter, _ *http.Request, s *stack) (*reply, error) {
		return ok(s.tmpl.Document)
	}))
	c.guarded("GET "+stackBase+"/files", c.onStack(func(_ http.ResponseWriter, _ *http.Request, s *stack) (*reply, error) {
		return ok(s.files)
	}))
	c.guarded("GET "+stackBase+"/environment", c.onStack(func(_ http.ResponseWriter, _ *http.Request, s *stack) (*reply, error) {
		given, defaults := s.given, s.defaults
		if defaults == nil {
			defaults = object{}
		}
		registry := object{"resources": object{}}
		for typ, target := range s.registry {
			registry[typ] = target
		}
		return ok(object{"resource_registry": registry, "parameters": given, "parameter_defaults": defaults, "event_sinks": []any{}, "encrypted_param_names": []any{}})
	}))
	c.guarded("GET "+stackBase+"/outputs", c.onStack(func(_ http.ResponseWriter, _ *http.Request, s *stack) (*reply, error) {
		return ok(object{"outputs": listOf(hotlang.SortedKeys(s.tmpl.Outputs), func(name string) object {
			return object{"output_key": name, "description": outputDescription(s.tmpl.Outputs[name])}
		})})
	}))
	c.guarded("GET "+stackBase+"/outputs/{output}", c.onStack(func(_ http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
		for _, o := range c.outputs(s) {
			if o["output_key"] == r.PathValue("output") {
				return ok(object{"output": o})
			}
		}
		return nil, heatFailure(http.StatusNotFound, "NotFound", "Specified output key "+r.PathValue("output")+" not found.")
	}))
}

func (c *Cloud) onResource(h func(http.ResponseWriter, *http.Request, *resource) (*reply, error)) handler {
	return c.onStack(func(w http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
		res := s.resources[r.PathValue("resource")]
		if res == nil {
			return nil, heatFailure(http.StatusNotFound, "ResourceNotFound", "The Resource ("+r.PathValue("resource")+") could not be found in Stack "+s.name+".")
		}
		return h(w, r, res)
	})
}

func depthOf(q url.Values) int {
	depth, err := strconv.Atoi(q.Get("nested_depth"))
	if err != nil {
		return 0
	}
	return depth
}

// listResources lists a stack and, down to nested_depth, the stacks inside it, level by level.
func (c *Cloud) listResources(_ http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
	q := r.URL.Query()
	if v := q.Get("nested_depth"); v != "" {
		if _, err := strconv.Atoi(v); err != nil {
			return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Only integer is allowed in 'nested_depth': "+v)
		}
	}
	out := []object{}
	level := []*stack{s}
	for depth := 0; len(level) > 0 && depth <= depthOf(q); depth++ {
		var next []*stack
		for _, one := range level {
			for _, res := range one.newestFirst() {
				if res.nested != nil {
					next = append(next, res.nested)
				}
				if res.listed(q) {
					view := c.resourceView(r, res)
					if q.Get("with_detail") == "true" {
						view["attributes"], view["description"] = c.resourceAttributes(res), ""
					}
					out = append(out, view)
				}
			}
		}
		level = next
	}
	return ok(object{"resources": out})
}

func (s *stack) newestFirst() []*resource {
	out := s.members()
	sortBy(out, func(a, b *resource) int {
		return b.created.Truncate(time.Second).Compare(a.created.Truncate(time.Second))
	})
	return out
}

func (r *resource) listed(q url.Values) bool {
	one := func(key, value string) bool { return !q.Has(key) || slices.Contains(q[key], value) }
	return one("name", r.name) && one("type", r.typ) && one("status", r.status) && one("action", r.action) && one("physical_resource_id", r.physical)
}

// resourceView is a resource in a list.
func (c *Cloud) resourceView(r *http.Request, res *resource) object {
	s := res.stack
	links := []object{{"href": c.stackURL(r, s) + "/resources/" + url.PathEscape(res.name), "rel": "self"}, {"href": c.stackURL(r, s), "rel": "stack"}}
	if res.nested != nil {
		links = append(links, object{"href": c.stackURL(r, res.nested), "rel": "nested"})
	}
	o := object{
		"resource_name": res.name, "logical_resource_id": res.name, "physical_resource_id": res.physical, "resource_type": res.typ, "links": links,
		"resource_status": res.action + "_" + res.status, "resource_status_reason": res.reason, "creation_time": stamp(res.created),
		"updated_time": stamp(res.updated), "required_by": s.requiredBy(res.name),
	}
	if s.holder != nil {
		o["parent_resource"] = s.holder.name
	}
	return o
}

func (c *Cloud) resourceAttributes(res *resource) object {
	if res.physical == "" {
		return object{}
	}
	if res.kind == c.template {
		out := object{}
		for _, o := range c.outputs(res.nested) {
			out[o["output_key"].(string)] = o["output_value"]
		}
		return out
	}
	return res.kind.attributes(c, res)
}

func (c *Cloud) showResource(_ http.ResponseWriter, r *http.Request, res *resource) (*reply, error) {
	o := c.resourceView(r, res)
	o["description"], o["attributes"] = "", c.resourceAttributes(res)
	return ok(object{"resource": o})
}

// markUnhealthy changes nothing but the state: the next update replaces the resource.
func (c *Cloud) markUnhealthy(w http.ResponseWriter, r *http.Request, res *resource) (*reply, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	value, given := body["mark_unhealthy"]
	if !given {
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Missing mandatory (mark_unhealthy) key from mark unhealthy request")
	}
	unhealthy, err := hotlang.Boolean(value)
	if err != nil {
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized value \""+hotlang.Text(value)+"\" for \"mark_unhealthy\", acceptable values are: true, false")
	}
	reason := text(body, "resource_status_reason")
	if reason == "" {
		reason = "state changed by resource_mark_unhealthy api"
	}
	if unhealthy == true {
		res.set(actionCheck, statusFailed, reason)
	} else if res.action == actionCheck {
		res.set(actionCheck, statusComplete, reason)
	}
	return &reply{status: http.StatusOK, body: nullBody}, nil
}

// nullBody is the JSON null that Heat answers to calls without a result.
var nullBody = jsonNull{}

type jsonNull struct{}

// MarshalJSON writes null.
func (jsonNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func (c *Cloud) signalResource(_ http.ResponseWriter, _ *http.Request, res *resource) (*reply, error) {
	if res.kind.signal == nil {
		return nil, heatFailure(http.StatusBadRequest, "ResourceActionNotSupported", "signal is not supported for resource.")
	}
	if err := res.kind.signal(c, res); err != nil {
		return nil, heatFailure(http.StatusBadRequest, "ResourceFailure", err.Error())
	}
	return &reply{status: http.StatusOK, body: nullBody}, nil
}

func outputDescription(o hotlang.Output) string {
	if o.Description == "" {
		return "No description given"
	}
	return o.Description
}

// eventsOf lists events, newest first, of one resource or of all, with those of the stacks inside down to depth.
func (c *Cloud) eventsOf(r *http.Request, s *stack, resource string, depth int) []object {
	type found struct {
		s *stack
		e event
	}
	var all []found
	var collect func(one *stack, depth int)
	collect = func(one *stack, depth int) {
		for _, e := range one.events {
			if resource == "" || e.resource == resource {
				all = append(all, found{one, e})
			}
		}
		if depth <= 0 {
			return
		}
		for _, inner := range c.stacks.list(func(in *stack) bool { return in.holder != nil && in.holder.stack == one }) {
			collect(inner, depth-1)
		}
	}
	collect(s, depth)
	sortBy(all, func(a, b found) int { return a.e.at.Compare(b.e.at) })
	slices.Reverse(all)
	out := make([]object, len(all))
	for i, f := range all {
		base := c.stackURL(r, f.s)
		at := base + "/resources/" + url.PathEscape(f.e.resource)
		links := []object{{"href": at + "/events/" + f.e.id, "rel": "self"}, {"href": at, "rel": "resource"}, {"href": base, "rel": "stack"}}
		if depth > 0 {
			links = append(links, object{"href": c.stackURL(r, f.s.root()), "rel": "root_stack"})
		}
		out[i] = object{"id": f.e.id, "links": links, "event_time": stamp(f.e.at), "logical_resource_id": f.e.resource, "resource_name": f.e.resource,
			"physical_resource_id": f.e.physical, "resource_status": f.e.status, "resource_status_reason": f.e.reason}
	}
	return out
}

func (c *Cloud) eventPage(r *http.Request, events []object) (*reply, error) {
	q := r.URL.Query()
	if strings.HasPrefix(q.Get("sort_dir"), "asc") {
		slices.Reverse(events)
	}
	page, _ := paginate(events, r, "")
	return ok(object{"events": page})
}
