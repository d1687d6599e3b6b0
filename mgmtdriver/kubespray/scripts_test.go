package kubespray

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfm/mgmtdriver/drivertest"
)

// ansibleHome is the home of the user of an Ansible server, with kubespray in it.
func ansibleHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, file := range []string{"cluster.yml", "scale.yml", "remove-node.yml", "playbooks/facts.yml", "inventory/sample/group_vars/all/all.yml"} {
		path := filepath.Join(home, "kubespray", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("---\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"sshpass", "ansible-playbook"} {
		drivertest.Script(t, filepath.Join(home, "bin", program), "#!/bin/sh\n")
	}
	return home
}

// sh runs a script of the driver as the Ansible server would.
func sh(t *testing.T, home, script string, arguments ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", script, "script"}, arguments...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + home + "/bin:/usr/bin:/bin"}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestScriptThatLooksAtTheServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change string // a command in the home
		says   string // why it is not ready; "" = it is
	}{
		{"all is there", "true", ""},
		{"a directory that is ours", "mkdir kubespray/inventory/mycluster; echo me >kubespray/inventory/mycluster/.vnfm-instance", ""},
		{"no kubespray", "rm -r kubespray", "there is no directory"},
		{"another tree", "rm kubespray/scale.yml", "it has no scale.yml"},
		{"no playbook for facts", "rm kubespray/playbooks/facts.yml", "it has no facts.yml"},
		{"a directory that was there", "mkdir kubespray/inventory/mycluster", "The transferring_inventory_path has exists in kubespray server."},
		{"a directory of another instance", "mkdir kubespray/inventory/mycluster; echo other >kubespray/inventory/mycluster/.vnfm-instance", "transferring_inventory_path"},
		{"a link that leads nowhere", "ln -s /nonexistent kubespray/inventory/mycluster", "transferring_inventory_path"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			home := ansibleHome(t)
			if _, stderr, status := sh(t, home, "cd; "+row.change); status != 0 {
				t.Fatal(stderr)
			}
			root := home + "/kubespray"
			stdout, stderr, status := sh(t, home, readyScript, root, root+"/inventory/mycluster", "me")
			switch {
			case row.says == "" && (status != 0 || stdout != home+"/bin/ansible-playbook\nplaybooks/facts.yml\n"):
				t.Errorf("status %d: %s%s", status, stdout, stderr)
			case row.says != "" && (status != notReady || !strings.Contains(stderr, row.says)):
				t.Errorf("status %d: %s%s", status, stdout, stderr)
			}
		})
	}
}

func TestScriptsThatMakeAndRemoveTheDirectory(t *testing.T) {
	t.Parallel()
	home := ansibleHome(t)
	root := home + "/kubespray"
	directory := root + "/inventory/mycluster"
	must := func(script string, arguments ...string) {
		t.Helper()
		if stdout, stderr, status := sh(t, home, script, arguments...); status != 0 {
			t.Fatalf("status %d: %s%s", status, stdout, stderr)
		}
	}
	must("mkdir -p " + directory + ".vnfm-me/half") // a former attempt has died
	for range 2 {
		must(claimScript, root, directory, "me")
	}
	if _, err := os.Stat(directory + "/group_vars/all/all.yml"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(directory + ".vnfm-me"); !os.IsNotExist(err) {
		t.Errorf("what the former attempt has left is still there: %v", err)
	}
	must("touch " + directory + "/.vnfm-sealed-a-1.yaml " + directory + "/.vnfm-sealed-b-1.yaml")
	must(shredScript, directory, "a")
	if left, _ := filepath.Glob(directory + "/.vnfm-sealed-*"); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
	for _, row := range []struct{ directory, instance, says string }{
		{directory, "me", "ours\n"}, {directory, "somebody", ""}, {root + "/inventory/sample", "me", ""}, {root + "/inventory/none", "me", ""},
	} {
		if stdout, stderr, status := sh(t, home, oursScript, root, row.directory, row.instance); status != 0 || stdout != row.says {
			t.Errorf("%s of %s: status %d: %s%s", row.directory, row.instance, status, stdout, stderr)
		}
	}
	must(releaseScript, root, directory, "somebody")
	if _, err := os.Stat(directory + "/group_vars"); err != nil {
		t.Errorf("somebody else removes it: %v", err)
	}
	for range 2 {
		must(releaseScript, root, directory, "me")
	}
	if _, err := os.Stat(directory); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
	if _, err := os.Stat(root + "/inventory/sample"); err != nil {
		t.Error(err)
	}
}

func TestScriptThatForgetsHosts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("there is no ssh-keygen")
	}
	home := ansibleHome(t)
	if _, stderr, status := sh(t, home, forgetScript, "192.0.2.5"); status != 0 {
		t.Errorf("nobody is known: %s", stderr)
	}
	const key = " ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3v8mYvQb0s2mX4h0mF8b7yKXv3q3cYl1m6bq0G6o0X\n"
	known := home + "/.ssh/known_hosts"
	if err := os.MkdirAll(filepath.Dir(known), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, []byte("192.0.2.5"+key+"[192.0.2.5]:2222"+key+"192.0.2.55"+key+"[192.0.2.55]:2222"+key+"other.example"+key), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := sh(t, home, forgetScript, "192.0.2.5", "[192.0.2.5]:2222", "192.0.2.6"); status != 0 {
		t.Errorf("status %d: %s", status, stderr)
	}
	if left, err := os.ReadFile(known); err != nil || string(left) != "192.0.2.55"+key+"[192.0.2.55]:2222"+key+"other.example"+key {
		t.Errorf("left: %s, %v", left, err)
	}
}

// mtuScript finds the interface of this machine that every machine has.
func TestScriptThatReadsTheMTU(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no iproute2")
	}
	if stdout, stderr, status := sh(t, t.TempDir(), "PATH=$PATH:/sbin:/usr/sbin\n"+mtuScript, "127.0.0.1"); status != 0 || stdout != "65536\n" {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if stdout, _, status := sh(t, t.TempDir(), "PATH=$PATH:/sbin:/usr/sbin\n"+mtuScript, "192.0.2.77"); status == 0 {
		t.Errorf("an address that nobody has: %s", stdout)
	}
}
