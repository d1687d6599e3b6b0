package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// Where the files of a package are on the nodes.
const (
	installPath = "/tmp/install_k8s_cluster.sh"
	helmPath    = "/tmp/install_helm.sh"
)

// await waits for the new nodes to start.
func (s *site) await(ctx context.Context) (mgmtdriver.Result, error) {
	server, err := s.newStorage()
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	return ssh.Await(ctx, s.Call, s.Hosts(append(s.New(), server...)), s.Config.BootTime)
}

// giveNames gives the new nodes their names. Those of the others are what the cluster says.
func (s *site) giveNames(ctx context.Context) (mgmtdriver.Result, error) {
	present := map[netip.Addr]string{}
	if !s.Whole() {
		c, err := s.control(ctx, s.Settled())
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		present = c.names(s.All())
		if err := c.uncordon(ctx, present); err != nil {
			return mgmtdriver.Result{}, err
		}
		for _, n := range s.New() {
			// It has the address of a node that is gone, or it has joined in a former attempt: the name is the right one.
			delete(present, n.IP)
		}
	}
	s.name(present)
	for _, n := range s.All() {
		if n.Name == "" {
			return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Node has no name", Status: http.StatusConflict,
				Detail: fmt.Sprintf("another node has the address %s", n.IP)}
		}
	}
	script, err := s.script(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	for _, n := range s.New() {
		if !script.phased && n.Name != n.Names()[0] {
			return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Node has no name", Status: http.StatusConflict, Detail: fmt.Sprintf(
				"%s would give the node at %s the name %s, which another node has", s.scriptPath, n.IP, n.Names()[0])}
		}
	}
	return mgmtdriver.Done(kube.FoundNames(s.All())), nil
}

// names are those of the nodes of the cluster by their addresses, also those that VNFCs have and the cluster does not know.
func (c *control) names(nodes []*kube.Machine) map[netip.Addr]string {
	found := map[netip.Addr]string{}
	for i := range c.Nodes {
		found[c.Nodes[i].IP()] = c.Nodes[i].Metadata.Name
	}
	for _, n := range nodes {
		if known := c.find(n); known != nil {
			found[n.IP] = known.Metadata.Name
		}
	}
	return found
}

// script is the installation script of the package.
type script struct {
	content []byte
	phased  bool // it knows the phase "prepare", and reads secrets from its environment
}

var phases = regexp.MustCompile(`(?m)^#\s*vnfm-phases:.*\bprepare\b`)

func (s *site) script(ctx context.Context) (*script, error) {
	content, err := mgmtdriver.ReadFile(ctx, s.Call.Package, s.scriptPath)
	return &script{content: content, phased: phases.Match(content)}, err
}

// putFiles puts what the package brings on the new nodes.
func (s *site) putFiles(ctx context.Context) (mgmtdriver.Result, error) {
	script, err := s.script(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	files := []ssh.File{{Path: installPath, Content: ssh.Bytes(script.content), Mode: 0o700}}
	if s.helmScriptPath != "" {
		content, err := mgmtdriver.ReadFile(ctx, s.Call.Package, s.helmScriptPath)
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		files = append(files, ssh.File{Path: helmPath, Content: ssh.Bytes(content), Mode: 0o700})
	}
	err = s.Each(ctx, s.New(), func(ctx context.Context, n *kube.Machine, host *ssh.Host) error {
		for _, file := range files {
			if file.Path == helmPath && !n.Master {
				continue
			}
			if err := host.Put(ctx, file); err != nil {
				return err
			}
		}
		return nil
	})
	return mgmtdriver.Done(nil), err
}

// prepare lets all new nodes install at once what does not depend on others.
func (s *site) prepare(ctx context.Context) (mgmtdriver.Result, error) {
	script, err := s.script(ctx)
	if err != nil || !script.phased {
		return mgmtdriver.Done(nil), err
	}
	return s.do(ctx, work{name: "prepare", job: func(_ context.Context, n *kube.Machine, _ *ssh.Host) (*ssh.Job, error) {
		return s.installJob(script, n, &joinFacts{}, "prepare"), nil
	}}, s.New())
}

// joinMasters makes the cluster with the first master, unless there is one, and lets the others join it one by one.
func (s *site) joinMasters(ctx context.Context) (mgmtdriver.Result, error) {
	script, err := s.script(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	return s.do(ctx, work{name: "join", inOrder: true, job: func(ctx context.Context, n *kube.Machine, host *ssh.Host) (*ssh.Job, error) {
		first := s.Whole() && n == s.Masters[0]
		others := s.Settled()
		if s.Whole() {
			others = s.Masters[:slices.Index(s.Masters, n)]
		}
		if first {
			others = []*kube.Machine{n} // it may have been the first before
		}
		c, err := s.control(ctx, others)
		if first {
			done, err := s.firstAfresh(ctx, c, err, n, host)
			if err != nil || done {
				return nil, err
			}
			return s.installJob(script, n, &joinFacts{}), nil
		}
		if err != nil {
			return nil, err
		}
		done, err := s.afresh(ctx, c, n, host)
		if err != nil || done {
			return nil, err
		}
		facts, err := s.joinFacts(ctx, c, true)
		return s.installJob(script, n, facts), err
	}}, s.NewMasters())
}

// joinWorkers lets all new workers join at once.
func (s *site) joinWorkers(ctx context.Context) (mgmtdriver.Result, error) {
	script, err := s.script(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	type way struct {
		control *control
		facts   *joinFacts
	}
	// One token is enough for all that begin now.
	open := sync.OnceValues(func() (*way, error) {
		c, err := s.control(ctx, s.Masters)
		if err != nil {
			return nil, err
		}
		facts, err := s.joinFacts(ctx, c, false)
		return &way{c, facts}, err
	})
	return s.do(ctx, work{name: "join", job: func(ctx context.Context, n *kube.Machine, host *ssh.Host) (*ssh.Job, error) {
		opened, err := open()
		if err != nil {
			return nil, err
		}
		done, err := s.afresh(ctx, opened.control, n, host)
		if err != nil || done {
			return nil, err
		}
		return s.installJob(script, n, opened.facts), nil
	}}, s.NewWorkers())
}

// installJob runs the installation script on a node. Old scripts take secrets as arguments, which everybody on the node can see.
func (s *site) installJob(script *script, n *kube.Machine, facts *joinFacts, phase ...string) *ssh.Job {
	argv := append([]string{"bash", installPath}, phase...)
	if n.Master {
		argv = append(argv, "-m", s.masterList(), "-i", s.address.String(), "-p", s.master.pods.String(), "-a", s.master.services.String())
	} else {
		argv = append(argv, "-w", n.IP.String(), "-i", s.address.String())
	}
	env := map[string]string{"K8S_NODE_NAME": n.Name, "K8S_QUIET": "1"}
	if facts.caHash != "" {
		argv = append(argv, "-s", facts.caHash)
	}
	for _, secret := range []struct{ value, option, variable string }{
		{facts.token, "-t", "K8S_JOIN_TOKEN"}, {facts.certificateKey, "-k", "K8S_CERTIFICATE_KEY"},
	} {
		switch {
		case secret.value == "":
		case script.phased:
			env[secret.variable] = secret.value
		default:
			argv = append(argv, secret.option, secret.value)
		}
	}
	if n.Master && s.outside.IsValid() {
		env["K8S_CERT_SANS"] = s.outside.String()
	}
	if !n.Master {
		env["ha_flag"] = map[bool]string{true: "True", false: "False"}[s.ha()]
	}
	for name, value := range s.proxyEnv() {
		env[name] = value
	}
	var insecure []string
	for _, r := range s.registries {
		if r.insecure {
			insecure = append(insecure, strconv.Quote(r.server))
		}
	}
	if len(insecure) > 0 {
		env["HTTP_PRIVATE_REGISTRIES"] = strings.Join(insecure, ",")
	}
	return &ssh.Job{Argv: argv, Env: env}
}

// proxyEnv tells programs on nodes of the proxy.
func (s *site) proxyEnv() map[string]string {
	if s.proxy.HTTP == "" || s.proxy.HTTPS == "" {
		return nil
	}
	return map[string]string{
		"http_proxy": s.proxy.HTTP, "https_proxy": s.proxy.HTTPS, "no_proxy": s.noProxyFor(s.address, s.Masters[0].IP),
	}
}

// masterList are the addresses of the masters; the first one is the one that makes the cluster, or that has it.
func (s *site) masterList() string {
	var list []string
	for _, n := range append(s.Settled(), s.NewMasters()...) {
		list = append(list, n.IP.String())
	}
	return strings.Join(list, ",")
}

// installHelm runs the script that installs Helm on the new masters.
func (s *site) installHelm(ctx context.Context) (mgmtdriver.Result, error) {
	if s.helmScriptPath == "" {
		return mgmtdriver.Done(nil), nil
	}
	return s.do(ctx, work{name: "helm", job: func(context.Context, *kube.Machine, *ssh.Host) (*ssh.Job, error) {
		return &ssh.Job{Argv: []string{"bash", helmPath}, Env: s.proxyEnv()}, nil
	}}, s.NewMasters())
}
