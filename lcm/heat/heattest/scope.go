package heattest

import (
	"fmt"

	"vnfm/lcm/heat/heattest/hotlang"
)

// scope answers for what the templates of a stack refer to.
type scope struct {
	c *Cloud
	s *stack
	source
	dry   bool // validation: what does not exist yet is pending
	loose bool // validation of a stack inside another: values may name what does not exist
}

// pending stands for a value that is known only later.
type pending struct{}

func (p pending) String() string { return "" }

func (c *Cloud) scopeOf(s *stack) scope { return scope{c: c, s: s, source: s.source} }

// Param knows the pseudo parameters and those of the stack.
func (sc scope) Param(name string) (any, bool) {
	switch name {
	case "OS::stack_name":
		return sc.s.name, true
	case "OS::stack_id":
		return sc.s.id, true
	case "OS::project_id":
		return sc.c.account.ProjectID, true
	}
	v, ok := sc.values[name]
	return v, ok
}

// Reference is what get_resource gives.
func (sc scope) Reference(name string) (any, error) {
	r := sc.s.resources[name]
	switch {
	case r != nil && r.kind.reference != nil:
		return r.kind.reference(r), nil
	case r != nil && r.physical != "":
		return r.physical, nil
	case sc.dry:
		return pending{}, nil
	}
	return nil, nil
}

// Attribute is what get_attr gives.
func (sc scope) Attribute(name, attribute string, path []any) (value any, rest []any, err error) {
	r := sc.s.resources[name]
	if r == nil || r.physical == "" {
		if sc.dry {
			return pending{}, nil, nil
		}
		return nil, nil, nil
	}
	if attribute == "show" {
		return jsonValue(r.kind.attributes(sc.c, r)), path, nil
	}
	if r.kind.attribute != nil {
		return r.kind.attribute(sc.c, r, attribute, path)
	}
	attributes := r.kind.attributes(sc.c, r)
	value, ok := attributes[attribute]
	if !ok {
		return nil, nil, badAttribute(name, attribute)
	}
	return jsonValue(value), path, nil
}

func badAttribute(resource, attribute string) error {
	return &hotlang.Invalid{Type: "InvalidTemplateAttribute", Message: fmt.Sprintf("The Referenced Attribute (%s %s) is incorrect.", resource, attribute)}
}

// File is what get_file gives.
func (sc scope) File(name string) (string, error) {
	content, ok := sc.files[name]
	if !ok {
		return "", &hotlang.Invalid{Type: "StackValidationFailed", Message: `No content found in the "files" section for get_file path: ` + name}
	}
	return content, nil
}

// jsonValue turns what views are made of into the plain values that templates work with.
func jsonValue(v any) any {
	switch v := v.(type) {
	case []object:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonValue(v[i])
		}
		return out
	case []string:
		out := make([]any, len(v))
		for i := range v {
			out[i] = v[i]
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonValue(v[i])
		}
		return out
	case object:
		out := make(object, len(v))
		for k := range v {
			out[k] = jsonValue(v[k])
		}
		return out
	}
	return v
}

// outputs are the evaluated outputs in order of name; one that cannot be had shows its error.
func (c *Cloud) outputs(s *stack) []object {
	out := []object{}
	for _, name := range hotlang.SortedKeys(s.tmpl.Outputs) {
		def := s.tmpl.Outputs[name]
		sc := c.scopeOf(s)
		if holds, err := s.tmpl.Holds(def.Condition, sc); err != nil || !holds {
			continue
		}
		o := object{"output_key": name, "description": "No description given", "output_value": nil}
		if def.Description != "" {
			o["description"] = def.Description
		}
		value, err := s.tmpl.Eval(def.Value, sc)
		if err != nil {
			o["output_error"] = err.Error()
		} else {
			o["output_value"] = value
		}
		out = append(out, o)
	}
	return out
}
