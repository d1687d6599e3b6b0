package heattest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

const stacksBase = orchestrationPrefix + "/v1/{project}/stacks"

func (c *Cloud) stackRoutes() {
	c.open("GET "+orchestrationPrefix+"/{$}", func(_ http.ResponseWriter, r *http.Request) (*reply, error) {
		return &reply{status: http.StatusMultipleChoices, body: object{"versions": []object{{"id": "v1.0", "status": "CURRENT",
			"links": []object{{"rel": "self", "href": c.baseURL(r) + orchestrationPrefix + "/v1/"}}}}}}, nil
	})
	c.guarded("GET "+orchestrationPrefix+"/v1/{project}/build_info", func(_ http.ResponseWriter, _ *http.Request) (*reply, error) {
		return ok(object{"api": object{"revision": "unknown"}, "engine": object{"revision": "unknown"}})
	})
	c.guarded("POST "+orchestrationPrefix+"/v1/{project}/validate", c.validateTemplate)
	c.guarded("POST "+stacksBase, c.createStack)
	c.guarded("POST "+stacksBase+"/preview", c.previewStack)
	c.guarded("GET "+stacksBase, c.listStacks)
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "POST"} {
		c.guarded(method+" "+stacksBase+"/{name}", c.redirect)
	}
	for _, part := range []string{"resources", "events", "template", "files", "environment", "outputs", "actions"} {
		c.guarded("GET "+stacksBase+"/{name}/"+part, c.redirect)
	}
	c.guarded("GET "+stacksBase+"/{name}/{id}", c.onStack(func(_ http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
		return ok(object{"stack": c.stackView(r, s)})
	}))
	c.guarded("DELETE "+stacksBase+"/{name}/{id}", c.onLiveStack(func(_ http.ResponseWriter, _ *http.Request, s *stack) (*reply, error) {
		c.deleteStack(s, nil)
		return &reply{status: http.StatusNoContent}, nil
	}))
	c.guarded("PUT "+stacksBase+"/{name}/{id}", c.onLiveStack(c.updateStack))
	c.guarded("PATCH "+stacksBase+"/{name}/{id}", c.onLiveStack(c.updateStack))
	c.guarded("GET "+orchestrationPrefix+"/v1/{project}/resource_types", c.listResourceTypes)
	c.guarded("POST "+stacksBase+"/{name}/{id}/actions", c.onLiveStack(c.stackAction))
}

// redirect answers a stack addressed by its name, or by its id alone, as Heat does.
func (c *Cloud) redirect(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	s := c.findStack(r.PathValue("name"))
	if s == nil {
		return nil, stackNotFound(r.PathValue("name"))
	}
	target := c.stackURL(r, s)
	if _, rest, more := strings.Cut(strings.TrimPrefix(r.URL.Path, orchestrationPrefix+"/v1/"+r.PathValue("project")+"/stacks/"), "/"); more {
		target += "/" + rest
	}
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	return &reply{status: http.StatusFound, location: target,
		body: page("The resource was found at <a href=\"" + target + "\">" + target + "</a>;\nyou should be redirected automatically.\n\n")}, nil
}

// listResourceTypes lists the types that the user may use; name is a regular expression that the whole name fits.
func (c *Cloud) listResourceTypes(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	pattern := r.URL.Query().Get("name")
	wanted, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, heatFailure(http.StatusBadRequest, "InvalidBreakPointHook", err.Error())
	}
	types := slices.DeleteFunc(hotlang.SortedKeys(c.kinds), func(typ string) bool {
		return pattern != "" && !wanted.MatchString(typ) || c.kinds[typ].adminOnly && !slices.Contains(c.account.Roles, "admin")
	})
	return ok(object{"resource_types": types})
}

func (c *Cloud) onStack(h func(http.ResponseWriter, *http.Request, *stack) (*reply, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) (*reply, error) {
		s, found := c.stacks.get(r.PathValue("id"))
		if !found || s.name != r.PathValue("name") {
			return nil, stackNotFound(r.PathValue("name"))
		}
		return h(w, r, s)
	}
}

// onLiveStack is onStack for what a deleted stack refuses.
func (c *Cloud) onLiveStack(h func(http.ResponseWriter, *http.Request, *stack) (*reply, error)) handler {
	return c.onStack(func(w http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
		if !s.deleted.IsZero() {
			return nil, stackNotFound(s.name)
		}
		return h(w, r, s)
	})
}

var stackName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]{0,254}$`)

func (c *Cloud) createStack(w http.ResponseWriter, r *http.Request) (*reply, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	name := text(body, "stack_name")
	if name == "" {
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "No stack name specified")
	}
	if err := checkOptions(body); err != nil {
		return nil, err
	}
	req, err := c.readRequest(body, nil, false)
	if err != nil {
		return nil, asHeatFailure(err)
	}
	if !stackName.MatchString(name) {
		return nil, heatFailure(http.StatusBadRequest, "StackValidationFailed", fmt.Sprintf("Invalid stack name %s must contain only alphanumeric or \"_-.\" "+
			"characters, must start with alpha and must be 255 characters or less.", name))
	}
	if c.findStack(name) != nil {
		return nil, heatFailure(http.StatusConflict, "StackExists", "The Stack ("+name+") already exists.")
	}
	if err := c.validate(&stack{name: name, resources: map[string]*resource{}}, req.source, false); err != nil {
		return nil, asHeatFailure(err)
	}
	s := c.newStack(name, req.source, nil)
	s.takeOptions(body)
	c.converge(s, actionCreate, nil)
	return &reply{status: http.StatusCreated, location: c.stackURL(r, s), body: object{"stack": object{"id": s.id,
		"links": []object{{"href": c.stackURL(r, s), "rel": "self"}}}}}, nil
}

// accepted is the body of every answer to an update.
const accepted = page("The request is accepted for processing.<br /><br />\n\n\n")

// updateStack is PUT, which needs everything again, and PATCH, which takes what is missing from the stack.
func (c *Cloud) updateStack(w http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	switch s.action {
	case actionSuspend:
		return nil, heatFailure(http.StatusBadRequest, "NotSupported", "Updating a stack when it is suspended is not supported.")
	case actionDelete:
		return nil, heatFailure(http.StatusBadRequest, "NotSupported", "Updating a stack when it is deleting is not supported.")
	}
	if err := checkOptions(body); err != nil {
		return nil, err
	}
	req, err := c.readRequest(body, s, r.Method == http.MethodPatch)
	if err != nil {
		return nil, asHeatFailure(err)
	}
	if err := c.validate(s, req.source, false); err != nil {
		return nil, asHeatFailure(err)
	}
	s.before = s.source
	s.source = req.source
	s.takeOptions(body)
	c.converge(s, actionUpdate, nil)
	return &reply{status: http.StatusAccepted, body: accepted}, nil
}

// previewStack answers what a stack would be without making it.
func (c *Cloud) previewStack(w http.ResponseWriter, r *http.Request) (*reply, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	req, err := c.readRequest(body, nil, false)
	if err != nil {
		return nil, asHeatFailure(err)
	}
	s := &stack{name: text(body, "stack_name"), source: req.source, resources: map[string]*resource{}, created: time.Now(), disableRollback: true}
	if err := c.validate(s, req.source, false); err != nil {
		return nil, asHeatFailure(err)
	}
	resources := []object{}
	for _, name := range hotlang.SortedKeys(req.tmpl.Resources) {
		def := req.tmpl.Resources[name]
		resources = append(resources, object{"resource_name": name, "resource_type": def.Type, "properties": def.Properties, "metadata": def.Metadata,
			"resource_status": "COMPLETE", "resource_action": "INIT", "resource_status_reason": "", "required_by": []string{}, "attributes": object{}})
	}
	view := c.stackView(r, s)
	view["resources"] = resources
	return ok(object{"stack": view})
}

func (c *Cloud) validateTemplate(w http.ResponseWriter, r *http.Request) (*reply, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	var req request
	if err := req.readTemplate(body); err != nil {
		return nil, asHeatFailure(err)
	}
	if err := req.tmpl.Validate(); err != nil {
		return nil, asHeatFailure(err)
	}
	parameters := object{}
	for _, p := range req.tmpl.Parameters {
		types := map[string]string{"string": "String", "number": "Number", "json": "Json", "boolean": "Boolean", "comma_delimited_list": "CommaDelimitedList"}
		view := object{"Type": types[p.Type], "Description": p.Description, "Label": p.Name, "NoEcho": strconv.FormatBool(p.Hidden)}
		if p.HasDefault {
			view["Default"] = p.Default
		}
		parameters[p.Name] = view
	}
	return ok(object{"Description": describe(req.tmpl), "Parameters": parameters, "Environment": object{"resource_registry": object{"resources": object{}},
		"parameters": object{}, "parameter_defaults": object{}, "event_sinks": []any{}}})
}

func (c *Cloud) listStacks(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	q := r.URL.Query()
	for key := range q {
		if !slices.Contains(listParameters, key) {
			return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "")
		}
	}
	found := c.stacks.list(func(s *stack) bool { return s.listed(q) })
	slices.Reverse(found) // Heat lists the newest first
	views := listOf(found, func(s *stack) object { return c.stackSummary(r, s) })
	page, next := paginate(views, r, c.baseURL(r)+r.URL.Path)
	body := object{"stacks": page}
	if next != nil {
		body["links"] = next
	}
	if q.Get("with_count") == "true" {
		body["count"] = len(found)
	}
	return ok(body)
}

var listParameters = []string{"limit", "marker", "sort_dir", "sort_keys", "name", "status", "action", "owner_id", "id", "username", "tenant", "tags", "tags_any",
	"not_tags", "not_tags_any", "show_deleted", "show_nested", "show_hidden", "global_tenant", "with_count", "filters"}

func (s *stack) listed(q url.Values) bool {
	deleted := strings.EqualFold(q.Get("show_deleted"), "true")
	nested := strings.EqualFold(q.Get("show_nested"), "true")
	one := func(key, value string) bool { return !q.Has(key) || slices.Contains(q[key], value) }
	parent := ""
	if s.holder != nil {
		parent = s.holder.stack.id
	}
	return (deleted || s.deleted.IsZero()) && (nested || s.holder == nil || q.Has("owner_id")) && one("name", s.name) && one("id", s.id) &&
		one("status", s.status) && one("action", s.action) && one("owner_id", parent)
}

// DeleteStack begins to delete a stack as an operator would with "openstack stack delete", behind the back of whoever made it. It tells
// whether it existed.
func (c *Cloud) DeleteStack(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.findStack(name)
	if s != nil {
		c.deleteStack(s, nil)
	}
	return s != nil
}
