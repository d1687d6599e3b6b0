package registrytest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfm/mgmtdriver/ssh/sshtest"
)

const (
	installPath = "/var/lib/vnfm/install-docker.sh"
	dropIn      = "/etc/systemd/system/docker.service.d/http-proxy.conf"
)

// play plays a command. The lock is held.
func (m *machine) play(s *sshtest.Session, input string) int {
	command := strings.Join(s.Argv, " ")
	switch {
	case command == "uname -m":
		_, _ = fmt.Fprintln(s.Stdout, m.world.options.Architecture)
		return 0
	case command == "sh -c cd && pwd" && !s.Root:
		_, _ = fmt.Fprintln(s.Stdout, home)
		return 0
	case command == "rm -f "+archivePath && !s.Root:
		if err := m.server.Remove(archivePath); err != nil {
			return refuse(s, err.Error())
		}
		return 0
	case strings.HasPrefix(command, "ss -Hltnp sport = :") && s.Root:
		m.listeners(s, s.Argv[4][1:])
		return 0
	case command == "sh "+installPath+" "+dropIn && s.Root:
		return m.install(s, input)
	case strings.HasPrefix(command, "timeout 10 bash -c ") && len(s.Argv) == 8 && s.Argv[7] == "/v2/" && !s.Root:
		return m.ask(s, s.Argv[6])
	case s.Argv[0] == "docker" && s.Root:
		if !m.docker {
			return refuse(s, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
		}
		return m.playDocker(s)
	}
	m.surprise("nobody plays %q (root: %t)", s.Argv, s.Root)
	_, _ = fmt.Fprintf(s.Stderr, "registrytest: %q is not known here\n", s.Argv)
	return 127
}

// listeners tells who listens at a port, as ss does.
func (m *machine) listeners(s *sshtest.Session, port string) {
	process := ""
	if port == "5000" {
		process = m.world.options.Listener
	}
	for _, c := range m.containers {
		if c.Status == "running" && c.Port == port {
			process = "docker-proxy"
		}
	}
	if process != "" {
		_, _ = fmt.Fprintf(s.Stdout, "LISTEN 0 4096 0.0.0.0:%s 0.0.0.0:* users:((%q,pid=812,fd=4))\n", port, process)
	}
}

// install plays the script that installs Docker.
func (m *machine) install(s *sshtest.Session, input string) int {
	if !strings.HasPrefix(m.read(installPath), "#!/bin/sh\n# Has Docker installed") {
		return refuse(s, "sh: 0: cannot open "+installPath)
	}
	if !m.docker {
		m.docker = true
		m.seen.Installed++
		m.seen.Env = maps.Clone(s.Env)
	}
	if input != "" && input != m.seen.Proxy {
		m.seen.Proxy = input
		m.seen.Restarted++
	}
	return 0
}

// ask asks the registry, or whoever listens there.
func (m *machine) ask(s *sshtest.Session, port string) int {
	c := m.containers[registryName]
	if c == nil || c.Status != "running" || c.Port != port || m.world.options.Mute {
		return refuse(s, "bash: connect: Connection refused")
	}
	_, _ = fmt.Fprint(s.Stdout, "HTTP/1.0 200 OK\r\n")
	return 0
}

// Container is a container of Docker.
type Container struct {
	Image   string // its name
	ID      string // of the image
	Port    string // of the machine, for port 5000 of the container
	Volume  string
	Restart string
	Status  string
}

// playDocker plays a command of Docker. The lock is held.
func (m *machine) playDocker(s *sshtest.Session) int {
	args := s.Argv[1:]
	command := strings.Join(args, " ")
	switch {
	case command == "load --input "+archivePath:
		return m.load(s)
	case command == "pull registry:latest":
		if m.world.options.Offline {
			return refuse(s, `Error response from daemon: Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host`)
		}
		m.seen.Pulled++
		m.images["registry:latest"] = "sha256:pulled"
		return 0
	case command == "image ls --quiet --no-trunc registry:latest":
		if id := m.images["registry:latest"]; id != "" {
			_, _ = fmt.Fprintln(s.Stdout, id)
		}
		return 0
	case command == "ps --all --filter name=^/private_registry$ --format {{.Names}}":
		if m.containers[registryName] != nil {
			_, _ = fmt.Fprintln(s.Stdout, registryName)
		}
		return 0
	case strings.HasPrefix(command, "ps --filter publish=") && len(args) == 5:
		for _, name := range slices.Sorted(maps.Keys(m.containers)) {
			if c := m.containers[name]; c.Status == "running" && "publish="+c.Port == args[2] {
				_, _ = fmt.Fprintln(s.Stdout, name)
			}
		}
		return 0
	case command == "container inspect private_registry":
		return m.inspect(s)
	case command == "rm --force private_registry":
		delete(m.containers, registryName)
		return 0
	case command == "logs --tail 20 private_registry":
		_, _ = fmt.Fprintln(s.Stderr, "time=now level=fatal msg=\"configuration error\"")
		return 0
	case len(args) == 10 && args[0] == "run":
		return m.runContainer(s, args)
	}
	m.surprise("nobody plays docker %q", args)
	return 125
}

func (m *machine) inspect(s *sshtest.Session) int {
	c := m.containers[registryName]
	if c == nil {
		return refuse(s, "Error: No such container: "+registryName)
	}
	_, _ = fmt.Fprintf(s.Stdout, `[{"Image": %q, "State": {"Status": %q}, "Config": {"Image": %q}, "HostConfig": {"Binds": [%q],
		"PortBindings": {"5000/tcp": [{"HostIp": "", "HostPort": %q}]}, "RestartPolicy": {"Name": %q, "MaximumRetryCount": 0}}}]`+"\n",
		c.ID, c.Status, c.Image, c.Volume, c.Port, c.Restart)
	return 0
}

// runContainer plays docker run with the words that it has to have.
func (m *machine) runContainer(s *sshtest.Session, args []string) int {
	c := &Container{Image: args[9], Port: strings.TrimSuffix(args[3], ":5000"), Volume: args[5], Restart: strings.TrimPrefix(args[6], "--restart=")}
	if args[1] != "-d" || args[2] != "-p" || args[4] != "-v" || args[7]+" "+args[8] != "--name "+registryName {
		m.surprise("nobody plays docker %q", args)
		return 125
	}
	if m.containers[registryName] != nil {
		m.surprise("a second container is run")
		return refuse(s, `Conflict. The container name "/private_registry" is already in use`)
	}
	c.ID, c.Status = m.images[c.Image], "running"
	if c.ID == "" {
		return refuse(s, "Unable to find image '"+c.Image+"' locally")
	}
	m.containers[registryName] = c
	m.seen.Runs++
	_, _ = fmt.Fprintln(s.Stdout, "d0c4e2")
	return 0
}
