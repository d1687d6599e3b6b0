// Package kube is what drivers of Kubernetes clusters share: how a request is checked, how nodes are called, and what is done with kubectl on a
// master, as the administrator.
//
//	err := kube.CheckScale(call, "worker_instance")
//	c, _, err := kube.Open(ctx, masters, 0, "my-cluster")   // the first master that answers
//	node := c.Node("worker59")                              // nil if the cluster does not know it
//	result, err := c.Drain(ctx, call, kube.Drain{…})        // a step: pods leave nodes
//	err = c.Forget(ctx, "worker59")
//	token, result, err := c.Admin(ctx, call)                // a step: what the cluster is registered as a VIM with
package kube
