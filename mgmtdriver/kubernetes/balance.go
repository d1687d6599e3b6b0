package kubernetes

import (
	"context"
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/balancer"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// balance makes the load balancers send requests to the masters that stay, and to new ones. One that does not answer is left out: it sends
// nothing. A master that goes may still have the virtual address, so that it has to send them elsewhere, too.
func (s *site) balance(ctx context.Context) (mgmtdriver.Result, error) {
	var going []*kube.Machine
	if len(s.Added) == 0 { // else they have gone
		going = kube.Filter(s.Removed, func(n *kube.Machine) bool { return n.Master && n.SSH.IsValid() })
	}
	if s.Whole() || len(going)+len(s.NewMasters()) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	err := s.Each(ctx, slices.Concat(s.Settled(), going), func(ctx context.Context, n *kube.Machine, host *ssh.Host) error {
		err := balancer.Edit(ctx, host, func(content string) (string, error) { return withBackends(content, s.Masters), nil })
		if errors.As(err, new(*mgmtdriver.Unavailable)) || (err != nil && ctx.Err() == nil && slices.Contains(going, n)) {
			s.Call.Log.Warn("load balancer of a master is not up to date", "host", host.String(), "error", err)
			return nil
		}
		return err
	})
	return mgmtdriver.Done(nil), err
}

var backendServer = regexp.MustCompile(`^\s*server\s+\S+\s+\S+:6443(\s|$)`)

// withBackends is a configuration of HAProxy whose backend is the Kubernetes API of the masters. If there is no server to put them in the place of,
// they go to the end, where scripts have their backend.
func withBackends(content string, masters []*kube.Machine) string {
	lines := strings.Split(strings.TrimRight(content, "\n"), "\n")
	at := slices.IndexFunc(lines, backendServer.MatchString)
	lines = slices.DeleteFunc(lines, backendServer.MatchString)
	if at < 0 {
		at = len(lines)
	}
	var servers []string
	for _, n := range masters {
		servers = append(servers, "    server  "+n.Title()+" "+netip.AddrPortFrom(n.IP, 6443).String()+" check")
	}
	return strings.Join(slices.Insert(lines, at, servers...), "\n") + "\n"
}
