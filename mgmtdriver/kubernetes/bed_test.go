package kubernetes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// bed is a VNF on machines that listen in a /24 of their own.
type bed struct {
	t       testing.TB
	world   *kubetest.World
	driver  *kubernetes.Driver
	network string // such as 127.40.7.
	vms     map[string]*sshtest.Server
	keys    *sshtest.HostKeys
	vims    *drivertest.Vims
	files   fs.FS
	params  map[string]any
	log     *drivertest.Journal
	pause   time.Duration // between two calls of a step
	ports   []mgmtdriver.Port
	machine sshtest.Options // what is not said otherwise of all machines

	vnfcs         []mgmtdriver.Vnfc
	before        []mgmtdriver.Vnfc
	after         []mgmtdriver.Vnfc
	removed       []mgmtdriver.Vnfc
	added         []mgmtdriver.Vnfc
	request       string
	additional    map[string]any // of a later operation
	operation     string
	opID, servers int
	volumes       int
	keepVolumes   bool // in a heal
}

type setting struct {
	masters, workers int
	world            kubetest.Options
	config           kube.Config
	legacy           bool // the script knows no phases
	storage          bool // there is a storage server, 91
	change           func(params map[string]any)
}

const (
	vip    = "100"           // last number of the virtual address
	secret = "streng-geheim" // the password of all machines
)

// joinSecret are tokens and keys for joining.
var joinSecret = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b|--certificate-key|-k [0-9a-f]{64}`)

func newBed(tb testing.TB, of setting) *bed {
	tb.Helper()
	pool := ssh.NewPool(ssh.Config{DialTime: 2 * time.Second, LoginGrace: time.Millisecond})
	tb.Cleanup(func() { _ = pool.Close() })
	of.config.SSHPort = sshtest.DefaultPort
	b := &bed{t: tb, world: kubetest.New(of.world), driver: kubernetes.New(pool, of.config), vms: map[string]*sshtest.Server{}, keys: &sshtest.HostKeys{},
		vims: &drivertest.Vims{}, files: samples.Kubernetes(), network: reserveNetwork(tb), log: &drivertest.Journal{}, pause: 2 * time.Millisecond}
	tb.Cleanup(func() {
		for _, vm := range b.vms {
			_ = vm.Close()
		}
		if found := b.world.Surprises(); len(found) > 0 {
			tb.Errorf("surprises:\n%s", strings.Join(found, "\n"))
		}
		if log := b.log.String(); strings.Contains(log, secret) || joinSecret.MatchString(log) {
			tb.Errorf("the log tells secrets:\n%s", log)
		}
	})
	if of.legacy {
		b.files = fstest.MapFS{"Scripts/install_k8s_cluster.sh": {Data: []byte("#!/bin/bash\nexit 0\n")}, "Scripts/install_helm.sh": {Data: []byte("#!/bin/bash\n")}}
	}
	b.params = sampleParams(tb, "simple")
	if of.masters > 1 {
		b.params = sampleParams(tb, "complex")
		b.ports = []mgmtdriver.Port{{Name: "vip_CP", ID: "vip", Addresses: []netip.Addr{b.address(vip)}}}
	}
	if of.storage {
		b.params = sampleParams(tb, "storage")
	}
	cluster := b.params[kubernetes.Parameter].(map[string]any)
	for _, login := range []string{"master_node", "worker_node", "storage_server"} {
		if group, ok := cluster[login].(map[string]any); ok {
			group["password"] = secret
		}
	}
	if of.change != nil {
		of.change(cluster)
	}
	for i := range of.masters {
		b.vnfcs = append(b.vnfcs, b.vnfc("masterNode", fmt.Sprint(11+i)))
	}
	for i := range of.workers {
		b.vnfcs = append(b.vnfcs, b.vnfc("workerNode", fmt.Sprint(51+i)))
	}
	if of.storage {
		b.vnfcs = append(b.vnfcs, b.vnfc("storage_server", "91"))
	}
	return b
}

// reserveNetwork takes a network that no other test has.
func reserveNetwork(tb testing.TB) string {
	tb.Helper()
	for range 1000 {
		network := fmt.Sprintf("127.%d.%d.", 40+rand.IntN(20), rand.IntN(256))
		release, err := sshtest.Reserve(tb.Context(), netip.MustParseAddr(network+"1"), sshtest.DefaultPort)
		if err == nil {
			tb.Cleanup(release)
			return network
		}
	}
	tb.Fatal("no free network")
	return ""
}

func (b *bed) address(last string) netip.Addr { return netip.MustParseAddr(b.network + last) }

// vnfc is one whose server has yet to boot.
func (b *bed) vnfc(vdu, last string) mgmtdriver.Vnfc {
	aspect, cp := "worker_instance", "workerNode_CP2"
	if vdu == "masterNode" {
		aspect, cp = "master_instance", "masterNode_CP1"
	}
	var volumes []mgmtdriver.Volume
	if vdu == "storage_server" {
		aspect, cp, volumes = "", "storage_server_CP", []mgmtdriver.Volume{b.volume()}
	}
	b.servers++
	return mgmtdriver.Vnfc{ID: "vnfc-" + last, VduID: vdu, AspectID: aspect, ServerID: fmt.Sprintf("server-%d", b.servers), Volumes: volumes,
		Ports: []mgmtdriver.Port{{Name: cp, ID: "port-" + last, Addresses: []netip.Addr{b.address(last)}}}}
}

func lastOf(vnfc *mgmtdriver.Vnfc) string { return strings.TrimPrefix(vnfc.ID, "vnfc-") }

// boot makes a machine, in the place of the one that has its address.
func (b *bed) boot(vnfc *mgmtdriver.Vnfc) {
	b.t.Helper()
	last := lastOf(vnfc)
	b.kill(last)
	options := b.machine
	options.Addr, options.User, options.Handler = b.address(last), "ubuntu", b.world.Boot(b.address(last))
	if options.AuthorizedKeys == nil {
		options.Password = secret
	}
	vm, err := sshtest.New(b.t.Context(), options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.vms[last] = vm
}

func (b *bed) kill(last string) {
	if vm := b.vms[last]; vm != nil {
		_ = vm.Close()
	}
}

// begin is a new operation.
func (b *bed) begin(kind, request string) {
	b.opID++
	b.operation, b.request = kind, request
	b.before, b.after, b.removed, b.added = slices.Clone(b.vnfcs), slices.Clone(b.vnfcs), nil, nil
}

// instantiate boots all machines.
func (b *bed) instantiate() {
	b.begin("INSTANTIATE", "")
	b.before, b.added = nil, b.vnfcs
	for i := range b.vnfcs {
		b.boot(&b.vnfcs[i])
	}
}

// scaleOut boots further workers.
func (b *bed) scaleOut(lasts ...string) {
	b.begin("SCALE", `{"type": "SCALE_OUT", "aspectId": "worker_instance"}`)
	for _, last := range lasts {
		vnfc := b.vnfc("workerNode", last)
		b.boot(&vnfc)
		b.added, b.vnfcs = append(b.added, vnfc), append(b.vnfcs, vnfc)
	}
	b.after = slices.Clone(b.vnfcs)
}

// scaleIn is before machines go.
func (b *bed) scaleIn(lasts ...string) {
	b.begin("SCALE", `{"type": "SCALE_IN", "aspectId": "worker_instance"}`)
	b.leave(lasts)
}

// heal is before machines are replaced; all of them, if none is named.
func (b *bed) heal(lasts ...string) {
	request, _ := json.Marshal(map[string]any{"vnfcInstanceId": ids(lasts)})
	if len(lasts) == 0 {
		request = []byte(`{}`)
		for i := range b.vnfcs {
			lasts = append(lasts, lastOf(&b.vnfcs[i]))
		}
	}
	b.begin("HEAL", string(request))
	b.leave(lasts)
}

func ids(lasts []string) []string {
	var found []string
	for _, last := range lasts {
		found = append(found, "vnfc-"+last)
	}
	return found
}

func (b *bed) leave(lasts []string) {
	b.after, b.removed = nil, nil
	for _, vnfc := range b.vnfcs {
		if slices.Contains(lasts, lastOf(&vnfc)) {
			b.removed = append(b.removed, vnfc)
		} else {
			b.after = append(b.after, vnfc)
		}
	}
}

// gone ends a scale-in: the machines go.
func (b *bed) gone() {
	for i := range b.removed {
		b.kill(lastOf(&b.removed[i]))
	}
	b.vnfcs = slices.Clone(b.after)
}

// replaced is after machines were replaced in a heal.
func (b *bed) replaced() {
	b.added = nil
	for i := range b.vnfcs {
		vnfc := &b.vnfcs[i]
		if slices.ContainsFunc(b.removed, func(r mgmtdriver.Vnfc) bool { return r.ID == vnfc.ID }) {
			b.servers++
			vnfc.ServerID = fmt.Sprintf("server-%d", b.servers)
			if len(vnfc.Volumes) > 0 && !b.keepVolumes {
				vnfc.Volumes = []mgmtdriver.Volume{b.volume()}
			}
			b.boot(vnfc)
			b.added = append(b.added, *vnfc)
		}
	}
	b.after = slices.Clone(b.vnfcs)
}

func (b *bed) call(hook mgmtdriver.Hook) *mgmtdriver.Call {
	additional := b.additional
	if b.operation == "INSTANTIATE" {
		additional = b.params
	}
	return &mgmtdriver.Call{
		Hook:      hook,
		Operation: mgmtdriver.Operation{ID: fmt.Sprintf("op-%d", b.opID), Type: b.operation, Request: json.RawMessage(b.request), AdditionalParams: additional},
		Instance:  mgmtdriver.Instance{ID: "instance", Name: "cluster", FlavourID: "simple", AdditionalParams: b.params},
		Before:    b.before, After: b.after, Removed: b.removed, Added: b.added, Ports: b.ports, Vdus: sampleVdus,
		Package: drivertest.Files{FS: b.files}, HostKeys: b.keys, Vims: b.vims, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		Outputs: map[string]json.RawMessage{},
	}
}

// asked is the call when a request arrives: nobody has looked at the VIM, so no ports are known.
func (b *bed) asked(hook mgmtdriver.Hook) *mgmtdriver.Call {
	call := b.call(hook)
	call.Before, call.After, call.Removed = withoutPorts(call.Before), withoutPorts(call.After), withoutPorts(call.Removed)
	call.Added, call.Ports = nil, nil
	return call
}

func withoutPorts(vnfcs []mgmtdriver.Vnfc) []mgmtdriver.Vnfc {
	bare := slices.Clone(vnfcs)
	for i := range bare {
		bare[i].Ports = nil
	}
	return bare
}

// run carries a hook out, as the engine does. It returns the error of the step that fails.
func (b *bed) run(hook mgmtdriver.Hook) error {
	b.t.Helper()
	outputs := map[string]json.RawMessage{}
	if err := b.driver.Check(b.t.Context(), b.asked(hook)); err != nil {
		return err
	}
	for _, step := range b.driver.Steps(hook) {
		output, err := b.step(hook, step, outputs)
		if err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		outputs[string(hook)+"/"+step.Name] = output
	}
	return nil
}

// patience is how often a step is repeated that a host does not answer.
const patience = 3

func (b *bed) step(hook mgmtdriver.Hook, step mgmtdriver.Step, outputs map[string]json.RawMessage) (json.RawMessage, error) {
	b.t.Helper()
	var state json.RawMessage
	trouble := 0
	for began := time.Now(); time.Since(began) < time.Minute; {
		call := b.call(hook)
		call.State, call.Outputs = state, outputs
		result, err := step.Do(b.t.Context(), call)
		switch {
		case errors.As(err, new(*mgmtdriver.Failure)), err != nil && trouble == patience:
			return nil, err
		case err != nil:
			trouble++
		case !result.Again:
			return json.Marshal(result.Output)
		case result.State != nil:
			state, _ = json.Marshal(result.State)
		}
		time.Sleep(b.pause)
	}
	b.t.Fatalf("%s/%s does not end", hook, step.Name)
	return nil, nil
}

// must is run, and it has to succeed.
func (b *bed) must(hook mgmtdriver.Hook) {
	b.t.Helper()
	if err := b.run(hook); err != nil {
		b.t.Fatalf("%s: %v\n%s", hook, err, b.log)
	}
}

// nodes are the names of the nodes that are ready, sorted.
func (b *bed) nodes() string {
	var names []string
	for name, n := range b.world.View().Nodes {
		if !n.Ready {
			name += "!"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// scripts counts how often an installation script was begun on a machine, by address.
func (b *bed) scripts(last string) (prepared, joined int) {
	for _, entry := range b.vms[last].Journal() {
		switch {
		case !strings.HasPrefix(entry.Command, "bash /tmp/install_k8s_cluster.sh"):
		case strings.Contains(entry.Command, ".sh prepare "):
			prepared++
		default:
			joined++
		}
	}
	return prepared, joined
}

// state is what the world looks like, without what is different in every world.
func (b *bed) state() any {
	view := b.world.View()
	content, err := json.Marshal(map[string]any{"world": view, "vim": b.vims.Shown(), "scripts": b.allScripts()})
	if err != nil {
		b.t.Error(err)
	}
	var state any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(content), b.network, "net.")), &state); err != nil {
		b.t.Error(err)
	}
	return state
}
