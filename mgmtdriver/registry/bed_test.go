package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/registry/registrytest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

const (
	secret     = "streng-geheim" // the password of the machine
	imagePath  = "Files/images/private_registry.tar"
	seenImage  = "registry:latest"
	proxySaid  = "geheim-proxy"
	proxyURL   = "http://user:" + proxySaid + "@proxy:3128"
	otherImage = "example/other:1.0"
)

// bed is a VNF of one machine.
type bed struct {
	t       *testing.T
	world   *registrytest.World
	driver  *registry.Driver
	vm      *sshtest.Server
	address netip.Addr
	release func()
	files   fstest.MapFS
	params  map[string]any
	log     *drivertest.Journal
	keys    *sshtest.HostKeys
	vnfc    mgmtdriver.Vnfc
	ports   []mgmtdriver.Port
	servers int
	opID    int
	kind    string
	further []mgmtdriver.Vnfc
	swap    []byte // what the package has once the request has been checked; nil = the same
}

type setting struct {
	world  registrytest.Options
	config registry.Config
	change func(params map[string]any)
}

func newBed(t *testing.T, of setting) *bed {
	t.Helper()
	pool := ssh.NewPool(ssh.Config{DialTime: 2 * time.Second, LoginGrace: time.Millisecond})
	t.Cleanup(func() { _ = pool.Close() })
	of.config.SSHPort = sshtest.DefaultPort
	if of.config.AnswerTime == 0 {
		of.config.AnswerTime = 50 * time.Millisecond
	}
	b := &bed{t: t, world: registrytest.New(of.world), driver: registry.New(pool, of.config), log: &drivertest.Journal{}, keys: &sshtest.HostKeys{},
		files: fstest.MapFS{imagePath: {Data: registrytest.Archive(seenImage)}}}
	var err error
	if b.address, b.release, err = sshtest.FreeAddr(t.Context(), sshtest.DefaultPort); err != nil {
		t.Fatal(err)
	}
	b.params = map[string]any{"ssh_cp_name": "CP1", "ssh_username": "ubuntu", "ssh_password": secret, "image_path": imagePath}
	if of.change != nil {
		of.change(b.params)
	}
	t.Cleanup(func() {
		b.release()
		if b.vm != nil {
			_ = b.vm.Close()
		}
		if found := b.world.Surprises(); len(found) > 0 {
			t.Errorf("surprises:\n%s", strings.Join(found, "\n"))
		}
		if log := b.log.String(); strings.Contains(log, secret) || strings.Contains(log, proxySaid) {
			t.Errorf("the log tells secrets:\n%s", log)
		}
	})
	return b
}

// boot makes the machine of the VNFC, in the place of the one that there was.
func (b *bed) boot(kind string) {
	b.t.Helper()
	b.opID++
	b.servers++
	b.kind = kind
	if b.vm != nil {
		_ = b.vm.Close()
	}
	vm, err := sshtest.New(b.t.Context(), sshtest.Options{Addr: b.address, User: "ubuntu", Password: secret, Handler: b.world.Boot(b.address)})
	if err != nil {
		b.t.Fatal(err)
	}
	b.vm = vm
	b.vnfc = mgmtdriver.Vnfc{ID: "vnfc", VduID: "PrivateRegistryVDU", ServerID: fmt.Sprintf("server-%d", b.servers),
		Ports: []mgmtdriver.Port{{Name: "CP1", ID: "port", Addresses: []netip.Addr{b.address}}}}
}

func (b *bed) call(hook mgmtdriver.Hook) *mgmtdriver.Call {
	return &mgmtdriver.Call{
		Hook:      hook,
		Operation: mgmtdriver.Operation{ID: fmt.Sprintf("op-%d", b.opID), Type: b.kind, Request: json.RawMessage(`{}`)},
		Instance: mgmtdriver.Instance{ID: "instance", Name: "registry", FlavourID: "simple",
			AdditionalParams: map[string]any{registry.Parameter: b.params}},
		After: append([]mgmtdriver.Vnfc{b.vnfc}, b.further...), Added: []mgmtdriver.Vnfc{b.vnfc}, Ports: b.ports, Package: drivertest.Files{FS: b.files}, HostKeys: b.keys,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Outputs: map[string]json.RawMessage{},
	}
}

// run carries a hook out, as the engine does, from a step on ("" = all). It returns the error of the step that fails, with its name.
func (b *bed) run(hook mgmtdriver.Hook, outputs map[string]json.RawMessage) (failed string, err error) {
	b.t.Helper()
	if err := b.driver.Check(b.t.Context(), b.call(hook)); err != nil {
		return "check", err
	}
	if b.swap != nil {
		b.files[imagePath].Data = b.swap
	}
	for _, step := range b.driver.Steps(hook) {
		key := string(hook) + "/" + step.Name
		if _, done := outputs[key]; done {
			continue
		}
		output, err := drivertest.Do(b.t, step, 2*time.Millisecond, func() *mgmtdriver.Call {
			call := b.call(hook)
			call.Outputs = maps.Clone(outputs)
			return call
		})
		if err != nil {
			return step.Name, err
		}
		outputs[key] = output
	}
	return "", nil
}

// must is run, and it has to succeed.
func (b *bed) must(hook mgmtdriver.Hook) {
	b.t.Helper()
	if step, err := b.run(hook, map[string]json.RawMessage{}); err != nil {
		b.t.Fatalf("%s/%s: %v\n%s", hook, step, err, b.log)
	}
}

// fails is run, and a step has to fail with words of which these are parts. It returns what was done before.
func (b *bed) fails(hook mgmtdriver.Hook, step string, says ...string) map[string]json.RawMessage {
	b.t.Helper()
	outputs := map[string]json.RawMessage{}
	failed, err := b.run(hook, outputs)
	var failure *mgmtdriver.Failure
	if failed != step || !errors.As(err, &failure) {
		b.t.Fatalf("%s: step %q fails with %v, want %q\n%s", hook, failed, err, step, b.log)
	}
	for _, part := range says {
		if !strings.Contains(failure.Detail, part) {
			b.t.Errorf("%s/%s fails with %q, want %q", hook, step, failure.Detail, part)
		}
	}
	return outputs
}
