package heattest

import (
	"slices"
	"strings"

	"vnfm/lcm/heat/heattest/hotlang"
)

// kind is a resource type of Heat. Functions that are nil have nothing to do; all are called with the cloud's lock held.
type kind struct {
	properties map[string]property // nil allows every property
	nameLimit  int                 // longest name of the thing in its service, 0 is any
	adminOnly  bool
	failsLate  bool // an injected fault shows only when the delay is over, through spoil

	check  func(c *Cloud, properties object, name string) error // what the schema cannot say; before anything is made
	create func(c *Cloud, r *resource) error                    // makes the thing and sets r.physical
	ready  func(c *Cloud, r *resource, done func(error))        // the delay of the creation is over
	spoil  func(c *Cloud, r *resource, err error)               // the thing goes wrong in its service
	update func(c *Cloud, r *resource, before, after object) error
	yield  func(c *Cloud, r *resource) // gives up what its replacement needs
	remove func(c *Cloud, r *resource) error
	broken func(c *Cloud, r *resource) bool // after a failure: only a replacement helps

	reference  func(r *resource) any
	attributes func(c *Cloud, r *resource) object
	attribute  func(c *Cloud, r *resource, name string, path []any) (value any, rest []any, err error) // instead of attributes, for get_attr
	nest       func(c *Cloud, r *resource, properties object) (source, error)                          // the stack inside; nil for a plain thing
	signal     func(c *Cloud, r *resource) error
}

// kindOf finds the kind of a resource type, through the environment's registry. It is nil for a type that is unknown.
func (c *Cloud) kindOf(src source, typ string) (string, *kind) {
	if alias, ok := src.registry[typ]; ok {
		typ = alias
	}
	if k, ok := c.kinds[typ]; ok {
		return typ, k
	}
	if isTemplate(typ) {
		return typ, c.template
	}
	return typ, nil
}

func isTemplate(typ string) bool {
	return strings.HasSuffix(typ, ".yaml") || strings.HasSuffix(typ, ".yml") || strings.HasSuffix(typ, ".template")
}

// newKinds are the kinds by resource type.
func newKinds() map[string]*kind {
	return map[string]*kind{
		"OS::Nova::Server":                   serverKind(),
		"OS::Nova::ServerGroup":              serverGroupKind(),
		"OS::Nova::Flavor":                   flavorKind(),
		"OS::Neutron::Port":                  portKind(),
		"OS::Neutron::Net":                   netKind(),
		"OS::Neutron::Subnet":                subnetKind(),
		"OS::Neutron::FloatingIP":            floatingIPKind(),
		"OS::Neutron::FloatingIPAssociation": associationKind(),
		"OS::Cinder::Volume":                 volumeKind(),
		"OS::Cinder::VolumeAttachment":       attachmentKind(),
		"OS::Cinder::VolumeType":             volumeTypeKind(),
		"OS::Heat::AutoScalingGroup":         autoScalingGroupKind(),
		"OS::Heat::ResourceGroup":            resourceGroupKind(),
		"OS::Heat::ScalingPolicy":            scalingPolicyKind(),
		"OS::Heat::None":                     noneKind(),
		"OS::Heat::RandomString":             randomStringKind(),
		"OS::Heat::Value":                    valueKind(),
		"OS::Neutron::SecurityGroup":         recordKind(),
		"OS::Neutron::QoSPolicy":             adminRecordKind(),
		"OS::Neutron::QoSBandwidthLimitRule": adminRecordKind(),
		"OS::Neutron::Router":                recordKind(),
		"OS::Neutron::RouterInterface":       recordKind(),
		"OS::Nova::KeyPair":                  recordKind(),
	}
}

// recordKind is a type that is accepted and remembered without an effect.
func recordKind() *kind {
	return &kind{
		create:     func(_ *Cloud, r *resource) error { r.physical = newID(); return nil },
		update:     func(*Cloud, *resource, object, object) error { return nil },
		attributes: func(_ *Cloud, r *resource) object { return object{"id": r.physical, "show": nil} },
	}
}

// adminRecordKind is the same for administrators.
func adminRecordKind() *kind {
	k := recordKind()
	k.adminOnly = true
	return k
}

// validate checks everything in a source that Heat checks before it begins. Of nested templates that is their form; whether what their
// values name exists is checked, as in Heat, only when the nested stack itself is made.
func (c *Cloud) validate(s *stack, src source, loose bool) error {
	if err := src.tmpl.Validate(); err != nil {
		return err
	}
	sc := scope{c: c, s: s, source: src, dry: true, loose: loose}
	wanted, err := (&stack{source: src}).wanted(sc)
	if err != nil {
		return err
	}
	for _, name := range hotlang.SortedKeys(wanted) {
		if err := c.validateResource(sc, src.tmpl.Resources[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cloud) validateResource(sc scope, def *hotlang.Resource) error {
	typ, k := c.kindOf(sc.source, def.Type)
	if k == nil {
		return validation("The Resource Type (" + typ + ") could not be found.")
	}
	if k.adminOnly && !slices.Contains(c.account.Roles, "admin") {
		return &hotlang.Invalid{Type: "Forbidden", Message: "You are not authorized to use resource_types:" + typ + "."}
	}
	if _, there := sc.files[typ]; isTemplate(typ) && !there {
		return validation("Could not fetch remote template \"" + typ + "\": Invalid URL scheme ")
	}
	properties, err := c.resolve(sc, def, k)
	if err != nil {
		return err
	}
	if k.check != nil {
		if err := k.check(c, properties, def.Name); err != nil {
			return err
		}
	}
	if k.nest == nil {
		return nil
	}
	r := sc.s.resources[def.Name]
	if r == nil || r.kind != k {
		r = &resource{stack: &stack{source: sc.source, resources: map[string]*resource{}}, name: def.Name, typ: typ, kind: k}
	}
	view := *r
	holder := *view.stack
	holder.source, view.stack = sc.source, &holder
	src, err := k.nest(c, &view, properties)
	if err != nil {
		return c.nestedInvalid(def, k, err)
	}
	inner := view.nested
	if inner == nil {
		inner = &stack{name: def.Name, resources: map[string]*resource{}}
	}
	if err := c.validate(inner, src, true); err != nil {
		return c.nestedInvalid(def, k, err)
	}
	return nil
}

func validation(message string) error {
	return &hotlang.Invalid{Message: message, Type: "StackValidationFailed"}
}
