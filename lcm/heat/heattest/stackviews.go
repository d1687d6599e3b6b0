package heattest

import (
	"net/http"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

// stackURL is the address of a stack; the request may be nil.
func (c *Cloud) stackURL(r *http.Request, s *stack) string {
	return c.baseURL(r) + orchestrationPrefix + "/v1/" + c.account.ProjectID + "/stacks/" + s.name + "/" + s.id
}

func stampOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t)
}

func describe(t *hotlang.Template) string {
	if t.Description == "" {
		return "No description"
	}
	return t.Description
}

// stackSummary is a stack in a list.
func (c *Cloud) stackSummary(r *http.Request, s *stack) object {
	var parent, tags any
	if s.holder != nil {
		parent = s.holder.stack.id
	}
	if len(s.tags) > 0 {
		tags = s.tags
	}
	return object{
		"id": s.id, "links": []object{{"href": c.stackURL(r, s), "rel": "self"}}, "project": c.account.ProjectID, "stack_name": s.name, "description": "",
		"stack_status": s.action + "_" + s.status, "stack_status_reason": s.reason, "creation_time": stamp(s.created), "updated_time": stampOrNil(s.updated),
		"deletion_time": stampOrNil(s.deleted), "stack_owner": c.account.User, "parent": parent, "stack_user_project_id": s.userProject, "tags": tags,
	}
}

// stackView is a stack by itself.
func (c *Cloud) stackView(r *http.Request, s *stack) object {
	o := c.stackSummary(r, s)
	delete(o, "project")
	parameters := object{"OS::stack_id": s.id, "OS::project_id": c.account.ProjectID, "OS::stack_name": s.name}
	for _, p := range s.tmpl.Parameters {
		if p.Hidden {
			parameters[p.Name] = "******"
		} else {
			parameters[p.Name] = hotlang.Text(s.values[p.Name])
		}
	}
	tags := s.tags
	if tags == nil {
		tags = []string{}
	}
	description := describe(s.tmpl)
	o["notification_topics"], o["parameters"], o["capabilities"], o["tags"] = []any{}, parameters, []any{}, tags
	o["description"], o["template_description"] = description, description
	o["disable_rollback"], o["timeout_mins"] = s.disableRollback, s.root().timeoutMinutes
	if s.deleted.IsZero() && (r == nil || r.URL.Query().Get("resolve_outputs") != "false") {
		o["outputs"] = c.outputs(s)
	}
	return o
}
