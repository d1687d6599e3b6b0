package hotlang

import (
	"fmt"
	"slices"
	"strings"
)

// Dependencies are the resources that must be there before the named one, in order of name: what its definition refers to and depends_on.
func (t *Template) Dependencies(name string) []string {
	r, ok := t.Resources[name]
	if !ok {
		return nil
	}
	found := map[string]bool{}
	for _, d := range r.DependsOn {
		found[d] = true
	}
	note := func(target, _ string) { found[target] = true }
	t.references(r.Properties, "", note)
	t.references(r.Metadata, "", note)
	delete(found, name)
	for d := range found {
		if t.Resources[d] == nil {
			delete(found, d)
		}
	}
	return SortedKeys(found)
}

// references calls note for every get_resource and get_attr in v, with the place where it stands.
func (t *Template) references(v any, at string, note func(target, at string)) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			t.references(v[i], fmt.Sprintf("%s[%d]", at, i), note)
		}
	case map[string]any:
		name, arg, ok := t.call(v)
		if ok {
			switch name {
			case "get_resource":
				if target, ok := arg.(string); ok {
					note(target, at)
				}
			case "get_attr":
				if first, _ := pathOf(arg); first != nil {
					if target, ok := first.(string); ok {
						note(target, at)
					}
				}
			}
			t.references(arg, at, note)
			return
		}
		for _, k := range SortedKeys(v) {
			t.references(v[k], at+"."+k, note)
		}
	}
}

// Validate checks what can be said without evaluating: references, depends_on and circles.
func (t *Template) Validate() error {
	for _, p := range t.Parameters {
		if t.Resources[p.Name] != nil {
			return invalid("Duplicate names {'%s'}", p.Name)
		}
	}
	for _, name := range SortedKeys(t.Resources) {
		r := t.Resources[name]
		var bad error
		note := func(target, at string) {
			if t.Resources[target] == nil && bad == nil {
				bad = &Invalid{Message: fmt.Sprintf("The specified reference \"%s\" (in %s) is incorrect.", target, at), Type: "InvalidTemplateReference"}
			}
		}
		t.references(r.Properties, name+".Properties", note)
		for _, d := range r.DependsOn {
			note(d, name)
		}
		if bad != nil {
			return bad
		}
	}
	for _, name := range SortedKeys(t.Outputs) {
		var bad error
		t.references(t.Outputs[name].Value, "outputs."+name+".value", func(target, at string) {
			if t.Resources[target] == nil && bad == nil {
				bad = &Invalid{Message: fmt.Sprintf("The specified reference \"%s\" (in %s) is incorrect.", target, at), Type: "InvalidTemplateReference"}
			}
		})
		if bad != nil {
			return bad
		}
	}
	_, err := t.Order()
	return err
}

// Order lists the resources so that each stands behind what it depends on.
func (t *Template) Order() ([]string, error) {
	var order, trail []string
	done := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		if done[name] {
			return nil
		}
		if i := slices.Index(trail, name); i >= 0 {
			return &Invalid{Message: "Circular Dependency Found: {" + strings.Join(trail[i:], ", ") + "}", Type: "CircularDependencyException"}
		}
		trail = append(trail, name)
		for _, d := range t.Dependencies(name) {
			if err := visit(d); err != nil {
				return err
			}
		}
		trail = trail[:len(trail)-1]
		done[name] = true
		order = append(order, name)
		return nil
	}
	for _, name := range SortedKeys(t.Resources) {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return order, nil
}
