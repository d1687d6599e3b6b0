package registrytest

import (
	"context"
	"fmt"
	"io"
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
	System       string        // ID and VERSION_ID of its os-release; "" = ubuntu 22.04
	Architecture string        // "" = x86_64
	Docker       bool          // runs already
	Preloaded    []string      // images that Docker has then
	Listener     string        // the process that listens at port 5000; "" = none
	Offline      bool          // Docker Hub cannot be reached
	JobTime      time.Duration // that installing, loading and pulling take each
	Mute         bool          // the registry does not answer
}

// World are machines. Its methods may be called from any goroutine.
type World struct {
	options Options

	mu        sync.Mutex
	machines  map[netip.Addr]*machine
	booted    []*machine
	faults    []*Fault
	surprises []string
	busy      int // jobs that run
}

// New returns a world without machines.
func New(options Options) *World {
	if options.System == "" {
		options.System = "ubuntu 22.04"
	}
	if options.Architecture == "" {
		options.Architecture = "x86_64"
	}
	return &World{options: options, machines: map[netip.Addr]*machine{}}
}

// Fault makes commands fail.
type Fault struct {
	Command string // a part of the command
	Times   int    // 0 = ever
	Late    bool   // it fails when it has done its work
	Stderr  string
}

// Fail makes commands fail from now on.
func (w *World) Fail(fault Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, &fault)
}

// fault is that of a command; nil if there is none. The lock is held.
func (w *World) fault(command string, late bool) *Fault {
	for i, f := range w.faults {
		if f.Late != late || !strings.Contains(command, f.Command) {
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

// Surprises are what should not have happened.
func (w *World) Surprises() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.surprises)
}

// View is what a machine looks like.
type View struct {
	Installed, Restarted int               // how often Docker was
	Loaded, Pulled       int               // how often an image was
	Runs                 int               // how often a container was run
	Proxy                string            // the drop-in that Docker was started with
	Env                  map[string]string // in which Docker was installed
	Images               []string
	Container            *Container // private_registry; nil = none
	Files                []string   // that are left of an image
}

// View tells what the machine at an address is like.
func (w *World) View(address netip.Addr) View {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[address]; m != nil {
		return m.view()
	}
	return View{}
}

// Views are those of all machines that there have been, in the order in which they were booted.
func (w *World) Views() []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	views := make([]View, len(w.booted))
	for i, m := range w.booted {
		views[i] = m.view()
	}
	return views
}

// view tells what the machine is like. The lock is held.
func (m *machine) view() View {
	v := m.seen
	v.Images = slices.Sorted(maps.Keys(m.images))
	if c := m.containers[registryName]; c != nil {
		copied := *c
		v.Container = &copied
	}
	if m.server != nil && m.read(archivePath) != "" {
		v.Files = []string{archivePath}
	}
	return v
}

// Busy is the number of jobs that run.
func (w *World) Busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

// Change changes the container of the machine at an address behind the driver's back.
func (w *World) Change(address netip.Addr, change func(*Container)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.machines[address].containers[registryName])
}

const (
	registryName = "private_registry"
	home         = "/home/ubuntu"
	archivePath  = home + "/.vnfm/private_registry.tar"
)

// machine is a booted machine.
type machine struct {
	world      *World
	server     *sshtest.Server // set by the first command
	docker     bool
	images     map[string]string // their ids
	containers map[string]*Container
	seen       View
}

// Boot boots a machine at addresses and returns what plays its commands.
func (w *World) Boot(addresses ...netip.Addr) sshtest.Handler {
	m := &machine{world: w, docker: w.options.Docker, images: map[string]string{}, containers: map[string]*Container{}}
	for _, name := range w.options.Preloaded {
		m.images[name] = "sha256:preloaded-" + name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, address := range addresses {
		w.machines[address] = m
	}
	w.booted = append(w.booted, m)
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
	id, version, _ := strings.Cut(m.world.options.System, " ")
	m.put("/etc/os-release", fmt.Sprintf("NAME=%q\nID=%s\nVERSION_ID=%q\nID_LIKE=debian\n", id, id, version))
}

// put writes a file.
func (m *machine) put(path, content string) {
	err := m.server.MkdirAll(path[:strings.LastIndexByte(path, '/')])
	if err == nil {
		err = m.server.WriteFile(path, []byte(content))
	}
	if err != nil {
		m.surprise("%v", err)
	}
}

func (m *machine) read(path string) string {
	content, err := m.server.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}

// surprise notes what must not happen. The lock is held.
func (m *machine) surprise(format string, args ...any) {
	m.world.surprises = append(m.world.surprises, fmt.Sprintf(format, args...))
}

// run plays a command.
func (m *machine) run(ctx context.Context, s *sshtest.Session) int {
	w, command := m.world, strings.Join(s.Argv, " ")
	input := ""
	if s.Argv[0] == "sh" && len(s.Argv) == 3 && s.Argv[1] == installPath {
		content, err := io.ReadAll(s.Stdin)
		if err != nil {
			return 74
		}
		input = string(content)
	}
	if isLong(s.Argv) {
		_, _ = fmt.Fprintln(s.Stdout, "begun")
		if err := w.work(ctx); err != nil {
			return 1
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.fault(command, false); f != nil {
		return refuse(s, f.Stderr)
	}
	status := m.play(s, input)
	if f := w.fault(command, true); f != nil {
		return refuse(s, f.Stderr)
	}
	return status
}

// work takes the time of a job.
func (w *World) work(ctx context.Context) error {
	count := func(n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.busy += n
	}
	count(1)
	defer count(-1)
	timer := time.NewTimer(w.options.JobTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func isLong(argv []string) bool {
	return argv[0] == "sh" && argv[1] == installPath || argv[0] == "docker" && (argv[1] == "load" || argv[1] == "pull")
}

func refuse(s *sshtest.Session, text string) int {
	_, _ = fmt.Fprintln(s.Stderr, text)
	return 1
}
