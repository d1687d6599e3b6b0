package kubespray

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// prerequisites looks at the Ansible server before there are VMs.
func (d *Driver) prerequisites(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
	p, err := ofCall(call)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	found, err := d.server(call, p.ansible, ssh.NewRedactor(p.secrets()...)).ready(ctx)
	return mgmtdriver.Done(found), err
}

// prerequisites looks at the Ansible server, if it is needed.
func (s *site) prerequisites(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.Added)+len(s.going()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	found, err := s.server.ready(ctx)
	return mgmtdriver.Done(found), err
}

// await waits for the new VMs to start.
func (s *site) await(ctx context.Context) (mgmtdriver.Result, error) {
	hosts := s.Hosts(s.New())
	if s.front != nil && s.front.isNew {
		hosts = append(hosts, s.balancerHost())
	}
	return ssh.Await(ctx, s.Call, hosts, s.Config.BootTime)
}

// giveNames gives the new nodes their names; those of the others are what the cluster says. It looks at the network of the nodes, too.
func (s *site) giveNames(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.Added) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	taken, first := map[string]bool{}, s.Masters[0]
	if !s.Whole() {
		c, err := s.Open(ctx, s.Settled())
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		s.recognise(c)
		first = c.Master
		for i := range c.Nodes {
			taken[c.Nodes[i].Metadata.Name] = true
		}
	}
	for _, n := range s.All() {
		if n.Name == "" || s.IsNew(n) { // which may be known from a former attempt
			delete(taken, n.Name)
			n.Name = kube.FreeName(n.Role(), n.IP, taken)
		}
		if n.Name == "" {
			return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Node has no name", Status: http.StatusConflict,
				Detail: fmt.Sprintf("another node has the address %s", n.IP)}
		}
	}
	mtu, err := s.mtu(ctx, first)
	found := kube.FoundNames(s.All())
	found.MTU = mtu
	return mgmtdriver.Done(found), err
}

// recognise gives nodes the names by which the cluster knows them.
func (s *site) recognise(c *kube.Client) {
	for _, n := range slices.Concat(s.All(), s.Removed) {
		if i := slices.IndexFunc(c.Nodes, func(k kube.Node) bool { return k.IP() == n.IP }); i >= 0 {
			n.Name = c.Nodes[i].Metadata.Name
		}
	}
}

// mtuScript tells the MTU of the interface that has an address.
const mtuScript = `interface=$(ip -o addr show to "$1" | awk '{print $2; exit}') && [ -n "$interface" ] && cat "/sys/class/net/${interface%@*}/mtu"`

// mtu is that of the network of the nodes, as one of them sees it.
func (s *site) mtu(ctx context.Context, first *kube.Machine) (int, error) {
	output, err := s.Host(first).Run(ctx, ssh.Command{Argv: []string{"sh", "-c", mtuScript, "kubespray-mtu", first.IP.String()}, Quiet: true})
	if errors.As(err, new(*ssh.ExitError)) {
		return 0, &mgmtdriver.Failure{Title: "Node does not have its address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"%s has no interface with the address %s: nic_cp_name has to be the port in the network of the cluster, also where ssh_cp_name is a floating IP address",
			s.Host(first), first.IP)}
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(output.Stdout))
}

// writeInventory tells Ansible which nodes there are. A worker that is healed stays in the inventory.
func (s *site) writeInventory(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.Added)+len(s.going()) == 0 || s.Whole() && len(s.Added) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	nodes := s.All()
	if s.Call.Hook == mgmtdriver.HealStart {
		nodes = append(nodes, s.going()...)
	}
	// What an operation has begun that is undone now, or was given up, must not go on with other nodes.
	if err := s.server.stop(ctx); err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := s.send(ctx, nodes); err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Done(nil), s.server.forget(ctx, sshAddresses(s.going()))
}

// send puts the directory of the inventory on the Ansible server, for some nodes.
func (s *site) send(ctx context.Context, nodes []*kube.Machine) error {
	nodes = kube.Filter(nodes, func(n *kube.Machine) bool { return n.Name != "" }) // others have never been nodes
	a := s.server
	if err := a.claim(ctx); err != nil {
		return err
	}
	keys, err := s.hostKeys(ctx, nodes)
	if err != nil {
		return err
	}
	inventory, err := inventoryYAML(s.params, nodes, s.Config.SSHPort)
	if err != nil {
		return err
	}
	if err := errors.Join(a.put(ctx, knownHostsFile, keys), a.Put(ctx, ssh.File{Path: a.inventory, Content: ssh.Bytes(inventory)})); err != nil {
		return err
	}
	vars, err := varsYAML(s, s.networkMTU)
	if err != nil {
		return err
	}
	return a.put(ctx, varsFile, vars)
}

// hostKeys are the keys by which nodes are known, as lines of a known_hosts file. One that is not known, and does not answer either, has none: Ansible
// does not reach it then.
func (s *site) hostKeys(ctx context.Context, nodes []*kube.Machine) ([]byte, error) {
	keys := make([]string, len(nodes))
	err := ssh.Each(ctx, s.Hosts(nodes), s.Config.Together, func(ctx context.Context, i int, host *ssh.Host) error {
		identity := mgmtdriver.Host{VnfcID: nodes[i].Vnfc.ID, ServerID: nodes[i].Vnfc.ServerID}
		key, err := s.Call.HostKeys.HostKey(ctx, identity)
		if err != nil {
			return err
		}
		if key == "" && host.Ping(ctx) == nil {
			key, err = s.Call.HostKeys.HostKey(ctx, identity)
		}
		if key != "" {
			keys[i] = knownHosts(nodes[i].SSH, s.Config.SSHPort, key)
		}
		return err
	})
	return []byte(strings.Join(keys, "")), err
}

// makeCluster makes the cluster, unless there is one.
func (s *site) makeCluster(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.Whole() {
		return mgmtdriver.Done(nil), nil
	}
	_, result, err := s.play(ctx, play{book: "cluster.yml", nodes: s.All()})
	return result, err
}

// gatherFacts lets Ansible know all nodes, which it has to before it works on some of them alone.
func (s *site) gatherFacts(ctx context.Context) (mgmtdriver.Result, error) {
	if s.Whole() || len(s.NewWorkers()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	var found tools
	if err := s.Call.Output(string(s.Call.Hook)+"/prerequisites", &found); err != nil {
		return mgmtdriver.Result{}, err
	}
	_, result, err := s.play(ctx, play{book: found.Facts, nodes: s.All()})
	return result, err
}

// joinWorkers lets the new workers join a cluster that there is.
func (s *site) joinWorkers(ctx context.Context) (mgmtdriver.Result, error) {
	joining := s.NewWorkers()
	if s.Whole() || len(joining) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	_, result, err := s.play(ctx, play{book: "scale.yml", arguments: []string{"--limit=" + strings.Join(kube.Titles(joining), ",")}, nodes: joining})
	return result, err
}

// readyTime bounds how long a node takes to be ready when the playbook has ended.
const readyTime = 10 * time.Minute

// awaitNodes waits until the cluster says that its new nodes are ready.
func (s *site) awaitNodes(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.Added) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.Open(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	var missing []string
	for _, n := range s.New() {
		if known := c.Node(n.Name); known == nil || !known.Ready() {
			missing = append(missing, fmt.Sprintf("%s (%s)", n.Name, n.SSH))
		}
	}
	since := s.Call.Since()
	switch {
	case len(missing) == 0:
		return mgmtdriver.Done(nil), nil
	case time.Since(since) > readyTime:
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Node is not ready", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
			"kubespray has installed %s, but the cluster has not found them ready within %s", strings.Join(missing, ", "), readyTime)}
	}
	return mgmtdriver.Wait("not ready yet: " + strings.Join(missing, ", ")).With(since), nil
}
