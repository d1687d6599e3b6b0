package kubernetes

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/param"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/storage"
)

// Parameter is the attribute of additionalParams that says how a cluster is made.
const Parameter = "k8s_cluster_installation_param"

const pointer = "/additionalParams/" + Parameter

// Networks of a cluster whose request names none.
const (
	defaultPods     = "192.168.0.0/16"
	defaultServices = "10.96.0.0/12"
)

// params are the parameters of a cluster.
type params struct {
	scriptPath     string // of the package
	helmScriptPath string
	vimName        string // "" = the default
	master         masterGroup
	worker         kube.Group
	proxy          param.Proxy // used if both addresses are given; Nodes unset = the network of the first master
	registries     []registry
	storage        *storage.Params // nil: none
	storageVdu     string          // of the storage server, as far as the VNFD tells
}

type masterGroup struct {
	kube.Group
	pods           netip.Prefix
	services       netip.Prefix
	clusterCpName  string
	clusterFipName string
}

// registry is a private registry that nodes get images from.
type registry struct {
	insecure        bool   // HTTP
	server          string // host, with a port perhaps
	username        string // "" = nobody has to log in
	password        ssh.Secret
	certificatePath string // of the package; "" = none
	hosts           string // a line for /etc/hosts; "" = none
}

// readParams reads the parameters of a request. *[mgmtdriver.Invalid] names the attribute that is wrong.
func readParams(additional map[string]any) (*params, error) {
	outer := param.NewReader("/additionalParams", additional)
	r := outer.RequiredObject(Parameter)
	master, worker := r.RequiredObject("master_node"), r.RequiredObject("worker_node")
	p := &params{
		scriptPath: r.File("script_path", true), helmScriptPath: r.File("helm_installation_script_path", false), vimName: r.Optional("vim_name"),
		master: masterGroup{
			Group: readGroup(master), pods: master.Network("pod_cidr", defaultPods), services: master.Network("cluster_cidr", defaultServices),
			clusterCpName: master.Required("cluster_cp_name"), clusterFipName: master.Optional("cluster_fip_name"),
		},
		worker: readGroup(worker),
		proxy:  r.Proxy("proxy"),
	}
	for _, entry := range r.Objects("private_registry_connection_info") {
		found := readRegistry(entry)
		if slices.ContainsFunc(p.registries, func(r registry) bool { return strings.EqualFold(r.server, found.server) }) {
			entry.Invalid("server", "%s is there twice.", found.server)
		}
		p.registries = append(p.registries, found)
	}
	p.storage = storage.Read(r)
	if p.master.pods.Overlaps(p.master.services) {
		master.Invalid("cluster_cidr", "%s overlaps with the network of the pods, %s.", p.master.services, p.master.pods)
	}
	if len(p.vimName) > 255 {
		r.Invalid("vim_name", "it must not be longer than 255 characters.")
	}
	if a := p.master.AspectID; a != "" && a == p.worker.AspectID {
		worker.Invalid("aspect_id", "masters and workers must be of different aspects.")
	}
	return p, outer.Err()
}

func readGroup(r *param.Reader) kube.Group {
	return kube.Group{
		AspectID: r.Optional("aspect_id"), SSHCp: r.Required("ssh_cp_name"), NicCp: r.Required("nic_cp_name"),
		Login: r.Login(""),
	}
}

// Words of the file system of nodes: a server is the name of a directory there.
var (
	registryServer = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)
	hostsLine      = regexp.MustCompile(`^\s*(\S+)\s+([A-Za-z0-9.-]+(\s+[A-Za-z0-9.-]+)*)\s*$`)
)

func readRegistry(r *param.Reader) registry {
	kind := r.Number("connection_type")
	if kind != "0" && kind != "1" {
		r.Invalid("connection_type", `it must be "0" (HTTP) or "1" (HTTPS).`)
	}
	found := registry{
		insecure: kind == "0", server: r.Required("server"), username: r.Optional("username"), password: ssh.Secret(r.Optional("password")),
		certificatePath: r.File("certificate_path", false), hosts: r.Optional("hosts_string"),
	}
	if !registryServer.MatchString(found.server) {
		r.Invalid("server", "it is not a host, or a host and a port.")
	}
	if _, port, given := strings.Cut(found.server, ":"); given {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			r.Invalid("server", "its port is not one of 1 to 65535.")
		}
	}
	switch {
	case found.username == "" && found.password != "":
		r.Missing("username")
	case found.username != "" && found.password == "":
		r.Missing("password")
	}
	if found.hosts != "" {
		parts := hostsLine.FindStringSubmatch(found.hosts)
		if parts == nil {
			r.Invalid("hosts_string", "it must be an IP address and host names.")
		} else if _, err := netip.ParseAddr(parts[1]); err != nil {
			r.Invalid("hosts_string", "%q is not an IP address.", parts[1])
		}
	}
	return found
}

// override applies the logins that a later operation brings with it.
func (p *params) override(additional map[string]any) error {
	r := param.NewReader("/additionalParams", additional)
	for prefix, group := range map[string]*kube.Group{"master_node_": &p.master.Group, "worker_node_": &p.worker} {
		if r.HasLogin(prefix) {
			jump := group.Login.Jump
			group.Login = r.Login(prefix)
			group.Login.Jump = cmp.Or(group.Login.Jump, jump)
		}
	}
	return r.Err()
}

// ofCall reads the parameters of the cluster that a driver is called for, with what the operation says otherwise.
func ofCall(call *mgmtdriver.Call) (*params, error) {
	p, err := readParams(call.Instance.AdditionalParams)
	if err != nil {
		return nil, err
	}
	if call.Operation.Type != "INSTANTIATE" {
		err = p.override(call.Operation.AdditionalParams)
	}
	if p.vimName == "" {
		p.vimName = kube.VimName(call)
	}
	if p.storage != nil {
		p.storageVdu = p.storage.Server.VduID(call.Vdus)
	}
	return p, err
}

// secrets are what must not be shown of the parameters.
func (p *params) secrets() []ssh.Secret {
	found := slices.Concat(p.proxy.Secrets(), p.master.Login.Secrets(), p.worker.Login.Secrets())
	for _, r := range p.registries {
		found = append(found, r.password)
	}
	if p.storage != nil {
		found = append(found, p.storage.Server.Login.Secrets()...)
	}
	return found
}

// expandedNetwork is the size up to which the addresses of a network are listed one by one for programs that know no networks.
const expandedNetwork = 256

// noProxyFor is what is reached without the proxy, beside what the user says.
func (p *params) noProxyFor(cluster, master netip.Addr) string {
	entries := []string{p.proxy.NoProxy, p.master.pods.String(), p.master.services.String(), "127.0.0.1", "localhost", cluster.String()}
	nodes := p.proxy.Nodes
	if !nodes.IsValid() {
		bits := 24
		if master.Is6() {
			bits = 64
		}
		nodes, _ = master.Prefix(bits) // a length that the address has
	}
	entries = append(entries, nodes.String())
	if nodes.Addr().Is4() && 1<<(32-nodes.Bits()) <= expandedNetwork {
		for address := nodes.Addr(); nodes.Contains(address); address = address.Next() {
			entries = append(entries, address.String())
		}
	}
	// Services, too: the API server calls webhooks by their names.
	entries = append(entries, ".svc", ".cluster.local")
	var given []string
	for _, entry := range entries {
		if entry != "" {
			given = append(given, entry)
		}
	}
	return strings.Join(given, ",")
}
