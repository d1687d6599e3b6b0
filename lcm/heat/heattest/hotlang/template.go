package hotlang

import (
	"fmt"
	"slices"
)

// Template is a parsed template. Its values are not evaluated.
type Template struct {
	Version     string // a date or code name's date
	Description string
	Parameters  []Parameter
	Conditions  map[string]any
	Resources   map[string]*Resource
	Outputs     map[string]Output
	Document    map[string]any // as given, for "template show"
}

// Resource is one entry of the section resources.
type Resource struct {
	Name, Type     string
	Properties     map[string]any
	Metadata       map[string]any
	DependsOn      []string
	DeletionPolicy string
	Condition      any // nil without one
}

// Output is one entry of the section outputs.
type Output struct {
	Description string
	Value       any
	Condition   any
}

// Invalid is a template or parameter that Heat refuses with 400.
type Invalid struct {
	Message string // Heat's own words
	Type    string // Heat's exception class, such as StackValidationFailed
}

func (e *Invalid) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &Invalid{Message: fmt.Sprintf(format, args...), Type: "StackValidationFailed"}
}

// versions maps code names to the dates that Heat knows.
var versions = map[string]string{
	"2013-05-23": "2013-05-23", "2014-10-16": "2014-10-16", "2015-04-30": "2015-04-30", "2015-10-15": "2015-10-15",
	"2016-04-08": "2016-04-08", "2016-10-14": "2016-10-14", "2017-02-24": "2017-02-24", "2017-09-01": "2017-09-01",
	"2018-03-02": "2018-03-02", "2018-08-31": "2018-08-31", "2021-04-16": "2021-04-16",
	"newton": "2016-10-14", "ocata": "2017-02-24", "pike": "2017-09-01", "queens": "2018-03-02", "rocky": "2018-08-31", "wallaby": "2021-04-16",
}

var sections = []string{
	"heat_template_version", "description", "parameter_groups", "parameters", "resources", "outputs", "conditions",
}

// Parse reads a template from its YAML or JSON text.
func Parse(text string) (*Template, error) {
	doc, err := DecodeYAML(text)
	if err != nil {
		return nil, &Invalid{Message: "Error parsing template [root stack] " + err.Error(), Type: "ValueError"}
	}
	return ParseDocument(doc)
}

// ParseDocument reads a template that is already decoded (see NormalizeJSON).
func ParseDocument(doc any) (*Template, error) {
	m, ok := doc.(map[string]any)
	if !ok {
		return nil, &Invalid{Message: "The template is not a JSON object or YAML mapping.", Type: "ValueError"}
	}
	version, ok := m["heat_template_version"].(string)
	if !ok {
		return nil, &Invalid{Message: "Template format version not found.", Type: "ValueError"}
	}
	date, ok := versions[version]
	if !ok {
		return nil, &Invalid{Type: "InvalidTemplateVersion", Message: fmt.Sprintf("The template version is invalid: %q. \"heat_template_version\" should be one of: %s",
			"heat_template_version: "+version, joinQuoted(SortedKeys(versions)))}
	}
	for _, key := range SortedKeys(m) {
		if !slices.Contains(sections, key) {
			return nil, &Invalid{Message: fmt.Sprintf("The template section is invalid: %s", key), Type: "StackValidationFailed"}
		}
	}
	t := &Template{Version: date, Description: Text(m["description"]), Document: m, Resources: map[string]*Resource{}, Outputs: map[string]Output{}}
	if conditions, ok := m["conditions"].(map[string]any); ok {
		t.Conditions = conditions
	}
	for _, read := range []func(map[string]any) error{t.readParameters, t.readResources, t.readOutputs} {
		if err := read(m); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *Template) readResources(doc map[string]any) error {
	section, err := sectionOf(doc, "resources")
	if err != nil {
		return err
	}
	for _, name := range SortedKeys(section) {
		def, ok := section[name].(map[string]any)
		if !ok {
			return invalid("Resource %s is not a map", name)
		}
		r, err := readResource(name, def)
		if err != nil {
			return err
		}
		t.Resources[name] = r
	}
	return nil
}

func readResource(name string, def map[string]any) (*Resource, error) {
	r := &Resource{Name: name, Condition: def["condition"], DeletionPolicy: Text(def["deletion_policy"])}
	var ok bool
	if r.Type, ok = def["type"].(string); !ok {
		return nil, invalid("\"type\" is not a valid keyword inside a resource definition")
	}
	if r.Properties, ok = mapOrEmpty(def["properties"]); !ok {
		return nil, invalid("Resource %s properties type is not a map", name)
	}
	if r.Metadata, ok = mapOrEmpty(def["metadata"]); !ok {
		return nil, invalid("Resource %s metadata type is not a map", name)
	}
	for _, key := range SortedKeys(def) {
		switch key {
		case "type", "properties", "metadata", "depends_on", "deletion_policy", "update_policy", "description", "external_id", "condition":
		default:
			return nil, invalid("%q is not a valid keyword inside a resource definition", key)
		}
	}
	switch deps := def["depends_on"].(type) {
	case nil:
	case string:
		r.DependsOn = []string{deps}
	case []any:
		for _, d := range deps {
			r.DependsOn = append(r.DependsOn, Text(d))
		}
	default:
		return nil, invalid("Resource %s depends_on type is not a list", name)
	}
	return r, nil
}

func (t *Template) readOutputs(doc map[string]any) error {
	section, err := sectionOf(doc, "outputs")
	if err != nil {
		return err
	}
	for _, name := range SortedKeys(section) {
		def, ok := section[name].(map[string]any)
		if !ok {
			return invalid("Outputs must contain Output. Found a [%T] instead", section[name])
		}
		value, ok := def["value"]
		if !ok {
			return invalid("Each output must contain a value key.")
		}
		t.Outputs[name] = Output{Description: Text(def["description"]), Value: value, Condition: def["condition"]}
	}
	return nil
}

func sectionOf(doc map[string]any, name string) (map[string]any, error) {
	section, ok := mapOrEmpty(doc[name])
	if !ok {
		return nil, &Invalid{Message: fmt.Sprintf("The template section is invalid: %s", name), Type: "InvalidTemplateSection"}
	}
	return section, nil
}

func mapOrEmpty(v any) (map[string]any, bool) {
	if v == nil {
		return map[string]any{}, true
	}
	m, ok := v.(map[string]any)
	return m, ok
}

func joinQuoted(words []string) string {
	out := ""
	for i, w := range words {
		if i > 0 {
			out += ", "
		}
		out += w
	}
	return out
}
