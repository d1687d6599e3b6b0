package kubetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// arguments are those of an installation script.
type arguments struct {
	prepare                         bool
	masters                         []string
	worker, cluster, pods, services string
	token, hash, key                string
}

func readArguments(args []string) (*arguments, error) {
	a := &arguments{}
	if len(args) > 0 && args[0] == "prepare" {
		a.prepare, args = true, args[1:]
	}
	set := flag.NewFlagSet("script", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	var masters string
	for name, value := range map[string]*string{"m": &masters, "w": &a.worker, "i": &a.cluster, "p": &a.pods, "a": &a.services, "t": &a.token, "s": &a.hash, "k": &a.key} {
		set.StringVar(value, name, "", "")
	}
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if masters != "" {
		a.masters = strings.Split(masters, ",")
	}
	if (masters == "") == (a.worker == "") || a.cluster == "" || set.NArg() > 0 {
		return nil, fmt.Errorf("wrong arguments %q", args)
	}
	return a, nil
}

var phased = regexp.MustCompile(`(?m)^# vnfm-phases: prepare$`)

// script plays the scripts that install a node, and Helm.
func (m *machine) script(ctx context.Context, s *sshtest.Session) int {
	w := m.world
	if len(s.Argv) == 2 && s.Argv[1] == "/tmp/install_helm.sh" && m.has(s.Argv[1]) {
		return 0
	}
	if len(s.Argv) < 4 || s.Argv[1] != "/tmp/install_k8s_cluster.sh" || s.Root || !m.has(s.Argv[1]) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return m.unknown(s)
	}
	a, err := readArguments(s.Argv[2:])
	if err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 255
	}
	secrets := phased.MatchString(m.read(s.Argv[1]))
	phase, takes := "script join", w.options.JoinTime
	switch {
	case a.prepare:
		phase, takes = "script prepare", w.options.PrepareTime
	case !m.prepared:
		takes += w.options.PrepareTime
	}
	if secrets {
		if a.token+a.key != "" {
			w.note("%s: secrets are arguments: %q", m.addresses[0], s.Argv)
		}
		a.token, a.key = s.Env["K8S_JOIN_TOKEN"], s.Env["K8S_CERTIFICATE_KEY"]
	}
	if f := w.fault(m, phase, false); f != nil {
		_, _ = fmt.Fprintln(s.Stdout, "install_k8s_cluster: failing")
		return refuse(s, f)
	}
	_, _ = fmt.Fprintln(s.Stdout, "install_k8s_cluster:", phase)
	if a.prepare {
		m.tell("installs containerd and Kubernetes")
	}
	if err := m.work(ctx, a, takes); err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 255
	}
	return m.finish(s, a, phase)
}

// finish is what a script does in the end.
func (m *machine) finish(s *sshtest.Session, a *arguments, phase string) int {
	w := m.world
	var halfway *Fault
	if !a.prepare {
		halfway = w.fault(m, "script halfway", false)
	}
	var err error
	w.mu.Lock()
	m.prepared = true
	switch {
	case halfway != nil:
		m.begun = true
	case !a.prepare:
		err = m.join(a, s.Env)
	}
	w.mu.Unlock()
	if halfway != nil {
		return refuse(s, halfway)
	}
	if err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 255
	}
	if f := w.fault(m, phase, true); f != nil {
		return refuse(s, f)
	}
	_, _ = fmt.Fprintln(s.Stdout, "install_k8s_cluster: done")
	return 0
}

func (m *machine) has(path string) bool { return m.read(path) != "" }

func (w *World) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.surprise(format, args...)
}

// work takes the time of a script. Masters must not join at the same time.
func (m *machine) work(ctx context.Context, a *arguments, takes time.Duration) error {
	w := m.world
	w.mu.Lock()
	w.busy++
	w.scripts[m]++
	w.mostBusy = max(w.mostBusy, w.busy)
	var at *cluster
	if a.masters != nil && !a.prepare {
		if at = w.clusterAt(a); at != nil {
			if at.joining != nil {
				w.surprise("%s joins while another master does", m.addresses[0])
			}
			at.joining = m
		}
	}
	w.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	if at != nil {
		at.joining = nil
	}
	return err
}

// endpoint is where the Kubernetes API answers.
func (a *arguments) endpoint(ha bool) string {
	port := "6443"
	if ha {
		port = "16443"
	}
	return net.JoinHostPort(a.cluster, port)
}

// clusterAt is the cluster that a script is to join; nil if there is none. The lock is held.
func (w *World) clusterAt(a *arguments) *cluster {
	for _, c := range slices.Backward(w.clusters) {
		alive := slices.ContainsFunc(c.members, func(m *member) bool { return m.machine.ready(c) })
		if (c.endpoint == a.endpoint(true) || c.endpoint == a.endpoint(false)) && alive {
			return c
		}
	}
	return nil
}

// join makes the machine a node. The lock is held.
func (m *machine) join(a *arguments, env map[string]string) error {
	w, own := m.world, m.addresses[0].String()
	m.env = env
	if m.begun {
		return errors.New("[ERROR FileAvailable--etc-kubernetes-kubelet.conf]: /etc/kubernetes/kubelet.conf already exists")
	}
	if m.name = env["K8S_NODE_NAME"]; !strings.Contains(m.read("/etc/hosts"), own+" "+m.name+"\n") {
		w.surprise("%s is not in its hosts as %s", own, m.name)
	}
	m.begun = true
	if a.worker == "" && len(a.masters) > 1 {
		config := "backend kube-apiserver\n    balance roundrobin\n"
		for _, master := range a.masters {
			config += "    server  master" + master[strings.LastIndexByte(master, '.')+1:] + " " + master + ":6443 check\n"
		}
		m.put(haproxyConfig, config)
		m.loaded = config
	}
	c := w.clusterAt(a)
	if a.worker == "" && a.token == "" {
		if a.masters[0] != own || c != nil {
			w.surprise("%s makes a cluster, where there is %v, with the masters %s", own, c, a.masters)
		}
		made, err := w.newCluster(a.endpoint(len(a.masters) > 1))
		if err == nil {
			made.add(m, true)
			m.tell("has made the cluster as %s", m.name)
		}
		return err
	}
	switch {
	case c == nil:
		return fmt.Errorf("couldn't validate the identity of the API Server: no cluster answers at %s", a.cluster)
	case a.worker != "" && c.endpoint != a.endpoint(env["ha_flag"] == "True"):
		return fmt.Errorf("dial tcp %s: connection refused", a.endpoint(env["ha_flag"] == "True"))
	case !c.majority():
		return errors.New("etcdserver: request timed out")
	case !slices.Contains(c.tokens, a.token) || a.hash != c.caHash:
		return errors.New("the token or the hash is not right")
	case c.nodes[m.name] != nil && c.nodes[m.name].machine.ready(c):
		return fmt.Errorf("a Node with name %q and status \"Ready\" already exists in the cluster", m.name)
	}
	if a.worker != "" {
		c.add(m, false)
		m.tell("has joined as %s", m.name)
		return nil
	}
	if !slices.Contains(c.keys, a.key) {
		return errors.New("the certificate key is not right")
	}
	if slices.ContainsFunc(c.members, func(e *member) bool { return !e.machine.ready(c) }) {
		return errors.New("etcd cluster is not healthy: failed to dial a member")
	}
	c.add(m, true)
	m.tell("has joined as %s", m.name)
	return nil
}
