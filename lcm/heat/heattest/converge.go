package heattest

import (
	"slices"
	"strings"
	"time"

	"vnfm/lcm/heat/heattest/hotlang"
)

// run is one action on one stack: resources are brought to what the template says, each when those it depends on are done; then what is no
// longer wanted is deleted, in the opposite order. Everything happens in short steps under the cloud's lock; time passes only in timers.
type run struct {
	c      *Cloud
	s      *stack
	action string
	unmet  map[string]int // dependencies not done yet, by resource
	next   map[string][]string
	left   int // resources not done yet
	ended  bool
	done   func(*resourceError) // tells the parent; nil for a root
}

// converge starts an action; what was going on in the stack before is superseded.
func (c *Cloud) converge(s *stack, action string, done func(*resourceError)) {
	n := &run{c: c, s: s, action: action, unmet: map[string]int{}, next: map[string][]string{}, done: done}
	s.current = n
	s.set(action, statusInProgress, "Stack "+action+" started")
	if action != actionCreate {
		s.updated = time.Now()
	}
	wanted, err := s.wanted(c.scopeOf(s))
	if err != nil {
		n.fail(action, asResourceError(err, s.name))
		return
	}
	for name := range wanted {
		for _, dependency := range s.dependencies(name) {
			if wanted[dependency] {
				n.unmet[name]++
				n.next[dependency] = append(n.next[dependency], name)
			}
		}
	}
	n.left = len(wanted)
	for _, name := range hotlang.SortedKeys(wanted) {
		if s.resources[name] == nil {
			n.birth(s.tmpl.Resources[name])
		}
	}
	s.leftovers = slices.DeleteFunc(s.leftovers, func(r *resource) bool { return s.resources[r.name] == r })
	for _, name := range hotlang.SortedKeys(s.resources) {
		if !wanted[name] {
			s.leftovers = append(s.leftovers, s.resources[name])
		}
	}
	n.watchTimeout()
	var roots []string // known beforehand: a visit that ends at once changes what is unmet
	for _, name := range hotlang.SortedKeys(wanted) {
		if n.unmet[name] == 0 {
			roots = append(roots, name)
		}
	}
	c.after(0, func() {
		for _, name := range roots {
			n.visit(name)
		}
		n.sweepWhenDone()
	})
}

// wanted are the names of the resources whose condition holds.
func (s *stack) wanted(sc scope) (map[string]bool, error) {
	out := map[string]bool{}
	for name, def := range s.tmpl.Resources {
		holds, err := s.tmpl.Holds(def.Condition, sc)
		if err != nil {
			return nil, err
		}
		if holds {
			out[name] = true
		}
	}
	return out, nil
}

func (n *run) watchTimeout() {
	minutes, _ := n.s.timeoutMinutes.(int)
	if minutes <= 0 || n.s.holder != nil {
		return
	}
	n.c.after(time.Duration(minutes)*time.Minute, func() {
		if n.active() {
			n.ended = true
			n.s.set(n.action, statusFailed, strings.ToUpper(n.action[:1])+strings.ToLower(n.action[1:])+" timed out")
		}
	})
}

// active is false once the run failed, ended or was superseded.
func (n *run) active() bool { return n.s.current == n && !n.ended }

// visit brings one resource to what the template says.
func (n *run) visit(name string) {
	if !n.active() {
		return
	}
	r := n.s.resources[name]
	if r != nil && r.busy {
		r.waiting = append(r.waiting, func() { n.visit(name) })
		return
	}
	def := n.s.tmpl.Resources[name]
	typ, kind := n.c.kindOf(n.s.source, def.Type)
	properties, err := n.c.resolve(n.c.scopeOf(n.s), def, kind)
	if r == nil {
		r = n.birth(def)
	}
	if err != nil {
		action := r.action
		if action == actionInit {
			action = actionCreate
		}
		n.ends(r, action, asResourceError(err, name))
		return
	}
	switch {
	case r.action == actionInit:
		r.typ, r.kind = typ, kind
		n.create(r, properties)
	case r.kind != kind || r.typ != typ || r.beyondRepair(n.c) || kind.nest == nil && kind.replaces(r.properties, properties):
		n.s.leftovers = append(n.s.leftovers, r)
		if r.kind.yield != nil {
			r.kind.yield(n.c, r)
		}
		n.create(n.birth(def), properties)
	case kind.nest == nil && hotlang.Equal(r.properties, properties):
		r.requires = n.s.dependencies(name)
		if r.status == statusFailed {
			r.set(actionUpdate, statusComplete, "")
		}
		n.arrived(name)
	default:
		n.update(r, properties)
	}
}

// beyondRepair tells whether a resource must be replaced whatever the template says.
func (r *resource) beyondRepair(c *Cloud) bool {
	if r.status != statusFailed {
		return false
	}
	return r.action == actionCheck || r.physical == "" || (r.kind.broken != nil && r.kind.broken(c, r))
}

// birth registers a new resource under its name.
func (n *run) birth(def *hotlang.Resource) *resource {
	now := time.Now()
	typ, kind := n.c.kindOf(n.s.source, def.Type)
	r := &resource{stack: n.s, name: def.Name, typ: typ, kind: kind, created: now, updated: now, requires: n.s.dependencies(def.Name),
		physicalName: physicalName(n.s, def.Name, kind.nameLimit), metadata: object{}, action: actionInit, status: statusComplete,
		retained: strings.EqualFold(def.DeletionPolicy, "retain")}
	n.s.resources[def.Name] = r
	return r
}

func (n *run) create(r *resource, properties object) {
	turn := r.begin(actionCreate)
	r.properties = properties
	fault := n.c.resourceFault(r, actionCreate)
	switch {
	case fault != nil && !r.kind.failsLate:
		n.ends(r, actionCreate, asResourceError(fault, r.name))
		return
	case r.kind.nest != nil:
		n.createNested(r, turn)
		return
	case r.kind.create != nil:
		if err := r.kind.create(n.c, r); err != nil {
			n.ends(r, actionCreate, asResourceError(err, r.name))
			return
		}
	}
	if r.physical == "" {
		r.physical = r.physicalName
	}
	n.c.after(n.c.delay(r.typ, actionCreate), func() {
		switch {
		case r.turn != turn:
		case fault != nil:
			r.kind.spoil(n.c, r, fault)
			n.endsTurn(r, turn, actionCreate, fault)
		case r.kind.ready != nil:
			r.kind.ready(n.c, r, func(err error) { n.endsTurn(r, turn, actionCreate, err) })
		default:
			n.endsTurn(r, turn, actionCreate, nil)
		}
	})
}

func (n *run) update(r *resource, properties object) {
	turn := r.begin(actionUpdate)
	if err := n.c.resourceFault(r, actionUpdate); err != nil {
		n.ends(r, actionUpdate, asResourceError(err, r.name))
		return
	}
	before := r.properties
	r.requires = n.s.dependencies(r.name)
	if r.kind.nest != nil {
		n.updateNested(r, turn, properties)
		return
	}
	n.c.after(n.c.delay(r.typ, actionUpdate), func() {
		if r.turn != turn {
			return
		}
		var err error
		if r.kind.update != nil {
			err = r.kind.update(n.c, r, before, properties)
		}
		if err == nil {
			r.properties = properties
		}
		n.endsTurn(r, turn, actionUpdate, err)
	})
}

// begin marks the resource as being worked on; the number returned identifies this work.
func (r *resource) begin(action string) int {
	r.busy = true
	r.turn++
	if action != actionCreate {
		r.updated = time.Now()
	}
	r.set(action, statusInProgress, "")
	return r.turn
}

func (n *run) endsTurn(r *resource, turn int, action string, err error) {
	if r.turn != turn {
		return
	}
	if err != nil {
		n.ends(r, action, asResourceError(err, r.name))
		return
	}
	n.ends(r, action, nil)
}

// ends records the end of the work on a resource and goes on with what waited for it.
func (n *run) ends(r *resource, action string, err *resourceError) {
	r.busy = false
	r.turn++
	if err != nil {
		r.set(action, statusFailed, err.Error())
		n.fail(action, err)
	} else {
		r.set(action, statusComplete, "")
		n.arrived(r.name)
	}
	r.wake()
}

// wake calls what waited for the end of the work on r.
func (r *resource) wake() {
	waiting := r.waiting
	r.waiting = nil
	for _, fn := range waiting {
		fn()
	}
}

// arrived goes on with what depends on a resource.
func (n *run) arrived(name string) {
	if !n.active() {
		return
	}
	n.left--
	for _, dependent := range slices.Sorted(slices.Values(n.next[name])) {
		if n.unmet[dependent]--; n.unmet[dependent] == 0 {
			n.visit(dependent)
		}
	}
	n.sweepWhenDone()
}

// sweepWhenDone begins to delete what is left over once everything wanted is there.
func (n *run) sweepWhenDone() {
	if !n.active() || n.left > 0 {
		return
	}
	n.left = -1 // once only
	gone := n.s.leftovers
	n.c.sweep(gone, func(err *resourceError) {
		if !n.active() {
			return
		}
		if err != nil {
			n.fail(actionDelete, err)
			return
		}
		n.finish()
	})
}

func (n *run) finish() {
	n.ended = true
	n.s.current = nil
	n.s.set(n.action, statusComplete, "Stack "+n.action+" completed successfully")
	if n.done != nil {
		n.done(nil)
	}
}

// fail ends the run because of what a resource's action ended with; other resources that are being worked on go on to their own ends.
func (n *run) fail(action string, err *resourceError) {
	if !n.active() {
		return
	}
	n.ended = true
	n.s.set(n.action, statusFailed, "Resource "+action+" failed: "+err.Error())
	if n.done != nil {
		n.done(err)
		return
	}
	if !n.s.disableRollback && (n.action == actionCreate || n.action == actionUpdate) {
		n.c.rollback(n.s, n.action)
	}
}

// rollback returns to the template before the failed update, or to nothing after a failed creation.
func (c *Cloud) rollback(s *stack, failed string) {
	if failed == actionCreate {
		s.before = s.source
		empty := *s.tmpl
		empty.Resources, empty.Outputs = map[string]*hotlang.Resource{}, map[string]hotlang.Output{}
		s.before.tmpl = &empty
	}
	s.source = s.before
	c.converge(s, actionRollback, nil)
}

// createNested makes the stack inside a resource.
func (n *run) createNested(r *resource, turn int) {
	src, err := r.kind.nest(n.c, r, r.properties)
	if err != nil {
		n.ends(r, actionCreate, asResourceError(err, r.name))
		return
	}
	if err := n.c.validate(&stack{name: r.physicalName, resources: map[string]*resource{}}, src, r.kind != n.c.template); err != nil {
		n.ends(r, actionCreate, asResourceError(err, r.name))
		return
	}
	r.nested = n.c.newStack(r.physicalName, src, r)
	r.physical = r.nested.id
	n.c.converge(r.nested, actionCreate, n.nestedEnds(r, turn, actionCreate))
}

// updateNested brings the stack inside a resource to new properties.
func (n *run) updateNested(r *resource, turn int, properties object) {
	src, err := r.kind.nest(n.c, r, properties)
	if err != nil {
		n.ends(r, actionUpdate, asResourceError(err, r.name))
		return
	}
	r.properties = properties
	r.nested.source = src
	n.c.converge(r.nested, actionUpdate, n.nestedEnds(r, turn, actionUpdate))
}

func (n *run) nestedEnds(r *resource, turn int, action string) func(*resourceError) {
	return func(err *resourceError) {
		if r.turn != turn {
			return
		}
		if err != nil {
			n.ends(r, action, err.within(r.name))
			return
		}
		n.ends(r, action, nil)
	}
}
