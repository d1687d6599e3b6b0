package heattest

import (
	"fmt"
	"net/http"

	"vnfm/lcm/heat/heattest/hotlang"
)

// stackAction knows check, suspend, resume, cancel_update and cancel_without_rollback.
func (c *Cloud) stackAction(w http.ResponseWriter, r *http.Request, s *stack) (*reply, error) {
	body, err := decode(w, r)
	if err != nil || len(body) == 0 {
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "No action specified")
	}
	if len(body) > 1 {
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Multiple actions specified")
	}
	switch action := hotlang.SortedKeys(body)[0]; action {
	case "check":
		c.checkStack(s)
	case "suspend":
		c.powerStack(s, actionSuspend, serverShutoff)
	case "resume":
		c.powerStack(s, actionResume, serverActive)
	case "cancel_update", "cancel_without_rollback":
		if s.status != statusInProgress || (s.action != actionUpdate && s.action != actionCreate) {
			return nil, heatFailure(http.StatusBadRequest, "NotSupported", fmt.Sprintf("Cancelling update when stack is ('%s', '%s') is not supported.", s.action, s.status))
		}
		if action == "cancel_update" {
			c.rollback(s, s.action)
		} else {
			s.current.ended = true
			s.set(s.action, statusFailed, "Stack "+s.action+" cancelled")
		}
	default:
		return nil, heatFailure(http.StatusBadRequest, "HTTPBadRequest", "Invalid action "+action+" specified")
	}
	return &reply{status: http.StatusOK}, nil
}

// checkStack looks whether everything is still there.
func (c *Cloud) checkStack(s *stack) {
	missing := c.checkResources(s)
	s.set(actionCheck, statusInProgress, "Stack CHECK started")
	if missing != nil {
		s.set(actionCheck, statusFailed, "Resource CHECK failed: "+missing.Error())
		return
	}
	s.set(actionCheck, statusComplete, "Stack CHECK completed successfully")
}

func (c *Cloud) checkResources(s *stack) *resourceError {
	var missing *resourceError
	for _, name := range hotlang.SortedKeys(s.resources) {
		r := s.resources[name]
		var lost *resourceError
		switch {
		case r.nested != nil:
			if lost = c.checkResources(r.nested); lost != nil {
				lost = lost.within(name)
			}
		case r.kind.broken != nil && r.kind.broken(c, r):
			lost = (&resourceError{class: "NotFound", message: "The resource " + r.physical + " could not be found. (HTTP 404)"}).within(name)
		}
		if lost != nil {
			r.set(actionCheck, statusFailed, lost.Error())
			missing = lost
			continue
		}
		r.set(actionCheck, statusComplete, "")
	}
	return missing
}

// powerStack stops or starts all servers of a stack.
func (c *Cloud) powerStack(s *stack, action, to string) {
	s.set(action, statusInProgress, "Stack "+action+" started")
	c.after(c.delay("OS::Nova::Server", actionUpdate), func() {
		c.powerServers(s, to)
		s.set(action, statusComplete, "Stack "+action+" completed successfully")
	})
}

func (c *Cloud) powerServers(s *stack, to string) {
	for _, r := range s.resources {
		if r.nested != nil {
			c.powerServers(r.nested, to)
		}
		if vm, found := c.nova.servers.get(r.physical); found && vm.status != to {
			c.power(vm, to, func(error) {})
		}
	}
}
