package kubetest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// Options say what machines are like.
type Options struct {
	PrepareTime time.Duration // that a script needs to install and fetch
	JoinTime    time.Duration // that it needs to make a cluster, or to join it
	Docker      bool          // nodes use Docker in place of containerd
	Password    string        // that all registries want; "" = any
	VolumePhase string        // of a PersistentVolume that is made; "" = Available
	// Registry answers for all registries; nil: they let everybody in. It must not call the world.
	Registry func(Asked) Answer
	// Tell is called with what happens on a machine, for people; nil: nobody is told. It must not call the world.
	Tell func(address netip.Addr, what string)
	// Also plays commands that other drivers run on a machine; played false: it does not know the command. nil: nobody does.
	Also func(ctx context.Context, s *sshtest.Session) (status int, played bool)
}

// World are machines and the clusters that they make. Its methods may be called from any goroutine.
type World struct {
	options Options

	mu        sync.Mutex
	machines  map[netip.Addr]*machine
	clusters  []*cluster
	faults    []*Fault
	surprises []string
	busy      int // scripts that run
	mostBusy  int
	scripts   map[*machine]int
	disks     map[string]*Disk // by the beginning of the id of the volume
}

// New returns a world without machines.
func New(options Options) *World {
	return &World{options: options, machines: map[netip.Addr]*machine{}, scripts: map[*machine]int{}, disks: map[string]*Disk{}}
}

// Fault makes commands fail.
type Fault struct {
	Address netip.Addr // of the machine; the zero value = any
	Command string     // a part of the command; the phases of scripts are "script prepare", "script join" and, when kubeadm has begun, "script halfway"
	Times   int        // 0 = ever
	Late    bool       // it fails when it has done its work
	Stderr  string
}

// Fail makes commands fail from now on.
func (w *World) Fail(fault Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &fault)
}

// Heal ends all faults.
func (w *World) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// Cordon is what a user does to a node.
func (w *World) Cordon(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.clusters {
		if n := c.nodes[name]; n != nil {
			n.closed = true
		}
	}
}

// fault is that of a command; nil if there is none.
func (w *World) fault(m *machine, command string, late bool) *Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, f := range w.faults {
		if f.Late != late || !strings.Contains(command, f.Command) || (f.Address.IsValid() && !slices.Contains(m.addresses, f.Address)) {
			continue
		}
		if f.Times == 1 {
			w.faults = slices.Delete(w.faults, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return f
	}
	return nil
}

// tell tells what happens on a machine.
func (m *machine) tell(format string, args ...any) {
	if m.world.options.Tell != nil {
		m.world.options.Tell(m.addresses[0], fmt.Sprintf(format, args...))
	}
}

// surprise notes what must not happen. The lock is held.
func (w *World) surprise(format string, args ...any) {
	w.surprises = append(w.surprises, fmt.Sprintf(format, args...))
}

// Surprises are what should not have happened.
func (w *World) Surprises() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.surprises)
}

// Busy is the number of scripts that run.
func (w *World) Busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

// MostBusy is the largest number of scripts that ran at the same time.
func (w *World) MostBusy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mostBusy
}

// Environment is that in which the script ran by which a machine has joined, or was to join.
func (w *World) Environment(address netip.Addr) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[address]; m != nil {
		return maps.Clone(m.env)
	}
	return nil
}

// Apt is the environment in which a machine has installed a package last.
func (w *World) Apt(address netip.Addr) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[address]; m != nil {
		return maps.Clone(m.apt)
	}
	return nil
}

// Scripts are the numbers of scripts that were run on the machines that there were.
func (w *World) Scripts() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.scripts))
}

// machine is a booted machine.
type machine struct {
	world     *World
	addresses []netip.Addr
	server    *sshtest.Server // set by the first command

	cluster  *cluster // that it is a node of
	begun    bool     // kubeadm has begun to make it a node
	name     string
	prepared bool
	loaded   string // the configuration that HAProxy has read
	logins   []string
	env      map[string]string // of the script by which the machine has joined

	devices  map[string]*Disk
	dirs     []string
	mounts   map[string]string // devices by directory
	packages []string
	apt      map[string]string // the environment of the last installation
	exported []string          // directory and client
}

// Boot boots a machine at addresses, the first of them in the network of its cluster, and returns what plays its commands.
func (w *World) Boot(addresses ...netip.Addr) sshtest.Handler {
	m := &machine{world: w, addresses: addresses, devices: map[string]*Disk{}, mounts: map[string]string{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, address := range addresses {
		w.machines[address] = m
	}
	play := sshtest.Linux(m.run)
	return func(ctx context.Context, s *sshtest.Session) int {
		m.meet(s.Machine)
		return play(ctx, s)
	}
}

// meet learns which server the machine is.
func (m *machine) meet(server *sshtest.Server) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	if m.server != nil {
		return
	}
	m.server = server
	m.put("/etc/hosts", "127.0.0.1 localhost\n")
	m.put("/etc/fstab", "LABEL=cloudimg-rootfs / ext4 defaults 0 1\n")
}

// deploy puts a pod of an application, and one of the network, on a node.
func (w *World) deploy(c *cluster, node string) {
	c.pods = append(c.pods, pod{name: fmt.Sprintf("app-%d", len(c.pods)), node: node}, pod{name: "calico-" + node, node: node, daemon: true})
}

// alive reports whether the machine is there. The lock is held.
func (m *machine) alive() bool {
	return m.server != nil && !m.server.Closed() && m.world.machines[m.addresses[0]] == m
}

// run plays a command.
func (m *machine) run(ctx context.Context, s *sshtest.Session) int {
	command := strings.Join(s.Argv, " ")
	if also := m.world.options.Also; also != nil {
		if f := m.world.fault(m, command, false); f != nil {
			return refuse(s, f)
		}
		if status, played := also(ctx, s); played {
			return status
		}
	}
	if s.Argv[0] == "bash" {
		return m.script(ctx, s)
	}
	if f := m.world.fault(m, command, false); f != nil {
		return refuse(s, f)
	}
	m.world.mu.Lock()
	status := m.play(s)
	m.world.mu.Unlock()
	if f := m.world.fault(m, command, true); f != nil {
		return refuse(s, f)
	}
	return status
}

func refuse(s *sshtest.Session, f *Fault) int {
	_, _ = fmt.Fprintln(s.Stderr, f.Stderr)
	return 1
}

// play plays a command that takes no time. The lock is held.
func (m *machine) play(s *sshtest.Session) int {
	args := s.Argv[1:]
	switch s.Argv[0] {
	case "test":
		if len(args) == 2 && args[0] == "-e" && args[1] == "/etc/kubernetes/kubelet.conf" {
			return map[bool]int{true: 0, false: 1}[m.begun]
		}
		if len(args) == 2 && strings.HasPrefix(args[1], "/var/lib/vnfm/formatting-") {
			return m.storage(s, args)
		}
	case "kubectl":
		if len(args) > 3 && args[0] == "--kubeconfig" && args[1] == "/etc/kubernetes/admin.conf" && s.Root {
			return m.kubectl(s, args[2:])
		}
	case "timeout":
		if s.Root && len(args) == 4 && args[1] == "kubeadm" {
			return m.kubeadm(s, args[2:])
		}
	case "kubeadm":
		if s.Root {
			return m.kubeadm(s, args)
		}
	case "haproxy":
		return m.haproxy(s)
	case "systemctl":
		if slices.Contains(args, "nfs-server") {
			return m.nfs(s)
		}
		return m.haproxy(s)
	case "readlink", "lsblk", "blkid", "mkdir", "findmnt", "mount":
		return m.storage(s, args)
	case "sh", "chown", "exportfs":
		if len(args) > 1 && args[1] == curlScript && s.Root {
			return m.curl(s)
		}
		if len(args) > 2 && (args[2] == "look-for-content" || args[2] == "make-ext4") {
			return m.storage(s, args)
		}
		if len(args) == 5 && args[2] == "replace" && s.Root {
			m.put(args[4], m.read(args[3]))
			return 0
		}
		return m.nfs(s)
	case "docker":
		return m.docker(s, args)
	}
	return m.unknown(s)
}

func (m *machine) unknown(s *sshtest.Session) int {
	m.world.surprise("%s: nobody plays %q (root: %t)", m.addresses[0], s.Argv, s.Root)
	_, _ = fmt.Fprintf(s.Stderr, "kubetest: %q is not known here\n", s.Argv)
	return 127
}

// put writes a file.
func (m *machine) put(path, content string) {
	if err := m.server.MkdirAll(path[:strings.LastIndexByte(path, '/')]); err != nil {
		m.world.surprise("%s: %v", m.addresses[0], err)
	}
	if err := m.server.WriteFile(path, []byte(content)); err != nil {
		m.world.surprise("%s: %v", m.addresses[0], err)
	}
}

func (m *machine) read(path string) string {
	content, err := m.server.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

// Balance lets HAProxy read its configuration on a machine.
func (w *World) Balance(server *sshtest.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.machines {
		if m.server == server {
			m.loaded = m.read(haproxyConfig)
		}
	}
}

const haproxyConfig = "/etc/haproxy/haproxy.cfg"

func (m *machine) haproxy(s *sshtest.Session) int {
	const next = haproxyConfig + ".vnfm"
	switch strings.Join(s.Argv, " ") {
	case "haproxy -c -q -f " + next:
		if !strings.Contains(m.read(next), ":6443 check") || strings.Contains(m.read(next), "broken") {
			_, _ = fmt.Fprintln(s.Stderr, "Fatal errors found in configuration.")
			return 1
		}
		return 0
	case "systemctl reload-or-restart haproxy":
		m.loaded = m.read(haproxyConfig)
		return 0
	}
	return m.unknown(s)
}

func (m *machine) docker(s *sshtest.Session, args []string) int {
	if len(args) != 5 || args[0] != "login" || args[2] != "--username" || args[4] != "--password-stdin" || !s.Root {
		return m.unknown(s)
	}
	password := make([]byte, 100)
	n, _ := s.Stdin.Read(password)
	if want := m.world.options.Password; want != "" && want != string(password[:n]) {
		_, _ = fmt.Fprintln(s.Stderr, "Error response from daemon: unauthorized")
		return 1
	}
	if login := args[3] + "@" + args[1]; !slices.Contains(m.logins, login) {
		m.logins = append(m.logins, login)
	}
	_, _ = fmt.Fprintln(s.Stdout, "Login Succeeded")
	return 0
}
