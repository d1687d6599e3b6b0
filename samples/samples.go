// Package samples holds VNF packages of our own as source trees, one folder each. They are for trying the VNF manager, for its
// tests, and to start a package from.
package samples

import (
	"embed"
	"io/fs"
)

//go:embed all:two-vdu all:scripted all:topology all:kubernetes all:private-registry all:kubernetes-kubespray
var trees embed.FS

// TwoVdu is the source tree of a VNF with a controller, its volume and a group of workers on two networks. Its README.md tells
// more.
func TwoVdu() fs.FS { return tree("two-vdu") }

// Scripted is the source tree of a VNF whose Heat parameters are computed by a user data class of its own. Its README.md tells more.
func Scripted() fs.FS { return tree("scripted") }

// Topology is the source tree of a VNF without Heat templates and with a software image: a front end with a volume and a group of workers
// on a network of their own. Its README.md tells more.
func Topology() fs.FS { return tree("topology") }

// Kubernetes is the source tree of a Kubernetes cluster, with one master or several. Its README.md tells more.
func Kubernetes() fs.FS { return tree("kubernetes") }

// PrivateRegistry is the source tree of a private registry of images for Kubernetes clusters. Its README.md tells more.
func PrivateRegistry() fs.FS { return tree("private-registry") }

// Kubespray is the source tree of a Kubernetes cluster that kubespray makes, with a load balancer in front of it. Its README.md tells more.
func Kubespray() fs.FS { return tree("kubernetes-kubespray") }

func tree(name string) fs.FS {
	found, err := fs.Sub(trees, name)
	if err != nil {
		panic(err) // the names are constants and valid
	}
	return found
}
