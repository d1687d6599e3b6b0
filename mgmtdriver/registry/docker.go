package registry

import (
	"context"
	_ "embed" // for the script
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// machine is what the driver needs to know of the VM; the output of the step examine.
type machine struct {
	Home string `json:"home"` // of who logs in
}

func (s *site) machine() (*machine, error) {
	found := &machine{}
	return found, s.call.Output(string(s.call.Hook)+"/examine", found)
}

// oldest are the systems that the driver knows, with the version from which on Docker is among their packages as it is needed.
var oldest = map[string]float64{"ubuntu": 20.04, "debian": 12}

// architectures are those of the machines for which there are images of the registry, as uname calls them.
var architectures = map[string]bool{"x86_64": true, "aarch64": true}

// examine looks at the VM before anything is changed.
func (s *site) examine(ctx context.Context) (mgmtdriver.Result, error) {
	release, err := s.host.Read(ctx, "/etc/os-release", false, 64<<10)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	uname, err := s.host.Run(ctx, ssh.Command{Argv: []string{"uname", "-m"}, Quiet: true})
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	id, version := osField(release, "ID"), osField(release, "VERSION_ID")
	architecture := strings.TrimSpace(uname.Stdout)
	least, known := oldest[id]
	if number, err := strconv.ParseFloat(version, 64); !known || err != nil || number < least || !architectures[architecture] {
		return mgmtdriver.Result{}, s.failure("Failed to install. Your OS does not support at present: it is %s %s on %s, "+
			"and has to be Ubuntu 20.04 or newer, or Debian 12 or newer, on x86_64 or aarch64", id, version, architecture)
	}
	holder, err := s.holder(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if holder != "" && !ofDocker[holder] {
		return mgmtdriver.Result{}, s.portTaken("process " + holder)
	}
	home, err := s.host.Run(ctx, ssh.Command{Argv: []string{"sh", "-c", "cd && pwd"}, Quiet: true})
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Done(machine{Home: strings.TrimRight(home.Stdout, "\n")}), nil
}

// osField is a field of os-release(5), without its quotes.
func osField(release []byte, name string) string {
	for line := range strings.Lines(string(release)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return ""
}

// Docker comes from the distribution (docker.io): its key is on the VM already, its mirror is reached where nothing else is, and it gets the
// distribution's security updates. Docker's own repository would have to be reached, and its key fetched, for a newer version of which the
// registry has no use. A Docker that is there is taken as it is.
var (
	//go:embed scripts/install-docker.sh
	installScript []byte
)

const (
	installPath = "/var/lib/vnfm/install-docker.sh"
	dropIn      = "/etc/systemd/system/docker.service.d/http-proxy.conf"
)

// installDocker has Docker run, with the proxy.
func (s *site) installDocker(ctx context.Context) (mgmtdriver.Result, error) {
	if err := s.host.Put(ctx, ssh.File{Path: installPath, Content: ssh.Bytes(installScript), Mode: 0o755, Root: true}); err != nil {
		return mgmtdriver.Result{}, err
	}
	job := ssh.Job{ID: ssh.JobID(s.call, "docker"), Argv: []string{"sh", installPath, dropIn}, Env: map[string]string{}}
	// apt reads the same variables as the daemon, in small letters.
	var unit strings.Builder
	for name, value := range map[string]string{"http_proxy": s.proxy.HTTP, "https_proxy": s.proxy.HTTPS, "no_proxy": s.proxy.NoProxy} {
		if value != "" {
			job.Env[name] = value
		}
	}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		if value := job.Env[name]; value != "" {
			_, _ = fmt.Fprintf(&unit, "Environment=\"%s=%s\"\n", strings.ToUpper(name), unitValue.Replace(value))
		}
	}
	if unit.Len() > 0 {
		job.Stdin = []byte("[Service]\n" + unit.String())
	}
	return s.drive(ctx, job, "install Docker")
}

// unitValue writes what is in quotes in a unit of systemd.
var unitValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`)

// ofDocker are the processes that listen for containers.
var ofDocker = map[string]bool{"docker-proxy": true, "dockerd": true}

var listening = regexp.MustCompile(`users:\(\("([^"]+)"`)

// holder is the process that listens at the port of the registry; "" if none does, and "unknown" if it cannot be told.
func (s *site) holder(ctx context.Context) (string, error) {
	output, err := s.host.Run(ctx, ssh.Command{Argv: []string{"ss", "-Hltnp", "sport", "=", ":" + strconv.Itoa(s.port)}, Root: true, Quiet: true})
	if err != nil || strings.TrimSpace(output.Stdout) == "" {
		return "", err
	}
	if found := listening.FindStringSubmatch(output.Stdout); found != nil {
		return found[1], nil
	}
	return "unknown", nil
}

func (s *site) portTaken(by string) error {
	return s.failure("port %d is in use by %s: choose another port_no, or free it", s.port, by)
}

// archivePath is where the image from the package is on the VM until it is loaded.
func (m *machine) archivePath() string { return path.Join(m.Home, ".vnfm", "private_registry.tar") }
