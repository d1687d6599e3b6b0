package param

import (
	"net/netip"
	"regexp"

	"vnfm/mgmtdriver/ssh"
)

// Proxy is how VMs reach the outside.
type Proxy struct {
	HTTP, HTTPS string // may hold a password
	NoProxy     string
	Nodes       netip.Prefix // that need no proxy among each other; the zero prefix if there is none
}

// Proxy reads a proxy; one that is not there is empty.
func (r *Reader) Proxy(name string) Proxy {
	p := r.Object(name)
	return Proxy{HTTP: p.Optional("http_proxy"), HTTPS: p.Optional("https_proxy"), NoProxy: p.Optional("no_proxy"), Nodes: p.Network("k8s_node_cidr", "")}
}

var urlPassword = regexp.MustCompile(`//[^/@:]*:([^/]+)@`) // which may hold an @ itself

// Secrets are what must not be shown of a proxy.
func (p *Proxy) Secrets() []ssh.Secret {
	var found []ssh.Secret
	for _, address := range []string{p.HTTP, p.HTTPS} {
		if parts := urlPassword.FindStringSubmatch(address); parts != nil {
			found = append(found, ssh.Secret(parts[1]))
		}
	}
	return found
}
