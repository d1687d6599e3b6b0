package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"vnfm/vnfpkg/filter"
)

// Selectors of lists, SOL013 5.3. The existing client writes a hyphen.
const (
	allFieldsParameter      = "all_fields"
	fieldsParameter         = "fields"
	excludeFieldsParameter  = "exclude_fields"
	clientExcludeParameter  = "exclude-fields"
	excludeDefaultParameter = "exclude_default"
)

// selector says which attributes of an element are shown.
type selector struct {
	collection
	listed   [][]string // shown beside the mandatory ones, or with usual beside the usual ones
	excluded [][]string
	whole    bool // the list has to be read with its large attributes
	pruned   bool // something is to be taken out
	usual    bool // the attributes that are shown by default are
}

// selectorOf reads the selectors of a query.
func (c collection) selectorOf(query url.Values) (selector, error) {
	s := selector{collection: c}
	has := func(name string) bool { return query.Has(name) }
	excludes := has(excludeFieldsParameter) || has(clientExcludeParameter)
	switch {
	case has(allFieldsParameter) && (has(fieldsParameter) || excludes || has(excludeDefaultParameter)),
		excludes && (has(fieldsParameter) || has(excludeDefaultParameter)),
		has(excludeFieldsParameter) && has(clientExcludeParameter):
		return s, badRequest("query: all_fields, fields, exclude_fields and exclude_default exclude each other, except fields with exclude_default")
	case has(allFieldsParameter):
		s.whole = true
		return s, nil
	case excludes:
		s.whole, s.pruned = true, true
		return s, c.paths(&s.excluded, append(query[excludeFieldsParameter], query[clientExcludeParameter]...), true)
	case has(fieldsParameter):
		s.whole, s.pruned, s.usual = true, true, has(excludeDefaultParameter)
		return s, c.paths(&s.listed, query[fieldsParameter], false)
	default:
		return s, nil
	}
}

// paths reads lists of attributes. What is mandatory cannot be excluded.
func (c collection) paths(into *[][]string, lists []string, exclude bool) error {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			path, err := filter.ParsePath(name)
			if err == nil && slices.Contains(path, filter.Key) {
				err = fmt.Errorf("%s is not an attribute", name)
			}
			if err == nil {
				_, _, err = c.steps(path)
			}
			if err != nil {
				return badRequest("query: " + err.Error())
			}
			if exclude && c.mandatory(path) {
				return badRequest("query: " + name + " is mandatory and cannot be excluded")
			}
			*into = append(*into, path)
		}
	}
	return nil
}

// mandatory reports whether an attribute is always there where what holds it is.
func (c collection) mandatory(path []string) bool {
	holder := c.element
	if len(path) > 1 {
		if _, holder, _ = c.steps(path[:len(path)-1]); holder == nil {
			return false
		}
	}
	return required(holder, path[len(path)-1])
}

// apply takes out of an element what is not selected.
func (s selector) apply(element any) (any, error) {
	if !s.pruned {
		return element, nil
	}
	encoded, err := json.Marshal(element)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		return nil, err
	}
	if s.excluded != nil {
		for _, path := range s.excluded {
			remove(object, path)
		}
		return object, nil
	}
	keep(object, s.element, s.listed, func(name string) bool { return s.usual && !slices.Contains(s.large, name) })
	return object, nil
}

// remove takes an attribute out, in every element of the lists on the way.
func remove(from any, path []string) {
	switch from := from.(type) {
	case []any:
		for _, element := range from {
			remove(element, path)
		}
	case map[string]any:
		if len(path) == 1 {
			delete(from, path[0])
			return
		}
		remove(from[path[0]], path[1:])
	}
}

// keep leaves in an object what is mandatory, what is listed, and what usual names.
func keep(from any, schema *openapi3.Schema, listed [][]string, usual func(name string) bool) {
	switch from := from.(type) {
	case []any:
		for _, element := range from {
			keep(element, schema, listed, usual)
		}
	case map[string]any:
		for name, value := range from {
			var inside [][]string
			whole := schema != nil && required(schema, name) || usual(name)
			for _, path := range listed {
				if path[0] == name {
					whole = whole || len(path) == 1
					inside = append(inside, path[1:])
				}
			}
			switch {
			case whole:
			case inside == nil:
				delete(from, name)
			default:
				keep(value, inner(schema, name), inside, func(string) bool { return false })
			}
		}
	}
}

// inner is the schema of the objects that an attribute holds, nil inside of key-value pairs.
func inner(schema *openapi3.Schema, name string) *openapi3.Schema {
	if schema == nil {
		return nil
	}
	found, _ := property(schema, name)
	found, _ = unlisted(found)
	return found
}
