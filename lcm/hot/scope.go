package hot

import "slices"

// hotVersion is understood by every Heat since Rocky.
const hotVersion = "2018-08-31"

// scope is a template in the making: the top one, or one that is a member of a group in its parent.
type scope struct {
	parent      *scope // nil: the top template
	description string
	parameters  object
	resources   object
	arguments   object   // the properties that the parent hands over as parameters
	needs       []string // the resources of the top template that members have to wait for
}

// pass makes a value of the top template known in this one, as a parameter that all templates in between hand down.
func (s *scope) pass(name, kind string, value any) any {
	if s.parent == nil {
		return value
	}
	if !s.arguments.has(name) {
		s.parameters.add(name, object{{"type", kind}})
		s.arguments.add(name, s.parent.pass(name, kind, value))
	}
	return getParam(name)
}

// await makes sure that resources of the top template are there first, and returns those which a resource of this template
// has to name for that: Heat cannot see dependencies into another template.
func (s *scope) await(names []string) []string {
	if s.parent == nil {
		return names
	}
	for _, name := range s.parent.await(names) {
		if !slices.Contains(s.needs, name) {
			s.needs = append(s.needs, name)
		}
	}
	return nil
}

// document is the template as it is written.
func (s *scope) document() object {
	document := object{
		{"heat_template_version", hotVersion},
		{"description", s.description},
	}
	if len(s.parameters) > 0 {
		document.add("parameters", s.parameters)
	}
	document.add("resources", s.resources)
	return document
}

// resource is a resource of a template.
func resource(kind string, dependsOn []string, properties object) object {
	r := object{{"type", kind}}
	if len(dependsOn) > 0 {
		list := make([]any, len(dependsOn))
		for i, name := range dependsOn {
			list[i] = name
		}
		r.add("depends_on", list)
	}
	if len(properties) > 0 {
		r.add("properties", properties)
	}
	return r
}
