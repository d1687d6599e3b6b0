package hot

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// object is a YAML mapping with an order.
type object []entry

type entry struct {
	key   string
	value any // object, []any, string, int, bool or nil
}

func (o *object) add(key string, value any) { *o = append(*o, entry{key, value}) }

func (o object) has(key string) bool {
	for _, e := range o {
		if e.key == key {
			return true
		}
	}
	return false
}

// marshal writes a document.
func marshal(document object) (string, error) {
	root, err := yamlNode(document)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return "", fmt.Errorf("write template: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return "", fmt.Errorf("write template: %w", err)
	}
	return out.String(), nil
}

func yamlNode(value any) (*yaml.Node, error) {
	switch value := value.(type) {
	case object:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range value {
			key, err := yamlText(e.key)
			if err != nil {
				return nil, err
			}
			inner, err := yamlNode(e.value)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, key, inner)
		}
		node.Style = flowStyle(value)
		return node, nil
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value {
			inner, err := yamlNode(item)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, inner)
		}
		return node, nil
	case string:
		return yamlText(value)
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(value)}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(value)}, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return nil, fmt.Errorf("write template: no YAML form of %T", value)
}

// flowStyle puts calls of Heat's functions on one line.
func flowStyle(o object) yaml.Style {
	if len(o) == 1 && (o[0].key == "get_param" || o[0].key == "get_resource") {
		return yaml.FlowStyle
	}
	return 0
}

// plainText is text that YAML 1.1, which Heat reads, and YAML 1.2 understand the same without quotes, but for the words that the
// encoder knows.
var plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_:.-]*[A-Za-z0-9_]$|^[A-Za-z_]$`)

// yamlText makes a string that is read as a string, whatever is in it.
func yamlText(text string) (*yaml.Node, error) {
	node := &yaml.Node{}
	if err := node.Encode(text); err != nil { // quotes true, null, yes, n and the like
		return nil, fmt.Errorf("write template: %w", err)
	}
	if node.Style == 0 && !plainText.MatchString(text) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node, nil
}

// The functions of HOT.

func getResource(name string) object { return object{{"get_resource", name}} }

// getParam reads a parameter, or something within it: the elements of path are names, or calls themselves.
func getParam(name string, path ...any) object {
	if len(path) == 0 {
		return object{{"get_param", name}}
	}
	return object{{"get_param", append([]any{name}, path...)}}
}
