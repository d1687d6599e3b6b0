// Package clustertest is the VNF of a Kubernetes cluster in the tests of drivers: its machines, what a VIM does with them in an operation, and the
// engine that calls the driver.
//
//	b := clustertest.New(t)          // then Driver, Params and so on are set
//	b.Vnfcs = append(b.Vnfcs, b.Vnfc("masterNode", "11"))
//	b.Instantiate()
//	b.Must(mgmtdriver.InstantiateEnd)
//	b.Heal("11")
//	b.Must(mgmtdriver.HealStart)
package clustertest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// Bed is a VNF on machines that listen in a /24 of their own. A machine is known by the last number of its address.
type Bed struct {
	T       testing.TB
	Driver  mgmtdriver.Driver
	Network string // such as 127.40.7.
	VMs     map[string]*sshtest.Server
	Keys    *sshtest.HostKeys
	Vims    *drivertest.Vims
	Files   fs.FS          // the VNF package
	Params  map[string]any // that the VNF is made from
	Log     *drivertest.Journal
	Pause   time.Duration                     // between two calls of a step
	Ports   []mgmtdriver.Port                 // of no VNFC
	Vdus    []mgmtdriver.Vdu                  // of the flavour
	Machine func(last string) sshtest.Options // what the machine with an address is like
	Replace func(*mgmtdriver.Vnfc)            // changes what a VNFC has when its server is replaced; nil = nothing does
	View    func() kubetest.View

	Vnfcs, Before, After, Removed, Added []mgmtdriver.Vnfc
	Request                              string
	Additional                           map[string]any // of a later operation
	Operation                            string
	RollingBack                          bool
	OpID, Servers                        int
}

// New returns a VNF without machines.
func New(tb testing.TB) *Bed {
	tb.Helper()
	return &Bed{T: tb, Network: reserveNetwork(tb), VMs: map[string]*sshtest.Server{}, Keys: &sshtest.HostKeys{}, Vims: &drivertest.Vims{},
		Log: &drivertest.Journal{}, Pause: 2 * time.Millisecond}
}

// reserveNetwork takes a network that no other test has.
func reserveNetwork(tb testing.TB) string {
	tb.Helper()
	for range 1000 {
		network := fmt.Sprintf("127.%d.%d.", 40+rand.IntN(24), rand.IntN(256)) //nolint:gosec // an address for a test
		release, err := sshtest.Reserve(tb.Context(), netip.MustParseAddr(network+"1"), sshtest.DefaultPort)
		if err == nil {
			tb.Cleanup(release)
			return network
		}
	}
	tb.Fatal("no free network")
	return ""
}

// Close ends all machines.
func (b *Bed) Close() {
	for last := range b.VMs {
		b.Kill(last)
	}
}

// Address is that of a machine.
func (b *Bed) Address(last string) netip.Addr { return netip.MustParseAddr(b.Network + last) }

// Vnfc is one of the sample packages whose server has yet to boot.
func (b *Bed) Vnfc(vdu, last string) mgmtdriver.Vnfc {
	b.Servers++
	cp := map[string]string{"masterNode": "masterNode_CP1", "workerNode": "workerNode_CP2", "externalLB": "externalLB_CP1", "storage_server": "storage_server_CP"}
	aspect := map[string]string{"masterNode": "master_instance", "workerNode": "worker_instance"}
	return mgmtdriver.Vnfc{ID: "vnfc-" + last, VduID: vdu, AspectID: aspect[vdu], ServerID: fmt.Sprintf("server-%d", b.Servers),
		Ports: []mgmtdriver.Port{{Name: cp[vdu], ID: "port-" + last, Addresses: []netip.Addr{b.Address(last)}}}}
}

func lastOf(vnfc *mgmtdriver.Vnfc) string { return strings.TrimPrefix(vnfc.ID, "vnfc-") }

// Start makes a machine, in the place of the one that has its address.
func (b *Bed) Start(last string, options sshtest.Options) {
	b.T.Helper()
	b.Kill(last)
	options.Addr = b.Address(last)
	vm, err := sshtest.New(b.T.Context(), options)
	if err != nil {
		b.T.Fatal(err)
	}
	b.VMs[last] = vm
}

// Kill ends a machine, if there is one.
func (b *Bed) Kill(last string) {
	if vm := b.VMs[last]; vm != nil {
		_ = vm.Close()
	}
}

// Call is what the driver is called with at a hook.
func (b *Bed) Call(hook mgmtdriver.Hook) *mgmtdriver.Call {
	additional := b.Additional
	if b.Operation == "INSTANTIATE" {
		additional = b.Params
	}
	return &mgmtdriver.Call{
		Hook: hook,
		Operation: mgmtdriver.Operation{ID: fmt.Sprintf("op-%d", b.OpID), Type: b.Operation, Request: json.RawMessage(b.Request), AdditionalParams: additional,
			RollingBack: b.RollingBack},
		Instance: mgmtdriver.Instance{ID: "instance", Name: "cluster", FlavourID: "simple", AdditionalParams: b.Params},
		Before:   b.Before, After: b.After, Removed: b.Removed, Added: b.Added, Ports: b.Ports, Vdus: b.Vdus,
		Package: drivertest.Files{FS: b.Files}, HostKeys: b.Keys, Vims: b.Vims, Log: slog.New(slog.NewTextHandler(b.Log, nil)),
		Outputs: map[string]json.RawMessage{},
	}
}

// Asked is the call when a request arrives: nobody has looked at the VIM, so no ports are known.
func (b *Bed) Asked(hook mgmtdriver.Hook) *mgmtdriver.Call {
	call := b.Call(hook)
	call.Before, call.After, call.Removed = WithoutPorts(call.Before), WithoutPorts(call.After), WithoutPorts(call.Removed)
	call.Added, call.Ports = nil, nil
	return call
}

// WithoutPorts are VNFCs of which no ports are known.
func WithoutPorts(vnfcs []mgmtdriver.Vnfc) []mgmtdriver.Vnfc {
	bare := slices.Clone(vnfcs)
	for i := range bare {
		bare[i].Ports = nil
	}
	return bare
}

// Run carries a hook out, as the engine does. It returns the error of the step that fails.
func (b *Bed) Run(hook mgmtdriver.Hook) error {
	b.T.Helper()
	if err := b.Driver.Check(b.T.Context(), b.Asked(hook)); err != nil {
		return err
	}
	return b.Steps(hook)
}

// Steps is Run without the check of the request.
func (b *Bed) Steps(hook mgmtdriver.Hook) error {
	b.T.Helper()
	outputs := map[string]json.RawMessage{}
	for _, step := range b.Driver.Steps(hook) {
		output, err := b.Step(hook, step, outputs)
		if err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		outputs[string(hook)+"/"+step.Name] = output
	}
	return nil
}

// Step carries a step out.
func (b *Bed) Step(hook mgmtdriver.Hook, step mgmtdriver.Step, outputs map[string]json.RawMessage) (json.RawMessage, error) {
	b.T.Helper()
	return drivertest.Do(b.T, step, b.Pause, func() *mgmtdriver.Call {
		call := b.Call(hook)
		call.Outputs = outputs
		return call
	})
}

// Must is Run, and it has to succeed.
func (b *Bed) Must(hook mgmtdriver.Hook) {
	b.T.Helper()
	if err := b.Run(hook); err != nil {
		b.T.Fatalf("%s: %v\n%s", hook, err, b.Log)
	}
}

// Nodes are the names of the nodes of the cluster, sorted; those that are not ready have an exclamation mark.
func (b *Bed) Nodes() string {
	var names []string
	for name, n := range b.View().Nodes {
		if !n.Ready {
			name += "!"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// Shown is what the world looks like, without what is different in every world.
func (b *Bed) Shown(world map[string]any) any {
	world["vim"] = b.Vims.Shown()
	content, err := json.Marshal(world)
	if err != nil {
		b.T.Error(err)
	}
	var state any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(content), b.Network, "net.")), &state); err != nil {
		b.T.Error(err)
	}
	return state
}
