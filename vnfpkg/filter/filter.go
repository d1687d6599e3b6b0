// Package filter reads attribute-based filters of lists, ETSI GS NFV-SOL 013 v2.6.1, clause 5.2:
//
//	(eq,vnfProvider,Company);(cont,metadata/site,'Paris, 3e',Lyon)
//
// [Parse] knows the syntax alone. Which attributes there are, and of which type, is decided by whoever makes [Condition]s of it.
package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Operator compares an attribute with values (SOL013 5.2.2).
type Operator string

// The operators. Eq to Lte take one value, In to Ncont one or more.
const (
	Eq    Operator = "eq"
	Neq   Operator = "neq"
	Gt    Operator = "gt"
	Gte   Operator = "gte"
	Lt    Operator = "lt"
	Lte   Operator = "lte"
	In    Operator = "in"
	Nin   Operator = "nin"
	Cont  Operator = "cont"  // holds one of the values as a part
	Ncont Operator = "ncont" // holds none of the values as a part
)

var operators = []Operator{Eq, Neq, Gt, Gte, Lt, Lte, In, Nin, Cont, Ncont}

// Many reports whether the operator takes more than one value.
func (o Operator) Many() bool { return o == In || o == Nin || o == Cont || o == Ncont }

// Expression is one comparison as it is written. All of a filter must hold.
type Expression struct {
	Operator Operator
	Path     []string // the attribute: names from the outside in
	Values   []string
	Offset   int // of the expression in the filter, in bytes
}

// Attribute is the path as it is written.
func (e *Expression) Attribute() string { return Join(e.Path) }

// Key stands in a path for @key, the key of a map's entries. No attribute has this name.
const Key = "\x00"

// Join writes a path for a reader.
func Join(path []string) string { return strings.ReplaceAll(strings.Join(path, "/"), Key, writtenKey) }

const writtenKey = "@key"

// SyntaxError says where a filter cannot be read.
type SyntaxError struct {
	Offset int // in bytes
	Detail string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at character %d: %s", e.Offset+1, e.Detail) }

// Parse reads a filter.
func Parse(text string) ([]Expression, error) {
	p := &parser{text: text}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, p.fail("this is no text in UTF-8, or has a NUL")
	}
	var expressions []Expression
	for {
		expression, err := p.expression()
		if err != nil {
			return nil, err
		}
		expressions = append(expressions, expression)
		if p.at == len(text) {
			return expressions, nil
		}
		if err := p.expect(';'); err != nil {
			return nil, err
		}
	}
}

type parser struct {
	text string
	at   int
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{p.at, fmt.Sprintf(format, args...)}
}

func (p *parser) expect(c byte) error {
	if p.at >= len(p.text) {
		return p.fail("%q is missing", c)
	}
	if p.text[p.at] != c {
		return p.fail("%q instead of %q", p.text[p.at], c)
	}
	p.at++
	return nil
}

func (p *parser) expression() (Expression, error) {
	expression := Expression{Offset: p.at}
	if err := p.expect('('); err != nil {
		return expression, err
	}
	at := p.at
	expression.Operator = Operator(p.until(",)"))
	if !slices.Contains(operators, expression.Operator) {
		p.at = at
		return expression, p.fail("%q is not an operator; operators are %v", expression.Operator, operators)
	}
	if err := p.expect(','); err != nil {
		return expression, err
	}
	path, err := p.path()
	if err != nil {
		return expression, err
	}
	expression.Path = path
	for p.at < len(p.text) && p.text[p.at] == ',' {
		p.at++
		value, err := p.value()
		if err != nil {
			return expression, err
		}
		expression.Values = append(expression.Values, value)
	}
	if len(expression.Values) == 0 {
		return expression, p.fail("the value is missing")
	}
	if len(expression.Values) > 1 && !expression.Operator.Many() {
		return expression, p.fail("the operator %s takes one value", expression.Operator)
	}
	return expression, p.expect(')')
}

// until takes what comes before one of the characters, or the end.
func (p *parser) until(characters string) string {
	end := strings.IndexAny(p.text[p.at:], characters)
	if end < 0 {
		end = len(p.text) - p.at
	}
	taken := p.text[p.at : p.at+end]
	p.at += end
	return taken
}

// unescape are the ways in which a name of a path is written that holds a character of the syntax.
var unescape = strings.NewReplacer("~0", "~", "~1", "/", "~a", ",", "~b", "@")

func (p *parser) path() ([]string, error) {
	at := p.at
	path, err := ParsePath(p.until(",)"))
	if err != nil {
		p.at = at
		return nil, p.fail("%v", err)
	}
	return path, nil
}

// ParsePath reads the path of an attribute, of which selectors consist too.
func ParsePath(text string) ([]string, error) {
	var path []string
	for name := range strings.SplitSeq(text, "/") {
		switch name {
		case "":
			return nil, errors.New("the name of an attribute is empty")
		case writtenKey:
			path = append(path, Key)
		default:
			path = append(path, unescape.Replace(name))
		}
	}
	return path, nil
}

// value reads a value: in single quotes, a quote inside being doubled, or as it is up to the next comma or parenthesis.
func (p *parser) value() (string, error) {
	if p.at >= len(p.text) || p.text[p.at] != '\'' {
		at := p.at
		value := p.until(",)")
		if strings.ContainsRune(value, '\'') {
			p.at = at
			return "", p.fail("a value with a quote must itself stand in quotes")
		}
		return value, nil
	}
	var value strings.Builder
	for p.at++; ; {
		value.WriteString(p.until("'"))
		if p.at >= len(p.text) {
			return "", p.fail("the closing quote is missing")
		}
		p.at++
		if p.at >= len(p.text) || p.text[p.at] != '\'' {
			return value.String(), nil
		}
		value.WriteByte('\'')
		p.at++
	}
}
