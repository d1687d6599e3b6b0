// Package registry is the management driver mgmt-drivers-private-registry: it makes a private registry of images, Docker's own, of the VM of a
// VNF, from which Kubernetes clusters then get images.
//
// It works after an instantiation and after every heal, both times in the same way: whatever is missing on the VM is added, from Docker on, and what
// is there is left alone. The image of the registry comes from the VNF package or, without one there, from Docker Hub.
//
//	pool := ssh.NewPool(ssh.Config{})
//	drivers[registry.Name] = registry.New(pool, registry.Config{})
//
// What takes long is done by detached jobs on the VM and by transfers that go on where they were cut, so that another process can take over
// at any time.
package registry
