package spraytest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// Root is where the Ansible server has kubespray.
const Root = "/home/ansible/kubespray"

// Options say what the hosts are like.
type Options struct {
	Kubernetes kubetest.Options
	PlayTimes  map[string]time.Duration // that playbooks take, by their names
	Missing    string                   // what the Ansible server lacks, as its script says it; "" = nothing
	NoMTU      bool                     // no node has an interface with the address that it is asked for
}

// Fault makes a playbook fail on a host.
type Fault struct {
	Book    string
	Host    string // its name in the inventory; "" = all
	Message string
	Times   int // 0 = ever
}

// World are the hosts. Its methods may be called from any goroutine.
type World struct {
	*kubetest.World
	options Options

	mu        sync.Mutex
	faults    []*Fault
	claimed   map[string]string // instances by directory
	known     []string          // hosts that the user of the Ansible server has logged in to by hand
	runs      []string
	passwords []string
	kept      map[string]bool // jobs by their directories
	busy      int
	server    *sshtest.Server // the Ansible server
	surprises []string
}

// New returns a world without machines.
func New(options Options) *World {
	w := &World{options: options, claimed: map[string]string{}, kept: map[string]bool{}}
	options.Kubernetes.Also = w.also
	w.World = kubetest.New(options.Kubernetes)
	return w
}

// FailTask makes playbooks fail from now on.
func (w *World) FailTask(fault Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &fault)
}

func (w *World) fault(book string) *Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, f := range w.faults {
		if f.Book != book {
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

// Take makes a directory of the Ansible server somebody else's.
func (w *World) Take(directory string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claimed[directory] = "somebody else"
}

// Directories are the directories of inventories on the Ansible server with the instances that they are for.
func (w *World) Directories() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.claimed)
}

// Know makes hosts known to the user of the Ansible server; Known are those that are.
func (w *World) Know(hosts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = append(w.known, hosts...)
}

// Known are the hosts that the user of the Ansible server knows.
func (w *World) Known() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.known)
}

// Runs are the playbooks that were run, with the arguments that say on what.
func (w *World) Runs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.runs)
}

// Kept are the directories of the jobs that Ansible servers keep.
func (w *World) Kept() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.kept))
}

// Passwords are those of Ansible Vault that playbooks were given.
func (w *World) Passwords() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.passwords)
}

// Playing is the number of playbooks that run.
func (w *World) Playing() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

// Sealed are the files with secrets in a directory of the Ansible server.
func (w *World) Sealed(directory string) []string {
	w.mu.Lock()
	server := w.server
	w.mu.Unlock()
	if server == nil {
		return nil
	}
	return slices.DeleteFunc(server.List(directory), func(name string) bool { return !strings.HasPrefix(name, ".vnfm-sealed-") })
}

// Routes are the servers of the backend for node ports of the load balancers that are alive, by role and last number of the address.
func (w *World) Routes() []string {
	var found []string
	for _, servers := range w.View().Balancers {
		for _, server := range servers {
			if name, address, _ := strings.Cut(server, " "); !strings.Contains(address, ":") { // others have the port of the API
				found = append(found, strings.TrimRight(name, "0123456789-")+address[strings.LastIndexByte(address, '.')+1:])
			}
		}
	}
	slices.Sort(found)
	return found
}

func (w *World) surprise(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.surprises = append(w.surprises, fmt.Sprintf(format, args...))
}

// Surprises are what should not have happened.
func (w *World) Surprises() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(w.World.Surprises(), w.surprises)
}

// also plays what is run on nodes and load balancers for this driver alone.
func (w *World) also(_ context.Context, s *sshtest.Session) (status int, played bool) {
	switch command := strings.Join(s.Argv, " "); {
	case len(s.Argv) == 5 && s.Argv[3] == "kubespray-mtu":
		if w.options.NoMTU {
			return 1, true
		}
		_, _ = fmt.Fprintln(s.Stdout, "1450")
		return 0, true
	case command == "python3 -":
		return 0, true // a module of Ansible
	case command == "mkdir -p -m 700 .kube":
		return 0, true
	case strings.HasPrefix(command, "bash /tmp/install_external_lb.sh -m "):
		return w.install(s), true
	}
	return 0, false
}

func exit(s *sshtest.Session, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 1
	}
	return 0
}

const haproxyConfig = "/etc/haproxy/haproxy.cfg"

// install plays the script that installs a load balancer.
func (w *World) install(s *sshtest.Session) int {
	if len(s.Argv) != 6 || s.Argv[4] != "-w" || s.Root {
		w.surprise("the script for the load balancer is run as %q", s.Argv)
		return 2
	}
	config := "global\n    daemon\nfrontend kubernetes-apiserver\n    bind *:8383\n    default_backend kubernetes-apiserver\n\nbackend kubernetes-apiserver\n"
	for _, master := range strings.Split(s.Argv[3], ",") {
		config += "    server " + named("master", master) + " " + master + ":6443 check\n"
	}
	config += "\nbackend kubernetes-nodeport\n"
	for role, list := range map[string]string{"master": s.Argv[3], "worker": s.Argv[5]} {
		for _, node := range strings.Split(list, ",") {
			config += "    server " + named(role, node) + " " + node + " check port 10250\n"
		}
	}
	if err := s.Machine.MkdirAll("/etc/haproxy"); err != nil {
		return exit(s, err)
	}
	if err := s.Machine.WriteFile(haproxyConfig, []byte(config)); err != nil {
		return exit(s, err)
	}
	w.Balance(s.Machine)
	return 0
}

func named(role, address string) string {
	return role + "-" + strings.ReplaceAll(address, ".", "-")
}
