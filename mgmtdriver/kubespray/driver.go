package kubespray

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// Name is the name by which VNFDs know the driver.
const Name = "mgmt-drivers-kubespray"

// Driver makes Kubernetes clusters with kubespray. It may be used by many goroutines.
type Driver struct {
	pool   *ssh.Pool
	config kube.Config
}

// New returns a driver that connects to hosts with a pool.
func New(pool *ssh.Pool, config kube.Config) *Driver {
	return &Driver{pool: pool, config: config.WithDefaults()}
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
		return append(d.leaving(), d.step("unregister", (*site).UnregisterWhole), d.step("release", (*site).releaseWhole))
	case mgmtdriver.TerminateEnd:
		return []mgmtdriver.Step{{Name: "unregister", Do: kube.Unregister}, {Name: "release", Do: d.release}}
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
		d.step("tidy", (*site).tidy),
	}
}

// leaving are the steps by which workers leave before their VMs go.
func (d *Driver) leaving() []mgmtdriver.Step {
	return []mgmtdriver.Step{
		d.step("assess", (*site).assess),
		d.step("prerequisites", (*site).prerequisites),
		d.step("routes", (*site).route),
		d.step("drain", (*site).DrainLeaving),
		d.step("unreachable", (*site).findUnreachable),
		d.step("remove", (*site).removeWorkers),
		d.step("inventory", (*site).writeInventory),
		d.step("tidy", (*site).tidy),
	}
}

// site is a cluster on behalf of a call.
type site struct {
	*params
	*kube.Site
	server     *server
	former     *server // that the cluster was made with, if the request names another one; nil = none
	front      *front  // nil = none
	networkMTU int     // of the nodes, once it is known in a hook
}

// step makes a step of something that is done at a site.
func (d *Driver) step(name string, do func(*site, context.Context) (mgmtdriver.Result, error)) mgmtdriver.Step {
	return mgmtdriver.StepAt(name, d.open, do)
}

func (d *Driver) open(call *mgmtdriver.Call) (*site, error) {
	p, err := ofCall(call)
	if err != nil {
		return nil, err
	}
	machines, err := kube.ReadMachines(call, p.groups(), nil)
	if err != nil {
		return nil, err
	}
	machines.Removed = kube.Filter(machines.Removed, func(n *kube.Machine) bool { return n.IP.IsValid() })
	found, err := machines.Recall(call)
	if err != nil {
		return nil, err
	}
	secrets := ssh.NewRedactor(p.secrets()...)
	s := &site{params: p, server: d.server(call, p.ansible, secrets), networkMTU: found.MTU,
		Site: &kube.Site{Machines: machines, Call: call, Pool: d.pool, Config: d.config, Secrets: secrets, Name: p.vimName}}
	if p.former != nil {
		s.former = d.server(call, *p.former, secrets)
	}
	return s, s.findFront()
}

// balancerHost is the load balancer to work on.
func (s *site) balancerHost() *ssh.Host {
	target := ssh.Target{Name: "load balancer", Address: netip.AddrPortFrom(s.front.ssh, s.Config.SSHPort), User: s.balancer.username,
		Password: s.balancer.password}
	if s.front.vnfc != nil {
		target.VnfcID, target.ServerID = s.front.vnfc.ID, s.front.vnfc.ServerID
	}
	return s.Pool.Host(s.Call, target, s.Secrets)
}

// Check implements [mgmtdriver.Driver].
func (d *Driver) Check(ctx context.Context, call *mgmtdriver.Call) error {
	p, err := ofCall(call)
	if err != nil {
		return err
	}
	switch call.Hook {
	case mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd:
		return cmp.Or(checkNames(call, p), checkFiles(ctx, call, p), kube.CheckVimName(ctx, call, pointer, p.vimName))
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelStart, mgmtdriver.ScaleToLevelEnd:
		return cmp.Or(kube.CheckScale(call, p.worker.AspectID), checkNames(call, p), checkFiles(ctx, call, p))
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
	if err := p.groups().Check(call, pointer); err != nil {
		return err
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

// checkHeal refuses to heal a master: kubespray has no playbook for it. When a request arrives, masters that are of no aspect are not known yet.
func checkHeal(call *mgmtdriver.Call, p *params) error {
	isMaster := func(vnfc mgmtdriver.Vnfc) bool { return p.master.Has(&vnfc) }
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
