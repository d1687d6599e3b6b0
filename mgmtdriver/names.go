package mgmtdriver

import (
	"fmt"
	"slices"
	"strings"
)

// CheckAspect refuses an aspect that scales no VDU. Where VDUs are not scaled any name will do, since these may be in a group of the Heat
// templates. The attribute, a JSON pointer, is the one that has the name; the error is *[Invalid].
func (c *Call) CheckAspect(attribute, name string) error {
	var known []string
	for _, vdu := range c.Vdus {
		if vdu.AspectID == "" {
			return nil
		}
		known = append(known, vdu.AspectID)
	}
	return oneOf(attribute, name, known, "the VNFD scales no VDU by an aspect %q")
}

// CheckPort refuses the name of a port that the VNF package does not have, likewise.
func (c *Call) CheckPort(attribute, name string) error {
	return oneOf(attribute, name, c.PortNames, "the VNF package has neither a connection point nor, in its Heat templates, a port or a floating IP %q")
}

// oneOf refuses a name that is not among those that are known, if any are.
func oneOf(attribute, name string, known []string, refusal string) error {
	if len(known) == 0 || slices.Contains(known, name) {
		return nil
	}
	there := slices.Compact(slices.Sorted(slices.Values(known)))
	return &Invalid{Attribute: attribute, Detail: fmt.Sprintf(refusal, name) + "; there are " + strings.Join(there, ", ")}
}
