package heattest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// Fault makes requests go wrong. Exactly one of Status, Hang, LoseReply and Delay says how; with none of them the connection is closed at once.
type Fault struct {
	Method string // empty matches every method
	Path   string // regular expression, matched anywhere in the path; empty matches every path
	Times  int    // how many requests; 0 is all until ClearFaults
	Status int    // answer with this status and a proxy's HTML instead of handling the request
	Hang   bool   // do not handle the request and do not answer until the client gives up
	// LoseReply handles the request and closes the connection instead of answering.
	LoseReply bool
	Delay     time.Duration // handle the request after this time
}

// ResourceFault makes resources fail when their action begins; empty fields match everything.
type ResourceFault struct {
	Type   string // Heat's type, such as OS::Nova::Server
	Name   string // the resource's name in its template
	Stack  string // name of the root stack
	Action string // CREATE, UPDATE or DELETE
	Times  int    // how many resources; 0 is all until ClearFaults
	Reason string // the status reason behind "ResourceInError: resources.NAME: Went to status ERROR due to"; empty is Nova's "No valid host was found"
}

type faults struct {
	requests  []*pendingFault
	resources []*ResourceFault
	down      map[string]bool
	calls     map[string]int
}

type pendingFault struct {
	Fault
	path *regexp.Regexp
	used int
}

// Inject adds a fault; the oldest that matches a request is used. The error says what is wrong with it.
func (c *Cloud) Inject(f Fault) error {
	path, err := regexp.Compile(f.Path)
	if err != nil {
		return fmt.Errorf("path of fault: %w", err)
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("status %d of fault is not between 400 and 599", f.Status)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.requests = append(c.faults.requests, &pendingFault{Fault: f, path: path})
	return nil
}

// FailResource adds a fault of resources; the oldest that matches is used.
func (c *Cloud) FailResource(f ResourceFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.resources = append(c.faults.resources, &f)
}

// ClearFaults ends every fault, and every service is up again.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.requests, c.faults.resources, c.faults.down = nil, nil, nil
}

// SetDown takes a service (identity, orchestration, compute, network, image, volume) away, or brings it back: connections are closed without
// an answer. What the service was doing goes on.
func (c *Cloud) SetDown(service string, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.down == nil {
		c.faults.down = map[string]bool{}
	}
	c.faults.down[service] = down
}

// SetInstanceQuota limits the number of servers from now on; 0 is no limit.
func (c *Cloud) SetInstanceQuota(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quota = n
}

// Calls tells how often each route was called: keys are a method and a path with its variables in braces, such as
// "GET /orchestration/v1/{project}/stacks/{name}/{id}". Requests that a fault swallowed do not count.
func (c *Cloud) Calls() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.faults.calls)
}

// ResetCalls starts counting from zero.
func (c *Cloud) ResetCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.calls = nil
}

func (f *faults) count(mu *sync.Mutex, route string) {
	mu.Lock()
	defer mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[route]++
}

// faultFor picks the fault for a request, nil without one.
func (c *Cloud) faultFor(r *http.Request) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	for service, down := range c.faults.down {
		if down && regexp.MustCompile("^/"+regexp.QuoteMeta(service)+"(/|$)").MatchString(r.URL.Path) {
			return &Fault{}
		}
	}
	for _, f := range c.faults.requests {
		if (f.Times > 0 && f.used >= f.Times) || (f.Method != "" && f.Method != r.Method) || !f.path.MatchString(r.URL.Path) {
			continue
		}
		f.used++
		return &f.Fault
	}
	return nil
}

// resourceFault picks the fault for a resource's action. The lock is held.
func (c *Cloud) resourceFault(r *resource, action string) error {
	for i, f := range c.faults.resources {
		if (f.Type != "" && f.Type != r.typ) || (f.Name != "" && f.Name != r.name) || (f.Action != "" && f.Action != action) ||
			(f.Stack != "" && f.Stack != r.stack.root().name) {
			continue
		}
		reason := f.Reason
		if reason == "" {
			reason = "Message: No valid host was found. There are not enough hosts available., Code: 500"
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				c.faults.resources = append(c.faults.resources[:i:i], c.faults.resources[i+1:]...)
			}
		}
		return inError(reason)
	}
	return nil
}
