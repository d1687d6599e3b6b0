package python

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_AARCH64
	openHere     = noCall
)

var plainHere []uint32
