package external

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"

	"vnfm/mgmtdriver"
)

// protocol is the version of the documents. Attributes may be added without a new one.
const protocol = 1

// Kinds of calls.
const (
	callDescribe = "describe"
	callCheck    = "check"
	callStep     = "step"
)

// request is what a program reads.
type request struct {
	Protocol   int                        `json:"protocol"`
	Call       string                     `json:"call"`
	Hook       mgmtdriver.Hook            `json:"hook,omitempty"`
	Step       string                     `json:"step,omitempty"`
	Operation  *mgmtdriver.Operation      `json:"operation,omitempty"`
	Instance   *mgmtdriver.Instance       `json:"instance,omitempty"`
	Before     []mgmtdriver.Vnfc          `json:"before,omitempty"`
	After      []mgmtdriver.Vnfc          `json:"after,omitempty"`
	Removed    []mgmtdriver.Vnfc          `json:"removed,omitempty"`
	Added      []mgmtdriver.Vnfc          `json:"added,omitempty"`
	Ports      []mgmtdriver.Port          `json:"ports,omitempty"`
	Vdus       []mgmtdriver.Vdu           `json:"vdus,omitempty"`
	State      json.RawMessage            `json:"state,omitempty"`
	Outputs    map[string]json.RawMessage `json:"outputs,omitempty"`
	PackageDir string                     `json:"packageDir,omitempty"`
}

func (r *request) fill(c *mgmtdriver.Call) {
	r.Hook, r.Operation, r.Instance = c.Hook, &c.Operation, &c.Instance
	r.Before, r.After, r.Removed, r.Added, r.Ports, r.Vdus = c.Before, c.After, c.Removed, c.Added, c.Ports, c.Vdus
	r.State, r.Outputs = c.State, c.Outputs
}

// Results of a call.
const (
	resultDone        = "done"
	resultWait        = "wait"
	resultFail        = "fail"
	resultInvalid     = "invalid"
	resultUnavailable = "unavailable"
)

// answer is what a program writes about a check or a step.
type answer struct {
	Result       string          `json:"result"`
	Output       json.RawMessage `json:"output"`
	AfterSeconds float64         `json:"afterSeconds"`
	State        json.RawMessage `json:"state"`
	Attribute    string          `json:"attribute"`
	Title        string          `json:"title"`
	Status       int             `json:"status"`
	Peer         string          `json:"peer"`
	Detail       string          `json:"detail"`
}

// description is what a program says of itself.
type description struct {
	Protocol     int                          `json:"protocol"`
	Hooks        map[mgmtdriver.Hook][]string `json:"hooks"` // names of the steps
	Check        bool                         `json:"check"`
	PackageFiles []string                     `json:"packageFiles"` // patterns, see [path.Match]
}

var stepName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// check tells what is wrong with a description.
func (d *description) check() error {
	if d.Protocol != protocol {
		return fmt.Errorf("it speaks version %d of the protocol, and this server %d", d.Protocol, protocol)
	}
	for hook, steps := range d.Hooks {
		if !slices.Contains(mgmtdriver.Hooks(), hook) {
			return fmt.Errorf("there is no hook %q", hook)
		}
		for i, step := range steps {
			if !stepName.MatchString(step) {
				return fmt.Errorf("hook %s: the name of step %q does not match %s", hook, step, stepName)
			}
			if slices.Contains(steps[:i], step) {
				return fmt.Errorf("hook %s: there are two steps %s", hook, step)
			}
		}
	}
	for _, pattern := range d.PackageFiles {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("packageFiles: %q: %w", pattern, err)
		}
	}
	return nil
}
