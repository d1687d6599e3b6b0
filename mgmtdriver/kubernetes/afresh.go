package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// kubeletConfig is a file that a machine has that is a node, or has begun to become one.
const kubeletConfig = "/etc/kubernetes/kubelet.conf"

// hasBegun reports whether kubeadm has begun to make a machine a node.
func hasBegun(ctx context.Context, host *ssh.Host) (bool, error) {
	_, err := host.Run(ctx, ssh.Command{Argv: []string{"test", "-e", kubeletConfig}, Root: true, Quiet: true})
	if errors.As(err, new(*ssh.ExitError)) {
		return false, nil
	}
	return err == nil, err
}

// firstAfresh reports whether the first master has made the cluster. If it has begun and nobody has joined, what that has left is removed; as
// soon as anybody has, the cluster is not touched any more, whether it answers now (c, or else the error) or not.
func (s *site) firstAfresh(ctx context.Context, c *control, unanswered error, n *kube.Machine, host *ssh.Host) (done bool, err error) {
	began, err := hasBegun(ctx, host)
	if err != nil || !began {
		return false, err
	}
	if c != nil {
		if known := c.find(n); known != nil && known.Ready() {
			return true, nil
		}
	}
	var joined atomic.Bool
	others := kube.Filter(s.All(), func(other *kube.Machine) bool { return other != n })
	err = s.Each(ctx, others, func(ctx context.Context, _ *kube.Machine, host *ssh.Host) error {
		began, err := hasBegun(ctx, host)
		if began {
			joined.Store(true)
		}
		return err
	})
	switch {
	case joined.Load() && c == nil:
		return false, unanswered
	case joined.Load():
		return true, nil
	case err != nil:
		return false, err
	}
	return false, s.reset(ctx, host)
}

// afresh reports whether a node is a working one of the cluster already. If it is not, but was about to become one, what that has left is
// removed, in the cluster and then on the node.
func (s *site) afresh(ctx context.Context, c *control, n *kube.Machine, host *ssh.Host) (done bool, err error) {
	began, err := hasBegun(ctx, host)
	if err != nil {
		return false, err
	}
	known := c.find(n)
	if began && known != nil && known.Ready() {
		return true, nil
	}
	if known != nil {
		if err := c.Run(ctx, "delete", "node", known.Metadata.Name, "--ignore-not-found"); err != nil {
			return false, err
		}
	}
	if n.Master {
		// A member of etcd that is no more would keep the new one out; and before its data are removed, it is looked at whether it can go.
		if err := c.leaveEtcd(ctx, n.IP); err != nil {
			return false, err
		}
	}
	if !began {
		return false, nil
	}
	return false, s.reset(ctx, host)
}

// errNotYet says that a node is just being made ready for a job.
var errNotYet = errors.New("the node is not ready for the job yet")

// resetSeconds bound what kubeadm takes to undo what it has done: it waits for containers to end.
const resetSeconds = "900"

// reset undoes on a node what kubeadm has done. It returns errNotYet until that is over.
func (s *site) reset(ctx context.Context, host *ssh.Host) error {
	job := ssh.Job{ID: ssh.JobID(s.Call, "reset"), Argv: []string{"timeout", resetSeconds, "kubeadm", "reset", "-f"}, Root: true}
	progress, err := host.Drive(ctx, job)
	if err != nil {
		return err
	}
	if progress.Phase != ssh.JobEnded {
		return errNotYet
	}
	// The next attempt may have to do it again.
	if err := host.Clean(ctx, job); err != nil {
		return err
	}
	began, err := hasBegun(ctx, host)
	if err == nil && began {
		return &mgmtdriver.Failure{Title: "Node could not be reset", Detail: fmt.Sprintf("%s: kubeadm reset has left %s", host, kubeletConfig)}
	}
	return err
}
