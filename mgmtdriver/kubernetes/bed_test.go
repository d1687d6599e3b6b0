package kubernetes_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kube/clustertest"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// bed is a VNF with the sample package.
type bed struct {
	*clustertest.Bed
	world       *kubetest.World
	machine     sshtest.Options // what is not said otherwise of all machines
	volumes     int
	keepVolumes bool // in a heal
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
	b := &bed{Bed: clustertest.New(tb), world: kubetest.New(of.world)}
	b.Driver, b.Files, b.View, b.Vdus = kubernetes.New(pool, of.config), samples.Kubernetes(), b.world.View, sampleVdus
	b.Machine = func(last string) sshtest.Options {
		options := b.machine
		options.User, options.Handler = "ubuntu", b.world.Boot(b.Address(last))
		if options.AuthorizedKeys == nil {
			options.Password = secret
		}
		return options
	}
	b.Replace = func(vnfc *mgmtdriver.Vnfc) {
		if len(vnfc.Volumes) > 0 && !b.keepVolumes {
			vnfc.Volumes = []mgmtdriver.Volume{b.volume()}
		}
	}
	tb.Cleanup(func() {
		b.Close()
		if found := b.world.Surprises(); len(found) > 0 {
			tb.Errorf("surprises:\n%s", strings.Join(found, "\n"))
		}
		if log := b.Log.String(); strings.Contains(log, secret) || joinSecret.MatchString(log) {
			tb.Errorf("the log tells secrets:\n%s", log)
		}
	})
	if of.legacy {
		b.Files = fstest.MapFS{"Scripts/install_k8s_cluster.sh": {Data: []byte("#!/bin/bash\nexit 0\n")}, "Scripts/install_helm.sh": {Data: []byte("#!/bin/bash\n")}}
	}
	b.Params = sampleParams(tb, "simple")
	if of.masters > 1 {
		b.Params = sampleParams(tb, "complex")
		b.Ports = []mgmtdriver.Port{{Name: "vip_CP", ID: "vip", Addresses: []netip.Addr{b.Address(vip)}}}
	}
	if of.storage {
		b.Params = sampleParams(tb, "storage")
	}
	cluster := b.Params[kubernetes.Parameter].(map[string]any)
	for _, login := range []string{"master_node", "worker_node", "storage_server"} {
		if group, ok := cluster[login].(map[string]any); ok {
			group["password"] = secret
		}
	}
	if of.change != nil {
		of.change(cluster)
	}
	for i := range of.masters {
		b.Vnfcs = append(b.Vnfcs, b.Vnfc("masterNode", fmt.Sprint(11+i)))
	}
	for i := range of.workers {
		b.Vnfcs = append(b.Vnfcs, b.Vnfc("workerNode", fmt.Sprint(51+i)))
	}
	if of.storage {
		b.addStorage("91")
	}
	return b
}

// addStorage adds a storage server with a volume.
func (b *bed) addStorage(last string) {
	vnfc := b.Vnfc("storage_server", last)
	vnfc.Volumes = []mgmtdriver.Volume{b.volume()}
	b.Vnfcs = append(b.Vnfcs, vnfc)
}

// scripts counts how often an installation script was begun on a machine, by address.
func (b *bed) scripts(last string) (prepared, joined int) {
	for _, entry := range b.VMs[last].Journal() {
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
	return b.Shown(map[string]any{"world": b.world.View(), "scripts": b.allScripts()})
}
