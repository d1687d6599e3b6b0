// Package kubetest plays the machines of Kubernetes clusters, as far as the driver of package kubernetes sees them: installation scripts, kubeadm,
// kubectl, etcd with its majority, HAProxy and Docker, and on a storage server disks, mounts and exports. A machine is that of package sshtest; a world holds all machines and the clusters that they
// make.
//
//	world := kubetest.New(kubetest.Options{})
//	vm := sshtest.Start(t, sshtest.Options{Addr: address, User: "ubuntu", Password: "ubuntu", Handler: world.Boot(address)})
//	world.Fail(kubetest.Fault{Address: address, Command: "join", Times: 1})
//	world.View()        // what the clusters are like
//	world.Surprises()   // commands that nobody plays, and what must not happen; empty after a good test
//
// A machine that is closed is dead: its node is not ready, and its member of etcd does not answer. One that is booted at the address of another
// takes its place and knows nothing of it.
package kubetest
