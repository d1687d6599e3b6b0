package kubespray

import (
	"cmp"
	"net/netip"
	"path"
	"regexp"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/param"
	"vnfm/mgmtdriver/ssh"
)

// Parameter is the attribute of additionalParams that says how a cluster is made.
const Parameter = "k8s_cluster_installation_param"

const pointer = "/additionalParams/" + Parameter

// params are the parameters of a cluster.
type params struct {
	vimName  string // "" = the default
	ansible  ansible
	former   *ansible // that the cluster was made with, if it is another one, or has another directory
	master   masterGroup
	worker   kube.Group
	proxy    param.Proxy
	balancer *balancerParams // nil = none
}

// ansible is the server that has kubespray.
type ansible struct {
	address   netip.Addr
	username  string
	password  ssh.Secret
	root      string // the directory of kubespray
	directory string // of the inventory, inside of root
	inventory string // the inventory file
}

type masterGroup struct {
	kube.Group
	pods     netip.Prefix // the zero prefix = what kubespray takes
	services netip.Prefix // the same
}

// balancerParams are those of the load balancer.
type balancerParams struct {
	sshCpName  string
	username   string
	password   ssh.Secret
	scriptPath string // of the package
}

// readParams reads the parameters of a request. *[mgmtdriver.Invalid] names the attribute that is wrong.
func readParams(additional map[string]any) (*params, error) {
	outer := param.NewReader("/additionalParams", additional)
	r := outer.RequiredObject(Parameter)
	p := &params{
		vimName: r.Optional("vim_name"), ansible: readAnsible(r.RequiredObject("ansible")), master: readMasters(r.RequiredObject("master_node")),
		worker: readGroup(r.RequiredObject("worker_node")), proxy: r.Proxy("proxy"),
	}
	if r.Has("external_lb_param") {
		p.balancer = readBalancer(r.Object("external_lb_param"))
	}
	if len(p.vimName) > 255 {
		r.Invalid("vim_name", "it must not be longer than 255 characters.")
	}
	p.checkAspects(r)
	return p, outer.Err()
}

func (p *params) checkAspects(r *param.Reader) {
	if a := p.master.AspectID; a != "" && a == p.worker.AspectID {
		r.Invalid("worker_node/aspect_id", "masters and workers must be of different aspects.")
	}
}

// override applies what a later operation brings: each group of attributes takes the place of the whole former one.
func (p *params) override(additional map[string]any) error {
	outer := param.NewReader("/additionalParams", additional)
	r := outer.Object(Parameter)
	if r.Has("ansible") {
		p.ansible = readAnsible(r.Object("ansible"))
	}
	if r.Has("master_node") {
		p.master = readMasters(r.Object("master_node"))
	}
	if r.Has("worker_node") {
		p.worker = readGroup(r.Object("worker_node"))
	}
	if r.Has("proxy") {
		p.proxy = r.Proxy("proxy")
	}
	if r.Has("external_lb_param") {
		p.balancer = readBalancer(r.Object("external_lb_param"))
	}
	p.checkAspects(r)
	return outer.Err()
}

// ofCall reads the parameters of the cluster that a driver is called for, with what the operation says otherwise.
func ofCall(call *mgmtdriver.Call) (*params, error) {
	p, err := readParams(call.Instance.AdditionalParams)
	if err != nil {
		return nil, err
	}
	if call.Operation.Type != "INSTANTIATE" {
		made := p.ansible
		err = p.override(call.Operation.AdditionalParams)
		if made.address != p.ansible.address || made.directory != p.ansible.directory {
			p.former = &made
		}
	}
	if p.vimName == "" {
		p.vimName = kube.VimName(call)
	}
	return p, err
}

func readGroup(r *param.Reader) kube.Group {
	g := kube.Group{
		AspectID: r.Optional("aspect_id"), SSHCp: r.Required("ssh_cp_name"), NicCp: r.Optional("nic_cp_name"),
		Login: param.Login{Username: r.Account("username"), Password: ssh.Secret(r.Required("password"))},
	}
	g.NicCp = cmp.Or(g.NicCp, g.SSHCp)
	return g
}

func readMasters(r *param.Reader) masterGroup {
	m := masterGroup{Group: readGroup(r), pods: r.Network("pod_cidr", ""), services: r.Network("cluster_cidr", "")}
	if m.pods.IsValid() && m.services.IsValid() && m.pods.Overlaps(m.services) {
		r.Invalid("cluster_cidr", "%s overlaps with the network of the pods, %s.", m.services, m.pods)
	}
	return m
}

func readBalancer(r *param.Reader) *balancerParams {
	return &balancerParams{
		sshCpName: r.Required("ssh_cp_name"), username: r.Account("ssh_username"), password: ssh.Secret(r.Required("ssh_password")),
		scriptPath: r.File("script_path", true),
	}
}

// directoryPath is what Ansible, SSH and a shell all take for a path.
var directoryPath = regexp.MustCompile(`^[A-Za-z0-9._/+@-]+$`)

func readAnsible(r *param.Reader) ansible {
	a := ansible{username: r.Account("username"), password: ssh.Secret(r.Required("password")), root: r.Required("kubespray_root_path")}
	text := r.Required("ip_address")
	var err error
	if a.address, err = netip.ParseAddr(text); err != nil {
		network, inner := netip.ParsePrefix(text) // as of an interface
		if a.address = network.Addr(); inner != nil {
			r.Invalid("ip_address", "%q is not an IP address.", text)
		}
	}
	if a.root = path.Clean(a.root); !path.IsAbs(a.root) || a.root == "/" || !directoryPath.MatchString(a.root) {
		r.Invalid("kubespray_root_path", "it must be the absolute path of a directory, of letters, digits and . _ + @ -")
	}
	given := r.Required("transferring_inventory_path")
	a.directory, a.inventory = a.locate(given)
	inside, ok := strings.CutPrefix(a.directory, a.root+"/")
	switch {
	case !directoryPath.MatchString(given):
		r.Invalid("transferring_inventory_path", "it must be a path of letters, digits and . _ + @ -")
	case !ok:
		r.Invalid("transferring_inventory_path", "it must be a directory of its own inside of kubespray_root_path, such as inventory/mycluster.")
	case inside == "inventory" || inside == "inventory/sample" || strings.HasPrefix(inside, "inventory/sample/"):
		r.Invalid("transferring_inventory_path", "%s belongs to kubespray: give a directory of its own, such as inventory/mycluster.", inside)
	case path.Base(a.inventory) == varsFile || strings.HasPrefix(path.Base(a.inventory), ownFiles):
		r.Invalid("transferring_inventory_path", "the VNF manager has another file %s there: give the directory alone, or a file such as hosts.yaml.", path.Base(a.inventory))
	}
	return a
}

// locate finds the directory of the inventory and the file in it. Users give the directory, or a file in it.
func (a *ansible) locate(given string) (directory, file string) {
	if given = path.Clean(given); !path.IsAbs(given) {
		given = path.Join(a.root, given)
	}
	switch path.Ext(given) {
	case ".yaml", ".yml":
		return path.Dir(given), given
	case ".ini": // a former format: Ansible would read it by the end of its name
		given = path.Dir(given)
	}
	return given, path.Join(given, "hosts.yaml")
}

// secrets are what must not be shown of the parameters.
func (p *params) secrets() []ssh.Secret {
	found := append(p.proxy.Secrets(), p.ansible.password, p.master.Login.Password, p.worker.Login.Password)
	if p.balancer != nil {
		found = append(found, p.balancer.password)
	}
	if p.former != nil {
		found = append(found, p.former.password)
	}
	return found
}
