package heattest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vnfm/lcm/heat/heattest/hotlang"
)

// templateKind is every type that is a file of the stack.
func templateKind() *kind {
	return &kind{
		nest: func(_ *Cloud, r *resource, properties object) (source, error) {
			outer := r.stack.source
			tmpl, err := hotlang.Parse(outer.files[r.typ])
			if err != nil {
				return source{}, err
			}
			declared := map[string]bool{}
			for _, p := range tmpl.Parameters {
				declared[p.Name] = true
				if !p.HasDefault && properties[p.Name] == nil {
					return source{}, refuse("Property %s not assigned", p.Name).below("resources." + r.name + ".properties")
				}
			}
			for _, name := range hotlang.SortedKeys(properties) {
				if !declared[name] {
					return source{}, refuse("Unknown Property %s", name).below("resources." + r.name + ".properties")
				}
			}
			values, err := tmpl.ParameterValues(withoutPending(properties, tmpl), nil, nil)
			if err != nil {
				return source{}, err
			}
			for name, value := range properties {
				if _, later := value.(pending); later {
					values[name] = value
				}
			}
			return source{tmpl: tmpl, files: outer.files, registry: outer.registry, given: properties, values: values}, nil
		},
		attributes: func(*Cloud, *resource) object { return object{} },
		attribute: func(c *Cloud, r *resource, name string, path []any) (any, []any, error) {
			if inner, ok := strings.CutPrefix(name, "resource."); ok {
				return c.memberAttribute(r, inner, path)
			}
			def, ok := r.nested.tmpl.Outputs[name]
			if !ok {
				return nil, nil, badAttribute(r.name, name)
			}
			value, err := r.nested.tmpl.Eval(def.Value, c.scopeOf(r.nested))
			return value, path, err
		},
	}
}

// withoutPending gives parameters that are not known yet a value that passes; only validation has such.
func withoutPending(properties object, tmpl *hotlang.Template) map[string]any {
	out := map[string]any{}
	for _, p := range tmpl.Parameters {
		value, given := properties[p.Name]
		if _, later := value.(pending); !later {
			if given {
				out[p.Name] = value
			}
			continue
		}
		out[p.Name] = map[string]any{"number": 0, "boolean": false, "json": object{}}[p.Type]
		if out[p.Name] == nil {
			out[p.Name] = ""
		}
	}
	return out
}

// memberAttribute is resource.NAME or resource.NAME.ATTRIBUTE of the stack inside r; further parts of the path select in the value.
func (c *Cloud) memberAttribute(r *resource, inner string, path []any) (any, []any, error) {
	name, attribute, _ := strings.Cut(inner, ".")
	member := r.nested.resources[name]
	if member == nil {
		return nil, nil, &hotlang.Invalid{Type: "NotFound", Message: fmt.Sprintf("Member '%s' not found in group resource '%s'.", name, r.name)}
	}
	sc := c.scopeOf(r.nested)
	if attribute == "" {
		if len(path) == 0 {
			value, err := sc.Reference(name)
			return value, nil, err
		}
		attribute, path = hotlang.Text(path[0]), path[1:]
	}
	return sc.Attribute(name, attribute, path)
}

// groupSource is the stack inside a group: members of one definition, literal and without dependencies.
func groupSource(outer source, members map[string]*hotlang.Resource) source {
	return source{tmpl: &hotlang.Template{Version: outer.tmpl.Version, Resources: members, Outputs: map[string]hotlang.Output{}, Document: groupDocument(members)},
		files: outer.files, registry: outer.registry}
}

func groupDocument(members map[string]*hotlang.Resource) object {
	resources := object{}
	for name, m := range members {
		resources[name] = object{"type": m.Type, "properties": m.Properties}
	}
	return object{"heat_template_version": "2015-04-30", "resources": resources}
}

func memberDefinition(name string, def object) *hotlang.Resource {
	return &hotlang.Resource{Name: name, Type: text(def, "type"), Properties: child(def, "properties"), Metadata: child(def, "metadata")}
}

var resourceDefinition = property{typ: "map", required: true, fields: map[string]property{
	"type": {typ: "string", required: true}, "properties": {typ: "map"}, "metadata": {typ: "map"},
}}

// autoScalingGroupKind is OS::Heat::AutoScalingGroup.
func autoScalingGroupKind() *kind {
	return &kind{
		properties: map[string]property{
			"resource": resourceDefinition, "min_size": {typ: "integer", required: true, bounded: true}, "max_size": {typ: "integer", required: true, bounded: true},
			"desired_capacity": {typ: "integer"}, "cooldown": {typ: "integer"}, "rolling_updates": {typ: "map"},
		},
		check: func(_ *Cloud, p object, name string) error {
			least, _ := p["min_size"].(int)
			most, _ := p["max_size"].(int)
			desired, given := p["desired_capacity"].(int)
			switch {
			case least > most:
				return validation("MinSize can not be greater than MaxSize")
			case given && (desired < least || desired > most):
				return validation("DesiredCapacity must be between MinSize and MaxSize")
			}
			return nil
		},
		nest: func(_ *Cloud, r *resource, properties object) (source, error) {
			size := 0
			if r.nested != nil {
				size = len(r.nested.resources)
			}
			least, _ := properties["min_size"].(int)
			most, _ := properties["max_size"].(int)
			desired, given := properties["desired_capacity"].(int)
			if !given {
				desired = max(size, least)
			}
			return scaledSource(r, child(properties, "resource"), min(max(desired, least), most)), nil
		},
		reference: func(r *resource) any { return r.physicalName },
		attributes: func(*Cloud, *resource) object {
			return object{"outputs_list": nil, "refs_map": nil, "outputs": nil, "refs": nil, "current_size": nil}
		},
		attribute: autoScalingAttribute,
	}
}

// scaledSource keeps the newest size members, gives all of them the definition, and adds new ones. Failed members go first.
func scaledSource(r *resource, def object, size int) source {
	members := map[string]*hotlang.Resource{}
	if r.nested != nil {
		present := r.nested.members()
		for _, m := range present[max(0, len(present)-size):] {
			members[m.name] = memberDefinition(m.name, def)
		}
	}
	for len(members) < size {
		name := newShortID()
		members[name] = memberDefinition(name, def)
	}
	return groupSource(r.stack.source, members)
}

// settled are the members without those that failed, oldest first.
func (s *stack) settled() []*resource {
	return slices.DeleteFunc(s.members(), func(r *resource) bool { return r.status == statusFailed })
}

func autoScalingAttribute(c *Cloud, r *resource, name string, path []any) (any, []any, error) {
	members := r.nested.settled()
	sc := c.scopeOf(r.nested)
	switch name {
	case "current_size":
		return len(members), path, nil
	case "refs", "refs_map", "outputs", "outputs_list":
		attribute := ""
		if strings.HasPrefix(name, "outputs") {
			if len(path) == 0 {
				return nil, nil, badAttribute(r.name, name)
			}
			attribute, path = hotlang.Text(path[0]), path[1:]
		}
		list, byName := []any{}, object{}
		for _, m := range members {
			value, err := sc.Reference(m.name)
			if attribute != "" {
				var rest []any
				value, rest, err = sc.Attribute(m.name, attribute, path)
				value = hotlang.Select(value, rest)
			}
			if err != nil {
				return nil, nil, err
			}
			list, byName[m.name] = append(list, value), value
		}
		if name == "refs" || name == "outputs_list" {
			return list, nil, nil
		}
		return byName, nil, nil
	}
	if inner, ok := strings.CutPrefix(name, "resource."); ok {
		index, rest, _ := strings.Cut(inner, ".")
		if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(members) {
			return c.memberAttribute(r, strings.TrimSuffix(members[i].name+"."+rest, "."), path)
		}
	}
	return nil, nil, badAttribute(r.name, name)
}

// resourceGroupKind is OS::Heat::ResourceGroup.
func resourceGroupKind() *kind {
	return &kind{
		properties: map[string]property{
			"count": {typ: "integer", bounded: true}, "index_var": {typ: "string"}, "resource_def": resourceDefinition,
			"removal_policies": {typ: "list"}, "removal_policies_mode": {typ: "string", allowed: []string{"append", "update"}},
		},
		nest: func(_ *Cloud, r *resource, properties object) (source, error) {
			count, given := properties["count"].(int)
			if !given {
				count = 1
			}
			marker := text(properties, "index_var")
			if marker == "" {
				marker = "%index%"
			}
			r.blacklist(properties)
			members := map[string]*hotlang.Resource{}
			for i := 0; len(members) < count; i++ {
				name := strconv.Itoa(i)
				if r.removedIndex[name] {
					continue
				}
				def, _ := replaceIn(properties["resource_def"], marker, name).(object)
				members[name] = memberDefinition(name, def)
			}
			return groupSource(r.stack.source, members), nil
		},
		attributes: func(_ *Cloud, r *resource) object {
			return object{"attributes": nil, "refs_map": nil, "refs": nil, "removed_rsrc_list": hotlang.SortedKeys(r.removedIndex)}
		},
		attribute: resourceGroupAttribute,
	}
}

// blacklist remembers the members that removal_policies name, by index or by what get_resource gives.
func (r *resource) blacklist(properties object) {
	if r.removedIndex == nil || text(properties, "removal_policies_mode") == "update" {
		r.removedIndex = map[string]bool{}
	}
	policies, _ := properties["removal_policies"].([]any)
	for _, p := range policies {
		policy, _ := p.(object)
		list, _ := policy["resource_list"].([]any)
		for _, item := range list {
			ref := hotlang.Text(item)
			if r.nested != nil {
				for name, m := range r.nested.resources {
					if m.physical == ref {
						ref = name
					}
				}
			}
			if _, err := strconv.Atoi(ref); err == nil {
				r.removedIndex[ref] = true
			}
		}
	}
}

func replaceIn(v any, marker, with string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, marker, with)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaceIn(v[i], marker, with)
		}
		return out
	case object:
		out := make(object, len(v))
		for k := range v {
			out[k] = replaceIn(v[k], marker, with)
		}
		return out
	}
	return v
}

func resourceGroupAttribute(c *Cloud, r *resource, name string, path []any) (any, []any, error) {
	if inner, ok := strings.CutPrefix(name, "resource."); ok {
		return c.memberAttribute(r, inner, path)
	}
	attribute := name
	switch name {
	case "refs", "refs_map":
		attribute = ""
	case "removed_rsrc_list":
		return jsonValue(hotlang.SortedKeys(r.removedIndex)), path, nil
	case "attributes":
		if len(path) == 0 {
			return nil, nil, badAttribute(r.name, name)
		}
		attribute, path = hotlang.Text(path[0]), path[1:]
	}
	sc := c.scopeOf(r.nested)
	names := hotlang.SortedKeys(r.nested.resources)
	sortBy(names, func(a, b string) int { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x - y })
	list, byName := []any{}, object{}
	for _, member := range names {
		value, err := sc.Reference(member)
		if attribute != "" {
			var rest []any
			value, rest, err = sc.Attribute(member, attribute, path)
			value = hotlang.Select(value, rest)
		}
		if err != nil {
			return nil, nil, err
		}
		list, byName[member] = append(list, value), value
	}
	if name == "refs_map" || name == "attributes" {
		return byName, nil, nil
	}
	return list, nil, nil
}

// nestedInvalid puts the way to the inner resource into the words of a validation error.
func (c *Cloud) nestedInvalid(def *hotlang.Resource, k *kind, err error) error {
	inside := "<nested_stack>"
	if k == c.template {
		inside = "<" + def.Type + ">"
	}
	var pe *propertyError
	if errors.As(err, &pe) && len(pe.path) > 0 && !strings.HasPrefix(pe.path[0], "resources."+def.Name+".") {
		return pe.below("resources." + def.Name + inside)
	}
	return err
}
