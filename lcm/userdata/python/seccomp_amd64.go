package python

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_X86_64
	openHere     = unix.SYS_OPEN
)

// plainHere are the older forms of system calls, which C libraries still use here.
var plainHere = []uint32{
	unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_GETDENTS, unix.SYS_POLL, unix.SYS_SELECT,
	unix.SYS_DUP2, unix.SYS_PIPE, unix.SYS_TIME, unix.SYS_ARCH_PRCTL,
}
