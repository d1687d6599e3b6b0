package mgmtdriver

import "context"

// HostKeys are the SSH host keys by which the hosts that belong to a VNF instance are known. They go with the instance's resources.
type HostKeys interface {
	// HostKey returns the key of a host, as a line of an authorized_keys file; "" if it is not known.
	HostKey(ctx context.Context, host Host) (string, error)
	// KeepHostKey makes a key that by which a host is known from now on, unless one is known already. It returns that by which
	// the host is known then: all processes get the same.
	KeepHostKey(ctx context.Context, host Host, key string) (string, error)
}

// Host is what a host key belongs to: the server of a VNFC or else, without a ServerID, whatever answers at an address.
type Host struct {
	VnfcID, ServerID string
	Address          string // with port
}
