package hotlang

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what aliases may expand to; the largest known templates have some thousand nodes.
const maxNodes = 200_000

// DecodeYAML reads a document as Heat's loader does: YAML 1.1 booleans, dates stay text, keys become text.
func DecodeYAML(text string) (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	d := decoder{left: maxNodes}
	return d.value(doc.Content[0], 0)
}

type decoder struct{ left int }

var errTooLarge = errors.New("document is too large")

func (d *decoder) value(n *yaml.Node, depth int) (any, error) {
	d.left--
	if d.left < 0 || depth > 100 {
		return nil, errTooLarge
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return d.mapping(n, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, child := range n.Content {
			v, err := d.value(child, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	default:
		return scalar(n)
	}
}

func (d *decoder) mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key must be a scalar", key.Line)
		}
		v, err := d.value(value, depth+1)
		if err != nil {
			return nil, err
		}
		if merged, ok := v.(map[string]any); ok && key.Tag == "!!merge" {
			for k, mv := range merged {
				if _, set := m[k]; !set {
					m[k] = mv
				}
			}
			continue
		}
		m[key.Value] = v
	}
	return m, nil
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE", nil
	case "!!int":
		var i int
		if err := n.Decode(&i); err != nil {
			return n.Value, nil //nolint:nilerr // a number too large for an int is text to us
		}
		return i, nil
	case "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil {
			return n.Value, nil //nolint:nilerr // .inf and .nan are text to us
		}
		return f, nil
	case "!!str":
		if n.Style == 0 {
			switch n.Value {
			case "yes", "Yes", "YES", "on", "On", "ON":
				return true, nil
			case "no", "No", "NO", "off", "Off", "OFF":
				return false, nil
			}
		}
	}
	return n.Value, nil
}

// NormalizeJSON turns what encoding/json decoded into the values this package works with: whole numbers become int.
func NormalizeJSON(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v)
		}
		return v
	case json.Number:
		if i, err := strconv.Atoi(v.String()); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = NormalizeJSON(v[i])
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = NormalizeJSON(v[k])
		}
		return v
	}
	return v
}

// Copy makes a deep copy of maps and lists.
func Copy(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Copy(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = Copy(v[k])
		}
		return out
	}
	return v
}
