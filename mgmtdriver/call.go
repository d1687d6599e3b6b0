package mgmtdriver

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// Call is what a driver is called with.
type Call struct {
	Hook      Hook
	Operation Operation
	Instance  Instance

	// Before are the VNFCs before the operation, After those that there are when it is over. In a hook of start, After is as far as
	// it is known what will stay. Both are read from the VIM once per operation; in [Driver.Check] there are no addresses.
	Before, After []Vnfc
	// Removed are those of Before whose server goes or has gone, Added those of After whose server is new. A VNFC that is healed is
	// in both, with its former and its new server, and keeps its id. In a hook of start, Added is empty and Removed is exactly what
	// the VIM is going to remove; where Heat alone decides that (change of flavour or of the connectivity) it is empty, too.
	Removed, Added []Vnfc
	// Ports are those that belong to no VNFC, such as a virtual IP address.
	Ports []Port
	Vdus  []Vdu // of the flavour
	// PortNames are, in [Driver.Check], all names that a [Port] may come to have: the connection points of the VNFD, and the ports and
	// floating IP addresses of the Heat templates.
	PortNames []string

	Package  Package
	HostKeys HostKeys // nil in [Driver.Check], which asks no VM
	Vims     Vims     // in [Driver.Check], to ask with
	Log      *slog.Logger
	NodeLogs NodeLogs // nil in [Driver.Check]

	// State is what the former call of this step has given to [Result.With]; nil in the first call and after a crash.
	State json.RawMessage
	// Outputs are those of the steps that this driver has done in this operation, by hook and step: "heal_start/drain".
	Outputs map[string]json.RawMessage
}

// Output reads what an earlier step, such as "heal_start/drain", has given to [Done], into the value that into points at.
func (c *Call) Output(step string, into any) error {
	output, ok := c.Outputs[step]
	if !ok {
		return fmt.Errorf("step %s has not been done", step)
	}
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("read output of step %s: %w", step, err)
	}
	return nil
}

// Since is when a step began to wait that keeps no more than that, with [Result.With]; now in its first call and after a crash.
func (c *Call) Since() time.Time {
	var since time.Time
	if json.Unmarshal(c.State, &since) != nil {
		// What a process of a former release has kept, beside this one during an upgrade.
		_ = json.Unmarshal(c.State, &struct{ Since *time.Time }{&since})
	}
	if since.IsZero() {
		return time.Now()
	}
	return since
}

// Operation is the operation that calls the driver.
type Operation struct {
	ID               string          `json:"id"`
	Type             string          `json:"type"`    // such as SCALE (SOL003 5.5.4.6)
	Request          json.RawMessage `json:"request"` // the client's request with its secrets
	AdditionalParams map[string]any  `json:"additionalParams,omitempty"`
	// RollingBack tells that the operation is being undone: the request is that of the operation, not of the hook.
	RollingBack bool `json:"rollingBack,omitempty"`
}

// Instance is the VNF instance.
type Instance struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	VnfdID    string `json:"vnfdId"`
	FlavourID string `json:"flavourId"` // that the driver was named in
	// AdditionalParams are those that the VNF was made from, with their secrets; in [Driver.Check] of a later operation secrets
	// are masked.
	AdditionalParams map[string]any `json:"additionalParams,omitempty"`
}

// Vdu is what the VNFD says of a VDU (SOL001 6.8.3).
type Vdu struct {
	ID       string   `json:"id"` // vduId
	AspectID string   `json:"aspectId,omitempty"`
	Cps      []string `json:"cps,omitempty"`      // names of its connection points
	Storages []string `json:"storages,omitempty"` // names of its virtual storages
}

// Vnfc is a VNFC with its virtual machine.
type Vnfc struct {
	ID       string `json:"id"` // vnfcInstanceId
	VduID    string `json:"vduId"`
	AspectID string `json:"aspectId,omitempty"` // the scaling aspect that the VDU is scaled by
	ServerID string `json:"serverId"`           // in Nova
	StackID  string `json:"stackId,omitempty"`  // the innermost Heat stack that holds the server
	Zone     string `json:"zone,omitempty"`     // the availability zone that the server is in
	// GrantedZone is the zone that a grant of the NFVO has chosen.
	GrantedZone string `json:"grantedZone,omitempty"`
	// Host is the compute host of the server; "" if the VIM does not tell, which it does to administrators.
	Host string `json:"host,omitempty"`
	// AntiAffinity tells that the server is in a server group that keeps its members on different hosts.
	AntiAffinity bool     `json:"antiAffinity,omitempty"`
	Ports        []Port   `json:"ports,omitempty"`
	Volumes      []Volume `json:"volumes,omitempty"`
}

// Port returns the port of that name.
func (v *Vnfc) Port(name string) (Port, bool) {
	i := slices.IndexFunc(v.Ports, func(p Port) bool { return p.Name == name })
	if i < 0 {
		return Port{}, false
	}
	return v.Ports[i], true
}

// Address returns the address of the port of that name; *[Failure] if there is none.
func (v *Vnfc) Address(name string) (netip.Addr, error) {
	port, ok := v.Port(name)
	if !ok || len(port.Addresses) == 0 {
		return netip.Addr{}, &Failure{Title: "VM has no address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"VNFC %s (%s) has no connection point %s with an address", v.ID, v.VduID, name)}
	}
	return port.Addresses[0], nil
}

// Port is a port or a floating IP address.
type Port struct {
	Name      string       `json:"name"` // of the connection point in the VNFD, or else of the resource in its template
	ID        string       `json:"id"`   // in Neutron
	Floating  bool         `json:"floating,omitempty"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Volume is a block storage that a VNFC has.
type Volume struct {
	Name string `json:"name"` // of the virtual storage in the VNFD, or else of the resource in its template
	ID   string `json:"id"`   // in Cinder
	// Device is where the VIM has attached it, such as /dev/vdb. The server may call it otherwise: many hypervisors do not tell it.
	Device string `json:"device,omitempty"`
}
