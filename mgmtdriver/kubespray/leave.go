package kubespray

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// assess refuses what cannot be, before anything is changed, and finds out how the nodes are called.
func (s *site) assess(ctx context.Context) (mgmtdriver.Result, error) {
	if err := kube.RefuseHeal(s.Call, checkHeal(s.Call, s.params)); err != nil {
		return mgmtdriver.Result{}, err
	}
	if s.Call.Operation.RollingBack { // what is undone must not go on to install what leaves
		if err := s.server.stop(ctx); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	if s.Whole() || len(s.going()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.Open(ctx, s.Settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	s.recognise(c)
	// What an operation that was given up has cordoned, and is to stay after all, gets pods again.
	if err := c.Uncordon(ctx, kube.Titles(s.Workers)); err != nil {
		return mgmtdriver.Result{}, err
	}
	found := kube.FoundNames(slices.Concat(s.All(), s.Removed))
	found.MTU, err = s.mtu(ctx, c.Master)
	return mgmtdriver.Done(found), err
}

// findUnreachable finds out which of the workers that go cannot be reset, once and for all: a run must not be begun anew because one ping is lost.
// The output is their names.
func (s *site) findUnreachable(ctx context.Context) (mgmtdriver.Result, error) {
	going := s.Leaving()
	reachable := make([]bool, len(going))
	_ = ssh.Each(ctx, s.Hosts(going), s.Config.Together, func(ctx context.Context, i int, host *ssh.Host) error {
		reachable[i] = host.Ping(ctx) == nil
		return nil
	})
	var unreachable []string
	for i, n := range going {
		if !reachable[i] {
			unreachable = append(unreachable, n.Name)
		}
	}
	return mgmtdriver.Done(unreachable), ctx.Err()
}

// removeWorkers takes the workers that go out of the cluster. Those that are unreachable cannot be reset, and are removed from the cluster alone.
func (s *site) removeWorkers(ctx context.Context) (mgmtdriver.Result, error) {
	going := s.Leaving()
	if len(going) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	if s.Call.State == nil { // else a run of this step has begun
		if err := s.send(ctx, append(s.All(), going...)); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	var unreachable []string
	if err := s.Call.Output(string(s.Call.Hook)+"/unreachable", &unreachable); err != nil {
		return mgmtdriver.Result{}, err
	}
	isDead := func(n *kube.Machine) bool { return slices.Contains(unreachable, n.Name) }
	living, dead := kube.Filter(going, func(n *kube.Machine) bool { return !isDead(n) }), kube.Filter(going, isDead)
	for _, p := range []play{removal(living), removal(dead, "-e", `{"reset_nodes": false}`)} {
		if len(p.nodes) == 0 {
			continue
		}
		if done, result, err := s.play(ctx, p); err != nil || !done {
			return result, err
		}
	}
	c, err := s.Open(ctx, s.Settled())
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	for _, n := range going {
		if c.Node(n.Name) != nil {
			err = errors.Join(err, c.Forget(ctx, n.Name))
		}
	}
	return mgmtdriver.Done(nil), err
}

// drained is what kubespray has to know of nodes that the driver has drained: what has not left by then goes with its node. A boolean has to be one.
const drained = `{"allow_ungraceful_removal": true, "drain_timeout": "30s"}`

// removal is the run that removes nodes. It never asks anybody whether that is meant, in whatever release of kubespray.
func removal(nodes []*kube.Machine, arguments ...string) play {
	list := strings.Join(kube.Titles(nodes), ",")
	digest := sha256.Sum256([]byte(list + strings.Join(arguments, " ")))
	return play{
		book: "remove-node.yml", job: "remove-node.yml-" + hex.EncodeToString(digest[:4]), nodes: nodes,
		arguments: append([]string{"-e", "node=" + list, "-e", "skip_confirmation=yes", "-e", "delete_nodes_confirmation=yes", "-e", drained}, arguments...),
	}
}

// releaseWhole removes what is on the Ansible server when all of the cluster goes to be made again.
func (s *site) releaseWhole(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.Whole() {
		return mgmtdriver.Done(nil), nil
	}
	hosts := sshAddresses(s.Removed)
	if s.former != nil {
		s.former.releaseFormer(ctx, hosts)
	}
	return mgmtdriver.Done(nil), s.server.release(ctx, hosts)
}

// release removes what is on the Ansible server when the VNF goes. A forceful termination does without it if need be.
func (d *Driver) release(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
	err := d.releaseAll(ctx, call)
	if err != nil && forceful(call) {
		call.Log.Warn("what belongs to a cluster stays on the Ansible server", "error", err)
		err = nil
	}
	return mgmtdriver.Done(nil), err
}

func (d *Driver) releaseAll(ctx context.Context, call *mgmtdriver.Call) error {
	p, err := ofCall(call)
	if err != nil {
		return err
	}
	var hosts []netip.Addr
	for i := range call.Before {
		if n, err := p.groups().Machine(&call.Before[i]); err == nil && n != nil {
			hosts = append(hosts, n.SSH)
		}
	}
	secrets := ssh.NewRedactor(p.secrets()...)
	if p.former != nil {
		d.server(call, *p.former, secrets).releaseFormer(ctx, hosts)
	}
	return d.server(call, p.ansible, secrets).release(ctx, hosts)
}

func sshAddresses(nodes []*kube.Machine) []netip.Addr {
	found := make([]netip.Addr, len(nodes))
	for i, n := range nodes {
		found[i] = n.SSH
	}
	return found
}
