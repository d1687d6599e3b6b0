package storage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/storage"
)

// The programs that the installation runs only tell here that they were run.
func TestInstallation(t *testing.T) {
	t.Parallel()
	const (
		configure = "dpkg --configure -a\n"
		update    = "apt-get -q -o DPkg::Lock::Timeout=300 update\n"
		install   = "apt-get -q -o DPkg::Lock::Timeout=300 -y --no-install-recommends install nfs-common\n"
	)
	for _, row := range []struct {
		name, is string // is: a file that tells the programs what the machine is like
		want     string
	}{
		{"nothing is there", "new", configure + update + install},
		{"the package is there", "installed", ""},
		{"the machine updates itself", "locked", configure + configure + update + update + install},
		{"dpkg is locked for ever", "locked-for-ever", strings.Repeat(configure, 61) + update + install},
		{"another package cannot be configured", "broken", configure + update + install},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, does := range map[string]string{
				"dpkg-query": `[ ! -e installed ] || echo installed`,
				"dpkg":       `[ ! -e locked-for-ever ] || exit 2; [ ! -e broken ] || exit 1; [ ! -e locked ] || { mv locked lists-locked; exit 2; }`,
				"apt-get":    `[ ! -e lists-locked ] || { rm lists-locked; exit 100; }`,
				"sleep":      "",
			} {
				tells := `case $0 in */dpkg|*/apt-get) echo "${0##*/} $*" >>journal ;; esac`
				drivertest.Script(t, filepath.Join(dir, "bin", name), "#!/bin/sh\ncd "+dir+"\n"+tells+"\n"+does+"\n")
			}
			if err := os.WriteFile(filepath.Join(dir, row.is), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			argv := storage.Install(storage.ClientPackage, nil).Argv
			command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			command.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
			journal, err := os.ReadFile(filepath.Join(dir, "journal"))
			if string(journal) != row.want {
				t.Errorf("was run:\n%s%v\nwant:\n%s", journal, err, row.want)
			}
		})
	}
}
