package filter

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of an attribute.
type Kind int

// The kinds. The values of key-value pairs are of Any kind.
const (
	Text Kind = iota
	Number
	Boolean
	Time
	Any
)

// Step is one name on the way to an attribute.
type Step struct {
	Name string
	List bool // the attribute of that name is a list, of which any element may match
	Key  bool // no name, but the keys of the map that the path has led to
}

// Condition is a comparison with an attribute that is known. A list of conditions holds if all of them hold.
type Condition struct {
	Path     []Step
	Kind     Kind
	Operator Operator
	Values   []string // of the kind
}

// New makes a condition of an expression; an error if a value is not of the kind.
func New(expression Expression, path []Step, kind Kind) (Condition, error) {
	values := make([]string, len(expression.Values))
	for i, value := range expression.Values {
		var err error
		if values[i], err = kind.read(value); err != nil {
			return Condition{}, err
		}
	}
	if part := expression.Operator == Cont || expression.Operator == Ncont; part && kind != Text && kind != Any {
		return Condition{}, fmt.Errorf("the operator %s is for texts", expression.Operator)
	}
	return Condition{Path: path, Kind: kind, Operator: expression.Operator, Values: values}, nil
}

// IsNumber reports whether a value is written as JSON writes numbers, and of a size that can be compared.
func IsNumber(value string) bool {
	var number json.Number
	if json.Unmarshal([]byte(value), &number) != nil || strings.HasPrefix(value, `"`) {
		return false
	}
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		return false
	}
	// ParseFloat takes what is too small for zero, and zero with any exponent.
	_, digits, found := strings.Cut(strings.ToLower(value), "e")
	exponent, err := strconv.Atoi(digits)
	return !found || err == nil && exponent >= -maxExponent && exponent <= maxExponent
}

// maxExponent is that of the numbers that every implementation of JSON can hold.
const maxExponent = 308

// read returns a value of the kind, a time in UTC.
func (k Kind) read(value string) (string, error) {
	var err error
	var name string
	switch k {
	case Number:
		name = "a number"
		if !IsNumber(value) {
			err = strconv.ErrSyntax
		}
	case Boolean:
		name = "true or false"
		if value != "true" && value != "false" {
			err = strconv.ErrSyntax
		}
	case Time:
		name = "a time such as 2006-01-02T15:04:05Z"
		var at time.Time
		if at, err = time.Parse(time.RFC3339, value); err != nil {
			break
		}
		at = at.UTC()
		if at.Year() < 1 || at.Year() > 9999 {
			err = strconv.ErrRange
			break
		}
		value = at.Format(time.RFC3339Nano)
	default:
	}
	if err != nil {
		return "", fmt.Errorf("%q is not %s", value, name)
	}
	return value, nil
}
