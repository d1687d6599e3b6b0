package peer

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Policy says which addresses this server calls when a client names them: callbacks of subscriptions, servers that have packages. It is
// asked at the moment of the connection, so that a name which comes to mean another address does not get around it.
type Policy struct {
	Deny  []netip.Prefix `env:"DENY" placeholder:"PREFIX" help:"Networks that callbacks and package downloads must not lead to, besides link-local, multicast and cloud metadata addresses, and this machine unless the server listens on it alone. Default: none."`
	Allow []netip.Prefix `env:"ALLOW" placeholder:"PREFIX" help:"Networks that callbacks and package downloads may lead to although they are denied. Default: none."`
}

// unreachable are the networks that are denied always: this host on this network, link-local, multicast, broadcast, and the metadata
// services of clouds, which hand out the credentials of the machine to whoever asks.
var unreachable = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
	netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("ff00::/8"),
	netip.MustParsePrefix("fd00:ec2::254/128"),
	netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64 of a network's own, RFC 8215: what it leads to cannot be known
}

// DeniedError says that the policy forbids to call an address.
type DeniedError struct{ Address netip.Addr }

// Error implements error.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("the address %s is not one that this server calls", e.Address)
}

// check returns a *[DeniedError] for an address that must not be called.
func (p Policy) check(address netip.Addr) error {
	for _, ip := range meant(address) {
		holds := func(network netip.Prefix) bool { return network.Contains(ip) }
		if (slices.ContainsFunc(unreachable, holds) || slices.ContainsFunc(p.Deny, holds)) && !slices.ContainsFunc(p.Allow, holds) {
			return &DeniedError{address}
		}
	}
	return nil
}

// meant are the addresses that an address leads to: itself, and the IPv4 address that it embeds.
func meant(address netip.Addr) []netip.Addr {
	plain := address.Unmap().WithZone("")
	all := []netip.Addr{plain}
	bytes := plain.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(plain): // NAT64, RFC 6052
		all = append(all, netip.AddrFrom4([4]byte(bytes[12:16])))
	case netip.MustParsePrefix("2002::/16").Contains(plain): // 6to4, RFC 3056
		all = append(all, netip.AddrFrom4([4]byte(bytes[2:6])))
	}
	return all
}

// Control is a [net.Dialer.Control] that obeys the policy. It sees the address that a name has come to mean.
func (p Policy) Control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return p.check(target.Addr())
}

const idlePerHost = 16

// Client returns an HTTP client that obeys the policy, gives a peer so long for each answer's beginning, and follows no redirects: they
// are answers. Proxies are not used, since the policy could not see where they lead.
func (p Policy) Client(security *tls.Config, timeout time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: timeout, Control: p.Control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: security, TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout,
			MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: NoRedirect,
	}
}

// NoRedirect is an [http.Client.CheckRedirect] that takes redirects for answers: elsewhere nobody shall see our credentials.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
