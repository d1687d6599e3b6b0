// Package heat is the infrastructure driver for OpenStack: it makes a VNF's resources as a stack of Heat. [Driver] implements
// lcm.InfraDriver and lcm.VimDriver.
//
// Heat is spoken to through gophercloud's sessions but with request bodies of our own: gophercloud's template loader follows every
// get_file and type: *.yaml of a template on the disk and the network of the server, and templates come from strangers.
package heat
