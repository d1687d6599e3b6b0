package heattest

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"

	"vnfm/lcm/heat/heattest/hotlang"
)

// property describes one property of a resource type.
type property struct {
	typ      string // string, integer, number, boolean, map, list or any
	required bool
	replace  bool   // a change replaces the resource
	exists   string // what the value must name: nova.flavor, neutron.network, ...
	least    int    // smallest integer, when bounded
	bounded  bool
	allowed  []string
	item     *property           // of a list
	fields   map[string]property // of a map; nil allows every key
}

// replaces tells whether the change of properties cannot be done in place.
func (k *kind) replaces(before, after object) bool {
	for name, p := range k.properties {
		if p.replace && !hotlang.Equal(before[name], after[name]) {
			return true
		}
	}
	return k.update == nil && !hotlang.Equal(before, after)
}

// resolve evaluates and checks the properties of a resource. Errors have Heat's words without the path of the stack.
func (c *Cloud) resolve(sc scope, def *hotlang.Resource, k *kind) (object, error) {
	out := object{}
	for _, name := range hotlang.SortedKeys(def.Properties) {
		value, err := sc.tmpl.Eval(def.Properties[name], sc)
		if err != nil {
			return nil, &propertyError{path: []string{"resources." + def.Name + ".properties." + name}, message: err.Error()}
		}
		if value != nil {
			out[name] = value
		}
	}
	if k.properties == nil {
		return out, nil
	}
	root := property{typ: "map", fields: k.properties}
	value, err := c.checkValue(root, out, sc.loose)
	if err != nil {
		return nil, err.below("resources." + def.Name + ".properties")
	}
	return value.(object), nil
}

// propertyError is a property that its schema refuses.
type propertyError struct {
	kind    string   // "Property error" when empty
	path    []string // outermost first
	message string
}

func (e *propertyError) Error() string {
	kind := "Property error"
	if e.kind != "" {
		kind = e.kind
	}
	return kind + ": : " + e.where() + ": : " + e.message
}

// where is the path with the steps joined as Heat joins them.
func (e *propertyError) where() string {
	at := ""
	for _, p := range e.path {
		if at != "" && p != "" && p[0] != '[' {
			at += "."
		}
		at += p
	}
	return at
}

func (e *propertyError) below(at string) *propertyError {
	e.path = append([]string{at}, e.path...)
	return e
}

func refuse(format string, args ...any) *propertyError {
	return &propertyError{message: fmt.Sprintf(format, args...)}
}

// checkValue converts a value to what its property asks for. Loose does not ask whether what it names exists.
func (c *Cloud) checkValue(p property, value any, loose bool) (any, *propertyError) {
	if _, later := value.(pending); later {
		return value, nil
	}
	switch p.typ {
	case "map":
		return c.checkMap(p, value, loose)
	case "list":
		return c.checkList(p, value, loose)
	case "string":
		switch value.(type) {
		case object, []any:
			return nil, refuse("Value must be a string; got %s", hotlang.Repr(value))
		}
		value = hotlang.Text(value)
		if len(p.allowed) > 0 && !slices.Contains(p.allowed, value.(string)) {
			return nil, refuse("%s is not an allowed value %s", quoted(value.(string)), quotedList(p.allowed))
		}
	case "integer", "number":
		n, err := hotlang.Number(value)
		if err != nil {
			return nil, refuse("Value '%s' is not an integer", hotlang.Text(value))
		}
		if i, whole := n.(int); whole && p.bounded && i < p.least {
			return nil, refuse("%d is out of range (min: %d, max: None)", i, p.least)
		}
		value = n
	case "boolean":
		b, err := hotlang.Boolean(value)
		if err != nil {
			return nil, refuse("%q is not a valid boolean", hotlang.Text(value))
		}
		value = b
	}
	if p.exists != "" && !loose {
		if err := c.customConstraint(p.exists, value); err != nil {
			return nil, refuse("%s", err)
		}
	}
	return value, nil
}

func quoted(s string) string { return `"` + s + `"` }

func quotedList(items []string) string {
	list := make([]any, len(items))
	for i := range items {
		list[i] = items[i]
	}
	return hotlang.PythonJSON(list)
}

func (c *Cloud) checkMap(p property, value any, loose bool) (any, *propertyError) {
	m, ok := value.(object)
	if !ok {
		return nil, refuse("\"%s\" is not a map", hotlang.Repr(value))
	}
	if p.fields == nil {
		return m, nil
	}
	out := make(object, len(m))
	for _, key := range hotlang.SortedKeys(m) {
		field, known := p.fields[key]
		if !known {
			return nil, refuse("Unknown Property %s", key)
		}
		if m[key] == nil {
			continue
		}
		checked, err := c.checkValue(field, m[key], loose)
		if err != nil {
			return nil, err.below(key)
		}
		out[key] = checked
	}
	for _, key := range hotlang.SortedKeys(p.fields) {
		if p.fields[key].required && out[key] == nil {
			return nil, refuse("Property %s not assigned", key)
		}
	}
	return out, nil
}

func (c *Cloud) checkList(p property, value any, loose bool) (any, *propertyError) {
	list, ok := value.([]any)
	if !ok {
		return nil, refuse("\"%s\" is not a list", hotlang.Repr(value))
	}
	if p.item == nil {
		return list, nil
	}
	out := make([]any, 0, len(list))
	for i, item := range list {
		checked, err := c.checkValue(*p.item, item, loose)
		if err != nil {
			return nil, err.below(fmt.Sprintf("[%d]", i))
		}
		out = append(out, checked)
	}
	return out, nil
}

// customConstraint answers whether a value names something that exists, with the words of Heat's own constraints.
func (c *Cloud) customConstraint(constraint string, value any) error {
	ref := hotlang.Text(value)
	if ref == "" {
		return nil
	}
	problem := ""
	switch constraint {
	case "nova.flavor":
		if c.findFlavor(ref) == nil {
			problem = fmt.Sprintf("No Flavor matching {'name': '%s'}. (HTTP 404)", ref)
		}
	case "glance.image":
		if _, err := c.findImage(ref); err != nil {
			problem = err.Error()
		}
	case "neutron.network":
		problem = unfound(c.findNetwork(ref) != nil, "network", ref)
	case "neutron.subnet":
		problem = unfound(c.findSubnet(ref) != nil, "subnet", ref)
	case "neutron.port":
		problem = unfound(c.findPort(ref) != nil, "port", ref)
	case "nova.keypair":
		if _, ok := c.nova.keys[ref]; !ok {
			problem = fmt.Sprintf("The Key (%s) could not be found.", ref)
		}
	case "cinder.volume":
		if _, ok := c.cinder.volumes.get(ref); !ok {
			problem = fmt.Sprintf("The Volume (%s) could not be found.", ref)
		}
	case "cinder.vtype":
		if _, ok := c.findVolumeType(ref); !ok {
			problem = fmt.Sprintf("The VolumeType (%s) could not be found.", ref)
		}
	case "ip_addr":
		if _, err := netip.ParseAddr(ref); err != nil {
			problem = "Invalid IP address"
		}
	case "net_cidr":
		if _, err := netip.ParsePrefix(ref); err != nil {
			problem = "Invalid net cidr invalid IPNetwork " + ref
		}
	}
	if problem == "" {
		return nil
	}
	return fmt.Errorf("Error validating value '%s': %s", ref, problem)
}

func unfound(found bool, what, ref string) string {
	if found {
		return ""
	}
	return fmt.Sprintf("Unable to find %s with name or id '%s'", what, ref)
}

func encodeUserData(plain string) string {
	return base64.StdEncoding.EncodeToString([]byte(plain))
}
