package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"

	"vnfm/vnfpkg/filter"
)

// collection is what is known of the elements of a list.
type collection struct {
	element *openapi3.Schema
	// large are the attributes that a list leaves out by default.
	large []string
}

// collectionOf finds the element's schema in the answer of a route.
func (v *validator) collectionOf(path string, large []string) collection {
	answer := v.routes[http.MethodGet+" "+path].Operation.Responses.Status(http.StatusOK).Value.Content.Get(mediaJSON).Schema.Value
	return collection{element: answer.Items.Value, large: large}
}

// property returns the schema of an attribute of an object. free is true for one of the names that key-value pairs may have.
func property(object *openapi3.Schema, name string) (schema *openapi3.Schema, free bool) {
	for _, part := range append([]*openapi3.SchemaRef{{Value: object}}, object.AllOf...) {
		if found := part.Value.Properties[name]; found != nil {
			return found.Value, false
		}
		if part.Value != object {
			if found, free := property(part.Value, name); found != nil || free {
				return found, free
			}
		}
	}
	return nil, object.AdditionalProperties.Has != nil && *object.AdditionalProperties.Has
}

func required(object *openapi3.Schema, name string) bool {
	return slices.Contains(object.Required, name) ||
		slices.ContainsFunc(object.AllOf, func(part *openapi3.SchemaRef) bool { return required(part.Value, name) })
}

// unlisted returns the schema of the elements of a list, and that of anything else as it is.
func unlisted(schema *openapi3.Schema) (element *openapi3.Schema, list bool) {
	for schema != nil && schema.Type.Is(openapi3.TypeArray) {
		schema, list = schema.Items.Value, true
	}
	return schema, list
}

// steps follows a path of names from the element inwards. schema is that of the attribute, nil inside of key-value pairs.
func (c collection) steps(path []string) (steps []filter.Step, schema *openapi3.Schema, err error) {
	schema = c.element
	for i, name := range path {
		if name == filter.Key {
			if !isMap(schema) || i < len(path)-1 {
				return nil, nil, fmt.Errorf("there is no map %s whose keys could be compared", filter.Join(path[:i]))
			}
			return append(steps, filter.Step{Key: true}), openapi3.NewStringSchema(), nil
		}
		step := filter.Step{Name: name}
		if schema != nil {
			found, free := property(schema, name)
			if found == nil && !free {
				return nil, nil, fmt.Errorf("there is no attribute %s", filter.Join(path[:i+1]))
			}
			schema = found
		}
		schema, step.List = unlisted(schema)
		steps = append(steps, step)
	}
	return steps, schema, nil
}

// isMap reports whether a value of a schema may have names that the schema does not know; inside of key-value pairs there is none.
func isMap(schema *openapi3.Schema) bool {
	if schema == nil {
		return true
	}
	_, free := property(schema, filter.Key)
	return free
}

// condition makes a condition of an expression, if there is such an attribute and the values are of its type.
func (c collection) condition(expression filter.Expression) (filter.Condition, error) {
	if expression.Path[0] == "_links" {
		return filter.Condition{}, errors.New("links cannot be filtered by")
	}
	steps, schema, err := c.steps(expression.Path)
	if err != nil {
		return filter.Condition{}, err
	}
	kind := filter.Any
	switch {
	case schema == nil:
	case schema.Type.Is(openapi3.TypeInteger), schema.Type.Is(openapi3.TypeNumber):
		kind = filter.Number
	case schema.Type.Is(openapi3.TypeBoolean):
		kind = filter.Boolean
	case schema.Type.Is(openapi3.TypeString) && schema.Format == "date-time":
		kind = filter.Time
	case schema.Type.Is(openapi3.TypeString):
		kind = filter.Text
	case len(schema.Properties) == 0 && len(schema.AllOf) == 0 && schema.AdditionalProperties.Has == nil: // of any type
	default:
		return filter.Condition{}, fmt.Errorf("%s is not a simple attribute: name one inside of it", expression.Attribute())
	}
	if schema != nil && len(schema.Enum) > 0 && expression.Operator != filter.Cont && expression.Operator != filter.Ncont {
		for _, value := range expression.Values {
			if !slices.Contains(schema.Enum, any(value)) {
				return filter.Condition{}, fmt.Errorf("%q is not a value of %s; values are %v", value, expression.Attribute(), schema.Enum)
			}
		}
	}
	condition, err := filter.New(expression, steps, kind)
	if err != nil {
		return filter.Condition{}, fmt.Errorf("%s: %w", expression.Attribute(), err)
	}
	return condition, nil
}

// maxComparisons and maxScans bound what one request may ask of the database: for an expression other than eq and in no index serves, and
// every element of the list is looked at.
const (
	maxComparisons = 500
	maxScans       = 50
)

// conditions reads the filters of a query; all of them must hold.
func (c collection) conditions(filters []string) ([]filter.Condition, error) {
	var conditions []filter.Condition
	comparisons, scans := 0, 0
	for _, text := range filters {
		expressions, err := filter.Parse(text)
		if err != nil {
			return nil, badRequest("query parameter filter: " + err.Error())
		}
		for _, expression := range expressions {
			condition, err := c.condition(expression)
			if err != nil {
				return nil, badRequest(fmt.Sprintf("query parameter filter: at character %d: %v", expression.Offset+1, err))
			}
			if comparisons += len(condition.Values); comparisons > maxComparisons {
				return nil, badRequest(fmt.Sprintf("query parameter filter: more than %d values", maxComparisons))
			}
			if condition.Operator != filter.Eq && condition.Operator != filter.In {
				scans++
			}
			if scans > maxScans {
				return nil, badRequest(fmt.Sprintf("query parameter filter: more than %d expressions other than eq and in", maxScans))
			}
			conditions = append(conditions, condition)
		}
	}
	return conditions, nil
}
