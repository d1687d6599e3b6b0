package kubespray_test

import (
	"encoding/json"
	"errors"
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
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubespray"
	"vnfm/mgmtdriver/kubespray/spraytest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// bed is a VNF on machines that listen in a /24 of their own, with an Ansible server.
type bed struct {
	t       testing.TB
	world   *spraytest.World
	driver  *kubespray.Driver
	network string // such as 127.40.7.
	vms     map[string]*sshtest.Server
	keys    *sshtest.HostKeys
	vims    *drivertest.Vims
	files   fs.FS
	params  map[string]any
	log     *drivertest.Journal

	vnfcs, before, after, removed, added []mgmtdriver.Vnfc
	request                              string
	additional                           map[string]any // of a later operation
	operation                            string
	rollingBack                          bool
	ports                                []mgmtdriver.Port // of no VNFC
	opID, servers                        int
}

type setting struct {
	masters, workers int
	world            spraytest.Options
	config           kube.Config
	change           func(params map[string]any)
	pool             ssh.Config
}

const (
	nodeSecret    = "streng-{{geheim}}" // the password of all machines, which Ansible must not take for a template
	ansibleSecret = "noch-geheimer"
	proxySecret   = "proxy-geheim"
	ansibleLast   = "200"
	balancerLast  = "90"
	directory     = spraytest.Root + "/inventory/mycluster"
)

func newBed(tb testing.TB, of setting) *bed {
	tb.Helper()
	if of.pool.DialTime == 0 {
		of.pool = ssh.Config{DialTime: 2 * time.Second, LoginGrace: time.Millisecond}
	}
	pool := ssh.NewPool(of.pool)
	tb.Cleanup(func() { _ = pool.Close() })
	of.config.SSHPort = sshtest.DefaultPort
	b := &bed{t: tb, world: spraytest.New(of.world), driver: kubespray.New(pool, of.config), vms: map[string]*sshtest.Server{}, keys: &sshtest.HostKeys{},
		vims: &drivertest.Vims{}, files: samples.Kubespray(), network: reserveNetwork(tb), log: &drivertest.Journal{}}
	tb.Cleanup(func() {
		for _, vm := range b.vms {
			_ = vm.Close()
		}
		if found := b.world.Surprises(); len(found) > 0 {
			tb.Errorf("surprises:\n%s", strings.Join(found, "\n"))
		}
		b.tellsNoSecrets(b.log.String())
	})
	b.params = sampleParams(tb)
	cluster := b.cluster()
	for _, group := range []string{"master_node", "worker_node"} {
		cluster[group].(map[string]any)["password"] = nodeSecret
	}
	cluster["external_lb_param"].(map[string]any)["ssh_password"] = nodeSecret
	server := cluster["ansible"].(map[string]any)
	server["ip_address"], server["password"] = b.network+ansibleLast, ansibleSecret
	cluster["proxy"] = map[string]any{"http_proxy": "http://me:" + proxySecret + "@proxy:3128", "https_proxy": "http://proxy:3128", "no_proxy": "10.0.0.1"}
	if of.change != nil {
		of.change(cluster)
	}
	b.startAnsible(ansibleLast)
	for i := range of.masters {
		b.vnfcs = append(b.vnfcs, b.vnfc("masterNode", fmt.Sprint(11+i)))
	}
	for i := range of.workers {
		b.vnfcs = append(b.vnfcs, b.vnfc("workerNode", fmt.Sprint(51+i)))
	}
	b.vnfcs = append(b.vnfcs, b.vnfc("externalLB", balancerLast))
	return b
}

func (b *bed) tellsNoSecrets(text string) {
	b.t.Helper()
	for _, secret := range []string{nodeSecret, ansibleSecret, proxySecret, "bearer-"} {
		if strings.Contains(text, secret) {
			b.t.Errorf("the secret %s is told:\n%s", secret, text)
		}
	}
}

func (b *bed) cluster() map[string]any { return b.params[kubespray.Parameter].(map[string]any) }

func (b *bed) startAnsible(last string) {
	b.t.Helper()
	vm, err := sshtest.New(b.t.Context(), sshtest.Options{Addr: b.address(last), User: "ansible", Password: ansibleSecret, Handler: b.world.Ansible()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.vms[last] = vm
}

// reserveNetwork takes a network that no other test has.
func reserveNetwork(tb testing.TB) string {
	tb.Helper()
	for range 1000 {
		network := fmt.Sprintf("127.%d.%d.", 60+rand.IntN(4), rand.IntN(256))
		release, err := sshtest.Reserve(tb.Context(), netip.MustParseAddr(network+"1"), sshtest.DefaultPort)
		if err == nil {
			tb.Cleanup(release)
			return network
		}
	}
	tb.Fatal("no free network")
	return ""
}

// sampleParams are the additionalParams of the request of the sample package.
func sampleParams(tb testing.TB) map[string]any {
	tb.Helper()
	content, err := fs.ReadFile(samples.Kubespray(), "params/instantiate.json")
	if err != nil {
		tb.Fatal(err)
	}
	var request struct{ AdditionalParams map[string]any }
	if err := json.Unmarshal(content, &request); err != nil {
		tb.Fatal(err)
	}
	return request.AdditionalParams
}

func (b *bed) address(last string) netip.Addr { return netip.MustParseAddr(b.network + last) }

// vnfc is one whose server has yet to boot.
func (b *bed) vnfc(vdu, last string) mgmtdriver.Vnfc {
	b.servers++
	vnfc := mgmtdriver.Vnfc{ID: "vnfc-" + last, VduID: vdu, ServerID: fmt.Sprintf("server-%d", b.servers)}
	cp := map[string]string{"masterNode": "masterNode_CP1", "workerNode": "workerNode_CP2", "externalLB": "externalLB_CP1"}[vdu]
	vnfc.AspectID = map[string]string{"masterNode": "master_instance", "workerNode": "worker_instance"}[vdu]
	vnfc.Ports = []mgmtdriver.Port{{Name: cp, ID: "port-" + last, Addresses: []netip.Addr{b.address(last)}}}
	return vnfc
}

func lastOf(vnfc *mgmtdriver.Vnfc) string { return strings.TrimPrefix(vnfc.ID, "vnfc-") }

// boot makes a machine, in the place of the one that has its address.
func (b *bed) boot(vnfc *mgmtdriver.Vnfc) {
	b.t.Helper()
	last := lastOf(vnfc)
	b.kill(last)
	vm, err := sshtest.New(b.t.Context(), sshtest.Options{Addr: b.address(last), User: "ubuntu", Password: nodeSecret, Handler: b.world.Boot(b.address(last))})
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

func (b *bed) call(hook mgmtdriver.Hook) *mgmtdriver.Call {
	additional := b.additional
	if b.operation == "INSTANTIATE" {
		additional = b.params
	}
	return &mgmtdriver.Call{
		Hook: hook,
		Operation: mgmtdriver.Operation{ID: fmt.Sprintf("op-%d", b.opID), Type: b.operation, Request: json.RawMessage(b.request), AdditionalParams: additional,
			RollingBack: b.rollingBack},
		Instance: mgmtdriver.Instance{ID: "instance", Name: "cluster", FlavourID: "simple", AdditionalParams: b.params},
		Before:   b.before, After: b.after, Removed: b.removed, Added: b.added, Ports: b.ports,
		Package: drivertest.Files{FS: b.files}, HostKeys: b.keys, Vims: b.vims, Log: slog.New(slog.NewTextHandler(b.log, nil)),
		Outputs: map[string]json.RawMessage{},
	}
}

// run carries a hook out, as the engine does. It returns the error of the step that fails.
func (b *bed) run(hook mgmtdriver.Hook) error {
	b.t.Helper()
	if err := b.driver.Check(b.t.Context(), b.asked(hook)); err != nil {
		return err
	}
	return b.steps(hook)
}

func (b *bed) steps(hook mgmtdriver.Hook) error {
	b.t.Helper()
	outputs := map[string]json.RawMessage{}
	for _, step := range b.driver.Steps(hook) {
		output, err := b.step(hook, step, outputs)
		if err != nil {
			b.tellsNoSecrets(err.Error())
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		outputs[string(hook)+"/"+step.Name] = output
	}
	return nil
}

// asked is the call when a request arrives: nobody has looked at the VIM, so no ports are known.
func (b *bed) asked(hook mgmtdriver.Hook) *mgmtdriver.Call {
	call := b.call(hook)
	for _, list := range []*[]mgmtdriver.Vnfc{&call.Before, &call.After, &call.Removed} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i].Ports = nil
		}
	}
	call.Added, call.Ports = nil, nil
	return call
}

// patience is how often a step is repeated that a host does not answer.
const patience = 3

func (b *bed) step(hook mgmtdriver.Hook, step mgmtdriver.Step, outputs map[string]json.RawMessage) (json.RawMessage, error) {
	b.t.Helper()
	var state json.RawMessage
	trouble, detail := 0, ""
	for began := time.Now(); time.Since(began) < time.Minute; {
		call := b.call(hook)
		call.State, call.Outputs = state, outputs
		result, err := step.Do(b.t.Context(), call)
		detail = result.Detail
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
		time.Sleep(2 * time.Millisecond)
	}
	b.t.Fatalf("%s/%s does not end: %s", hook, step.Name, detail)
	return nil, nil
}

// untilPlaying carries a hook out until a playbook runs, and gives it up there. It returns the outputs of the steps that were done.
func (b *bed) untilPlaying(hook mgmtdriver.Hook, book string) map[string]json.RawMessage {
	b.t.Helper()
	outputs := map[string]json.RawMessage{}
	for _, step := range b.driver.Steps(hook) {
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
			call := b.call(hook)
			call.Outputs = outputs
			result, err := step.Do(b.t.Context(), call)
			if err != nil {
				b.t.Fatal(err)
			}
			if runs := b.world.Runs(); b.world.Playing() > 0 && strings.HasPrefix(runs[len(runs)-1], book) {
				return outputs
			}
			if !result.Again {
				outputs[string(hook)+"/"+step.Name], _ = json.Marshal(result.Output)
				break
			}
		}
	}
	b.t.Fatalf("%s has never run in %s", book, hook)
	return nil
}

// must is run, and it has to succeed.
func (b *bed) must(hook mgmtdriver.Hook) {
	b.t.Helper()
	if err := b.run(hook); err != nil {
		b.t.Fatalf("%s: %v\n%s", hook, err, b.log)
	}
}

// nodes are the names of the nodes of the cluster, sorted; those that are not ready have an exclamation mark.
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

// inventory is what the Ansible server has of the cluster.
func (b *bed) inventory() string {
	content, err := b.vms[ansibleLast].ReadFile(directory + "/hosts.yaml")
	if err != nil {
		return ""
	}
	return string(content)
}

// state is what the world looks like, without what is different in every world.
func (b *bed) state() any {
	view := b.world.View()
	content, err := json.Marshal(map[string]any{"nodes": view.Nodes, "members": view.Members, "vim": b.vims.Shown(), "routes": b.world.Routes(),
		"inventory": b.inventory(), "directories": b.world.Directories(), "known": b.world.Known(), "sealed": b.world.Sealed(directory),
		"runs": b.world.Runs()})
	if err != nil {
		b.t.Error(err)
	}
	var state any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(content), b.network, "net.")), &state); err != nil {
		b.t.Error(err)
	}
	return state
}
