package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Packages of Debian and Ubuntu.
const (
	ServerPackage = "nfs-kernel-server"
	ClientPackage = "nfs-common"
)

// installScript installs a package unless it is there. An installation that was killed has to be ended first: apt-get refuses until then. Another
// apt may be at work on a machine that has just started, when dpkg ends with status 2, and there is no waiting for its lock on the lists.
const installScript = `[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] && exit 0
tries=60
until dpkg --configure -a; do
	[ $? = 2 ] && [ $tries -gt 0 ] || break
	tries=$((tries - 1))
	sleep 5
done
apt="apt-get -q -o DPkg::Lock::Timeout=300"
for try in 1 2 3 4 5 6 7 8 9; do
	$apt update && break
	sleep 10
done
$apt -y --no-install-recommends install "$1"`

// Install is a job of root that installs a package. env tells of a proxy, perhaps.
func Install(name string, env map[string]string) *ssh.Job {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["DEBIAN_FRONTEND"] = "noninteractive"
	return &ssh.Job{Argv: []string{"sh", "-c", installScript, "install-package", name}, Env: env}
}

// exportsFile has the exports of the cluster and no others.
const exportsFile = "/etc/exports.d/kubernetes.exports"

const exportOptions = "(rw,sync,no_subtree_check,insecure,all_squash)"

// Export makes the directories and exports them. *[mgmtdriver.Failure] if the NFS server does not export them then, with what it says.
func (s *Server) Export(ctx context.Context, host *ssh.Host) error {
	dirs := s.exportDirs()
	content := "# The directories that the Kubernetes cluster has volumes in.\n"
	for _, dir := range dirs {
		content += dir
		for _, export := range s.Exports {
			if export.Dir == dir {
				content += " " + export.To + exportOptions
			}
		}
		content += "\n"
	}
	// Clients come as nobody, whoever they are.
	for _, argv := range [][]string{append([]string{"mkdir", "-p", "--"}, dirs...), append([]string{"chown", "nobody:nogroup", "--"}, dirs...)} {
		if _, err := host.Run(ctx, ssh.Command{Argv: argv, Root: true}); err != nil {
			return err
		}
	}
	if err := host.Put(ctx, ssh.File{Path: exportsFile, Content: ssh.Bytes([]byte(content)), Mode: 0o644, Root: true}); err != nil {
		return err
	}
	for _, argv := range [][]string{{"systemctl", "enable", "--now", "nfs-server"}, {"exportfs", "-ra"}} {
		_, err := host.Run(ctx, ssh.Command{Argv: argv, Root: true})
		if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) {
			return &mgmtdriver.Failure{Title: "Directory cannot be exported", Status: http.StatusBadGateway, Detail: fmt.Sprintf(
				"Failed to setup NFS export on Storage Server VM: %v", err)}
		}
		if err != nil {
			return err
		}
	}
	return s.checkExports(ctx, host)
}

// exportDirs are the directories that are exported, in their order.
func (s *Server) exportDirs() []string {
	var dirs []string
	for _, export := range s.Exports {
		if !slices.Contains(dirs, export.Dir) {
			dirs = append(dirs, export.Dir)
		}
	}
	return dirs
}

// checkExports asks the NFS server what it exports.
func (s *Server) checkExports(ctx context.Context, host *ssh.Host) error {
	output, err := host.Run(ctx, ssh.Command{Argv: []string{"exportfs"}, Root: true, Quiet: true})
	if err != nil {
		return err
	}
	// Pairs of directory and client, on one line or on two.
	words := strings.Fields(output.Stdout)
	exported := map[Export]bool{}
	for i := 0; i+1 < len(words); i += 2 {
		exported[Export{Dir: words[i], To: words[i+1]}] = true
	}
	for _, export := range s.Exports {
		if !exported[export] {
			return &mgmtdriver.Failure{Title: "Directory is not exported", Status: http.StatusBadGateway, Detail: fmt.Sprintf(
				"Failed to setup NFS export on Storage Server VM(export_dir:%s). %s does not export it to %s; exportfs says: %s",
				export.Dir, host, export.To, strings.TrimSpace(output.Stdout))}
		}
	}
	return nil
}

// Unmounted are the exported directories that are on no volume of the server.
func (s *Server) Unmounted() []string {
	return slices.DeleteFunc(s.exportDirs(), func(dir string) bool {
		return slices.ContainsFunc(s.Mounts, func(m Mount) bool { return within(dir, m.Dir) })
	})
}
