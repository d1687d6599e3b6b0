// Package spraytest plays what the driver of package kubespray works with: an Ansible server with kubespray, whose playbooks log in to the nodes by
// SSH with what the inventory says of them, and a load balancer. The nodes are those of package kubetest.
//
//	world := spraytest.New(spraytest.Options{})
//	server := sshtest.Start(t, sshtest.Options{User: "ansible", Password: "ansible", Handler: world.Ansible()})
//	vm := sshtest.Start(t, sshtest.Options{Addr: address, User: "ubuntu", Password: "ubuntu", Handler: world.Boot(address)})
//	world.FailTask(spraytest.Fault{Book: "scale.yml", Host: "worker51", Message: "no space left", Times: 1})
//	world.Runs()        // the playbooks that were run
//	world.Surprises()   // what nobody plays, and what must not happen
package spraytest
