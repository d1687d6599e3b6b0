package python

import (
	"os"
	"syscall"
)

// isolation is what the process of a script is given from the outside, beside what it gives up itself.
type isolation struct {
	account    bool // an account of its own
	namespaces bool
}

// isolations are the ways to start a process, the best first. The later ones are for containers, which often give neither namespaces
// nor other accounts.
func isolations() []isolation {
	if os.Geteuid() == 0 {
		return []isolation{{account: true, namespaces: true}, {account: true}, {namespaces: true}, {}}
	}
	return []isolation{{namespaces: true}, {}}
}

func (i isolation) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if i.account {
		attributes.Credential = &syscall.Credential{Uid: account, Gid: account}
	}
	if !i.namespaces {
		return attributes
	}
	attributes.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if os.Geteuid() != 0 {
		// Namespaces are had through one of users, in which the process is nobody in particular: without any capability.
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: account, HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: account, HostID: os.Getegid(), Size: 1}}
	}
	return attributes
}
