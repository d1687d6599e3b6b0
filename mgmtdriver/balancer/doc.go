// Package balancer is the load balancer in front of a Kubernetes cluster: a machine with HAProxy, which a script of the VNF package installs.
//
//	err := host.Put(ctx, install.File(content))
//	result, err := host.DriveWithin(ctx, call, install.Job(id), install.Script, limit)
//	err = balancer.Update(ctx, host, func(config *balancer.Config) error {
//		return config.SetServers(balancer.NodePorts, servers)
//	})
//
// The script belongs to the package, and so does what it writes into haproxy.cfg, but for two things: a frontend on port [APIPort] leads to the
// Kubernetes API of the masters, and the backend [NodePorts] has all nodes as servers without a port, so that the port on which a client comes
// is the one that it is sent to. Whoever makes frontends for it, for the node ports of services, finds the nodes there.
package balancer
