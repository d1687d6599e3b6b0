package kubernetes

import (
	"context"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// Labels of workers that are kept apart: the compute host, and the availability zone that was granted.
const (
	hostLabel = "CIS-node"
	zoneLabel = "kubernetes.io/zone"
)

// label tells the cluster where its new workers are, so that pods can be kept apart as the workers are.
func (s *site) label(ctx context.Context) (mgmtdriver.Result, error) {
	labels := map[*kube.Machine][]string{}
	apart := kube.Filter(s.NewWorkers(), func(n *kube.Machine) bool {
		if n.Vnfc.AntiAffinity && n.Vnfc.Host != "" {
			labels[n] = append(labels[n], hostLabel+"="+n.Vnfc.Host)
		}
		if n.Vnfc.AntiAffinity && n.Vnfc.GrantedZone != "" {
			labels[n] = append(labels[n], zoneLabel+"="+n.Vnfc.GrantedZone)
		}
		if n.Vnfc.AntiAffinity && n.Vnfc.Host == "" {
			s.Call.Log.Warn("the VIM does not tell the host of a worker", "vnfcId", n.Vnfc.ID)
		}
		return len(labels[n]) > 0
	})
	if len(apart) == 0 {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	err = s.Each(ctx, apart, func(ctx context.Context, n *kube.Machine, _ *ssh.Host) error {
		err := c.Run(ctx, append([]string{"label", "node", n.Name, "--overwrite"}, labels[n]...)...)
		return err
	})
	return mgmtdriver.Done(nil), err
}
