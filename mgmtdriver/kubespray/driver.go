package kubespray

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// Name is the name by which VNFDs know the driver.
const Name = "mgmt-drivers-kubespray"

// Config are the options of the driver; the zero value of each means its default.
type Config struct {
	SSHPort     uint16        // of the nodes, the load balancer and the Ansible server; default 22
	BootTime    time.Duration // in which new VMs have to let one log in; default 15 min
	InstallTime time.Duration // that a playbook may take for each node, and the script for the load balancer; default 45 min
	DrainTime   time.Duration // that pods have to leave a node; default 5 min
	Together    int           // nodes that are worked on at once; default 32
}

// Driver makes Kubernetes clusters with kubespray. It may be used by many goroutines.
type Driver struct {
	pool   *ssh.Pool
	config Config
}

// New returns a driver that connects to hosts with a pool.
func New(pool *ssh.Pool, config Config) *Driver {
	config.SSHPort = cmp.Or(config.SSHPort, ssh.DefaultPort)
	config.BootTime = cmp.Or(config.BootTime, 15*time.Minute)
	config.InstallTime = cmp.Or(config.InstallTime, 45*time.Minute)
	config.DrainTime = cmp.Or(config.DrainTime, 5*time.Minute)
	if config.Together < 1 {
		config.Together = ssh.DefaultParallel
	}
	return &Driver{pool: pool, config: config}
}

// Steps implements [mgmtdriver.Driver].
func (d *Driver) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	switch hook {
	case mgmtdriver.InstantiateStart:
		return []mgmtdriver.Step{{Name: "prerequisites", Do: d.prerequisites}}
	case mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd:
		return append(d.joining(), d.step("register", (*site).register))
	case mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelEnd:
		return d.joining()
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleToLevelStart:
		return d.leaving()
	case mgmtdriver.HealStart:
		return append(d.leaving(), d.step("unregister", (*site).unregisterWhole), d.step("release", (*site).releaseWhole))
	case mgmtdriver.TerminateEnd:
		return []mgmtdriver.Step{{Name: "unregister", Do: unregister}, {Name: "release", Do: d.release}}
	default:
		return nil
	}
}

// joining are the steps by which new VMs become nodes, or the load balancer. Each of them does nothing if it concerns none of them.
func (d *Driver) joining() []mgmtdriver.Step {
	return []mgmtdriver.Step{
		d.step("prerequisites", (*site).prerequisites),
		d.step("await", (*site).await),
		d.step("names", (*site).giveNames),
		d.step("inventory", (*site).writeInventory),
		d.step("cluster", (*site).makeCluster),
		d.step("facts", (*site).gatherFacts),
		d.step("workers", (*site).joinWorkers),
		d.step("ready", (*site).awaitNodes),
		d.step("balancer", (*site).installBalancer),
		d.step("kubeconfig", (*site).configureBalancer),
		d.step("routes", (*site).route),
	}
}

// leaving are the steps by which workers leave before their VMs go.
func (d *Driver) leaving() []mgmtdriver.Step {
	return []mgmtdriver.Step{
		d.step("assess", (*site).assess),
		d.step("prerequisites", (*site).prerequisites),
		d.step("routes", (*site).route),
		d.step("drain", (*site).drain),
		d.step("unreachable", (*site).findUnreachable),
		d.step("remove", (*site).removeWorkers),
		d.step("inventory", (*site).writeInventory),
	}
}

// site is a cluster on behalf of a call.
type site struct {
	*cluster
	driver  *Driver
	call    *mgmtdriver.Call
	server  *server
	secrets *ssh.Redactor

	networkMTU int // of the nodes, once it is known in a hook
}

// step makes a step of something that is done at a site.
func (d *Driver) step(name string, do func(*site, context.Context) (mgmtdriver.Result, error)) mgmtdriver.Step {
	return mgmtdriver.Step{Name: name, Do: func(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
		s, err := d.open(call)
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		return do(s, ctx)
	}}
}

func (d *Driver) open(call *mgmtdriver.Call) (*site, error) {
	p, err := ofCall(call)
	if err != nil {
		return nil, err
	}
	c, err := readCluster(call, p)
	if err != nil {
		return nil, err
	}
	secrets := ssh.NewRedactor(p.secrets()...)
	s := &site{cluster: c, driver: d, call: call, server: d.server(call, p, secrets), secrets: secrets}
	return s, s.recallNames()
}

// host is a node to work on.
func (s *site) host(n *node) *ssh.Host {
	group := &s.worker
	if n.master {
		group = &s.master.group
	}
	target := ssh.VnfcTarget(n.title(), n.vnfc, n.ssh, group.username, group.password)
	target.Address = netip.AddrPortFrom(n.ssh, s.driver.config.SSHPort)
	return s.driver.pool.Host(s.call, target, s.secrets)
}

func (s *site) hosts(nodes []*node) []*ssh.Host {
	hosts := make([]*ssh.Host, len(nodes))
	for i, n := range nodes {
		hosts[i] = s.host(n)
	}
	return hosts
}

// balancerHost is the load balancer to work on.
func (s *site) balancerHost() *ssh.Host {
	target := ssh.Target{Name: "load balancer", Address: netip.AddrPortFrom(s.front.ssh, s.driver.config.SSHPort), User: s.balancer.username,
		Password: s.balancer.password}
	if s.front.vnfc != nil {
		target.VnfcID, target.ServerID = s.front.vnfc.ID, s.front.vnfc.ServerID
	}
	return s.driver.pool.Host(s.call, target, s.secrets)
}

// control is a master through which the cluster is worked on.
type control struct {
	*kube.Client
	node *node
}

// control opens the cluster through the first of some masters that answers for it.
func (s *site) control(ctx context.Context, masters []*node) (*control, error) {
	client, which, err := kube.Open(ctx, s.hosts(masters), s.driver.config.Together, s.vimName)
	if err != nil {
		return nil, err
	}
	return &control{Client: client, node: masters[which]}, nil
}

// Check implements [mgmtdriver.Driver].
func (d *Driver) Check(ctx context.Context, call *mgmtdriver.Call) error {
	p, err := ofCall(call)
	if err != nil {
		return err
	}
	switch call.Hook {
	case mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd:
		return cmp.Or(checkNames(call, p), checkFiles(ctx, call, p), checkName(ctx, call, p))
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelStart, mgmtdriver.ScaleToLevelEnd:
		return cmp.Or(kube.CheckScale(call, p.worker.aspectID), checkNames(call, p), checkFiles(ctx, call, p))
	case mgmtdriver.HealStart, mgmtdriver.HealEnd:
		return cmp.Or(checkHeal(call, p), checkNames(call, p), checkFiles(ctx, call, p))
	case mgmtdriver.ChangeFlavourStart, mgmtdriver.ChangeFlavourEnd:
		return &mgmtdriver.Invalid{Attribute: "/newFlavourId", Detail: "the flavour of a Kubernetes cluster cannot be changed"}
	default:
		return nil
	}
}

// checkNames refuses aspects and ports that the package does not have.
func checkNames(call *mgmtdriver.Call, p *params) error {
	for _, g := range []struct {
		name string
		*group
	}{{"master_node", &p.master.group}, {"worker_node", &p.worker}} {
		at := pointer + "/" + g.name
		if g.aspectID != "" {
			if err := call.CheckAspect(at+"/aspect_id", g.aspectID); err != nil {
				return err
			}
		}
		if err := cmp.Or(call.CheckPort(at+"/ssh_cp_name", g.sshCpName), call.CheckPort(at+"/nic_cp_name", g.nicCpName)); err != nil {
			return err
		}
	}
	if p.balancer == nil {
		return nil
	}
	return call.CheckPort(pointer+"/external_lb_param/ssh_cp_name", p.balancer.sshCpName)
}

// checkFiles refuses a script that the package does not have.
func checkFiles(ctx context.Context, call *mgmtdriver.Call, p *params) error {
	names, err := call.Package.Names(ctx)
	if err == nil && p.balancer != nil && !slices.Contains(names, p.balancer.scriptPath) {
		return &mgmtdriver.Invalid{Attribute: pointer + "/external_lb_param/script_path", Detail: fmt.Sprintf(
			"The path of external_lb_param script is invalid: the VNF package has no file %q", p.balancer.scriptPath)}
	}
	return err
}

func checkName(ctx context.Context, call *mgmtdriver.Call, p *params) error {
	taken, err := call.Vims.Taken(ctx, p.vimName)
	if err == nil && taken {
		return &mgmtdriver.Invalid{Attribute: pointer + "/vim_name", Detail: fmt.Sprintf("there is a VIM with the name %q already", p.vimName)}
	}
	return err
}

// checkHeal refuses to heal a master: kubespray has no playbook for it. When a request arrives, masters that are of no aspect are not known yet.
func checkHeal(call *mgmtdriver.Call, p *params) error {
	isMaster := func(vnfc mgmtdriver.Vnfc) bool { return p.master.has(&vnfc) }
	if i := slices.IndexFunc(call.Removed, isMaster); i >= 0 && !kube.HealsAll(call) {
		return &mgmtdriver.Invalid{Attribute: "/vnfcInstanceId", Detail: fmt.Sprintf(
			"VNFC %s is a master, and kubespray cannot replace masters: heal the whole VNF, without vnfcInstanceId", call.Removed[i].ID)}
	}
	return nil
}

// forceful reports whether an operation has to end well whatever does not answer: a forceful termination, or what undoes an operation.
func forceful(call *mgmtdriver.Call) bool {
	var request struct{ TerminationType string }
	return call.Operation.RollingBack || (json.Unmarshal(call.Operation.Request, &request) == nil && request.TerminationType == "FORCEFUL")
}
