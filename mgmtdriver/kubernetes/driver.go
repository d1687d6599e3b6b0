package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// Name is the name by which VNFDs know the driver.
const Name = "mgmt-drivers-kubernetes"

// Driver makes Kubernetes clusters. It may be used by many goroutines.
type Driver struct {
	pool   *ssh.Pool
	config kube.Config
}

// New returns a driver that connects to nodes with a pool.
func New(pool *ssh.Pool, config kube.Config) *Driver {
	return &Driver{pool: pool, config: config.WithDefaults()}
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
			[]mgmtdriver.Step{d.step("remove_volumes", (*site).removeVolumes), d.step("unregister", (*site).UnregisterWhole)})
	case mgmtdriver.TerminateEnd:
		return []mgmtdriver.Step{{Name: "unregister", Do: kube.Unregister}}
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
		d.step("drain", (*site).DrainLeaving),
		d.step("balance", (*site).balance),
		d.step("remove", (*site).remove),
	}
}

// site is a cluster on behalf of a call.
type site struct {
	*params
	*kube.Site
	address netip.Addr // of the Kubernetes API
	outside netip.Addr // the same for those that need a floating IP address; invalid = address
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
	machines, err := kube.ReadMachines(call, p.groups(), p.isStorage)
	if err != nil {
		return nil, err
	}
	if _, err := machines.Recall(call); err != nil {
		return nil, err
	}
	s := &site{params: p, Site: &kube.Site{Machines: machines, Call: call, Pool: d.pool, Config: d.config,
		Secrets: ssh.NewRedactor(p.secrets()...), Name: p.vimName}}
	return s, s.locate()
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
			kube.CheckVimName(ctx, call, pointer, p.vimName))
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelStart, mgmtdriver.ScaleToLevelEnd:
		return kube.CheckScale(call, p.worker.AspectID)
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
	if err := p.groups().Check(call, pointer); err != nil {
		return err
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

// checkHeal refuses to heal all masters one by one: the cluster would be lost. When a request arrives, masters that are of no aspect are not
// known yet.
func checkHeal(call *mgmtdriver.Call, p *params) error {
	masters := func(vnfcs []mgmtdriver.Vnfc) (n int) {
		for i := range vnfcs {
			if p.master.Has(&vnfcs[i]) {
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
