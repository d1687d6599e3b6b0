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
	found, err := d.server(call, p, ssh.NewRedactor(p.secrets()...)).ready(ctx)
	return mgmtdriver.Done(found), err
}

// prerequisites looks at the Ansible server, if it is needed.
func (s *site) prerequisites(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.added)+len(s.going()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	found, err := s.server.ready(ctx)
	return mgmtdriver.Done(found), err
}

// newNodes are the nodes that have yet to join, masters first.
func (s *site) newNodes() []*node { return filter(s.all(), s.isNew) }

// await waits for the new VMs to start.
func (s *site) await(ctx context.Context) (mgmtdriver.Result, error) {
	hosts := s.hosts(s.newNodes())
	if s.front != nil && s.front.isNew {
		hosts = append(hosts, s.balancerHost())
	}
	return ssh.Await(ctx, s.call, hosts, s.driver.config.BootTime)
}

// names is the output of the steps that find out how nodes are called.
type names struct {
	Names map[string]string `json:"names"` // by server
	MTU   int               `json:"mtu"`   // of the network of the nodes
}

// giveNames gives the new nodes their names; those of the others are what the cluster says. It looks at the network of the nodes, too.
func (s *site) giveNames(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.added) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	taken, first := map[string]bool{}, s.masters[0]
	if !s.whole() {
		c, err := s.control(ctx, s.settled())
		if err != nil {
			return mgmtdriver.Result{}, err
		}
		s.recognise(c)
		first = c.node
		for i := range c.Nodes {
			taken[c.Nodes[i].Metadata.Name] = true
		}
	}
	for _, n := range s.all() {
		if n.name == "" || s.isNew(n) { // which may be known from a former attempt
			delete(taken, n.name)
			n.name = kube.FreeName(n.role(), n.ip, taken)
		}
		if n.name == "" {
			return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Node has no name", Status: http.StatusConflict,
				Detail: fmt.Sprintf("another node has the address %s", n.ip)}
		}
	}
	mtu, err := s.mtu(ctx, first)
	return mgmtdriver.Done(names{Names: namesOf(s.all()), MTU: mtu}), err
}

// recognise gives nodes the names by which the cluster knows them.
func (s *site) recognise(c *control) {
	for _, n := range slices.Concat(s.all(), s.removed) {
		if i := slices.IndexFunc(c.Nodes, func(k kube.Node) bool { return k.IP() == n.ip }); i >= 0 {
			n.name = c.Nodes[i].Metadata.Name
		}
	}
}

func namesOf(nodes []*node) map[string]string {
	found := map[string]string{}
	for _, n := range nodes {
		if n.name != "" {
			found[n.vnfc.ServerID] = n.name
		}
	}
	return found
}

// recallNames gives the nodes the names that were found out in this hook, and the cluster its MTU.
func (s *site) recallNames() error {
	for _, step := range []string{"names", "assess"} {
		key := string(s.call.Hook) + "/" + step
		if _, ok := s.call.Outputs[key]; !ok {
			continue
		}
		var found names
		if err := s.call.Output(key, &found); err != nil {
			return err
		}
		for _, n := range slices.Concat(s.all(), s.removed) {
			n.name = found.Names[n.vnfc.ServerID]
		}
		s.networkMTU = found.MTU
	}
	return nil
}

// mtuScript tells the MTU of the interface that has an address.
const mtuScript = `interface=$(ip -o addr show to "$1" | awk '{print $2; exit}') && [ -n "$interface" ] && cat "/sys/class/net/${interface%@*}/mtu"`

// mtu is that of the network of the nodes, as one of them sees it.
func (s *site) mtu(ctx context.Context, first *node) (int, error) {
	output, err := s.host(first).Run(ctx, ssh.Command{Argv: []string{"sh", "-c", mtuScript, "kubespray-mtu", first.ip.String()}, Quiet: true})
	if errors.As(err, new(*ssh.ExitError)) {
		return 0, &mgmtdriver.Failure{Title: "Node does not have its address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"%s has no interface with the address %s: nic_cp_name has to be the port in the network of the cluster, also where ssh_cp_name is a floating IP address",
			s.host(first), first.ip)}
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(output.Stdout))
}

// writeInventory tells Ansible which nodes there are. A worker that is healed stays in the inventory.
func (s *site) writeInventory(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.added)+len(s.going()) == 0 || s.whole() && len(s.added) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	nodes := s.all()
	if s.call.Hook == mgmtdriver.HealStart {
		nodes = append(nodes, s.going()...)
	}
	// What an operation has begun that is undone now, or was given up, must not go on with other nodes.
	if err := s.server.stop(ctx, ""); err != nil {
		return mgmtdriver.Result{}, err
	}
	if err := s.send(ctx, nodes); err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Done(nil), s.server.forget(ctx, sshAddresses(s.going()))
}

// send puts the directory of the inventory on the Ansible server, for some nodes.
func (s *site) send(ctx context.Context, nodes []*node) error {
	nodes = filter(nodes, func(n *node) bool { return n.name != "" }) // others have never been nodes
	a := s.server
	if err := a.claim(ctx); err != nil {
		return err
	}
	keys, err := s.hostKeys(ctx, nodes)
	if err != nil {
		return err
	}
	inventory, err := inventoryYAML(s.params, nodes, s.driver.config.SSHPort)
	if err != nil {
		return err
	}
	if err := errors.Join(a.put(ctx, knownHostsFile, keys), a.Put(ctx, ssh.File{Path: a.inventory, Content: ssh.Bytes(inventory)})); err != nil {
		return err
	}
	vars, err := varsYAML(s.cluster, s.networkMTU)
	if err != nil {
		return err
	}
	return a.put(ctx, varsFile, vars)
}

// hostKeys are the keys by which nodes are known, as lines of a known_hosts file. One that is not known, and does not answer either, has none: Ansible
// does not reach it then.
func (s *site) hostKeys(ctx context.Context, nodes []*node) ([]byte, error) {
	keys := make([]string, len(nodes))
	err := ssh.Each(ctx, s.hosts(nodes), s.driver.config.Together, func(ctx context.Context, i int, host *ssh.Host) error {
		identity := mgmtdriver.Host{VnfcID: nodes[i].vnfc.ID, ServerID: nodes[i].vnfc.ServerID}
		key, err := s.call.HostKeys.HostKey(ctx, identity)
		if err != nil {
			return err
		}
		if key == "" && host.Ping(ctx) == nil {
			key, err = s.call.HostKeys.HostKey(ctx, identity)
		}
		if key != "" {
			keys[i] = knownHosts(nodes[i].ssh, s.driver.config.SSHPort, key)
		}
		return err
	})
	return []byte(strings.Join(keys, "")), err
}

// makeCluster makes the cluster, unless there is one.
func (s *site) makeCluster(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.whole() {
		return mgmtdriver.Done(nil), nil
	}
	_, result, err := s.play(ctx, play{book: "cluster.yml", nodes: s.all()})
	return result, err
}

// gatherFacts lets Ansible know all nodes, which it has to before it works on some of them alone.
func (s *site) gatherFacts(ctx context.Context) (mgmtdriver.Result, error) {
	if s.whole() || len(s.newWorkers()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	var found tools
	if err := s.call.Output(string(s.call.Hook)+"/prerequisites", &found); err != nil {
		return mgmtdriver.Result{}, err
	}
	_, result, err := s.play(ctx, play{book: found.Facts, nodes: s.all()})
	return result, err
}

// joinWorkers lets the new workers join a cluster that there is.
func (s *site) joinWorkers(ctx context.Context) (mgmtdriver.Result, error) {
	joining := s.newWorkers()
	if s.whole() || len(joining) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	_, result, err := s.play(ctx, play{book: "scale.yml", arguments: []string{"--limit=" + strings.Join(titles(joining), ",")}, nodes: joining})
	return result, err
}

// readyTime bounds how long a node takes to be ready when the playbook has ended.
const readyTime = 10 * time.Minute

// awaitNodes waits until the cluster says that its new nodes are ready.
func (s *site) awaitNodes(ctx context.Context) (mgmtdriver.Result, error) {
	if len(s.added) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	var missing []string
	for _, n := range s.newNodes() {
		if known := c.Node(n.name); known == nil || !known.Ready() {
			missing = append(missing, fmt.Sprintf("%s (%s)", n.name, n.ssh))
		}
	}
	since := s.call.Since()
	switch {
	case len(missing) == 0:
		return mgmtdriver.Done(nil), nil
	case time.Since(since) > readyTime:
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Node is not ready", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
			"kubespray has installed %s, but the cluster has not found them ready within %s", strings.Join(missing, ", "), readyTime)}
	}
	return mgmtdriver.Wait("not ready yet: " + strings.Join(missing, ", ")).With(since), nil
}
