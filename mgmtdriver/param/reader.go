package param

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strings"

	"vnfm/mgmtdriver"
)

// Reader reads the attributes of a JSON object and notes the first that is wrong.
type Reader struct {
	at     string // JSON pointer of the object
	values map[string]any
	first  *error
}

// NewReader returns a reader of an object that is at a place of the request, a JSON pointer such as /additionalParams.
func NewReader(at string, values map[string]any) *Reader {
	return &Reader{at: at, values: values, first: new(error)}
}

// Err is what is wrong first, an *[mgmtdriver.Invalid].
func (r *Reader) Err() error { return *r.first }

// Refuse notes what is wrong with an attribute.
func (r *Reader) Refuse(name, format string, args ...any) {
	if *r.first == nil {
		*r.first = &mgmtdriver.Invalid{Attribute: r.at + "/" + name, Detail: fmt.Sprintf(format, args...)}
	}
}

// Missing notes that an attribute has to be there, in the words that users of these packages know.
func (r *Reader) Missing(name string) {
	r.Refuse(name, "The %s in the additionalParams does not exist.", name)
}

// Invalid notes what is wrong with the value of an attribute.
func (r *Reader) Invalid(name, format string, args ...any) {
	r.Refuse(name, "The %s in the additionalParams is invalid: %s", name, fmt.Sprintf(format, args...))
}

// Has reports whether an attribute is there and not null.
func (r *Reader) Has(name string) bool { return r.values[name] != nil }

// Optional reads a string, "" if there is none. Texts end up in files and commands, where they are one line.
func (r *Reader) Optional(name string) string {
	if !r.Has(name) {
		return ""
	}
	text, ok := r.values[name].(string)
	switch {
	case !ok:
		r.Invalid(name, "it must be a string.")
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.Invalid(name, "it must be one line without control characters.")
	default:
		return text
	}
	return ""
}

// Required reads a string that has to be there and not empty.
func (r *Reader) Required(name string) string {
	text := r.Optional(name)
	if text == "" {
		r.Missing(name)
	}
	return text
}

// Number reads a string, or a number as it is written.
func (r *Reader) Number(name string) string {
	switch value := r.values[name].(type) {
	case float64, json.Number, int:
		return fmt.Sprint(value)
	default:
		return r.Required(name)
	}
}

// Network reads a network, with its host bits cleared.
func (r *Reader) Network(name, otherwise string) netip.Prefix {
	text := r.Optional(name)
	if text == "" {
		text = otherwise
	}
	if text == "" {
		return netip.Prefix{}
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		r.Invalid(name, "%q is not a network such as 192.168.0.0/16.", text)
	}
	return prefix.Masked()
}

// Object reads an object; an empty one if there is none.
func (r *Reader) Object(name string) *Reader {
	inner := &Reader{at: r.at + "/" + name, first: r.first}
	if !r.Has(name) {
		return inner
	}
	values, ok := r.values[name].(map[string]any)
	if !ok {
		r.Invalid(name, "it must be an object.")
	}
	inner.values = values
	return inner
}

// RequiredObject reads an object that has to be there.
func (r *Reader) RequiredObject(name string) *Reader {
	if !r.Has(name) {
		r.Missing(name)
	}
	return r.Object(name)
}

// Objects reads a list of objects.
func (r *Reader) Objects(name string) []*Reader {
	if !r.Has(name) {
		return nil
	}
	list, ok := r.values[name].([]any)
	if !ok {
		r.Invalid(name, "it must be a list.")
	}
	var found []*Reader
	for i, element := range list {
		values, ok := element.(map[string]any)
		if !ok {
			r.Invalid(fmt.Sprintf("%s/%d", name, i), "it must be an object.")
		}
		found = append(found, &Reader{at: fmt.Sprintf("%s/%s/%d", r.at, name, i), values: values, first: r.first})
	}
	return found
}

// File reads the path of a file in the package.
func (r *Reader) File(name string, needed bool) string {
	if !needed && !r.Has(name) {
		return ""
	}
	return path.Clean(r.Required(name)) // users write ./Scripts/…, too
}

var account = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// Account reads the name of a user of a VM.
func (r *Reader) Account(name string) string {
	user := r.Required(name)
	if !account.MatchString(user) {
		r.Invalid(name, "it is not the name of an account.")
	}
	return user
}
