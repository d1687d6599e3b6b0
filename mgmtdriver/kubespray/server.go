package kubespray

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// The scripts that run on the Ansible server. Each is known by its name, which is its $0.
const (
	// readyScript tells whether the server has what is needed, and where. $1 = root of kubespray, $2 = directory of the inventory, $3 = instance.
	readyScript = `fail() { echo "$*" >&2; exit 65; }
[ -d "$1" ] || fail "there is no directory $1 (kubespray_root_path)"
for book in cluster.yml scale.yml remove-node.yml; do
	[ -f "$1/$book" ] || fail "$1 (kubespray_root_path) is no kubespray: it has no $book"
done
for facts in facts.yml playbooks/facts.yml ''; do
	[ -n "$facts" ] || fail "$1 (kubespray_root_path) is no kubespray: it has no facts.yml"
	if [ -f "$1/$facts" ]; then break; fi
done
command -v sshpass >/dev/null || fail "sshpass is not installed"
for program in "$(command -v ansible-playbook)" "$HOME/.local/bin/ansible-playbook" "$1/venv/bin/ansible-playbook" "$1/../kubespray-venv/bin/ansible-playbook" ''; do
	[ -n "$program" ] || continue
	if [ -x "$program" ]; then break; fi
done
[ -n "$program" ] || fail "ansible-playbook is not installed"
if { [ -e "$2" ] || [ -h "$2" ]; } && [ "$(cat -- "$2/` + markerFile + `" 2>/dev/null)" != "$3" ]; then
	fail "The transferring_inventory_path has exists in kubespray server. Please check your path: $2 was not made for this VNF instance"
fi
echo "$program"
echo "$facts"`

	// claimScript makes the directory of the inventory, with the variables of kubespray's sample, all at once. $1 to $3 are as above.
	claimScript = `set -eu
umask 077
mkdir -p -- "$HOME/.ansible/cp"
if [ -e "$2/` + markerFile + `" ]; then exit 0; fi
new=$2.vnfm-$3
rm -rf -- "$new"
mkdir -p -- "$new"
if [ -d "$1/inventory/sample/group_vars" ]; then cp -R -- "$1/inventory/sample/group_vars" "$new/group_vars"; fi
echo "$3" >"$new/` + markerFile + `"
mv -T -- "$new" "$2"`

	// oursScript says whether the directory is that of the instance.
	oursScript = `[ "$(cat -- "$2/` + markerFile + `" 2>/dev/null)" != "$3" ] || echo ours`

	// releaseScript removes the directory, if it is that of the instance.
	releaseScript = `set -eu
if [ "$(cat -- "$2/` + markerFile + `" 2>/dev/null)" = "$3" ]; then rm -rf -- "$2"; fi
rm -rf -- "$2.vnfm-$3"`

	// shredScript removes what a run that has ended has left of secrets. $1 = directory of the inventory, $2 = mark of the run.
	shredScript = `rm -f -- "$1/` + sealedFile + `$2-"*`

	// forgetScript removes hosts from the known ones of the user, who may have logged in to them.
	forgetScript = `[ -e "$HOME/.ssh/known_hosts" ] || exit 0
for host; do ssh-keygen -f "$HOME/.ssh/known_hosts" -R "$host" >/dev/null 2>&1 || echo "$host stays in known_hosts" >&2; done`

	notReady = 65
)

// server is the Ansible server on behalf of a call.
type server struct {
	*ssh.Host
	ansible
	instanceID string
	log        *slog.Logger
}

// server returns the Ansible server.
func (d *Driver) server(call *mgmtdriver.Call, of ansible, secrets *ssh.Redactor) *server {
	target := ssh.Target{
		Name: "Ansible server", Address: netip.AddrPortFrom(of.address, d.config.SSHPort), User: of.username, Password: of.password,
	}
	return &server{Host: d.pool.Host(call, target, secrets), ansible: of, instanceID: call.Instance.ID, log: call.Log}
}

// script runs a script with the root of kubespray, the directory of the inventory and the instance as arguments. *[mgmtdriver.Failure] with the
// reason if the script says that the server is not as it has to be.
func (a *server) script(ctx context.Context, name, script string, quiet bool) (*ssh.Output, error) {
	output, err := a.Run(ctx, ssh.Command{Argv: []string{"sh", "-c", script, name, a.root, a.directory, a.instanceID}, Quiet: quiet})
	var exit *ssh.ExitError
	if errors.As(err, &exit) && exit.Status == notReady {
		return nil, &mgmtdriver.Failure{Title: "Ansible server is not ready", Status: http.StatusUnprocessableEntity, Detail: exit.Host + ": " + exit.Stderr}
	}
	return output, err
}

// tools is where the Ansible server has its programs.
type tools struct {
	Ansible string `json:"ansible"` // ansible-playbook
	Facts   string `json:"facts"`   // the playbook that gathers facts, in the root of kubespray
}

// ready finds out whether the server has what is needed. Nothing is changed.
func (a *server) ready(ctx context.Context) (*tools, error) {
	output, err := a.script(ctx, "kubespray-ready", readyScript, true)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(output.Stdout), "\n")
	if len(lines) != 2 {
		return nil, fmt.Errorf("%s: unexpected answer %q", a, output.Stdout)
	}
	return &tools{Ansible: lines[0], Facts: lines[1]}, nil
}

// claim makes the directory of the inventory, unless it is there.
func (a *server) claim(ctx context.Context) error {
	if _, err := a.ready(ctx); err != nil { // the directory may be somebody else's
		return err
	}
	_, err := a.script(ctx, "kubespray-claim", claimScript, false)
	return err
}

// put writes a file into the directory of the inventory.
func (a *server) put(ctx context.Context, name string, content []byte) error {
	return a.Put(ctx, ssh.File{Path: path.Join(a.directory, name), Content: ssh.Bytes(content)})
}

// enter sees to it that of all playbooks of the cluster only the one of a job runs: one that an operation has begun that was given up may still
// do so.
func (a *server) enter(ctx context.Context, job string) error {
	jobs, err := a.jobs(ctx)
	if err != nil {
		return err
	}
	if err := a.stopLast(ctx, jobs, job); err != nil {
		return err
	}
	return a.note(ctx, append(slices.DeleteFunc(jobs, func(id string) bool { return id == job }), job))
}

// ours reports whether the directory of the inventory is there, and that of the instance.
func (a *server) ours(ctx context.Context) (bool, error) {
	output, err := a.script(ctx, "kubespray-ours", oursScript, true)
	return err == nil && output.Stdout != "", err
}

// stop stops the playbook that runs. That of another cluster goes on, whatever directory the request names.
func (a *server) stop(ctx context.Context) error {
	jobs, err := a.jobs(ctx)
	if err != nil {
		return err
	}
	return a.stopLast(ctx, jobs, "")
}

// stopLast stops the last of some jobs, which alone may run, unless it is the one that is to run.
func (a *server) stopLast(ctx context.Context, jobs []string, except string) error {
	if len(jobs) == 0 || jobs[len(jobs)-1] == except {
		return nil
	}
	id := jobs[len(jobs)-1]
	if err := a.Cancel(ctx, ssh.Job{ID: id, Argv: []string{id}}, 0); err != nil {
		return err
	}
	return a.shred(ctx, id)
}

// jobs are those that the directory of the inventory tells of, if it is that of the instance.
func (a *server) jobs(ctx context.Context) ([]string, error) {
	if ours, err := a.ours(ctx); err != nil || !ours {
		return nil, err
	}
	content, err := a.Read(ctx, path.Join(a.directory, runFile), false, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(content)), err
}

// tidy removes what the server keeps of jobs that have ended, when nobody asks for it any more. Those that stay are known for the next time.
func (a *server) tidy(ctx context.Context) error {
	jobs, err := a.jobs(ctx)
	if err != nil || len(jobs) == 0 {
		return err
	}
	var failed error
	stay := slices.DeleteFunc(slices.Clone(jobs), func(id string) bool {
		err := a.Clean(ctx, ssh.Job{ID: id})
		failed = errors.Join(failed, err)
		return err == nil
	})
	return errors.Join(failed, a.note(ctx, stay))
}

// note keeps which jobs the directory of the inventory tells of.
func (a *server) note(ctx context.Context, jobs []string) error {
	var content strings.Builder
	for _, id := range jobs {
		content.WriteString(id + "\n")
	}
	return a.put(ctx, runFile, []byte(content.String()))
}

// sealed is the beginning of the names of the files with the secrets of a job.
func sealed(job string) string {
	digest := sha256.Sum256([]byte(job))
	return hex.EncodeToString(digest[:4])
}

// shred removes the secrets of a job that has ended.
func (a *server) shred(ctx context.Context, job string) error {
	_, err := a.Run(ctx, ssh.Command{Argv: []string{"sh", "-c", shredScript, "kubespray-shred", a.directory, sealed(job)}})
	return err
}

// release removes all that the driver has left on the server. What is somebody else's stays as it is, and keeps no operation from its end.
func (a *server) release(ctx context.Context, hosts []netip.Addr) error {
	ours, err := a.ours(ctx)
	if err != nil {
		return err
	}
	if ours {
		if err := a.stop(ctx); err != nil {
			return err
		}
		if err := a.tidy(ctx); err != nil {
			a.log.WarnContext(ctx, "the output of playbooks stays on the Ansible server", "host", a.String(), "error", err)
		}
		if err := a.forget(ctx, hosts); err != nil {
			return err
		}
	} else {
		a.log.WarnContext(ctx, "the Ansible server has no such directory, or it was not made for this VNF instance: nothing is stopped or removed",
			"host", a.String(), "directory", a.directory)
	}
	_, err = a.script(ctx, "kubespray-release", releaseScript, false)
	return err
}

// releaseFormer is release of a server that a cluster was made with before, and that may be no more.
func (a *server) releaseFormer(ctx context.Context, hosts []netip.Addr) {
	if err := a.release(ctx, hosts); err != nil {
		a.log.WarnContext(ctx, "what belongs to a cluster stays on its former Ansible server", "error", err)
	}
}

// forget removes hosts, and no others, from those that the user of the server knows.
func (a *server) forget(ctx context.Context, hosts []netip.Addr) error {
	if len(hosts) == 0 {
		return nil
	}
	argv := []string{"sh", "-c", forgetScript, "kubespray-forget"}
	for _, host := range hosts {
		argv = append(argv, slices.Compact([]string{host.String(), knownName(host, a.Target().Address.Port())})...)
	}
	_, err := a.Run(ctx, ssh.Command{Argv: argv})
	return err
}
