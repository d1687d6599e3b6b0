package kubespray

import (
	"net/netip"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/param"
	"vnfm/mgmtdriver/ssh"
)

// The files of the driver in the directory of the inventory.
const (
	varsFile       = "vars.yaml"   // what the request says of the cluster
	knownHostsFile = "known_hosts" // the SSH host keys of the nodes
	ownFiles       = ".vnfm-"      // the beginning of the names of those that follow
	markerFile     = ownFiles + "instance"
	runFile        = ownFiles + "run"     // the jobs of playbooks whose output is kept, the last one being the one that was started last
	sealedFile     = ownFiles + "sealed-" // the secrets, encrypted for a run, whose own part of the name follows
)

// tunnelHeader is what IP in IP adds to a packet.
const tunnelHeader = 20

// passwords is the variable that has the passwords of the nodes, by role.
const passwords = "vnfm_passwords"

// raw is a text from outside, in which Ansible must not look for templates: it would run what they say.
type raw string

// MarshalYAML implements [yaml.Marshaler].
func (r raw) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!unsafe", Style: yaml.SingleQuotedStyle, Value: string(r)}, nil
}

// inventoryGroup is a group of hosts.
type inventoryGroup struct {
	Vars     map[string]any             `yaml:"vars,omitempty"`
	Hosts    map[string]any             `yaml:"hosts,omitempty"`
	Children map[string]*inventoryGroup `yaml:"children,omitempty"`
}

// inventoryYAML is the inventory of nodes, for kubespray since 2.14. It has no secrets.
func inventoryYAML(p *params, nodes []*kube.Machine, port uint16) ([]byte, error) {
	hosts, control, workers := map[string]any{}, map[string]any{}, map[string]any{}
	for _, n := range nodes {
		user, own := p.worker.Login.Username, workers
		if n.Master {
			user, own = p.master.Login.Username, control
		}
		own[n.Name] = struct{}{}
		password := "{{ " + passwords + "." + n.Role() + " }}"
		host := map[string]any{
			"ansible_host": n.SSH.String(), "ip": n.IP.String(), "access_ip": n.IP.String(), "ansible_user": user,
			"ansible_password": password, "ansible_become_password": password, "ansible_ssh_args": sshArguments(p, n),
		}
		if port != ssh.DefaultPort {
			host["ansible_port"] = port
		}
		hosts[n.Name] = host
	}
	return yaml.Marshal(map[string]any{"all": &inventoryGroup{
		// What was just made may not be found at once by everybody in its network.
		Vars:  map[string]any{"ansible_ssh_host_key_checking": true, "ansible_ssh_retries": 3},
		Hosts: hosts,
		Children: map[string]*inventoryGroup{
			"kube_control_plane": {Hosts: control}, "etcd": {Hosts: control}, "kube_node": {Hosts: workers}, "calico_rr": {Hosts: map[string]any{}},
			"k8s_cluster": {Children: map[string]*inventoryGroup{"kube_control_plane": {}, "kube_node": {}, "calico_rr": {}}},
		},
	}})
}

// sshArguments make Ansible know the nodes by the keys by which the VNF manager knows them, and by no others. A connection that is kept open is that
// of one server: what answers at its address after a heal is another one.
func sshArguments(p *params, n *kube.Machine) string {
	server := strings.ReplaceAll(n.Vnfc.ServerID, "-", "")
	return "-o ControlMaster=auto -o ControlPersist=60s -o ControlPath=~/.ansible/cp/vnfm-" + server[:min(len(server), 16)] +
		" -o ServerAliveInterval=10 -o UserKnownHostsFile=" + p.ansible.directory + "/" + knownHostsFile + " -o GlobalKnownHostsFile=/dev/null"
}

// varsYAML are the variables that say what cluster it is to be. They have no secrets.
func varsYAML(c *site, mtu int) ([]byte, error) {
	vars := map[string]any{"supplementary_addresses_in_ssl_keys": c.certified(), "calico_mtu": mtu, "calico_veth_mtu": mtu - tunnelHeader}
	if c.master.services.IsValid() {
		vars["kube_service_addresses"] = c.master.services.String()
	}
	if c.master.pods.IsValid() {
		vars["kube_pods_subnet"] = c.master.pods.String()
	}
	return yaml.Marshal(vars)
}

// certified are the addresses that the certificate of the Kubernetes API has to have, beside those that it has anyway.
func (c *site) certified() []string {
	var found []string
	add := func(address netip.Addr) { found = append(found, address.String()) }
	if c.front != nil {
		add(c.front.ssh)
		if c.front.vnfc != nil {
			for _, port := range c.front.vnfc.Ports {
				for _, address := range port.Addresses {
					if address != c.front.ssh {
						add(address)
					}
				}
			}
		}
	}
	for _, n := range c.Masters {
		if n.SSH != n.IP {
			add(n.SSH)
		}
	}
	return found
}

// secretsYAML are the variables that nobody is to read.
func secretsYAML(p *params) ([]byte, error) {
	vars := map[string]any{passwords: map[string]any{kube.Master: raw(p.master.Login.Password), kube.Worker: raw(p.worker.Login.Password)}}
	for name, value := range map[string]string{"http_proxy": p.proxy.HTTP, "https_proxy": p.proxy.HTTPS, "additional_no_proxy": withoutProxy(p.proxy)} {
		if value != "" && (p.proxy.HTTP != "" || p.proxy.HTTPS != "") {
			vars[name] = raw(value)
		}
	}
	return yaml.Marshal(vars)
}

// withoutProxy is what is reached without the proxy, beside the nodes.
func withoutProxy(p param.Proxy) string {
	entries := []string{p.NoProxy}
	if p.Nodes.IsValid() {
		entries = append(entries, p.Nodes.String())
	}
	return strings.Trim(strings.Join(entries, ","), ",")
}

// knownHosts are lines of a known_hosts file for a host with a key.
func knownHosts(address netip.Addr, port uint16, key string) string {
	return knownName(address, port) + " " + strings.TrimSpace(key) + "\n"
}

// knownName is what a host is called in a known_hosts file.
func knownName(address netip.Addr, port uint16) string {
	if port == ssh.DefaultPort {
		return address.String()
	}
	return "[" + address.String() + "]:" + strconv.Itoa(int(port))
}
