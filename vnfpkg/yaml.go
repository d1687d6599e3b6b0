package vnfpkg

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// value is a node of a YAML file, or nothing (the zero value, or one with a file alone). All its methods may be called on
// nothing and on nodes of any kind. Aliases and merge keys are resolved.
type value struct {
	file string
	node *yaml.Node
}

// field is an entry of a mapping.
type field struct {
	name string
	value
}

// yamlBudget bounds the YAML of one package, with aliases expanded.
type yamlBudget struct {
	nodes, depth int
}

// parseYAML reads the first document of a YAML file.
func parseYAML(file string, data []byte, budget *yamlBudget) (value, error) {
	var document yaml.Node
	if !utf8.Valid(data) {
		return value{}, &Invalid{File: file, Reason: "the file is not UTF-8"}
	}
	if err := yaml.Unmarshal(data, &document); err != nil {
		return value{}, syntaxError(file, err)
	}
	if len(document.Content) == 0 {
		return value{file: file}, nil
	}
	e := expander{file, budget}
	root, err := e.expand(document.Content[0], 0)
	if err != nil {
		return value{}, err
	}
	return value{file, root}, nil
}

var lineInError = regexp.MustCompile(`line (\d+): `)

// syntaxError moves the line number out of the parser's text, the only place where it has it.
func syntaxError(file string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if match := lineInError.FindStringSubmatch(text); match != nil {
		text = strings.Replace(text, match[0], "", 1)
		if n, err := strconv.Atoi(match[1]); err == nil {
			line = n
		}
	}
	// go.yaml.in/yaml/v3 3.0.6 counts the lines of these errors from 0, and then leaves 0 out.
	if strings.HasPrefix(text, "did not find expected ") {
		line++
	}
	return &Invalid{File: file, Line: line, Reason: "not valid YAML: " + text}
}

// expander copies a tree of nodes, replacing aliases and merge keys by what they stand for, as long as the budget lasts.
type expander struct {
	file   string
	budget *yamlBudget
}

func (e expander) refuse(node *yaml.Node, format string, args ...any) error {
	return value{e.file, node}.invalid(format, args...)
}

func (e expander) expand(node *yaml.Node, depth int) (*yaml.Node, error) {
	if e.budget.nodes--; e.budget.nodes < 0 {
		return nil, e.refuse(node, "the YAML is too large, aliases counted as what they stand for")
	}
	if depth > e.budget.depth {
		return nil, e.refuse(node, "nested deeper than %d levels, or an anchor that contains itself", e.budget.depth)
	}
	switch node.Kind {
	case yaml.AliasNode:
		return e.expand(node.Alias, depth+1)
	case yaml.MappingNode:
		return e.expandMapping(node, depth)
	case yaml.ScalarNode:
		// NUL cannot be stored in a PostgreSQL text or jsonb.
		if strings.ContainsRune(node.Value, 0) {
			return nil, e.refuse(node, "a string with a NUL character")
		}
		return node, nil
	default:
		expanded := *node
		expanded.Content = make([]*yaml.Node, len(node.Content))
		for i, child := range node.Content {
			var err error
			if expanded.Content[i], err = e.expand(child, depth+1); err != nil {
				return nil, err
			}
		}
		return &expanded, nil
	}
}

func (e expander) expandMapping(node *yaml.Node, depth int) (*yaml.Node, error) {
	expanded := *node
	expanded.Content = make([]*yaml.Node, 0, len(node.Content))
	keys := make(map[string]bool, len(node.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, err := e.expand(node.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		content, err := e.expand(node.Content[i+1], depth+1)
		switch {
		case err != nil:
			return nil, err
		case key.Kind != yaml.ScalarNode:
			return nil, e.refuse(key, "a key that is not a plain value")
		case key.ShortTag() == "!!merge":
			merges = append(merges, content)
			continue
		case keys[key.Value]:
			return nil, e.refuse(key, "the key %q is given twice", key.Value)
		}
		keys[key.Value] = true
		expanded.Content = append(expanded.Content, key, content)
	}
	for _, merge := range merges {
		sources := []*yaml.Node{merge}
		if merge.Kind == yaml.SequenceNode {
			sources = merge.Content
		}
		for _, source := range sources {
			if source.Kind != yaml.MappingNode {
				return nil, e.refuse(source, "merging what is not a mapping")
			}
			for i := 0; i+1 < len(source.Content); i += 2 {
				if key := source.Content[i]; !keys[key.Value] {
					keys[key.Value] = true
					expanded.Content = append(expanded.Content, key, source.Content[i+1])
				}
			}
		}
	}
	return &expanded, nil
}

func (v value) line() int {
	if v.node == nil {
		return 0
	}
	return v.node.Line
}

// given tells whether there is a value other than null.
func (v value) given() bool { return v.node != nil && v.node.ShortTag() != "!!null" }

func (v value) is(kind yaml.Kind) bool { return v.given() && v.node.Kind == kind }

// at returns the value below a path of keys.
func (v value) at(keys ...string) value {
	for _, key := range keys {
		child := value{file: v.file}
		if v.is(yaml.MappingNode) {
			for i := 0; i+1 < len(v.node.Content); i += 2 {
				if v.node.Content[i].Value == key {
					child.node = v.node.Content[i+1]
					break
				}
			}
		}
		v = child
	}
	return v
}

// fields returns the entries of a mapping in their order.
func (v value) fields() []field {
	if !v.is(yaml.MappingNode) {
		return nil
	}
	fields := make([]field, 0, len(v.node.Content)/2)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		fields = append(fields, field{v.node.Content[i].Value, value{v.file, v.node.Content[i+1]}})
	}
	return fields
}

// items returns the elements of a list.
func (v value) items() []value {
	if !v.is(yaml.SequenceNode) {
		return nil
	}
	items := make([]value, len(v.node.Content))
	for i, node := range v.node.Content {
		items[i] = value{v.file, node}
	}
	return items
}

// named returns the entries of a mapping, or of a list of mappings, which TOSCA uses where the order counts.
func (v value) named() []field {
	if !v.is(yaml.SequenceNode) {
		return v.fields()
	}
	var fields []field
	for _, item := range v.items() {
		fields = append(fields, item.fields()...)
	}
	return fields
}

// text returns a scalar as it is written, "" for anything else.
func (v value) text() string {
	if !v.is(yaml.ScalarNode) {
		return ""
	}
	return v.node.Value
}

// texts returns the scalars of a list; a single scalar is a list of one.
func (v value) texts() []string {
	if v.is(yaml.ScalarNode) {
		return []string{v.text()}
	}
	var texts []string
	for _, item := range v.items() {
		if item.is(yaml.ScalarNode) {
			texts = append(texts, item.text())
		}
	}
	return texts
}

// plain returns the value as JSON-like data. What JSON has no notion of becomes text.
func (v value) plain() any {
	switch {
	case !v.given():
		return nil
	case v.node.Kind == yaml.MappingNode:
		object := make(map[string]any, len(v.node.Content)/2)
		for _, f := range v.fields() {
			object[f.name] = f.plain()
		}
		return object
	case v.node.Kind == yaml.SequenceNode:
		list := make([]any, 0, len(v.node.Content))
		for _, item := range v.items() {
			list = append(list, item.plain())
		}
		return list
	}
	var scalar any
	if err := v.node.Decode(&scalar); err != nil {
		return v.node.Value
	}
	switch scalar := scalar.(type) {
	case bool, int, string:
		return scalar
	case float64:
		if !math.IsInf(scalar, 0) && !math.IsNaN(scalar) {
			return scalar
		}
	case uint64:
		return fmt.Sprint(scalar)
	}
	return v.node.Value
}
