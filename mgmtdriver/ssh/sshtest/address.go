package sshtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
)

// DefaultPort is the port of machines whose Options name none. It is above 1023, so that no privilege is needed.
const DefaultPort = 2222

// Reserve keeps a loopback address and port for the caller until release is called, against every other process that reserves as well. The
// TCP port of the same number stays free for the machine itself. The error says that somebody else has it.
func Reserve(ctx context.Context, addr netip.Addr, port int) (release func(), err error) {
	if !addr.IsLoopback() {
		return nil, fmt.Errorf("%s is not a loopback address", addr)
	}
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(ctx, "udp", net.JoinHostPort(addr.String(), strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("reserve %s: %w", addr, err)
	}
	var once sync.Once
	return func() { once.Do(func() { _ = conn.Close() }) }, nil
}

// FreeAddr reserves an address of 127.64.0.0/10 that nobody has. Processes begin at different places, so that they seldom meet.
func FreeAddr(ctx context.Context, port int) (addr netip.Addr, release func(), err error) {
	const size = 1 << 22
	start := (os.Getpid()*2654435761 + rand.IntN(1<<12)) % size //nolint:gosec // an address for a test
	for i := range 1000 {
		n := (start + i) % size
		if n%256 == 0 || n%256 == 255 {
			continue
		}
		addr = netip.AddrFrom4([4]byte{127, byte(64 + n>>16), byte(n >> 8), byte(n)})
		if release, err = Reserve(ctx, addr, port); err == nil {
			return addr, release, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return netip.Addr{}, nil, errors.Join(errors.New("no free loopback address"), err)
}
