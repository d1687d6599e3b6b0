//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// startAnsible makes a server that is the Ansible server, with the tree of playbooks in its home.
func (s *kubespray) startAnsible() {
	s.t.Helper()
	made := openstackJSON[map[string]any](s.t, "server", "create", "--image", "ubuntu", "--flavor", "m1.tiny", "--network", "net0", "ansible")
	s.ansible = made["id"].(string)
	s.t.Cleanup(func() { openstack(s.t, "server", "delete", s.ansible) })
	eventually(s.t, "the Ansible server has an address", func() bool {
		content, err := os.ReadFile(hostsDir() + "/fs/vms/" + s.ansible + "/ips")
		s.address = strings.TrimSpace(string(content))
		return err == nil && s.address != ""
	})
	script(s.t, "openstack/hosts", "wait", s.address)
	home := hostsDir() + "/fs/vms/" + s.ansible + "/root" + filepath.Dir(kubesprayRoot)
	for _, argv := range [][]string{{"cp", "-rT", "kubespray/tree", home + "/kubespray"}, {"chown", "-R", "1000:1000", home}} {
		if out, err := exec.CommandContext(s.t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
			s.t.Fatalf("%q: %v: %s", argv, err, out)
		}
	}
}

// onAnsible is the path, on this machine, of a file in the tree of the Ansible server.
func (s *kubespray) onAnsible(path string) string {
	return hostsDir() + "/fs/vms/" + s.ansible + "/root" + kubesprayRoot + "/" + path
}

// noteAnsible notes what has been written down on the Ansible server.
func (s *kubespray) noteAnsible() {
	s.t.Helper()
	root := hostsDir() + "/fs/vms/" + s.ansible + "/root"
	for _, dir := range []string{"/home/ubuntu", "/tmp", "/var/log"} {
		_ = filepath.WalkDir(root+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // what has been removed tells nothing
			}
			if content, err := os.ReadFile(path); err == nil {
				s.traces["Ansible server: "+strings.TrimPrefix(path, root)] = string(content)
			}
			return nil
		})
	}
}
