package kubespray_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kube/clustertest"
	"vnfm/mgmtdriver/kubespray"
	"vnfm/mgmtdriver/kubespray/spraytest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// bed is a VNF with the sample package, and an Ansible server.
type bed struct {
	*clustertest.Bed
	world *spraytest.World
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
	b := &bed{Bed: clustertest.New(tb), world: spraytest.New(of.world)}
	b.Driver, b.Files, b.View = kubespray.New(pool, of.config), samples.Kubespray(), b.world.View
	b.Machine = func(last string) sshtest.Options {
		return sshtest.Options{User: "ubuntu", Password: nodeSecret, Handler: b.world.Boot(b.Address(last))}
	}
	tb.Cleanup(func() {
		b.Close()
		if found := b.world.Surprises(); len(found) > 0 {
			tb.Errorf("surprises:\n%s", strings.Join(found, "\n"))
		}
		b.tellsNoSecrets(b.Log.String())
	})
	b.Params = sampleParams(tb)
	cluster := b.cluster()
	for _, group := range []string{"master_node", "worker_node"} {
		cluster[group].(map[string]any)["password"] = nodeSecret
	}
	cluster["external_lb_param"].(map[string]any)["ssh_password"] = nodeSecret
	server := cluster["ansible"].(map[string]any)
	server["ip_address"], server["password"] = b.Network+ansibleLast, ansibleSecret
	cluster["proxy"] = map[string]any{"http_proxy": "http://me:" + proxySecret + "@proxy:3128", "https_proxy": "http://proxy:3128", "no_proxy": "10.0.0.1"}
	if of.change != nil {
		of.change(cluster)
	}
	b.startAnsible(ansibleLast)
	for i := range of.masters {
		b.Vnfcs = append(b.Vnfcs, b.Vnfc("masterNode", fmt.Sprint(11+i)))
	}
	for i := range of.workers {
		b.Vnfcs = append(b.Vnfcs, b.Vnfc("workerNode", fmt.Sprint(51+i)))
	}
	b.Vnfcs = append(b.Vnfcs, b.Vnfc("externalLB", balancerLast))
	return b
}

func (b *bed) tellsNoSecrets(text string) {
	b.T.Helper()
	for _, secret := range []string{nodeSecret, ansibleSecret, proxySecret, "bearer-"} {
		if strings.Contains(text, secret) {
			b.T.Errorf("the secret %s is told:\n%s", secret, text)
		}
	}
}

func (b *bed) cluster() map[string]any { return b.Params[kubespray.Parameter].(map[string]any) }

func (b *bed) startAnsible(last string) {
	b.T.Helper()
	b.Start(last, sshtest.Options{User: "ansible", Password: ansibleSecret, Handler: b.world.Ansible()})
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

// Run is that of the VNF; what it fails with tells no secrets.
func (b *bed) Run(hook mgmtdriver.Hook) error {
	b.T.Helper()
	err := b.Bed.Run(hook)
	if err != nil {
		b.tellsNoSecrets(err.Error())
	}
	return err
}

// untilPlaying carries a hook out until a playbook runs, and gives it up there. It returns the outputs of the steps that were done.
func (b *bed) untilPlaying(hook mgmtdriver.Hook, book string) map[string]json.RawMessage {
	b.T.Helper()
	outputs := map[string]json.RawMessage{}
	for _, step := range b.Driver.Steps(hook) {
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
			call := b.Call(hook)
			call.Outputs = outputs
			result, err := step.Do(b.T.Context(), call)
			if err != nil {
				b.T.Fatal(err)
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
	b.T.Fatalf("%s has never run in %s", book, hook)
	return nil
}

// inventory is what the Ansible server has of the cluster.
func (b *bed) inventory() string {
	content, err := b.VMs[ansibleLast].ReadFile(directory + "/hosts.yaml")
	if err != nil {
		return ""
	}
	return string(content)
}

// state is what the world looks like, without what is different in every world.
func (b *bed) state() any {
	view := b.world.View()
	return b.Shown(map[string]any{"nodes": view.Nodes, "members": view.Members, "routes": b.world.Routes(), "inventory": b.inventory(),
		"directories": b.world.Directories(), "known": b.world.Known(), "sealed": b.world.Sealed(directory), "runs": b.world.Runs()})
}
