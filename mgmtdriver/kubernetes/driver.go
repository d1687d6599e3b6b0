package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// Name is the name by which VNFDs know the driver.
const Name = "mgmt-drivers-kubernetes"

// Config are the options of the driver; the zero value of each means its default.
type Config struct {
	SSHPort     uint16        // of the nodes; default 22
	BootTime    time.Duration // in which new nodes have to let one log in; default 15 min
	InstallTime time.Duration // that a script may take on a node; default 45 min
	DrainTime   time.Duration // that pods have to leave a node; default 5 min
	VolumeTime  time.Duration // that a PersistentVolume may take to come or to go; default 150 s
	Together    int           // nodes that are worked on at once; default 32
}

// Driver makes Kubernetes clusters. It may be used by many goroutines.
type Driver struct {
	pool   *ssh.Pool
	config Config
}

// New returns a driver that connects to nodes with a pool.
func New(pool *ssh.Pool, config Config) *Driver {
	config.SSHPort = cmp.Or(config.SSHPort, ssh.DefaultPort)
	config.BootTime = cmp.Or(config.BootTime, 15*time.Minute)
	config.InstallTime = cmp.Or(config.InstallTime, 45*time.Minute)
	config.DrainTime = cmp.Or(config.DrainTime, 5*time.Minute)
	config.VolumeTime = cmp.Or(config.VolumeTime, 150*time.Second)
	if config.Together < 1 {
		config.Together = ssh.DefaultParallel
	}
	return &Driver{pool: pool, config: config}
}

// Steps implements [mgmtdriver.Driver].
func (d *Driver) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	switch hook {
	case mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd:
		return slices.Concat(d.joining(), d.storing(), []mgmtdriver.Step{d.step("register", (*site).register)})
	case mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelEnd:
		return append(d.joining(), d.step("nfs_clients", (*site).installClients))
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleToLevelStart:
		return append(d.leaving(), d.step("hosts", (*site).writeHosts))
	case mgmtdriver.HealStart:
		return slices.Concat([]mgmtdriver.Step{d.step("volumes_in_use", (*site).refuseVolumesInUse)}, d.leaving(),
			[]mgmtdriver.Step{d.step("remove_volumes", (*site).removeVolumes), d.step("unregister", (*site).unregisterWhole)})
	case mgmtdriver.TerminateEnd:
		return []mgmtdriver.Step{{Name: "unregister", Do: unregister}}
	default:
		return nil
	}
}

// joining are the steps by which new VMs become nodes. Each of them does nothing if it concerns none of them.
func (d *Driver) joining() []mgmtdriver.Step {
	return []mgmtdriver.Step{
		d.step("await", (*site).await),
		d.step("names", (*site).giveNames),
		d.step("files", (*site).putFiles),
		d.step("hosts", (*site).writeHosts),
		d.step("prepare", (*site).prepare),
		d.step("masters", (*site).joinMasters),
		d.step("balance", (*site).balance),
		d.step("workers", (*site).joinWorkers),
		d.step("registries", (*site).connectRegistries),
		d.step("helm", (*site).installHelm),
		d.step("labels", (*site).label),
	}
}

// leaving are the steps by which nodes leave before their VMs go.
func (d *Driver) leaving() []mgmtdriver.Step {
	return []mgmtdriver.Step{
		d.step("assess", (*site).assess),
		d.step("drain", (*site).drain),
		d.step("balance", (*site).balance),
		d.step("remove", (*site).remove),
	}
}

// site is a cluster on behalf of a call.
type site struct {
	*cluster
	driver  *Driver
	call    *mgmtdriver.Call
	secrets *ssh.Redactor
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
	s := &site{cluster: c, driver: d, call: call, secrets: ssh.NewRedactor(p.secrets()...)}
	return s, s.recallNames()
}

// whole reports whether all nodes go, or have come.
func (s *site) whole() bool { return len(s.settled()) == 0 }

// host is a node to work on.
func (s *site) host(n *node) *ssh.Host {
	target := n.login.Target(cmp.Or(n.name, n.names()[0]), n.vnfc, netip.AddrPortFrom(n.ssh, s.driver.config.SSHPort))
	return s.driver.pool.Host(s.call, target, s.secrets)
}

// each does something on nodes at once, also on the others if it fails on one.
func (s *site) each(ctx context.Context, nodes []*node, do func(context.Context, *node, *ssh.Host) error) error {
	return ssh.Each(ctx, s.hosts(nodes), s.driver.config.Together, func(ctx context.Context, i int, host *ssh.Host) error {
		return do(ctx, nodes[i], host)
	})
}

func (s *site) hosts(nodes []*node) []*ssh.Host {
	hosts := make([]*ssh.Host, len(nodes))
	for i, n := range nodes {
		hosts[i] = s.host(n)
	}
	return hosts
}

// Check implements [mgmtdriver.Driver].
func (d *Driver) Check(ctx context.Context, call *mgmtdriver.Call) error {
	p, err := ofCall(call)
	if err != nil {
		return err
	}
	switch call.Hook {
	case mgmtdriver.InstantiateEnd:
		return cmp.Or(checkNames(call, p), checkFiles(ctx, call, p), checkCertificates(ctx, call, p), p.storage.Check(ctx, call, pointer),
			checkName(ctx, call, p))
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelStart, mgmtdriver.ScaleToLevelEnd:
		return kube.CheckScale(call, p.worker.aspectID)
	case mgmtdriver.HealStart, mgmtdriver.HealEnd:
		return checkHeal(call, p)
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
	if fip := p.master.clusterFipName; fip != "" {
		if err := call.CheckPort(pointer+"/master_node/cluster_fip_name", fip); err != nil {
			return err
		}
	}
	return call.CheckPort(pointer+"/master_node/cluster_cp_name", p.master.clusterCpName)
}

// checkFiles refuses paths that the package does not have.
func checkFiles(ctx context.Context, call *mgmtdriver.Call, p *params) error {
	names, err := call.Package.Names(ctx)
	if err != nil {
		return err
	}
	files := map[string]string{"script_path": p.scriptPath, "helm_installation_script_path": p.helmScriptPath}
	for i, r := range p.registries {
		files[fmt.Sprintf("private_registry_connection_info/%d/certificate_path", i)] = r.certificatePath
	}
	for attribute, path := range files {
		if path != "" && !slices.Contains(names, path) {
			return &mgmtdriver.Invalid{Attribute: pointer + "/" + attribute, Detail: fmt.Sprintf("the VNF package has no file %q", path)}
		}
	}
	return nil
}

func checkName(ctx context.Context, call *mgmtdriver.Call, p *params) error {
	taken, err := call.Vims.Taken(ctx, p.vimName)
	if err == nil && taken {
		return &mgmtdriver.Invalid{Attribute: pointer + "/vim_name", Detail: fmt.Sprintf("there is a VIM with the name %q already", p.vimName)}
	}
	return err
}

// checkHeal refuses to heal all masters one by one: the cluster would be lost. When a request arrives, masters that are of no aspect are not
// known yet.
func checkHeal(call *mgmtdriver.Call, p *params) error {
	masters := func(vnfcs []mgmtdriver.Vnfc) (n int) {
		for i := range vnfcs {
			if p.isMaster(&vnfcs[i]) {
				n++
			}
		}
		return n
	}
	all, healed := masters(call.Before), masters(call.Removed)
	switch {
	case healed == 0 || healed < all || kube.HealsAll(call):
		return nil
	case all == 1:
		return &mgmtdriver.Invalid{Attribute: "/vnfcInstanceId",
			Detail: "The number of Master-Nodes is 1 or less. If you want to heal, please respawn: heal the whole VNF, without vnfcInstanceId."}
	}
	return &mgmtdriver.Invalid{Attribute: "/vnfcInstanceId",
		Detail: "one master at least has to stay, since it holds the cluster: heal fewer masters, or the whole VNF, without vnfcInstanceId"}
}
