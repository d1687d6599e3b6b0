package balancer

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"path"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// APIPort is where a load balancer answers for the Kubernetes API.
const APIPort = 8383

const (
	configPath = "/etc/haproxy/haproxy.cfg"
	newPath    = configPath + ".vnfm" // in the same directory, so that it takes the place of the other at once
)

// Install is the installation of a load balancer by a script.
type Install struct {
	Script  string            // its path in the VNF package
	Masters []netip.Addr      // in the network of the cluster
	Workers []netip.Addr      // the same
	Env     map[string]string // such as a proxy
}

// path is where the script is on the load balancer.
func (i *Install) path() string { return "/tmp/" + path.Base(i.Script) }

// File is the script as it has to be put on the load balancer.
func (i *Install) File(content []byte) ssh.File {
	return ssh.File{Path: i.path(), Content: ssh.Bytes(content), Mode: 0o700}
}

// Job runs the script: bash SCRIPT -m MASTERS -w WORKERS, with commas between the addresses.
func (i *Install) Job(id string) ssh.Job {
	return ssh.Job{ID: id, Argv: []string{"bash", i.path(), "-m", list(i.Masters), "-w", list(i.Workers)}, Env: i.Env}
}

func list(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, address := range addresses {
		texts[i] = address.String()
	}
	return strings.Join(texts, ",")
}

// replaceScript puts a file into the place of another, with the rights of that.
const replaceScript = `chmod --reference="$2" -- "$1" && chown --reference="$2" -- "$1" && mv -fT -- "$1" "$2"`

// Update changes the configuration of a load balancer, like [Edit].
func Update(ctx context.Context, host *ssh.Host, change func(*Config) error) error {
	return Edit(ctx, host, func(content string) (string, error) {
		config := Parse(content)
		err := change(config)
		return config.String(), err
	})
}

// Edit changes the configuration of HAProxy. HAProxy has to accept the new one before it takes the place of the old one, and reloads
// it without a break. It is idempotent. *[mgmtdriver.Failure] if HAProxy does not accept it, and nothing has changed then; else the errors of
// [ssh.Host.Run], and those of change.
func Edit(ctx context.Context, host *ssh.Host, change func(content string) (string, error)) error {
	content, err := host.Read(ctx, configPath, true, 1<<20)
	if err != nil {
		return err
	}
	changed, err := change(string(content))
	if err != nil {
		var failure *mgmtdriver.Failure
		if errors.As(err, &failure) {
			return &mgmtdriver.Failure{Title: failure.Title, Status: failure.Status, Detail: host.String() + ": " + failure.Detail}
		}
		return err
	}
	if changed != string(content) {
		if err := replace(ctx, host, changed); err != nil {
			return err
		}
	}
	// Also if nothing has changed: whoever changed it may have died before this.
	_, err = host.Run(ctx, ssh.Command{Argv: []string{"systemctl", "reload-or-restart", "haproxy"}, Root: true})
	return err
}

func replace(ctx context.Context, host *ssh.Host, config string) error {
	if err := host.Put(ctx, ssh.File{Path: newPath, Content: ssh.Bytes([]byte(config)), Mode: 0o600, Root: true}); err != nil {
		return err
	}
	_, err := host.Run(ctx, ssh.Command{Argv: []string{"haproxy", "-c", "-q", "-f", newPath}, Root: true})
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return &mgmtdriver.Failure{Title: "Load balancer does not accept its configuration", Status: http.StatusUnprocessableEntity,
			Detail: exit.Host + ": " + cmp.Or(exit.Stderr, exit.Stdout, exit.Error())}
	}
	if err == nil {
		_, err = host.Run(ctx, ssh.Command{Argv: []string{"sh", "-c", replaceScript, "replace", newPath, configPath}, Root: true})
	}
	return err
}
