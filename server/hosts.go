package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// named refuses requests for names that are not those of this server. A page in a browser on the same machine may call it by a name of its
// own, which it has made to mean this address (DNS rebinding), and the browser would let it read the answers.
func (s *Server) named(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.config.Hosts == nil || s.knows(c.Request().Host) {
			return next(c)
		}
		return &problem{http.StatusMisdirectedRequest, "this server is not known by the name in the Host header"}
	}
}

// knows reports whether a name is one of this server. No browser leaves it out, but health checks of proxies do.
func (s *Server) knows(host string) bool {
	if host == "" {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || slices.ContainsFunc(s.config.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}
