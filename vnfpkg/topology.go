package vnfpkg

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// topology is a topology template of the VNFD: that of a flavour, or the one in the entry definition that chooses a flavour.
type topology struct {
	csar  *CSAR
	types types
	body  value // topology_template
	nodes []node
	names map[string]bool  // of the nodes
	group map[string]value // groups by name
	p     *problems
}

// node is a node template, group or policy.
type node struct {
	name string
	kind string // type
	value
}

// topologies returns the topology templates of all files.
func (c *CSAR) topologies(service *template, p *problems) []*topology {
	var list []*topology
	for _, document := range service.documents {
		body := document.at("topology_template")
		if !body.is(yaml.MappingNode) {
			continue
		}
		t := &topology{csar: c, types: service.types, body: body, names: map[string]bool{}, group: map[string]value{}, p: p}
		t.nodes = nodesOf(body.at("node_templates"))
		for _, n := range t.nodes {
			t.names[n.name] = true
		}
		for _, f := range body.at("groups").named() {
			t.group[f.name] = f.value
		}
		list = append(list, t)
	}
	return list
}

func nodesOf(section value) []node {
	var nodes []node
	for _, f := range section.named() {
		nodes = append(nodes, node{f.name, f.at("type").text(), f.value})
	}
	return nodes
}

// of returns the nodes of a type or of those derived from it.
func (t *topology) of(base string) []node {
	var nodes []node
	for _, n := range t.nodes {
		if t.types.is(n.kind, base) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// vnf returns the node of the VNF itself: the one named VNF if there are several.
func (t *topology) vnf() (node, bool) {
	nodes := t.of(typeVNF)
	if len(nodes) == 0 {
		return node{}, false
	}
	if i := slices.IndexFunc(nodes, func(n node) bool { return n.name == "VNF" }); i >= 0 {
		return nodes[i], true
	}
	return nodes[0], true
}

// resolve replaces get_input by the default of the input; inputs have no other value in a package.
func (t *topology) resolve(v value) value {
	if input := v.at("get_input"); input.given() && len(v.fields()) == 1 {
		return t.body.at("inputs", input.text(), "default")
	}
	return v
}

// given returns a property that a node template gives itself.
func (t *topology) given(n node, keys ...string) value {
	v := n.at("properties")
	for _, key := range keys {
		v = t.resolve(v.at(key))
	}
	return v
}

// property returns a property of a node template, or else the default of its type.
func (t *topology) property(n node, keys ...string) value {
	if v := t.given(n, keys[0]); v.given() {
		return t.given(n, keys...)
	}
	return t.types.property(n.kind, keys[0]).at("default").at(keys[1:]...)
}

// requirements returns the names of the nodes that a requirement of a node leads to.
func (t *topology) requirements(n node, name string) []string {
	var targets []string
	for _, f := range n.at("requirements").named() {
		if f.name != name || !f.given() {
			continue
		}
		target := f.value
		if f.is(yaml.MappingNode) {
			target = f.at("node")
		}
		switch {
		case target.text() == "":
			t.p.addf(f.value, "the requirement %s of %s names no node", name, n.name)
		case !t.names[target.text()]:
			t.p.addf(f.value, "the requirement %s of %s: there is no node template %q", name, n.name, target.text())
		default:
			targets = append(targets, target.text())
		}
	}
	return targets
}

// flavourID returns the id of the flavour that the topology is, "" if it is none.
func (t *topology) flavourID() string {
	mappings := t.body.at("substitution_mappings")
	id := mappings.at("properties", "flavour_id")
	if n, ok := t.vnf(); ok && !id.given() {
		// A VNFD of one file may leave it to the VNF node.
		if own := n.at("properties", "flavour_id"); mappings.given() || own.is(yaml.ScalarNode) {
			id = own
		}
	}
	if !id.given() {
		return ""
	}
	if !id.is(yaml.ScalarNode) || id.node.ShortTag() != "!!str" {
		t.p.addf(id, "flavour_id is not a string")
		return ""
	}
	if strings.Contains(id.text(), "/") || id.text() == "" || id.text() == ".." {
		t.p.addf(id, "flavour_id %q cannot be the name of a directory", id.text())
		return ""
	}
	return id.text()
}

// check compares the node templates with the definitions of their types.
func (t *topology) check() {
	for _, n := range t.nodes {
		switch {
		case n.kind == "":
			t.p.addf(n.value, "the node template %s has no type", n.name)
		case !t.types.known(n.kind):
			t.p.addf(n.at("type"), "the type %s of %s is not defined", n.kind, n.name)
		default:
			t.checkProperties(n)
		}
	}
}

func (t *topology) checkProperties(n node) {
	given := map[string]value{}
	for _, f := range n.at("properties").fields() {
		given[f.name] = f.value
		if f.is(yaml.ScalarNode) {
			t.checkValue(n, f)
		}
	}
	if t.types.is(n.kind, typeVNF) {
		return // its properties may be spread over the entry definition and the flavours
	}
	t.types.missing(n.kind, given, func(property string) bool {
		t.p.addf(n.value, "the property %s of %s is mandatory (%s)", property, n.name, n.kind)
		return !t.p.full()
	})
}

// checkValue checks the constraint valid_values, the one that VNFDs identify themselves with.
func (t *topology) checkValue(n node, property field) {
	for _, constraint := range t.types.property(n.kind, property.name).at("constraints").named() {
		allowed := constraint.texts()
		if constraint.name == "valid_values" && !slices.Contains(allowed, property.text()) {
			t.p.addf(property.value, "the property %s of %s is %q, not one of %s",
				property.name, n.name, property.text(), strings.Join(allowed, ", "))
		}
	}
}
