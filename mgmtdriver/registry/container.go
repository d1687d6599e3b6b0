package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

const (
	container     = "private_registry"
	containerPort = "5000"
	imagesDir     = "/var/lib/registry" // in the container
)

// inspected is what Docker tells of a container, as far as it matters.
type inspected struct {
	Image string // its id
	State struct{ Status string }
	// What it was made with.
	HostConfig struct {
		Binds         []string
		PortBindings  map[string][]struct{ HostIP, HostPort string }
		RestartPolicy struct{ Name string }
	}
}

// inspect returns the container; nil if there is none.
func (s *site) inspect(ctx context.Context) (*inspected, error) {
	names, err := s.docker(ctx, "ps", "--all", "--filter", "name=^/"+container+"$", "--format", "{{.Names}}")
	if err != nil || strings.TrimSpace(names) == "" {
		return nil, err
	}
	output, err := s.docker(ctx, "container", "inspect", container)
	if err != nil {
		return nil, err
	}
	var found []inspected
	if err := json.Unmarshal([]byte(output), &found); err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%s: docker container inspect says %.200q: %w", s.host, output, err)
	}
	return &found[0], nil
}

// volume is where the registry keeps the images of its users: in the home of who logs in.
func (m *machine) volume() string { return path.Join(m.Home, "registry") + ":" + imagesDir }

// serves reports whether the container lives and is what it would be if it was made now.
func (c *inspected) serves(imageID, volume string, port int) bool {
	ports := c.HostConfig.PortBindings[containerPort+"/tcp"]
	return c.Image == imageID && (c.State.Status == "running" || c.State.Status == "restarting") && c.HostConfig.RestartPolicy.Name == "always" &&
		slices.Equal(c.HostConfig.Binds, []string{volume}) && len(ports) == 1 && ports[0].HostIP == "" && ports[0].HostPort == strconv.Itoa(port)
}

// run runs the container. One that is another, or dead, makes room for it: what the registry holds is outside of it.
func (s *site) run(ctx context.Context) (mgmtdriver.Result, error) {
	m, err := s.machine()
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	found, err := s.inspect(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	id, err := s.imageID(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if found != nil {
		if found.serves(id, m.volume(), s.port) {
			return mgmtdriver.Done(nil), nil
		}
		if _, err := s.docker(ctx, "rm", "--force", container); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	if err := s.checkPort(ctx); err != nil {
		return mgmtdriver.Result{}, err
	}
	_, err = s.docker(ctx, "run", "-d", "-p", strconv.Itoa(s.port)+":"+containerPort, "-v", m.volume(), "--restart=always",
		"--name", container, image)
	return mgmtdriver.Done(nil), err
}

// checkPort fails if something else uses the port of the registry.
func (s *site) checkPort(ctx context.Context) error {
	holder, err := s.holder(ctx)
	if err != nil || holder == "" {
		return err
	}
	by := "process " + holder
	if ofDocker[holder] {
		names, err := s.docker(ctx, "ps", "--filter", "publish="+strconv.Itoa(s.port), "--format", "{{.Names}}")
		if err != nil {
			return err
		}
		if names = strings.Join(strings.Fields(names), ", "); names != "" {
			by = "container " + names
		}
	}
	return s.portTaken(by)
}

// askScript asks a server on the host something over HTTP, and writes the first line of the answer. Bash can do so itself, so that nothing
// has to be installed.
const askScript = `exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3 && IFS= read -r line <&3 && printf '%s\n' "$line"`

// answer waits until the registry answers.
func (s *site) answer(ctx context.Context) (mgmtdriver.Result, error) {
	since := s.call.Since()
	found, err := s.inspect(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	status, said := "not there", ""
	if found != nil {
		status = found.State.Status
		output, err := s.host.Run(ctx, ssh.Command{
			Argv: []string{"timeout", "10", "bash", "-c", askScript, "ask", strconv.Itoa(s.port), "/v2/"}, Quiet: true, Limit: 1 << 10,
		})
		if !exited(err) {
			return mgmtdriver.Result{}, err
		}
		said = strings.TrimSpace(output.Stdout)
	}
	if status == "running" && strings.HasPrefix(said, "HTTP/1.") && strings.Contains(said, " 200") {
		return mgmtdriver.Done(nil), nil
	}
	told := fmt.Sprintf("container %s is %s, and at port %d answers %q", container, status, s.port, said)
	if said == "" {
		told = fmt.Sprintf("container %s is %s, and nobody answers at port %d", container, status, s.port)
	}
	if time.Since(since) <= s.driver.config.AnswerTime {
		return mgmtdriver.Wait(told).With(since), nil
	}
	if found == nil {
		return mgmtdriver.Result{}, s.failure("Failed to run Private registry container: %s", told)
	}
	logs, err := s.host.Run(ctx, ssh.Command{Argv: []string{"docker", "logs", "--tail", "20", container}, Root: true, Limit: 8 << 10})
	if !exited(err) {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Result{}, s.failure("Failed to run Private registry container: %s; it has said: %s", told,
		strings.TrimSpace(logs.Stdout+logs.Stderr))
}
