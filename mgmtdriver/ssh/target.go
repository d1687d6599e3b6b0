package ssh

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"

	"vnfm/mgmtdriver"
)

// DefaultPort is the port of SSH.
const DefaultPort = 22

// Target is a host and how to log in to it.
type Target struct {
	Name    string         // for people, such as worker59; "" = the address
	Address netip.AddrPort // port 0 = [DefaultPort]
	User    string
	// Password is also what sudo is told if it asks. At least one of Password and PrivateKey has to be given.
	Password   Secret
	PrivateKey Secret // PEM, without a passphrase
	// VnfcID and ServerID tell whose host key it is: a VNFC that was healed has another server and gets another key. Without them,
	// the host is known by its address.
	VnfcID, ServerID string
	// HostKey is what the host key has to be, if that is known beforehand: a fingerprint such as SHA256:…, or lines of a known_hosts
	// file (their host names do not matter). "" = the key is trusted when it is seen first and has to be the same ever after.
	HostKey string
	Jump    *Target // the host through which this one is reached; nil = directly
}

// VnfcTarget is the server of a VNFC.
func VnfcTarget(name string, vnfc *mgmtdriver.Vnfc, address netip.Addr, user string, password Secret) Target {
	return Target{
		Name: name, Address: netip.AddrPortFrom(address, DefaultPort), User: user, Password: password, VnfcID: vnfc.ID, ServerID: vnfc.ServerID,
	}
}

func (t *Target) address() netip.AddrPort {
	return netip.AddrPortFrom(t.Address.Addr().Unmap(), cmp.Or(t.Address.Port(), DefaultPort))
}

// String names the host with its address.
func (t *Target) String() string {
	address := t.address().String()
	if t.address().Port() == DefaultPort {
		address = t.address().Addr().String()
	}
	if t.Name == "" || t.Name == address {
		return "host " + address
	}
	return fmt.Sprintf("%s (%s)", t.Name, address)
}

// identity is whose host key it is.
func (t *Target) identity() mgmtdriver.Host {
	if t.ServerID != "" {
		return mgmtdriver.Host{VnfcID: t.VnfcID, ServerID: t.ServerID}
	}
	return mgmtdriver.Host{Address: t.address().String()}
}

// key tells connections apart: one may be used for whoever logs in in the same way to the same host of the same VNF instance.
func (t *Target) key(instanceID string) string {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%q %v %q %q %q %q %q %q", instanceID, t.address(), t.User, string(t.Password), string(t.PrivateKey),
		t.VnfcID, t.ServerID, t.HostKey)
	if t.Jump != nil {
		_, _ = fmt.Fprintf(digest, " %s", t.Jump.key(instanceID))
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// secrets are what must not be shown of a target.
func (t *Target) secrets() []Secret {
	if t == nil {
		return nil
	}
	return append(t.Jump.secrets(), t.Password, t.PrivateKey)
}
