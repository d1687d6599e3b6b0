package spraytest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// host is a host of an inventory.
type host struct {
	Address  string `yaml:"ansible_host"`
	IP       string `yaml:"ip"`
	User     string `yaml:"ansible_user"`
	Password string `yaml:"ansible_password"`
	Become   string `yaml:"ansible_become_password"`
	SSH      string `yaml:"ansible_ssh_args"`
	Port     int    `yaml:"ansible_port"`

	master bool
	keys   []string // by which it may be known
}

// inventory is what is read of an inventory.
type inventory struct {
	All struct {
		Vars     map[string]any
		Hosts    map[string]*host
		Children map[string]struct {
			Hosts    map[string]any
			Children map[string]any
		}
	}
}

// readHosts reads the inventory and the variables as Ansible would.
func (w *World) readHosts(machine *sshtest.Server, a *arguments, password string) (map[string]*host, error) {
	var found inventory
	var vars, sealed map[string]any
	for i, file := range append([]string{a.inventory}, a.files...) {
		content, err := machine.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if i == 2 {
			if content, err = Unvault(content, password); err != nil {
				return nil, err
			}
		}
		if err := yaml.Unmarshal(content, []any{&found, &vars, &sealed}[i]); err != nil {
			return nil, err
		}
	}
	if vars["calico_mtu"] != 1450 || vars["calico_veth_mtu"] != 1430 {
		w.surprise("MTU %v, %v", vars["calico_mtu"], vars["calico_veth_mtu"])
	}
	if found.All.Vars["ansible_ssh_host_key_checking"] != true {
		w.surprise("host keys are not checked")
	}
	known, err := machine.ReadFile(a.inventory[:strings.LastIndexByte(a.inventory, '/')] + "/known_hosts")
	if err != nil {
		return nil, err
	}
	passwords, _ := sealed["vnfm_passwords"].(map[string]any)
	groups := found.All.Children
	for name, h := range found.All.Hosts {
		_, h.master = groups["kube_control_plane"].Hosts[name]
		_, etcd := groups["etcd"].Hosts[name]
		_, worker := groups["kube_node"].Hosts[name]
		if h.master != etcd || h.master == worker {
			w.surprise("groups of %s: master %t, etcd %t, worker %t", name, h.master, etcd, worker)
		}
		role := map[bool]string{true: "master", false: "worker"}[h.master]
		if h.Password != "{{ vnfm_passwords."+role+" }}" || h.Become != h.Password {
			return nil, fmt.Errorf("the password of %s is %q", name, h.Password)
		}
		h.Password, _ = passwords[role].(string)
		for line := range strings.Lines(string(known)) {
			if place, key, _ := strings.Cut(strings.TrimSpace(line), " "); place == fmt.Sprintf("[%s]:%d", h.Address, h.Port) {
				h.keys = append(h.keys, key)
			}
		}
		if !strings.Contains(h.SSH, "UserKnownHostsFile=") {
			w.surprise("%s is reached with %s", name, h.SSH)
		}
	}
	return found.All.Hosts, nil
}

// login runs a module on the host, as Ansible does first of all.
func (h *host) login(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(h.Address, strconv.Itoa(h.Port)))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	connection, channels, requests, err := ssh.NewClientConn(raw, h.Address, &ssh.ClientConfig{
		User: h.User, Auth: []ssh.AuthMethod{ssh.Password(h.Password)},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			for _, known := range h.keys {
				if strings.HasPrefix(known, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))) {
					return nil
				}
			}
			return errors.New("Host key verification failed.") //nolint:revive,staticcheck // the words of OpenSSH
		},
	})
	if err != nil {
		return err
	}
	client := ssh.NewClient(connection, channels, requests)
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	return session.Run("python3 -")
}

// act does with hosts what kubespray would.
func (w *World) act(a *arguments, targets []string, hosts map[string]*host, reset bool) error {
	masters, workers := map[string]netip.Addr{}, map[string]netip.Addr{}
	for name, h := range hosts {
		address, err := netip.ParseAddr(h.IP)
		if err != nil {
			return err
		}
		if h.master {
			masters[name] = address
		}
		for _, target := range targets {
			if target == name && !h.master {
				workers[name] = address
			}
		}
	}
	switch a.book {
	case "cluster.yml", "scale.yml":
		return w.Deploy(masters, workers)
	case "remove-node.yml":
		if a.vars["skip_confirmation"] != "yes" || a.vars["delete_nodes_confirmation"] != "yes" {
			w.surprise("remove-node.yml asks somebody whether that is meant")
		}
		if a.vars["allow_ungraceful_removal"] != true || a.vars["drain_timeout"] != "30s" {
			w.surprise("remove-node.yml drains nodes once more, and fails for pods that do not leave: %v", a.vars)
		}
		w.Withdraw(targets, reset)
	case "facts.yml":
	default:
		w.surprise("there is no playbook %s", a.book)
	}
	return nil
}

// Unvault decrypts what Ansible Vault has encrypted.
func Unvault(content []byte, password string) ([]byte, error) {
	header, body, _ := strings.Cut(string(content), "\n")
	if header != "$ANSIBLE_VAULT;1.1;AES256" {
		return nil, errors.New("input is not vault encrypted data")
	}
	inner, err := hex.DecodeString(strings.ReplaceAll(body, "\n", ""))
	parts := strings.Split(string(inner), "\n")
	if err != nil || len(parts) != 3 {
		return nil, errors.New("vault format unhexlify error")
	}
	var raw [3][]byte
	for i, part := range parts {
		if raw[i], err = hex.DecodeString(part); err != nil {
			return nil, err
		}
	}
	derived, err := pbkdf2.Key(sha256.New, password, raw[0], 10000, 80)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, derived[32:64])
	mac.Write(raw[2])
	if !hmac.Equal(mac.Sum(nil), raw[1]) {
		return nil, errors.New("Decryption failed (no vault secrets were found that could decrypt)") //nolint:staticcheck // the words of Ansible
	}
	block, err := aes.NewCipher(derived[:32])
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(raw[2]))
	cipher.NewCTR(block, derived[64:]).XORKeyStream(plain, raw[2])
	padding := int(plain[len(plain)-1])
	if padding < 1 || padding > aes.BlockSize {
		return nil, errors.New("wrong padding")
	}
	return plain[:len(plain)-padding], nil
}
