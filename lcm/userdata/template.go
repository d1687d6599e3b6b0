package userdata

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Child returns the value of a key of a YAML mapping, nil if there is none.
func Child(node *yaml.Node, key string) *yaml.Node {
	if node == nil {
		return nil
	}
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// Parameters returns the names of the parameters that a HOT declares.
func Parameters(hot *yaml.Node) []string {
	declared := Child(hot, "parameters")
	if declared == nil || declared.Kind != yaml.MappingNode {
		return nil
	}
	var names []string
	for i := 0; i < len(declared.Content); i += 2 {
		names = append(names, declared.Content[i].Value)
	}
	return names
}

// reference is a use of the parameter nfv: { get_param: [nfv, VDU, worker, flavor] }.
type reference struct{ kind, name, property string }

// Reads reports whether one of the templates takes a property of a VDU, or of a virtual storage, from the parameter nfv.
func Reads(templates []*yaml.Node, vdu, property string) bool {
	return slices.Contains(references(templates), reference{"VDU", vdu, property})
}

// references finds every use of the parameter nfv, in the order of the templates. Aliases are not followed: what they stand for is
// found where it is written.
func references(templates []*yaml.Node) []reference {
	var found []reference
	var walk func(node *yaml.Node)
	walk = func(node *yaml.Node) {
		if r, ok := referenceOf(node); ok {
			found = append(found, r)
		}
		for _, child := range node.Content {
			walk(child)
		}
	}
	for _, template := range templates {
		walk(template)
	}
	return found
}

func referenceOf(node *yaml.Node) (reference, bool) {
	path := Child(node, "get_param")
	if path == nil || path.Kind != yaml.SequenceNode || len(path.Content) != 4 || path.Content[0].Value != "nfv" {
		return reference{}, false
	}
	return reference{path.Content[1].Value, path.Content[2].Value, path.Content[3].Value}, true
}
