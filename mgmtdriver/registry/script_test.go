package registry_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfm/mgmtdriver/drivertest"
)

// machine is a directory in which the programs that the script runs only tell that they were run.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir()}
	for name, does := range map[string]string{
		"apt-get":   `case "$*" in *update*) [ ! -e lists-locked ] || { rm lists-locked; exit 100; } ;; *install*) [ ! -e no-package ] || exit 100; touch installed ;; esac`,
		"dpkg":      `[ ! -e locked ] || { rm locked; exit 2; }`,
		"docker":    `[ -e installed ] || exit 127; [ "$1" = --version ] || [ -e running ]`,
		"systemctl": `case "$*" in "restart docker"|"enable --now docker") [ ! -e broken ] || { rm -f running; exit 1; }; touch running ;; *status*) echo "Main process exited" >&2; exit 3 ;; esac`,
		"sleep":     "",
	} {
		drivertest.Script(t, filepath.Join(m.dir, "bin", name), "#!/bin/sh\ncd "+m.dir+"\necho \""+name+" $*\" >>journal\n"+does+"\n")
	}
	return m
}

func (m *machine) touch(names ...string) {
	m.t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(m.dir, name), nil, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *machine) read(name string) string {
	content, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		return ""
	}
	return string(content)
}

const dropIn = "docker.service.d/http-proxy.conf"

// run runs the script, and returns what was run of those programs, without the questions.
func (m *machine) run(input string) (journal, said string, err error) {
	m.t.Helper()
	script, err := filepath.Abs("scripts/install-docker.sh")
	if err != nil {
		m.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(m.dir, "journal"))
	command := exec.CommandContext(m.t.Context(), "sh", script, filepath.Join(m.dir, dropIn))
	command.Env = []string{"PATH=" + filepath.Join(m.dir, "bin") + ":" + os.Getenv("PATH")}
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	var lines []string
	for line := range strings.Lines(m.read("journal")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "docker ") && !strings.HasPrefix(line, "sleep ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), string(output), err
}

func (m *machine) must(input, journal string) {
	m.t.Helper()
	got, said, err := m.run(input)
	if err != nil || got != journal {
		m.t.Errorf("%v: %s\nhas run:\n%s\nwant:\n%s", err, said, got, journal)
	}
}

const (
	installs  = "dpkg --configure -a\napt-get -qq update\napt-get -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends install docker.io ca-certificates"
	starts    = "systemctl enable --now docker"
	restarts  = "systemctl daemon-reload\nsystemctl restart docker"
	withProxy = "[Service]\nEnvironment=\"HTTP_PROXY=http://proxy:3128\"\n"
)

func TestInstallationScript(t *testing.T) {
	t.Parallel()
	t.Run("nothing is there", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.must("", installs+"\n"+starts)
		m.must("", "") // and once more
		if m.read(dropIn) != "" {
			t.Error("there is a drop-in without a proxy")
		}
	})
	t.Run("with a proxy", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.must(withProxy, installs+"\n"+restarts)
		info, err := os.Stat(filepath.Join(m.dir, dropIn))
		if err != nil || m.read(dropIn) != withProxy || info.Mode().Perm() != 0o600 {
			t.Errorf("drop-in %q, %v, %v", m.read(dropIn), info, err)
		}
		m.must(withProxy, "")
		m.must("", "") // what others have configured stays
		changed := strings.ReplaceAll(withProxy, "3128", "8080")
		m.must(changed, restarts)
		if left, err := filepath.Glob(filepath.Join(m.dir, dropIn) + ".*"); err != nil || len(left) > 0 {
			t.Errorf("left are %q, %v", left, err)
		}
	})
	t.Run("killed before the restart", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.touch("installed", "running", "broken")
		if _, said, err := m.run(withProxy); err == nil {
			t.Errorf("it ends well: %s", said)
		}
		if err := os.Remove(filepath.Join(m.dir, "broken")); err != nil {
			t.Fatal(err)
		}
		m.must(withProxy, restarts)
		m.must(withProxy, "")
	})
	t.Run("Docker is there", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.touch("installed", "running")
		m.must("", "")
	})
	t.Run("Docker is stopped", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.touch("installed")
		m.must("", starts)
	})
	t.Run("the machine updates itself", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.touch("locked", "lists-locked")
		m.must("", "dpkg --configure -a\n"+strings.Replace(installs, "apt-get -qq update", "apt-get -qq update\napt-get -qq update", 1)+"\n"+starts)
	})
	t.Run("there is no package", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.touch("no-package")
		if journal, _, err := m.run(""); err == nil || strings.Contains(journal, "systemctl") {
			t.Errorf("%v: %s", err, journal)
		}
	})
	t.Run("Docker does not start", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.touch("broken")
		if _, said, err := m.run(""); err == nil || !strings.Contains(said, "Main process exited\nDocker service is not running") {
			t.Errorf("%v: %s", err, said)
		}
	})
}
