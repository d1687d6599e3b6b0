package hot

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"vnfm/vnfpkg"
)

// topology reads the topology template as the VNFD has it, for what the model does not carry.
type topology struct {
	inputs   map[string]any
	nodes    map[string]any
	policies []policy
}

type policy struct {
	name, kind string
}

func readTopology(f *vnfpkg.Flavour) topology {
	t := topology{}
	t.inputs, _ = f.Raw["inputs"].(map[string]any)
	t.nodes, _ = f.Raw["node_templates"].(map[string]any)
	list, _ := f.Raw["policies"].([]any)
	if mapping, ok := f.Raw["policies"].(map[string]any); ok {
		list = []any{mapping}
	}
	for _, item := range list {
		named, _ := item.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			t.policies = append(t.policies, policy{name, text(t.at(named[name], "type"))})
		}
	}
	return t
}

// property returns a property of a node template, nil if it gives none.
func (t topology) property(node string, path ...string) any {
	return t.at(t.nodes[node], append([]string{"properties"}, path...)...)
}

// compute returns a property of the capability virtual_compute of a VDU.
func (t topology) compute(vdu string, path ...string) any {
	return t.at(t.nodes[vdu], append([]string{"capabilities", "virtual_compute", "properties"}, path...)...)
}

// at goes down into a value, through inputs.
func (t topology) at(value any, path ...string) any {
	value = t.resolve(value)
	for _, key := range path {
		mapping, _ := value.(map[string]any)
		value = t.resolve(mapping[key])
	}
	return value
}

// items returns the elements of a list; those of a mapping by the order of their keys.
func (t topology) items(value any) []any {
	switch value := t.resolve(value).(type) {
	case []any:
		return value
	case map[string]any:
		list := make([]any, 0, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			list = append(list, value[key])
		}
		return list
	}
	return nil
}

// resolve replaces get_input by the default of the input: inputs have no other value in a package.
func (t topology) resolve(value any) any {
	mapping, ok := value.(map[string]any)
	if !ok || len(mapping) != 1 {
		return value
	}
	name, ok := mapping["get_input"].(string)
	if !ok {
		return value
	}
	input, _ := t.inputs[name].(map[string]any)
	return input["default"]
}

// asks tells whether a value asks for something: it is there, not empty and not false.
func asks(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != "" && value != "false"
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return true
}

func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case int:
		return strconv.Itoa(value)
	case float64: // what an int is after its way through JSON
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return ""
}

// whole reads a number from 0.
func whole(value any) (int, bool) {
	n, err := strconv.ParseInt(text(value), 10, 64)
	return int(n), err == nil && n >= 0 && n <= math.MaxInt32
}
