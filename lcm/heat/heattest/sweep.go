package heattest

import (
	"maps"
	"slices"
	"time"
)

// sweep deletes resources, each after those that depend on it, and then calls then.
func (c *Cloud) sweep(gone []*resource, then func(*resourceError)) {
	gone = slices.Clone(gone) // the list of the stack shrinks meanwhile
	left, failed := len(gone), (*resourceError)(nil)
	if left == 0 {
		then(nil)
		return
	}
	blockers := map[*resource]int{}
	for _, r := range gone {
		for _, other := range gone {
			if other != r && slices.Contains(other.requires, r.name) {
				blockers[r]++
			}
		}
	}
	var removed func(r *resource, err *resourceError)
	removed = func(r *resource, err *resourceError) {
		left--
		if err != nil && failed == nil {
			failed = err
		}
		if err == nil {
			for _, other := range gone {
				if other != r && slices.Contains(r.requires, other.name) {
					if blockers[other]--; blockers[other] == 0 {
						c.remove(other, removed)
					}
				}
			}
		}
		if left == 0 || (failed != nil && err == failed) {
			then(failed)
		}
	}
	for _, r := range gone {
		if blockers[r] == 0 {
			c.remove(r, removed)
		}
	}
}

// remove deletes one resource, whatever is going on with it.
func (c *Cloud) remove(r *resource, then func(*resource, *resourceError)) {
	turn := r.begin(actionDelete)
	ends := func(err error) {
		if r.turn != turn {
			return
		}
		r.busy = false
		if err != nil {
			failed := asResourceError(err, r.name)
			r.set(actionDelete, statusFailed, failed.Error())
			then(r, failed)
			r.wake()
			return
		}
		r.set(actionDelete, statusComplete, "")
		r.forget()
		then(r, nil)
		r.wake()
	}
	if err := c.resourceFault(r, actionDelete); err != nil {
		c.after(0, func() { ends(err) })
		return
	}
	if r.nested != nil {
		c.deleteStack(r.nested, func(err *resourceError) {
			if err != nil {
				ends(err)
				return
			}
			ends(nil)
		})
		return
	}
	wait := c.delay(r.typ, actionDelete)
	if r.physical == "" || r.retained {
		wait = 0
	}
	c.after(wait, func() {
		if r.turn == turn && r.physical != "" && !r.retained && r.kind.remove != nil {
			ends(r.kind.remove(c, r))
			return
		}
		ends(nil)
	})
}

// forget takes a deleted resource out of its stack.
func (r *resource) forget() {
	s := r.stack
	s.leftovers = slices.DeleteFunc(s.leftovers, func(other *resource) bool { return other == r })
	if s.resources[r.name] == r {
		delete(s.resources, r.name)
	}
}

// deleteStack deletes everything in a stack and then the stack, which stays visible by its id.
func (c *Cloud) deleteStack(s *stack, done func(*resourceError)) {
	n := &run{c: c, s: s, action: actionDelete, done: done}
	s.current = n
	s.set(actionDelete, statusInProgress, "Stack DELETE started")
	s.updated = time.Now()
	s.leftovers = append(slices.DeleteFunc(s.leftovers, func(r *resource) bool { return s.resources[r.name] == r }), slices.Collect(maps.Values(s.resources))...)
	c.after(0, func() {
		if !n.active() {
			return
		}
		c.sweep(s.leftovers, func(err *resourceError) {
			if !n.active() {
				return
			}
			if err != nil {
				n.fail(actionDelete, err)
				return
			}
			s.deleted = time.Now()
			n.finish()
		})
	})
}
