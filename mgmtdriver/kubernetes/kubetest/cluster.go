package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// cluster is a Kubernetes cluster. The lock of the world guards it.
type cluster struct {
	endpoint string
	ca       string // PEM
	caHash   string
	tokens   []string
	keys     []string // of certificates
	nodes    map[string]*node
	members  []*member
	pods     []pod
	secrets  []map[string]any
	volumes  map[string]*persistentVolume
	joining  *machine // a master that is just joining
	lastID   uint64
}

type node struct {
	machine *machine
	ip      netip.Addr
	master  bool
	labels  map[string]string
	notes   map[string]string // annotations
	closed  bool              // cordoned
}

type member struct {
	id      uint64
	name    string
	ip      netip.Addr
	machine *machine
}

type pod struct {
	name, node string
	daemon     bool
}

// ready reports whether the kubelet of a machine works for a cluster.
func (m *machine) ready(c *cluster) bool { return m.cluster == c && m.alive() }

func (w *World) newCluster(endpoint string) (*cluster, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	c := &cluster{endpoint: endpoint, ca: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), caHash: hex.EncodeToString(sum[:]),
		nodes: map[string]*node{}, volumes: map[string]*persistentVolume{}}
	w.clusters = append(w.clusters, c)
	return c, nil
}

// majority reports whether etcd works.
func (c *cluster) majority() bool {
	healthy := 0
	for _, m := range c.members {
		if m.machine.ready(c) {
			healthy++
		}
	}
	return healthy > len(c.members)/2
}

// add makes a machine a node.
func (c *cluster) add(m *machine, master bool) {
	ip := m.addresses[0]
	m.cluster = c
	c.nodes[m.name] = &node{machine: m, ip: ip, master: master, labels: map[string]string{"kubernetes.io/hostname": m.name}}
	if master {
		c.nodes[m.name].labels["node-role.kubernetes.io/control-plane"] = ""
		c.lastID++
		c.members = append(c.members, &member{id: 0xa000000000000000 + c.lastID, name: m.name, ip: ip, machine: m})
		m.put("/etc/kubernetes/pki/ca.crt", c.ca)
	} else {
		m.world.deploy(c, m.name)
	}
}

func random(length int) string {
	raw := make([]byte, (length+1)/2)
	_, _ = rand.Read(raw)
	return hex.EncodeToString(raw)[:length]
}

func (m *machine) kubeadm(s *sshtest.Session, args []string) int {
	c := m.cluster
	switch command := strings.Join(args, " "); {
	case command == "reset -f":
		m.cluster, m.begun = nil, false
		return 0
	case c == nil || !m.master():
		_, _ = fmt.Fprintln(s.Stderr, "failed to load admin kubeconfig: open /etc/kubernetes/admin.conf: no such file or directory")
		return 1
	case command == "token create":
		token := random(6) + "." + random(16)
		c.tokens = append(c.tokens, token)
		_, _ = fmt.Fprintln(s.Stdout, token)
		return 0
	case command == "init phase upload-certs --upload-certs":
		key := random(64)
		c.keys = append(c.keys, key)
		_, _ = fmt.Fprintf(s.Stdout, "[upload-certs] Storing the certificates in Secret \"kubeadm-certs\"\n[upload-certs] Using certificate key:\n%s\n", key)
		return 0
	}
	return m.unknown(s)
}

// master reports whether the machine is a master of its cluster.
func (m *machine) master() bool {
	return m.cluster != nil && slices.ContainsFunc(m.cluster.members, func(e *member) bool { return e.machine == m })
}

func (m *machine) kubectl(s *sshtest.Session, args []string) int {
	c := m.cluster
	if c == nil || !m.master() {
		_, _ = fmt.Fprintln(s.Stderr, "error: stat /etc/kubernetes/admin.conf: no such file or directory")
		return 1
	}
	if !c.majority() {
		_, _ = fmt.Fprintln(s.Stderr, "Error from server: etcdserver: request timed out")
		return 1
	}
	command := strings.Join(args, " ")
	switch {
	case command == "get nodes -o json":
		return answer(s, map[string]any{"items": c.nodeList(m.world.options.Docker)})
	case c.mark(args):
		return 0
	case strings.HasPrefix(command, "drain ") && strings.Contains(command, " --ignore-daemonsets --delete-emptydir-data --force --timeout="):
		return m.drain(s, args[1])
	case strings.HasPrefix(command, "delete node ") && args[3] == "--ignore-not-found":
		if c.nodes[args[2]] != nil {
			m.tell("removes %s from the cluster", args[2])
		}
		delete(c.nodes, args[2])
		c.pods = slices.DeleteFunc(c.pods, func(p pod) bool { return p.node == args[2] })
		return 0
	case strings.HasPrefix(command, "delete pods --all-namespaces --field-selector spec.nodeName="):
		name := strings.TrimPrefix(args[4], "spec.nodeName=")
		c.pods = slices.DeleteFunc(c.pods, func(p pod) bool { return p.node == name })
		return 0
	case command == "apply -f -":
		return m.applyVolumes(s)
	case command == "get persistentvolumes -o json":
		return answer(s, map[string]any{"items": c.volumeList()})
	case strings.HasPrefix(command, "delete persistentvolumes ") && strings.HasSuffix(command, " --ignore-not-found --wait=false"):
		c.removeVolumes(args[2 : len(args)-2])
		return 0
	case command == "apply -f /tmp/create_admin_token.yaml":
		return m.apply(s)
	case command == "-n kube-system get secrets --field-selector type=kubernetes.io/service-account-token -o json":
		return answer(s, map[string]any{"items": c.secrets})
	case strings.HasPrefix(command, "exec -n kube-system etcd-"+m.name+" -- etcdctl "):
		return m.etcdctl(s, args[6:])
	}
	return m.unknown(s)
}

// mark plays what changes a node alone, and reports whether the command is such a one.
func (c *cluster) mark(args []string) bool {
	last := args[len(args)-1]
	switch operation, overwrite := strings.CutPrefix(last, "vnfm/leaving="); {
	case args[0] == "cordon" || args[0] == "uncordon":
		for _, name := range args[1:] {
			c.nodes[name].closed = args[0] == "cordon"
		}
	case args[0] == "annotate" && args[1] == "node" && overwrite && args[len(args)-2] == "--overwrite": // nodes come first
		for _, name := range args[2 : len(args)-2] {
			c.nodes[name].notes = map[string]string{"vnfm/leaving": operation}
		}
	case args[0] == "annotate" && args[1] == "node" && last == "vnfm/leaving-":
		for _, name := range args[2 : len(args)-1] {
			c.nodes[name].notes = nil
		}
	case args[0] == "label" && args[1] == "node" && args[3] == "--overwrite":
		for _, label := range args[4:] {
			name, value, _ := strings.Cut(label, "=")
			c.nodes[args[2]].labels[name] = value
		}
	default:
		return false
	}
	return true
}

func answer(s *sshtest.Session, document any) int {
	_ = json.NewEncoder(s.Stdout).Encode(document)
	return 0
}

func (c *cluster) nodeList(docker bool) []any {
	list := []any{}
	for name, n := range c.nodes {
		runtime := "containerd://1.7.28"
		if docker {
			runtime = "docker://19.3.11"
		}
		list = append(list, map[string]any{
			"metadata": map[string]any{"name": name, "labels": n.labels, "annotations": n.notes},
			"spec":     map[string]any{"unschedulable": n.closed},
			"status": map[string]any{
				"addresses":  []any{map[string]any{"type": "InternalIP", "address": n.ip.String()}, map[string]any{"type": "Hostname", "address": name}},
				"conditions": []any{map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "Unknown"}[n.machine.ready(c)]}},
				"nodeInfo":   map[string]any{"containerRuntimeVersion": runtime},
			},
		})
	}
	return list
}

func (m *machine) drain(s *sshtest.Session, name string) int {
	c := m.cluster
	n := c.nodes[name]
	if n == nil {
		_, _ = fmt.Fprintf(s.Stderr, "Error from server (NotFound): nodes %q not found\n", name)
		return 1
	}
	if !n.machine.ready(c) {
		_, _ = fmt.Fprintln(s.Stderr, "error: unable to drain node: global timeout reached")
		return 1
	}
	m.tell("drains %s", name)
	var others []string
	for other, o := range c.nodes {
		if other != name && !o.master && !o.closed {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	for i := range c.pods {
		if c.pods[i].node == name && !c.pods[i].daemon && len(others) > 0 {
			c.pods[i].node = others[0]
		}
	}
	return 0
}

func (m *machine) apply(s *sshtest.Session) int {
	if manifest := m.read("/tmp/create_admin_token.yaml"); !strings.Contains(manifest, "kubernetes.io/service-account.name: admin") {
		_, _ = fmt.Fprintln(s.Stderr, "error: no objects passed to apply")
		return 1
	}
	if len(m.cluster.secrets) == 0 {
		m.cluster.secrets = []map[string]any{{
			"metadata": map[string]any{"name": "admin-token", "annotations": map[string]any{"kubernetes.io/service-account.name": "admin"}},
			"data":     map[string]any{"token": base64.StdEncoding.EncodeToString([]byte("bearer-" + random(40)))},
		}}
	}
	return 0
}

func (m *machine) etcdctl(s *sshtest.Session, args []string) int {
	c := m.cluster
	want := []string{"--endpoints=https://127.0.0.1:2379", "--cacert=/etc/kubernetes/pki/etcd/ca.crt", "--cert=/etc/kubernetes/pki/etcd/server.crt",
		"--key=/etc/kubernetes/pki/etcd/server.key"}
	if len(args) < 7 || !slices.Equal(args[:4], want) || !strings.HasPrefix(args[4], "--command-timeout=") {
		return m.unknown(s)
	}
	switch command := strings.Join(args[5:], " "); {
	case command == "member list -w json":
		members := []any{}
		for _, e := range c.members {
			members = append(members, map[string]any{"ID": e.id, "name": e.name, "peerURLs": []string{"https://" + netip.AddrPortFrom(e.ip, 2380).String()}})
		}
		return answer(s, map[string]any{"members": members})
	case command == "endpoint health --cluster -w json":
		endpoints, status := []any{}, 0
		for _, e := range c.members {
			healthy := e.machine.ready(c)
			if !healthy {
				status = 1
			}
			endpoints = append(endpoints, map[string]any{"endpoint": "https://" + netip.AddrPortFrom(e.ip, 2379).String(), "health": healthy})
		}
		answer(s, endpoints)
		return status
	case strings.HasPrefix(command, "member remove "):
		id, err := strconv.ParseUint(args[7], 16, 64)
		at := slices.IndexFunc(c.members, func(e *member) bool { return e.id == id })
		if err != nil || at < 0 {
			_, _ = fmt.Fprintln(s.Stderr, "Error: etcdserver: member not found")
			return 1
		}
		m.tell("removes %s from etcd", c.members[at].name)
		c.members = slices.Delete(c.members, at, at+1)
		if !c.majority() {
			m.world.surprise("etcd has lost its majority by the removal of %x", id)
		}
		return 0
	}
	return m.unknown(s)
}
