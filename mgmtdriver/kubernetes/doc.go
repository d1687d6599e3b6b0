// Package kubernetes is the management driver mgmt-drivers-kubernetes: it makes a Kubernetes cluster of the VMs of a VNF with kubeadm, and
// keeps it one when the VNF is scaled, healed and terminated.
//
// The VMs are those of two scaling aspects, masters and workers, that the request names (see [Parameter]). The VNF package brings the
// script that installs a node. The driver does everything that concerns more than one node: it hands out tokens, lets masters join one
// after the other and workers at once, drains what goes, removes members from etcd, changes the back ends of HAProxy, labels workers
// and registers the cluster as a VIM.
//
//	pool := ssh.NewPool(ssh.Config{})
//	drivers[kubernetes.Name] = kubernetes.New(pool, kube.Config{})
//
// A step works on all nodes that it concerns at once, as many as [kube.Config.Together] says. What it has done on a node can be seen on the node,
// so that a repetition goes on with the nodes that are missing.
package kubernetes
