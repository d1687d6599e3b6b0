package kubernetes

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
)

// control is a master through which the cluster is worked on.
type control struct{ *kube.Client }

// find returns what the cluster knows of a node; nil if it does not know it. A script may have let the kubelet choose another address of the
// node, so that only the name tells.
func (c *control) find(n *kube.Machine) *kube.Node {
	if !n.IP.IsValid() {
		return nil
	}
	i := slices.IndexFunc(c.Nodes, func(k kube.Node) bool { return k.IP() == n.IP })
	if i < 0 {
		i = slices.IndexFunc(c.Nodes, func(k kube.Node) bool { return k.Metadata.Name == n.Names()[0] && !sameNetwork(k.IP(), n.IP) })
	}
	if i < 0 {
		return nil
	}
	return &c.Nodes[i]
}

// sameNetwork reports whether two addresses are close to each other: then they are not those of one node.
func sameNetwork(a, b netip.Addr) bool {
	network, err := a.Prefix(16)
	return err == nil && network.Contains(b)
}

// control opens the cluster through the first of some masters that answers for it.
func (s *site) control(ctx context.Context, masters []*kube.Machine) (*control, error) {
	client, err := s.Open(ctx, masters)
	if err != nil {
		return nil, err
	}
	return &control{client}, nil
}

// joinFacts are what a node needs to join. They are secret.
type joinFacts struct {
	token, caHash, certificateKey string
}

// joinFacts makes a token for nodes that join now and, for masters, uploads the certificates.
func (s *site) joinFacts(ctx context.Context, c *control, master bool) (*joinFacts, error) {
	output, err := c.Host.Run(ctx, ssh.Command{Argv: []string{"kubeadm", "token", "create"}, Root: true})
	if err != nil {
		return nil, err
	}
	facts := &joinFacts{token: kube.JoinToken(output.Stdout)}
	if facts.token == "" {
		return nil, fmt.Errorf("%s: kubeadm has made no token", c.Host)
	}
	s.Secrets.Add(ssh.Secret(facts.token))
	ca, err := c.caCertificate(ctx)
	if err != nil {
		return nil, err
	}
	if facts.caHash, err = publicKeyHash(ca); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Host, err)
	}
	if !master {
		return facts, nil
	}
	if output, err = c.Host.Run(ctx, ssh.Command{Argv: []string{"kubeadm", "init", "phase", "upload-certs", "--upload-certs"}, Root: true}); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(output.Stdout), "\n")
	facts.certificateKey = kube.CertificateKey(lines[len(lines)-1])
	if facts.certificateKey == "" {
		return nil, fmt.Errorf("%s: kubeadm has told no certificate key", c.Host)
	}
	s.Secrets.Add(ssh.Secret(facts.certificateKey))
	return facts, nil
}

// caCertificate is the certificate of the cluster's authority, in PEM.
func (c *control) caCertificate(ctx context.Context) (string, error) {
	content, err := c.Host.Read(ctx, "/etc/kubernetes/pki/ca.crt", true, 1<<16)
	return strings.TrimSpace(string(content)) + "\n", err
}

// publicKeyHash is how kubeadm recognizes an authority.
func publicKeyHash(certificate string) (string, error) {
	block, _ := pem.Decode([]byte(certificate))
	if block == nil {
		return "", errors.New("the CA certificate is not PEM")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read CA certificate: %w", err)
	}
	sum := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:]), nil
}

// etcdMember is a member of etcd and whether it answers.
type etcdMember struct {
	ID      uint64
	Name    string
	ip      netip.Addr
	healthy bool
}

// etcdTime bounds a question to etcd: members that are dead take long.
const etcdTime = 20 * time.Second

// etcdctl runs etcdctl in the etcd of the master.
func (c *control) etcdctl(ctx context.Context, arguments ...string) (string, error) {
	name := c.Master.Name
	if known := c.find(c.Master); known != nil {
		name = known.Metadata.Name
	}
	const pki = "/etc/kubernetes/pki/etcd/"
	argv := append([]string{"kubectl", "--kubeconfig", kube.AdminConfig, "exec", "-n", "kube-system", "etcd-" + name, "--",
		"etcdctl", "--endpoints=https://127.0.0.1:2379", "--cacert=" + pki + "ca.crt", "--cert=" + pki + "server.crt", "--key=" + pki + "server.key",
		"--command-timeout=" + (etcdTime / 2).String()}, arguments...)
	output, err := c.Host.Run(ctx, ssh.Command{Argv: argv, Root: true, Time: etcdTime})
	if output == nil {
		return "", err
	}
	return output.Stdout, err
}

// members lists the members of etcd.
func (c *control) members(ctx context.Context) ([]etcdMember, error) {
	answer, err := c.etcdctl(ctx, "member", "list", "-w", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Members []struct {
			ID       uint64
			Name     string
			PeerURLs []string
		}
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		return nil, fmt.Errorf("%s: read members of etcd: %w", c.Host, err)
	}
	// The status tells also which are ill, and the answer is complete nevertheless.
	answer, err = c.etcdctl(ctx, "endpoint", "health", "--cluster", "-w", "json")
	if err != nil && !errors.As(err, new(*ssh.ExitError)) {
		return nil, err
	}
	var endpoints []struct {
		Endpoint string `json:"endpoint"`
		Health   bool   `json:"health"`
	}
	if err := json.Unmarshal([]byte(answer), &endpoints); err != nil {
		return nil, fmt.Errorf("%s: read health of etcd: %w", c.Host, err)
	}
	healthy := map[netip.Addr]bool{}
	for _, e := range endpoints {
		healthy[hostOf(e.Endpoint)] = e.Health
	}
	var members []etcdMember
	for _, m := range list.Members {
		member := etcdMember{ID: m.ID, Name: m.Name}
		for _, url := range m.PeerURLs {
			member.ip = hostOf(url)
		}
		member.healthy = healthy[member.ip]
		members = append(members, member)
	}
	return members, nil
}

// hostOf is the address in a URL.
func hostOf(url string) netip.Addr {
	_, rest, _ := strings.Cut(url, "://")
	address, err := netip.ParseAddrPort(rest)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr()
}

// without are the members of etcd when the one at an address has left. *[mgmtdriver.Failure] if etcd would lose its majority by that.
func without(members []etcdMember, ip netip.Addr) ([]etcdMember, error) {
	at := slices.IndexFunc(members, func(m etcdMember) bool { return m.ip == ip })
	if at < 0 || !ip.IsValid() {
		return members, nil
	}
	rest := slices.Delete(slices.Clone(members), at, at+1)
	var ill []string
	for _, m := range rest {
		if !m.healthy {
			ill = append(ill, m.Name)
		}
	}
	if healthy := len(rest) - len(ill); healthy < len(rest)/2+1 {
		return nil, &mgmtdriver.Failure{Title: "etcd would lose its majority", Status: http.StatusConflict, Detail: fmt.Sprintf(
			"%s cannot leave: of the other %d members of etcd only %d are healthy; heal %s first, or the whole VNF",
			members[at].Name, len(rest), healthy, strings.Join(ill, ", "))}
	}
	return rest, nil
}

// leaveEtcd removes the member at an address from etcd.
func (c *control) leaveEtcd(ctx context.Context, ip netip.Addr) error {
	members, err := c.members(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(members, func(m etcdMember) bool { return m.ip == ip })
	if at < 0 || !ip.IsValid() {
		return nil
	}
	if _, err = without(members, ip); err != nil {
		return err
	}
	_, err = c.etcdctl(ctx, "member", "remove", fmt.Sprintf("%x", members[at].ID))
	return err
}
