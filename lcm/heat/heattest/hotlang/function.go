package hotlang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Scope answers for everything that a template refers to.
type Scope interface {
	// Param is the typed value of a parameter; pseudo parameters (OS::stack_name, ...) included.
	Param(name string) (any, bool)
	// Reference is what get_resource gives: usually the physical id.
	Reference(resource string) (any, error)
	// Attribute is what get_attr gives and the part of the path that is still to be followed in it.
	Attribute(resource, attribute string, path []any) (value any, rest []any, err error)
	// File is the content of a file that came with the template.
	File(name string) (string, error)
}

// functions by name, with the template version that brought them. Before that a map with such a key is plain data.
var functions = map[string]string{
	"get_param": "2013-05-23", "get_resource": "2013-05-23", "get_attr": "2013-05-23", "get_file": "2013-05-23",
	"str_replace": "2013-05-23", "list_join": "2014-10-16", "repeat": "2015-04-30", "digest": "2015-04-30", "str_split": "2015-10-15",
	"map_merge": "2016-04-08", "map_replace": "2016-10-14", "if": "2016-10-14", "equals": "2016-10-14", "not": "2016-10-14",
	"and": "2016-10-14", "or": "2016-10-14", "yaql": "2016-10-14", "str_replace_strict": "2017-02-24", "filter": "2017-02-24",
	"make_url": "2017-09-01", "list_concat": "2017-09-01", "list_concat_unique": "2017-09-01", "contains": "2017-09-01",
	"str_replace_vstrict": "2017-09-01", "resource_facade": "2013-05-23",
}

// call returns the function that a map stands for.
func (t *Template) call(m map[string]any) (name string, arg any, ok bool) {
	if len(m) != 1 {
		return "", nil, false
	}
	for name, arg = range m {
		since, known := functions[name]
		return name, arg, known && since <= t.Version
	}
	return "", nil, false
}

// Eval replaces every function in v, which stays as it is.
func (t *Template) Eval(v any, scope Scope) (any, error) {
	e := evaluator{t: t, scope: scope}
	return e.eval(v)
}

// Holds evaluates a condition: a name of the section conditions, a boolean or a function. nil holds.
func (t *Template) Holds(condition any, scope Scope) (bool, error) {
	if condition == nil {
		return true, nil
	}
	e := evaluator{t: t, scope: scope}
	return e.condition(condition, 0)
}

type evaluator struct {
	t     *Template
	scope Scope
}

func (e *evaluator) eval(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			item, err := e.eval(v[i])
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case map[string]any:
		if name, arg, ok := e.t.call(v); ok {
			return e.apply(name, arg)
		}
		out := make(map[string]any, len(v))
		for k := range v {
			item, err := e.eval(v[k])
			if err != nil {
				return nil, err
			}
			out[k] = item
		}
		return out, nil
	}
	return v, nil
}

func (e *evaluator) apply(name string, arg any) (any, error) {
	switch name {
	case "if":
		return e.choose(arg)
	case "repeat":
		return e.repeat(arg)
	case "equals", "not", "and", "or":
		return e.condition(map[string]any{name: arg}, 0)
	case "yaql", "filter", "make_url", "resource_facade", "contains":
		return nil, invalid("the function %s is not supported by this simulator", name)
	}
	arg, err := e.eval(arg)
	if err != nil {
		return nil, err
	}
	switch name {
	case "get_param":
		return e.param(arg)
	case "get_resource":
		return e.scope.Reference(Text(arg))
	case "get_attr":
		return e.attribute(arg)
	case "get_file":
		return e.scope.File(Text(arg))
	case "str_replace", "str_replace_strict", "str_replace_vstrict":
		return replaceText(name, arg)
	case "list_join":
		return join(arg)
	case "str_split":
		return split(arg)
	case "digest":
		return digest(arg)
	case "map_merge":
		return mergeMaps(arg)
	case "map_replace":
		return replaceMap(arg)
	}
	return concat(arg, name == "list_concat_unique")
}

func (e *evaluator) param(arg any) (any, error) {
	name, path := pathOf(arg)
	value, ok := e.scope.Param(Text(name))
	if !ok {
		return nil, &Invalid{Message: fmt.Sprintf("The Parameter (%s) was not provided.", Text(name)), Type: "UserParameterMissing"}
	}
	return Select(value, path), nil
}

func (e *evaluator) attribute(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) < 2 {
		return nil, invalid(`Arguments to "get_attr" must be of the form [resource_name, attribute, (path), ...]`)
	}
	path := list[2:]
	if e.t.Version == "2013-05-23" { // this version asks for the attribute first and selects in it afterwards
		path = nil
	}
	value, rest, err := e.scope.Attribute(Text(list[0]), Text(list[1]), path)
	if err != nil {
		return nil, err
	}
	if e.t.Version == "2013-05-23" {
		rest = list[2:]
	}
	return Select(value, rest), nil
}

// Select follows a path of keys and indexes; a step that leads nowhere gives nil, as get_param and get_attr do.
func Select(value any, path []any) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[Text(step)]
		case []any:
			i, err := strconv.Atoi(Text(step))
			if err != nil || i >= len(v) || i < -len(v) {
				return nil
			}
			if i < 0 {
				i += len(v)
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func pathOf(arg any) (first any, rest []any) {
	if list, ok := arg.([]any); ok {
		if len(list) == 0 {
			return "", nil
		}
		return list[0], list[1:]
	}
	return arg, nil
}

func (e *evaluator) choose(arg any) (any, error) {
	list, ok := arg.([]any)
	if !ok || len(list) != 3 {
		return nil, invalid(`Arguments to "if" must be of the form: [condition_name, value_if_true, value_if_false]`)
	}
	holds, err := e.condition(list[0], 0)
	if err != nil {
		return nil, err
	}
	if holds {
		return e.eval(list[1])
	}
	return e.eval(list[2])
}

func (e *evaluator) condition(c any, depth int) (bool, error) {
	if depth > 50 {
		return false, invalid("Circular definition for condition")
	}
	switch c := c.(type) {
	case bool:
		return c, nil
	case string:
		def, ok := e.t.Conditions[c]
		if !ok {
			return false, invalid("Invalid condition %q", c)
		}
		return e.condition(def, depth+1)
	case map[string]any:
		name, arg, ok := e.t.call(c)
		if !ok {
			break
		}
		list, _ := arg.([]any)
		switch name {
		case "equals":
			if len(list) != 2 {
				return false, invalid(`Arguments to "equals" must be of the form: [value_1, value_2]`)
			}
			both, err := e.eval(list)
			if err != nil {
				return false, err
			}
			pair := both.([]any)
			return Equal(pair[0], pair[1]), nil
		case "not":
			holds, err := e.condition(arg, depth+1)
			return !holds, err
		case "and", "or":
			return e.conditions(name, list, depth)
		}
		v, err := e.apply(name, arg)
		if err != nil {
			return false, err
		}
		b, err := Boolean(v)
		if err != nil {
			return false, err
		}
		return b.(bool), nil
	}
	return false, invalid("Invalid condition %q", Text(c))
}

func (e *evaluator) conditions(name string, list []any, depth int) (bool, error) {
	if len(list) < 2 {
		return false, invalid("The minimum number of condition arguments to %q is 2.", name)
	}
	for _, item := range list {
		holds, err := e.condition(item, depth+1)
		if err != nil {
			return false, err
		}
		if holds == (name == "or") {
			return holds, nil
		}
	}
	return name == "and", nil
}

func (e *evaluator) repeat(arg any) (any, error) {
	m, _ := arg.(map[string]any)
	template, hasTemplate := m["template"]
	forEach, err := e.eval(m["for_each"])
	if err != nil {
		return nil, err
	}
	loops, ok := forEach.(map[string]any)
	if !hasTemplate || !ok {
		return nil, invalid(`"repeat" syntax should be template and for_each`)
	}
	results := []any{template}
	for _, name := range SortedKeys(loops) {
		items, ok := loops[name].([]any)
		if !ok {
			return nil, invalid(`The values of the "for_each" argument to "repeat" must be lists`)
		}
		var next []any
		for _, partial := range results {
			for _, item := range items {
				next = append(next, substitute(partial, name, item))
			}
		}
		results = next
	}
	if results == nil {
		return []any{}, nil
	}
	return e.eval(results)
}

// Equal compares two values as == of Python does for what JSON can hold.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		bm, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, bm, Equal)
	case []any:
		bl, ok := b.([]any)
		return ok && slices.EqualFunc(a, bl, Equal)
	case int, float64:
		switch b.(type) {
		case int, float64:
			return asFloat(a) == asFloat(b)
		}
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
