package server

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// direct is an [echo.IPExtractor]: the other end of the connection. What a header says of it anybody may have written.
func direct(request *http.Request) string {
	remote, err := netip.ParseAddrPort(request.RemoteAddr)
	if err != nil {
		return request.RemoteAddr
	}
	return remote.Addr().Unmap().WithZone("").String()
}

// proxied is an [echo.IPExtractor]: the client that a proxy names, or else the proxy. It is the last of X-Forwarded-For, which the proxy has
// added; those before it the client may have written.
func proxied(request *http.Request) string {
	lines := request.Header.Values(echo.HeaderXForwardedFor)
	if len(lines) == 0 {
		return direct(request)
	}
	entries := strings.Split(lines[len(lines)-1], ",")
	last := strings.TrimSpace(entries[len(entries)-1])
	if withPort, err := netip.ParseAddrPort(last); err == nil {
		return withPort.Addr().Unmap().WithZone("").String()
	}
	address, err := netip.ParseAddr(strings.Trim(last, "[]"))
	if err != nil {
		return direct(request)
	}
	return address.Unmap().WithZone("").String()
}

// knowsOrigin reports whether it is known from which address a request comes, and not only from which proxy.
func (s *Server) knowsOrigin(c echo.Context) bool {
	return !s.config.BehindProxy || c.RealIP() != direct(c.Request())
}

// addressOf is where a request comes from. An IPv6 host has a network of its own to choose addresses from.
func addressOf(c echo.Context) string {
	address, err := netip.ParseAddr(c.RealIP())
	if err == nil && address.Is6() {
		const host = 64
		network, _ := address.Prefix(host) // 64 is a length that every address has
		return network.String()
	}
	return c.RealIP()
}
