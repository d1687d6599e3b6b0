// Package kubespray is the management driver mgmt-drivers-kubespray: it makes a Kubernetes cluster of the VMs of a VNF with the playbooks of
// kubespray, which it runs on an Ansible server, and puts a load balancer in front of it.
//
// The VMs are those of two scaling aspects, masters and workers, and one for the load balancer (see [Parameter]). The Ansible server is the user's,
// with a tree of kubespray, Ansible and sshpass. The driver generates the inventory, runs cluster.yml, scale.yml and remove-node.yml, drains
// what goes, keeps the routes of the load balancer and registers the cluster as a VIM.
//
//	pool := ssh.NewPool(ssh.Config{})
//	drivers[kubespray.Name] = kubespray.New(pool, kube.Config{})
//
// A playbook is a job on the Ansible server, which outlives connection and process: a repeated step finds it again. The passwords of nodes reach
// Ansible in a file that is encrypted with a password of its own for every run; that one is on the standard input of the run alone, so
// what a crash leaves on the Ansible server tells nobody anything.
package kubespray
