package hotlang

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Parameter is one entry of the section parameters.
type Parameter struct {
	Name        string
	Type        string // string, number, comma_delimited_list, json or boolean
	Description string
	Label       string
	Default     any // nil without one
	HasDefault  bool
	Hidden      bool
	Constraints []Constraint
}

// Constraint is one of range, length, allowed_values, allowed_pattern and custom_constraint.
type Constraint struct {
	Kind        string
	Argument    any
	Description string
}

// CustomCheck answers whether a value names something that exists, such as a flavor for nova.flavor; nil means yes. The error's text is
// what Heat says of it.
type CustomCheck func(constraint string, value any) error

func (t *Template) readParameters(doc map[string]any) error {
	section, err := sectionOf(doc, "parameters")
	if err != nil {
		return err
	}
	for _, name := range SortedKeys(section) {
		def, ok := section[name].(map[string]any)
		if !ok {
			return &Invalid{Message: fmt.Sprintf("Invalid parameter %s, expected a mapping", name), Type: "InvalidSchemaError"}
		}
		p := Parameter{Name: name, Type: Text(def["type"]), Description: Text(def["description"]), Label: Text(def["label"])}
		switch p.Type {
		case "string", "number", "comma_delimited_list", "json", "boolean":
		case "":
			return &Invalid{Message: "Missing parameter type for parameter: " + name, Type: "InvalidSchemaError"}
		default:
			return &Invalid{Message: fmt.Sprintf("Invalid type (%s)", p.Type), Type: "InvalidSchemaError"}
		}
		p.Default, p.HasDefault = def["default"]
		p.Hidden, _ = def["hidden"].(bool)
		constraints, _ := def["constraints"].([]any)
		for _, c := range constraints {
			m, _ := c.(map[string]any)
			for _, kind := range SortedKeys(m) {
				if kind != "description" {
					p.Constraints = append(p.Constraints, Constraint{Kind: kind, Argument: m[kind], Description: Text(m["description"])})
				}
			}
		}
		t.Parameters = append(t.Parameters, p)
	}
	return nil
}

// ParameterValues gives every declared parameter its typed value: from given, else from defaults, else its own default. A nil given map is
// allowed. The error is an *Invalid with Heat's words: a value is missing, unknown, of the wrong type or against a constraint.
func (t *Template) ParameterValues(given, defaults map[string]any, check CustomCheck) (map[string]any, error) {
	declared := map[string]bool{}
	values := map[string]any{}
	for _, p := range t.Parameters {
		declared[p.Name] = true
		raw, ok := given[p.Name]
		if !ok || raw == nil {
			if raw, ok = defaults[p.Name]; !ok {
				raw, ok = p.Default, p.HasDefault
			}
		}
		if !ok {
			return nil, &Invalid{Message: fmt.Sprintf("The Parameter (%s) was not provided.", p.Name), Type: "UserParameterMissing"}
		}
		value, err := p.value(raw, check)
		if err != nil && given[p.Name] == nil && p.HasDefault {
			return nil, &Invalid{Message: fmt.Sprintf("Parameter '%s' is invalid: Invalid default %s (%s)", p.Name, Text(p.Default), err), Type: "InvalidSchemaError"}
		}
		if err != nil {
			return nil, invalid("Parameter '%s' is invalid: %s", p.Name, err)
		}
		values[p.Name] = value
	}
	for _, name := range SortedKeys(given) {
		if !declared[name] {
			return nil, &Invalid{Message: fmt.Sprintf("The Parameter (%s) was not defined in template.", name), Type: "UnknownUserParameter"}
		}
	}
	return values, nil
}

func (p *Parameter) value(raw any, check CustomCheck) (any, error) {
	value, err := p.typed(raw)
	if err != nil {
		return nil, err
	}
	for _, c := range p.Constraints {
		if err := c.check(value, check); err != nil {
			if c.Description != "" && c.Kind != "custom_constraint" {
				return nil, fmt.Errorf("%s", c.Description)
			}
			return nil, err
		}
	}
	return value, nil
}

func (p *Parameter) typed(raw any) (any, error) {
	switch p.Type {
	case "number":
		return Number(raw)
	case "boolean":
		return Boolean(raw)
	case "comma_delimited_list":
		return commaList(raw)
	case "json":
		switch raw := raw.(type) {
		case string:
			var v any
			if err := json.Unmarshal([]byte(raw), &v); err != nil {
				return nil, fmt.Errorf("Value must be valid JSON: %w", err) //nolint:staticcheck // Heat's words
			}
			return NormalizeJSON(v), nil
		case nil:
			return map[string]any{}, nil
		}
		return raw, nil
	}
	return Text(raw), nil
}

func commaList(raw any) (any, error) {
	switch raw := raw.(type) {
	case []any:
		list := make([]any, len(raw))
		for i := range raw {
			list[i] = Text(raw[i])
		}
		return list, nil
	case string:
		list := []any{}
		if raw == "" {
			return list, nil
		}
		for _, item := range strings.Split(raw, ",") {
			list = append(list, strings.TrimSpace(item))
		}
		return list, nil
	case int, float64, bool:
		return []any{Text(raw)}, nil
	}
	return nil, fmt.Errorf("Value must be a comma-delimited list string: %s", Text(raw)) //nolint:staticcheck // Heat's words
}

// Number converts to int or float64, as Heat does with properties and parameters of type number.
func Number(raw any) (any, error) {
	switch raw := raw.(type) {
	case int, float64:
		return raw, nil
	case string:
		if i, err := strconv.Atoi(raw); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(raw, 64); err == nil {
			return f, nil
		}
		return nil, fmt.Errorf("could not convert string to float: %s", Repr(raw))
	}
	return nil, fmt.Errorf("Value '%s' is not a number", Text(raw)) //nolint:staticcheck // Heat's words
}

// Boolean converts the words that Heat takes for true and false.
func Boolean(raw any) (any, error) {
	switch raw := raw.(type) {
	case bool:
		return raw, nil
	case int:
		if raw == 0 || raw == 1 {
			return raw == 1, nil
		}
	case string:
		switch strings.ToLower(strings.TrimSpace(raw)) {
		case "t", "true", "on", "y", "yes", "1":
			return true, nil
		case "f", "false", "off", "n", "no", "0":
			return false, nil
		}
	}
	return nil, fmt.Errorf("Unrecognized value '%s', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", Text(raw)) //nolint:staticcheck // Heat's words
}

// check is nil when the value satisfies the constraint; lists satisfy it when every item does.
func (c Constraint) check(value any, custom CustomCheck) error {
	if list, ok := value.([]any); ok && c.Kind != "length" {
		for _, item := range list {
			if err := c.check(item, custom); err != nil {
				return err
			}
		}
		return nil
	}
	switch c.Kind {
	case "range":
		n, err := Number(value)
		if err != nil {
			return err
		}
		if !c.within(asFloat(n)) {
			return fmt.Errorf("%s is out of range (min: %s, max: %s)", Text(value), c.bound("min"), c.bound("max"))
		}
	case "length":
		n := lengthOf(value)
		if !c.within(float64(n)) {
			return fmt.Errorf("length (%d) is out of range (min: %s, max: %s)", n, c.bound("min"), c.bound("max"))
		}
	case "allowed_values":
		return c.checkAllowed(value)
	case "allowed_pattern":
		pattern, err := regexp.Compile("^(?:" + Text(c.Argument) + ")")
		if err != nil {
			return err
		}
		if loc := pattern.FindStringIndex(Text(value)); loc == nil || loc[1] != len(Text(value)) {
			return fmt.Errorf("%s does not match pattern %s", quoted(Text(value)), quoted(Text(c.Argument)))
		}
	case "custom_constraint":
		if custom != nil {
			return custom(Text(c.Argument), value)
		}
	}
	return nil
}

func (c Constraint) checkAllowed(value any) error {
	allowed, _ := c.Argument.([]any)
	for _, a := range allowed {
		if Text(a) == Text(value) {
			return nil
		}
	}
	words := make([]string, len(allowed))
	for i := range allowed {
		words[i] = quoted(Text(allowed[i]))
	}
	return fmt.Errorf("%s is not an allowed value [%s]", quoted(Text(value)), strings.Join(words, ", "))
}

func quoted(s string) string { return `"` + s + `"` }

func (c Constraint) bound(name string) string {
	m, _ := c.Argument.(map[string]any)
	if m[name] == nil {
		return "None"
	}
	return Text(m[name])
}

func (c Constraint) within(n float64) bool {
	m, _ := c.Argument.(map[string]any)
	if low, err := Number(m["min"]); err == nil && n < asFloat(low) {
		return false
	}
	if high, err := Number(m["max"]); err == nil && n > asFloat(high) {
		return false
	}
	return true
}

func asFloat(n any) float64 {
	switch n := n.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

func lengthOf(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return len([]rune(Text(v)))
}
