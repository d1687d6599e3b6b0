package kubernetes

import (
	"context"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Labels of workers that are kept apart: the compute host, and the availability zone that was granted.
const (
	hostLabel = "CIS-node"
	zoneLabel = "kubernetes.io/zone"
)

// label tells the cluster where its new workers are, so that pods can be kept apart as the workers are.
func (s *site) label(ctx context.Context) (mgmtdriver.Result, error) {
	labels := map[*node][]string{}
	apart := filter(s.newWorkers(), func(n *node) bool {
		if n.vnfc.AntiAffinity && n.vnfc.Host != "" {
			labels[n] = append(labels[n], hostLabel+"="+n.vnfc.Host)
		}
		if n.vnfc.AntiAffinity && n.vnfc.GrantedZone != "" {
			labels[n] = append(labels[n], zoneLabel+"="+n.vnfc.GrantedZone)
		}
		if n.vnfc.AntiAffinity && n.vnfc.Host == "" {
			s.call.Log.Warn("the VIM does not tell the host of a worker", "vnfcId", n.vnfc.ID)
		}
		return len(labels[n]) > 0
	})
	if len(apart) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	err = s.each(ctx, apart, func(ctx context.Context, n *node, _ *ssh.Host) error {
		err := c.Run(ctx, append([]string{"label", "node", n.name, "--overwrite"}, labels[n]...)...)
		return err
	})
	return mgmtdriver.Done(nil), err
}
