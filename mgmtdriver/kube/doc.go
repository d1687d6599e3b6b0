// Package kube is what drivers of Kubernetes clusters share: their options, what the VNFCs of a call are as nodes of a cluster, how a request is
// checked, how nodes are called, and what is done with kubectl on a master, as the administrator.
//
//	err := kube.CheckScale(call, "worker_instance")
//	machines, err := kube.ReadMachines(call, kube.Groups{Master: …, Worker: …}, nil)
//	site := &kube.Site{Machines: machines, Call: call, Pool: pool, …}
//	c, err := site.Open(ctx, machines.Settled())            // the first master that answers
//	node := c.Node("worker59")                              // nil if the cluster does not know it
//	result, err := c.Drain(ctx, call, kube.Drain{…})        // a step: pods leave nodes
//	err = c.Forget(ctx, "worker59")
//	token, result, err := c.Admin(ctx, call)                // a step: what the cluster is registered as a VIM with
package kube
