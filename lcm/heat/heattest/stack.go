package heattest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

// Actions and statuses as Heat names them.
const (
	actionInit     = "INIT" // the state of a resource with which nothing happened yet
	actionCreate   = "CREATE"
	actionUpdate   = "UPDATE"
	actionDelete   = "DELETE"
	actionCheck    = "CHECK"
	actionRollback = "ROLLBACK"
	actionSuspend  = "SUSPEND"
	actionResume   = "RESUME"

	statusInProgress = "IN_PROGRESS"
	statusComplete   = "COMPLETE"
	statusFailed     = "FAILED"
)

// stack is a stack or nested stack. The cloud's lock guards it.
type stack struct {
	id, name        string
	holder          *resource // the resource of the parent that this is; nil for a root
	action, status  string
	reason          string
	created         time.Time
	updated         time.Time // zero before the first update
	deleted         time.Time
	timeoutMinutes  any // int or nil
	disableRollback bool
	tags            []string
	userProject     string
	source
	before    source // what a rollback of an update returns to
	resources map[string]*resource
	leftovers []*resource // replaced or no longer wanted, not yet deleted
	events    []event
	current   *run // nil when nothing is going on
}

// source is everything that says how a stack shall be.
type source struct {
	tmpl     *hotlang.Template
	files    map[string]string
	registry map[string]string // aliases of resource types
	given    map[string]any    // parameters as the client gave them
	defaults map[string]any
	values   map[string]any // typed values of all parameters
}

// resource is one resource of a stack. A replacement is another resource of the same name.
type resource struct {
	stack         *stack
	name, typ     string
	kind          *kind
	physical      string // id in its service; empty before it exists
	physicalName  string
	action        string
	status        string
	reason        string
	created       time.Time
	updated       time.Time
	properties    object // as last asked for
	requires      []string
	metadata      object
	nested        *stack
	removedIndex  map[string]bool // members that a ResourceGroup shall never have again
	cooldownUntil time.Time
	busy          bool
	turn          int      // counts actions, so that what a cancelled one left behind is recognised
	waiting       []func() // called once when the current action ends
	retained      bool     // deletion_policy says to leave it alone
}

type event struct {
	id, resource, physical, status, reason string
	at                                     time.Time
}

// resourceError is why a resource or stack failed, in the parts that Heat puts together on the way up.
type resourceError struct {
	class   string // such as ResourceInError
	at      string // such as resources.workers.resources[2]
	message string
}

func (e *resourceError) Error() string { return e.class + ": " + e.at + ": " + e.message }

// within is the error as the resource of this name reports it.
func (e *resourceError) within(name string) *resourceError {
	at := "resources." + name
	if strings.Trim(name, "0123456789") == "" {
		at = "resources[" + name + "]"
	}
	if e.at != "" {
		at += "." + e.at
	}
	return &resourceError{class: e.class, at: at, message: e.message}
}

// neutronClasses are the errors of Neutron that its client has a class for.
var neutronClasses = []string{"IpAddressAlreadyAllocated", "IpAddressGenerationFailure", "InvalidIpForNetwork", "InvalidIpForSubnet", "PortNotFound",
	"NetworkNotFound", "PortInUse", "MacAddressInUse", "ExternalIpAddressExhausted", "OverQuota"}

// asResourceError turns what a service answered into what Heat makes of it.
func asResourceError(err error, name string) *resourceError {
	var re *resourceError
	if errors.As(err, &re) {
		return re.within(name)
	}
	var f *failure
	if errors.As(err, &f) {
		class, message := "BadRequest", fmt.Sprintf("%s (HTTP %d) (Request-ID: req-%s)", f.message, f.status, newID())
		switch f.status {
		case 403:
			class = "Forbidden"
		case 404:
			class = "NotFound"
		case 409:
			class = "Conflict"
		}
		if body, ok := f.body.(object); ok && body["NeutronError"] != nil {
			if typ := text(child(body, "NeutronError"), "type"); slices.Contains(neutronClasses, typ) {
				class = typ + "Client"
			}
			message = f.message + "\nNeutron server returns request_ids: ['req-" + newID() + "']"
		}
		return (&resourceError{class: class, message: message}).within(name)
	}
	var pe *propertyError
	if errors.As(err, &pe) {
		// Heat reads the class out of the text of the error, and takes the resource for it.
		class, _, _ := strings.Cut((&resourceError{}).within(name).at, ":")
		return &resourceError{class: class, at: "Property error", message: pe.where() + ": " + pe.message}
	}
	var invalid *hotlang.Invalid
	if errors.As(err, &invalid) {
		return (&resourceError{class: invalid.Type, message: invalid.Message}).within(name)
	}
	return (&resourceError{class: "Error", message: err.Error()}).within(name)
}

func (s *stack) root() *stack {
	for s.holder != nil {
		s = s.holder.stack
	}
	return s
}

// findStack finds a stack by id, or by name among those that are not deleted.
func (c *Cloud) findStack(ref string) *stack {
	if s, ok := c.stacks.get(ref); ok {
		return s
	}
	return first(c.stacks.list(func(s *stack) bool { return s.name == ref && s.deleted.IsZero() }))
}

// newStack registers a stack in which nothing happened yet.
func (c *Cloud) newStack(name string, src source, holder *resource) *stack {
	s := &stack{id: newID(), name: name, holder: holder, created: time.Now(), disableRollback: true, userProject: newHexID(), source: src,
		resources: map[string]*resource{}}
	if holder != nil {
		s.userProject = holder.stack.userProject
	}
	c.stacks.put(s.id, s)
	return s
}

// set changes the state of a stack and records it.
func (s *stack) set(action, status, reason string) {
	s.action, s.status, s.reason = action, status, reason
	s.record(s.name, s.id, action+"_"+status, reason)
}

func (s *stack) record(resource, physical, status, reason string) {
	s.events = append(s.events, event{id: newID(), resource: resource, physical: physical, status: status, reason: reason, at: time.Now()})
}

// set changes the state of a resource and records it.
func (r *resource) set(action, status, reason string) {
	if reason == "" {
		reason = "state changed"
	}
	r.action, r.status, r.reason = action, status, reason
	physical := r.physical
	if physical == "" {
		physical = r.physicalName
	}
	r.stack.record(r.name, physical, action+"_"+status, reason)
}

// physicalName is what Heat calls a thing that its template gives no name: STACK-RESOURCE-RANDOM, shortened in the middle to limit (0 is none).
func physicalName(s *stack, resource string, limit int) string {
	name := s.name + "-" + resource + "-" + newShortID()
	if limit > 0 && len(name) > limit {
		name = name[:2] + "-" + name[len(name)-(limit-3):]
	}
	return name
}

// requiredBy lists the resources that depend on the named one.
func (s *stack) requiredBy(name string) []string {
	out := []string{}
	for _, other := range hotlang.SortedKeys(s.resources) {
		if slices.Contains(s.resources[other].requires, name) {
			out = append(out, other)
		}
	}
	return out
}

// dependencies are the resources that must be there before the named one: those that the template shows, and the subnets of the networks
// that a port or server of the same template is in.
func (s *stack) dependencies(name string) []string {
	own := s.tmpl.Dependencies(name)
	switch s.tmpl.Resources[name].Type {
	case "OS::Neutron::Port", "OS::Nova::Server":
	default:
		return own
	}
	near := slices.Clone(own)
	for _, d := range own {
		if s.tmpl.Resources[d].Type == "OS::Neutron::Port" {
			near = append(near, s.tmpl.Dependencies(d)...)
		}
	}
	for other, def := range s.tmpl.Resources {
		if def.Type == "OS::Neutron::Subnet" && !slices.Contains(own, other) &&
			slices.ContainsFunc(s.tmpl.Dependencies(other), func(net string) bool { return slices.Contains(near, net) }) {
			own = append(own, other)
		}
	}
	slices.Sort(own)
	return own
}

// members are the resources, those that failed first, then by age and name: the order in which a group gives them up.
func (s *stack) members() []*resource {
	out := make([]*resource, 0, len(s.resources))
	for _, name := range hotlang.SortedKeys(s.resources) {
		out = append(out, s.resources[name])
	}
	sortBy(out, func(a, b *resource) int {
		if af, bf := a.status == statusFailed, b.status == statusFailed; af != bf {
			if af {
				return -1
			}
			return 1
		}
		// Heat remembers seconds, and so the name decides between members of one second.
		return a.created.Truncate(time.Second).Compare(b.created.Truncate(time.Second))
	})
	return out
}
