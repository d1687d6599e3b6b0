package hotlang_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm/heat/heattest/hotlang"
)

// world is a scope with fixed answers.
type world struct{}

func (world) Param(name string) (any, bool) {
	v, ok := map[string]any{
		"nfv":  map[string]any{"VDU": map[string]any{"worker": map[string]any{"flavor": "m1.tiny"}}},
		"list": []any{"a", "b"}, "n": 2, "enabled": true, "empty": "",
	}[name]
	return v, ok
}

func (world) Reference(name string) (any, error) { return "id-of-" + name, nil }

func (world) Attribute(resource, attribute string, path []any) (any, []any, error) {
	switch attribute {
	case "fixed_ips":
		return []any{map[string]any{"ip_address": "10.0.0.5"}}, path, nil
	case "outputs_list": // as a group does: the first step of the path names the attribute
		if len(path) == 0 {
			return nil, nil, &hotlang.Invalid{Message: fmt.Sprintf("The Referenced Attribute (%s %s) is incorrect.", resource, attribute)}
		}
		return []any{"x", "y"}, path[1:], nil
	}
	return nil, nil, errors.New("unknown attribute " + attribute)
}

func (world) File(name string) (string, error) { return "content of " + name, nil }

func parse(t *testing.T, body string) *hotlang.Template {
	t.Helper()
	tmpl, err := hotlang.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	const newest, oldest = "2021-04-16", "2013-05-23"
	for _, row := range []struct {
		name, version, value string
		want                 any
		err                  string
	}{
		{"parameter", newest, `{get_param: n}`, 2, ""},
		{"path in a parameter", newest, `{get_param: [nfv, VDU, worker, flavor]}`, "m1.tiny", ""},
		{"index in a parameter", newest, `{get_param: [list, 1]}`, "b", ""},
		{"a path that leads nowhere is null", newest, `{get_param: [nfv, VDU, master, flavor]}`, nil, ""},
		{"undeclared parameter", newest, `{get_param: nope}`, nil, "The Parameter (nope) was not provided."},
		{"reference", newest, `{get_resource: vm}`, "id-of-vm", ""},
		{"attribute with path", newest, `{get_attr: [port, fixed_ips, 0, ip_address]}`, "10.0.0.5", ""},
		{"attribute of all members", newest, `{get_attr: [group, outputs_list, ip]}`, []any{"x", "y"}, ""},
		{"the first version asks for the attribute alone", oldest, `{get_attr: [group, outputs_list, ip]}`, nil, "The Referenced Attribute (group outputs_list) is incorrect."},
		{"file", newest, `{get_file: a.sh}`, "content of a.sh", ""},
		{"str_replace", newest, `{str_replace: {template: "$a-$ab", params: {$a: 1, $ab: {get_param: n}}}}`, "1-2", ""},
		{"str_replace of a structure", newest, `{str_replace: {template: "v=X", params: {X: {get_param: list}}}}`, `v=["a", "b"]`, ""},
		{"str_split", newest, `{str_split: [",", "a,b", 1]}`, "b", ""},
		{"list_join", newest, `{list_join: [",", {get_param: list}, [c]]}`, "a,b,c", ""},
		{"repeat", newest, `{repeat: {for_each: {"%x%": {get_param: list}}, template: {network: "%x%"}}}`,
			[]any{map[string]any{"network": "a"}, map[string]any{"network": "b"}}, ""},
		{"if", newest, `{if: [{equals: [{get_param: n}, 2]}, yes-it-is, no-it-is-not]}`, "yes-it-is", ""},
		{"named condition", newest, `{if: [many, 1, 2]}`, 1, ""},
		{"not, and, or", newest, `{if: [{and: [{not: none}, {or: [none, many]}]}, 1, 2]}`, 1, ""},
		{"unknown condition", newest, `{if: [nope, 1, 2]}`, nil, `Invalid condition "nope"`},
		{"map_merge", newest, `{map_merge: [{a: 1}, {b: 2}]}`, map[string]any{"a": 1, "b": 2}, ""},
		{"list_concat_unique", newest, `{list_concat_unique: [[a], {get_param: list}]}`, []any{"a", "b"}, ""},
		{"digest", newest, `{digest: [sha256, ""]}`, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ""},
		{"a function of a later version is data", oldest, `{list_join: [",", [a]]}`, map[string]any{"list_join": []any{",", []any{"a"}}}, ""},
		{"unsupported function by name", newest, `{yaql: {expression: "1", data: {}}}`, nil, "yaql is not supported"},
		{"a map with two keys is data", newest, `{get_param: n, other: 1}`, map[string]any{"get_param": "n", "other": 1}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tmpl := parse(t, "heat_template_version: "+row.version+"\nconditions: {many: {equals: [{get_param: enabled}, true]}, none: false}\n")
			value, err := hotlang.DecodeYAML(row.value)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Eval(value, world{})
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("error %v instead of %s", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParameterValues(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, declared string
		given          map[string]any
		want           any // value of p
		err            string
	}{
		{"text", "{type: string}", map[string]any{"p": 3}, "3", ""},
		{"number from text", "{type: number}", map[string]any{"p": "3"}, 3, ""},
		{"list from text", "{type: comma_delimited_list}", map[string]any{"p": "a, b"}, []any{"a", "b"}, ""},
		{"json from text", "{type: json}", map[string]any{"p": `{"a": 1}`}, map[string]any{"a": 1}, ""},
		{"boolean from text", "{type: boolean}", map[string]any{"p": "on"}, true, ""},
		{"default", "{type: number, default: 7}", nil, 7, ""},
		{"missing", "{type: string}", nil, nil, "The Parameter (p) was not provided."},
		{"undeclared", "{type: string, default: x}", map[string]any{"q": 1}, nil, "The Parameter (q) was not defined in template."},
		{"no number", "{type: number}", map[string]any{"p": "x"}, nil, "Parameter 'p' is invalid: could not convert string to float: 'x'"},
		{"range", "{type: number, constraints: [{range: {min: 1, max: 5}}]}", map[string]any{"p": 9}, nil, "Parameter 'p' is invalid: 9 is out of range (min: 1, max: 5)"},
		{"length", "{type: string, constraints: [{length: {min: 3}}]}", map[string]any{"p": "x"}, nil, "Parameter 'p' is invalid: length (1) is out of range (min: 3, max: None)"},
		{"allowed values", "{type: string, constraints: [{allowed_values: [b, c]}]}", map[string]any{"p": "x"}, nil, `Parameter 'p' is invalid: "x" is not an allowed value ["b", "c"]`},
		{"pattern", "{type: string, constraints: [{allowed_pattern: '[0-9]+'}]}", map[string]any{"p": "1x"}, nil, `Parameter 'p' is invalid: "1x" does not match pattern "[0-9]+"`},
		{"description of a constraint", "{type: string, constraints: [{allowed_pattern: '[0-9]+', description: only digits}]}", map[string]any{"p": "x"}, nil, "Parameter 'p' is invalid: only digits"},
		{"custom constraint", "{type: string, constraints: [{custom_constraint: nova.flavor}]}", map[string]any{"p": "x"}, nil, "Parameter 'p' is invalid: there is no x of nova.flavor"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tmpl := parse(t, "heat_template_version: 2021-04-16\nparameters: {p: "+row.declared+"}\n")
			values, err := tmpl.ParameterValues(row.given, nil, func(c string, v any) error { return fmt.Errorf("there is no %v of %s", v, c) })
			if row.err != "" {
				var invalid *hotlang.Invalid
				if !errors.As(err, &invalid) || invalid.Message != row.err {
					t.Errorf("error %v instead of %s", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, values["p"]); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOrderFollowsReferences(t *testing.T) {
	t.Parallel()
	tmpl := parse(t, `
heat_template_version: 2021-04-16
resources:
  a: {type: T, properties: {x: {get_resource: b}}}
  b: {type: T, depends_on: c}
  c: {type: T, properties: {deep: [{y: {get_attr: [d, z]}}]}}
  d: {type: T}
`)
	order, err := tmpl.Order()
	if err != nil || !slices.Equal(order, []string{"d", "c", "b", "a"}) {
		t.Errorf("order is %v, %v", order, err)
	}
}

func TestBadTemplates(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, err string }{
		"not yaml":         {"a: [", "Error parsing template"},
		"no map":           {"- a", "The template is not a JSON object or YAML mapping."},
		"no version":       {"resources: {}", "Template format version not found."},
		"unknown version":  {"heat_template_version: 2099-01-01", `The template version is invalid: "heat_template_version: 2099-01-01"`},
		"unknown section":  {"heat_template_version: rocky\nfoo: 1", "The template section is invalid: foo"},
		"resource is text": {"heat_template_version: rocky\nresources: {a: b}", "Resource a is not a map"},
		"reference":        {"heat_template_version: rocky\nresources: {s: {type: T, properties: {n: [{port: {get_resource: nope}}]}}}", `The specified reference "nope" (in s.Properties.n[0].port) is incorrect.`},
		"circle":           {"heat_template_version: rocky\nresources: {a: {type: T, depends_on: b}, b: {type: T, depends_on: a}}", "Circular Dependency Found"},
		"alias bomb":       {aliasBomb(), "document is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl, err := hotlang.Parse(row.text)
			if err == nil {
				err = tmpl.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("error %v instead of %s", err, row.err)
			}
		})
	}
}

// aliasBomb is a small document that expands to 10^9 nodes.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("heat_template_version: rocky\ndescription: x\nl0: &l0 [a]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 10), ", "))
	}
	return b.String()
}
