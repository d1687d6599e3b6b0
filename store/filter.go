package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vnfm/vnfpkg/filter"
)

// attribute is where the value of an attribute is found in SQL. Nothing in it comes from a client.
type attribute struct {
	expression string // of the column's type
	kind       attributeKind
	names      map[string]string // of a document: names in it that differ from those of the attribute
}

type attributeKind int

const (
	textColumn attributeKind = iota
	uuidColumn
	timeColumn
	boolColumn
	documentColumn
)

// attributes are those of one resource, by name.
type attributes map[string]attribute

// where compiles conditions to SQL that begins with AND, or "" if there are none, and adds their values to args.
func (a attributes) where(conditions []filter.Condition, args pgx.NamedArgs) (string, error) {
	var sql strings.Builder
	for i, condition := range conditions {
		found, ok := a[condition.Path[0].Name]
		if !ok {
			return "", fmt.Errorf("attribute %s has no column", condition.Path[0].Name)
		}
		c := compiler{condition: condition, attribute: found, args: args, prefix: fmt.Sprintf("filter%d_", i)}
		sql.WriteString("\n\t\t\tAND (" + c.compile() + ")")
	}
	return sql.String(), nil
}

// compiler makes SQL of one condition.
type compiler struct {
	condition filter.Condition
	attribute attribute
	args      pgx.NamedArgs
	prefix    string // of the names of arguments
	count     int
}

// arg adds a value and returns the name by which the SQL refers to it.
func (c *compiler) arg(value any) string {
	name := c.prefix + strconv.Itoa(c.count)
	c.count++
	c.args[name] = value
	return "@" + name
}

func (c *compiler) compile() string {
	switch c.attribute.kind {
	case documentColumn:
		return c.document()
	case uuidColumn:
		if sql, ok := c.identifiers(); ok {
			return sql
		}
		return c.compare(c.attribute.expression+"::text", "text")
	case timeColumn:
		return c.compare(c.attribute.expression, "timestamptz")
	case boolColumn:
		return c.compare(c.attribute.expression, "boolean")
	default:
		return c.compare(c.attribute.expression, "text")
	}
}

// identifiers compares a column of UUIDs so that its index serves. What is no UUID equals none.
func (c *compiler) identifiers() (sql string, ok bool) {
	var ids []uuid.UUID
	for _, value := range c.condition.Values {
		if id, err := uuid.Parse(value); err == nil {
			ids = append(ids, id)
		}
	}
	switch c.condition.Operator {
	case filter.Eq, filter.In:
		return fmt.Sprintf("%s = ANY(%s::uuid[])", c.attribute.expression, c.arg(ids)), true
	case filter.Neq, filter.Nin:
		return fmt.Sprintf("%s <> ALL(%s::uuid[])", c.attribute.expression, c.arg(ids)), true
	default:
		return "", false
	}
}

var comparisons = map[filter.Operator]string{
	filter.Eq: "=", filter.Neq: "<>", filter.Gt: ">", filter.Gte: ">=", filter.Lt: "<", filter.Lte: "<=",
}

// compare compares an SQL expression of a type with the values.
func (c *compiler) compare(expression, sqlType string) string {
	values := c.condition.Values
	switch operator := c.condition.Operator; operator {
	case filter.In:
		return fmt.Sprintf("%s = ANY(%s::text[]::%s[])", expression, c.arg(values), sqlType)
	case filter.Nin:
		return fmt.Sprintf("%s <> ALL(%s::text[]::%s[])", expression, c.arg(values), sqlType)
	case filter.Cont, filter.Ncont:
		parts := make([]string, len(values))
		for i, value := range values {
			parts[i] = fmt.Sprintf("strpos(%s, %s::text) > 0", expression, c.arg(value))
		}
		one := "(" + strings.Join(parts, " OR ") + ")"
		if operator == filter.Ncont {
			return "NOT " + one
		}
		return one
	default:
		return fmt.Sprintf("%s %s %s::text::%s", expression, comparisons[operator], c.arg(values[0]), sqlType)
	}
}

// document compares what is inside of a jsonb column. Equality is containment, which an index serves, but of keys, and of times, which may be
// written in several ways; everything else looks at every value that the path leads to, through lists.
func (c *compiler) document() string {
	ofKeys := c.condition.Path[len(c.condition.Path)-1].Key
	if operator := c.condition.Operator; (operator == filter.Eq || operator == filter.In) && c.condition.Kind != filter.Time && !ofKeys {
		var parts []string
		for _, value := range c.condition.Values {
			for _, candidate := range c.candidates(value) {
				parts = append(parts, fmt.Sprintf("%s @> %s::jsonb", c.attribute.expression, c.arg(c.nested(candidate))))
			}
		}
		return strings.Join(parts, " OR ")
	}
	return fmt.Sprintf("EXISTS (SELECT FROM jsonb_path_query(%s, %s::text::jsonpath, '{}', true) AS e(v) WHERE %s)",
		c.attribute.expression, c.arg(c.path()), c.compareInside())
}

// compareInside compares the JSON value v. The order in which AND is evaluated is not known, so casts stand behind CASE.
func (c *compiler) compareInside() string {
	const text, number, boolean = "(v #>> '{}')", "(v #>> '{}')::numeric", "(v #>> '{}')::boolean"
	when := func(jsonType, then string) string {
		return fmt.Sprintf("CASE WHEN jsonb_typeof(v) = '%s' THEN %s ", jsonType, then)
	}
	switch c.condition.Kind {
	case filter.Number:
		return when("number", c.compare(number, "numeric")) + "END"
	case filter.Time:
		return when("string", c.compare(text+"::timestamptz", "timestamptz")) + "END"
	case filter.Boolean:
		return when("boolean", c.compare(boolean, "boolean")) + "END"
	case filter.Any:
		if filter.IsNumber(c.condition.Values[0]) && comparisons[c.condition.Operator] != "" {
			return when("number", c.compare(number, "numeric")) + "ELSE " + c.compare(text, "text") + " END"
		}
	default:
	}
	return c.compare(text, "text")
}

// path is the way to the attribute inside of the document, as an SQL/JSON path in lax mode, which goes through lists by itself.
func (c *compiler) path() string {
	var path strings.Builder
	path.WriteString("lax $")
	for _, step := range c.condition.Path[1:] {
		if step.Key {
			path.WriteString(".keyvalue().key")
			continue
		}
		name, err := json.Marshal(c.inDocument(step.Name))
		if err != nil {
			panic(err) // a string always marshals
		}
		path.WriteString("." + string(name))
	}
	return path.String() + "[*]"
}

func (c *compiler) inDocument(name string) string {
	if other, ok := c.attribute.names[name]; ok {
		return other
	}
	return name
}

// candidates are the JSON values that a value in a filter stands for.
func (c *compiler) candidates(value string) []any {
	switch c.condition.Kind {
	case filter.Number:
		return []any{json.Number(value)}
	case filter.Boolean:
		return []any{value == "true"}
	case filter.Any:
		found := []any{value}
		if filter.IsNumber(value) {
			found = append(found, json.Number(value))
		}
		if value == "true" || value == "false" {
			found = append(found, value == "true")
		}
		for _, single := range found {
			found = append(found, []any{single}) // an element of a list
		}
		return found
	default:
		return []any{value}
	}
}

// nested is the document that holds nothing but the value at its place.
func (c *compiler) nested(value any) string {
	path := c.condition.Path
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].List {
			value = []any{value}
		}
		if i > 0 {
			value = map[string]any{c.inDocument(path[i].Name): value}
		}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers and booleans always marshal
	}
	return string(encoded)
}

// narrowLimit is how many instances may match before a list is better read in its order, looking at each.
const narrowLimit = 1000

// narrow finds the instances that match, if they are few. PostgreSQL does not know how many match a condition on what is inside of a
// document, and reads the list in its order until the page is full: when few match, the whole of it, documents and all.
func (s *Store) narrow(ctx context.Context, conditions []filter.Condition, where string, args pgx.NamedArgs) (string, error) {
	inside := func(c filter.Condition) bool {
		return instanceAttributes[c.Path[0].Name].kind == documentColumn && (c.Operator == filter.Eq || c.Operator == filter.In)
	}
	if !slices.ContainsFunc(conditions, inside) {
		return where, nil
	}
	args["enough"] = narrowLimit + 1
	probe := `SELECT i.id FROM vnf_instances i WHERE true` + where + ` LIMIT @enough`
	ids, err := collectIDs(ctx, s.pool, probe, args)
	if err != nil {
		return "", fmt.Errorf("read list: %w", err)
	}
	if len(ids) > narrowLimit {
		return where, nil
	}
	args["matching"] = ids
	return where + " AND i.id = ANY(@matching)", nil
}
