package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"vnfm/mgmtdriver"
)

// reader reads the attributes of a JSON object and notes the first that is wrong.
type reader struct {
	at     string // JSON pointer of the object
	values map[string]any
	first  *error
}

func newReader(at string, values map[string]any) *reader {
	return &reader{at: at, values: values, first: new(error)}
}

// err is what is wrong first, an *[mgmtdriver.Invalid].
func (r *reader) err() error { return *r.first }

func (r *reader) refuse(name, format string, args ...any) {
	if *r.first == nil {
		*r.first = &mgmtdriver.Invalid{Attribute: r.at + "/" + name, Detail: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) missing(name string) {
	r.refuse(name, "The %s in the additionalParams does not exist.", name)
}

func (r *reader) invalid(name, format string, args ...any) {
	r.refuse(name, "The %s in the additionalParams is invalid: %s", name, fmt.Sprintf(format, args...))
}

// has reports whether an attribute is there and not null.
func (r *reader) has(name string) bool { return r.values[name] != nil }

// optional reads a string, "" if there is none. Texts end up in files and commands, where they are one line.
func (r *reader) optional(name string) string {
	if !r.has(name) {
		return ""
	}
	text, ok := r.values[name].(string)
	switch {
	case !ok:
		r.invalid(name, "it must be a string.")
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.invalid(name, "it must be one line without control characters.")
	default:
		return text
	}
	return ""
}

// required reads a string that has to be there and not empty.
func (r *reader) required(name string) string {
	text := r.optional(name)
	if text == "" {
		r.missing(name)
	}
	return text
}

// number reads a string, or a number as it is written.
func (r *reader) number(name string) string {
	switch value := r.values[name].(type) {
	case float64, json.Number, int:
		return fmt.Sprint(value)
	default:
		return r.required(name)
	}
}

// network reads a network, with its host bits cleared.
func (r *reader) network(name, otherwise string) netip.Prefix {
	text := r.optional(name)
	if text == "" {
		text = otherwise
	}
	if text == "" {
		return netip.Prefix{}
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		r.invalid(name, "%q is not a network such as 192.168.0.0/16.", text)
	}
	return prefix.Masked()
}

// object reads an object; an empty one if there is none.
func (r *reader) object(name string) *reader {
	inner := &reader{at: r.at + "/" + name, first: r.first}
	if !r.has(name) {
		return inner
	}
	values, ok := r.values[name].(map[string]any)
	if !ok {
		r.invalid(name, "it must be an object.")
	}
	inner.values = values
	return inner
}

// requiredObject reads an object that has to be there.
func (r *reader) requiredObject(name string) *reader {
	if !r.has(name) {
		r.missing(name)
	}
	return r.object(name)
}

// objects reads a list of objects.
func (r *reader) objects(name string) []*reader {
	if !r.has(name) {
		return nil
	}
	list, ok := r.values[name].([]any)
	if !ok {
		r.invalid(name, "it must be a list.")
	}
	var found []*reader
	for i, element := range list {
		values, ok := element.(map[string]any)
		if !ok {
			r.invalid(fmt.Sprintf("%s/%d", name, i), "it must be an object.")
		}
		found = append(found, &reader{at: fmt.Sprintf("%s/%s/%d", r.at, name, i), values: values, first: r.first})
	}
	return found
}
