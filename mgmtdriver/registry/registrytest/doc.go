// Package registrytest plays VMs that become private registries, for tests: a model of a Linux machine with Docker, behind the SSH server of
// package sshtest. A command that nobody plays is a surprise, which a test has to look for.
package registrytest
