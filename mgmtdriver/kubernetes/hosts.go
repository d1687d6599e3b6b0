package kubernetes

import (
	"context"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// The lines of /etc/hosts that are the driver's are between these.
const (
	hostsBegin = "# begin of the nodes of the Kubernetes cluster"
	hostsEnd   = "# end of the nodes of the Kubernetes cluster"
)

// writeHosts tells all nodes the addresses of all others, and of the registries. A node that was there before and cannot be worked on is
// left out: nothing that is to be done depends on it.
func (s *site) writeHosts(ctx context.Context) (mgmtdriver.Result, error) {
	var lines []string
	for _, n := range s.All() {
		if n.Name != "" {
			lines = append(lines, n.IP.String()+" "+n.Name)
		}
	}
	for _, r := range s.registries {
		if line := strings.Join(strings.Fields(r.hosts), " "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	err := s.Each(ctx, s.All(), func(ctx context.Context, n *kube.Machine, host *ssh.Host) error {
		err := host.Edit(ctx, "/etc/hosts", func(content string) string { return withBlock(content, lines) })
		if err != nil && !s.IsNew(n) && ctx.Err() == nil {
			s.Call.Log.Warn("hosts of a node are not up to date", "host", host.String(), "error", err)
			return nil
		}
		return err
	})
	return mgmtdriver.Done(nil), err
}

// withBlock replaces the lines of the driver.
func withBlock(content string, lines []string) string {
	var kept []string
	inside := false
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == hostsBegin:
			inside = true
		case line == hostsEnd:
			inside = false
		case !inside:
			kept = append(kept, line)
		}
	}
	return strings.Join(slices.Concat(kept, []string{hostsBegin}, lines, []string{hostsEnd}), "\n") + "\n"
}
