package param

import (
	"net/netip"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Login is how VMs are logged in to.
type Login struct {
	Username   string
	Password   ssh.Secret // also what sudo gets if it asks; "" = none, with a key
	PrivateKey ssh.Secret // PEM; "" = none
	Jump       *Jump      // through which they are reached; nil = directly
}

// Jump is a host on the way to VMs.
type Jump struct {
	Login
	Address netip.AddrPort
}

// Login reads username, password or private_key or both, and jump_host. The names of the attributes may have a prefix.
func (r *Reader) Login(prefix string) Login {
	login := r.credentials(prefix)
	if r.Has(prefix + "jump_host") {
		jump := r.Object(prefix + "jump_host")
		login.Jump = &Jump{Login: jump.credentials(""), Address: jump.address("address")}
	}
	return login
}

// HasLogin reports whether there is any attribute that [Reader.Login] reads.
func (r *Reader) HasLogin(prefix string) bool {
	return r.Has(prefix+"username") || r.Has(prefix+"password") || r.Has(prefix+"private_key") || r.Has(prefix+"jump_host")
}

func (r *Reader) credentials(prefix string) Login {
	login := Login{Username: r.Account(prefix + "username"), PrivateKey: r.privateKey(prefix + "private_key")}
	if login.PrivateKey == "" {
		login.Password = ssh.Secret(r.Required(prefix + "password"))
	} else {
		login.Password = ssh.Secret(r.Optional(prefix + "password"))
	}
	return login
}

// privateKey reads a key, which has several lines.
func (r *Reader) privateKey(name string) ssh.Secret {
	if !r.Has(name) {
		return ""
	}
	text, ok := r.values[name].(string)
	key := ssh.Secret(strings.TrimSpace(text) + "\n")
	switch {
	case !ok:
		r.Invalid(name, "it must be a string.")
	case strings.TrimSpace(text) == "***": // it is masked, in a check of a later operation
		return key
	case !key.IsPrivateKey():
		r.Invalid(name, "it is no private key in PEM form without a passphrase.")
	}
	return key
}

// address reads an IP address, perhaps with a port.
func (r *Reader) address(name string) netip.AddrPort {
	text := r.Required(name)
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(address, ssh.DefaultPort)
	}
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		r.Invalid(name, "%q is not an IP address, or an address and a port such as 192.0.2.7:22.", text)
	}
	return address
}

// Target is the server of a VNFC, reached in this way. name is for people.
func (l *Login) Target(name string, vnfc *mgmtdriver.Vnfc, address netip.AddrPort) ssh.Target {
	target := ssh.VnfcTarget(name, vnfc, address.Addr(), l.Username, l.Password)
	target.Address, target.PrivateKey = address, l.PrivateKey
	if l.Jump != nil {
		target.Jump = &ssh.Target{
			Name: "jump host", Address: l.Jump.Address, User: l.Jump.Username, Password: l.Jump.Password, PrivateKey: l.Jump.PrivateKey,
		}
	}
	return target
}

// Secrets are what must not be shown of a login.
func (l *Login) Secrets() []ssh.Secret {
	found := []ssh.Secret{l.Password, l.PrivateKey}
	if l.Jump != nil {
		found = append(found, l.Jump.Secrets()...)
	}
	return found
}
