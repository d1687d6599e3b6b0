package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/mgmtdriver/storage"
)

const volumeID = "0e2ae3ed-63ae-4c0e-8d7f-0123456789ab"

// machine is a storage server whose commands are those of this computer, with a loop device as its volume, in a mount namespace of its own: it has
// its own /etc, /dev and /var/lib.
type machine struct {
	t      *testing.T
	pid    string // of what keeps the namespace
	image  string // file of the volume
	device string
	dir    string // where the volume is to be mounted
	host   *ssh.Host
	vm     *sshtest.Server
	call   *mgmtdriver.Call
}

// setupMachine makes the namespace. "$1" is the loop device, "$2" the id of the volume, "$3" a directory of the test.
const setupMachine = `set -e
mount -t tmpfs tmpfs "$3"
mkdir "$3/etc" "$3/etc.work" "$3/lib" "$3/lib.work" "$3/dev" "$3/bin"
numbers=$(lsblk -d -n -o MAJ:MIN "$1" | tr -d ' ')
mount -t tmpfs tmpfs "$3/dev"
mknod -m 666 "$3/dev/null" c 1 3
mknod -m 666 "$3/dev/zero" c 1 5
mknod "$3$1" b "${numbers%:*}" "${numbers#*:}"
mkdir -p "$3/dev/disk/by-id"
ln -s "$1" "$3/dev/disk/by-id/virtio-$(echo "$2" | cut -c1-20)"
mount --move "$3/dev" /dev
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$3/etc,workdir=$3/etc.work" /etc
mount -t overlay overlay -o "lowerdir=/var/lib,upperdir=$3/lib,workdir=$3/lib.work" /var/lib
mkdir -p /etc/exports.d /var/lib/nfs /var/lib/vnfm
echo 'LABEL=none / ext4 defaults 0 1' >/etc/fstab
touch /etc/exports
printf '#!/bin/sh\necho "$0 $*" >>%s\n' "$3/journal" >"$3/bin/systemctl"
chmod 755 "$3/bin/systemctl"
echo ready
exec sleep infinity`

// newMachine skips the test where the computer gives nobody such a machine.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	image := filepath.Join(t.TempDir(), "volume")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), "losetup", "-f", "--show", image).CombinedOutput()
	if err != nil {
		t.Skipf("this computer has no loop devices: %s", output)
	}
	m := &machine{t: t, image: image, device: strings.TrimSpace(string(output)), dir: t.TempDir()}
	t.Cleanup(func() { _ = exec.Command("losetup", "-d", m.device).Run() })
	m.unshare()
	m.vm = sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "secret", Handler: sshtest.Linux(m.run)})
	for path, content := range map[string]string{"/etc/fstab": "LABEL=none / ext4 defaults 0 1\n"} {
		if err := m.vm.WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	pool := ssh.NewPool(ssh.Config{})
	t.Cleanup(func() { _ = pool.Close() })
	m.call = &mgmtdriver.Call{HostKeys: &sshtest.HostKeys{}, Instance: mgmtdriver.Instance{ID: "instance"},
		Operation: mgmtdriver.Operation{ID: "op"}, Hook: mgmtdriver.InstantiateEnd}
	m.host = pool.Host(m.call, ssh.Target{Name: "storage", Address: m.vm.AddrPort(), User: "ubuntu", Password: "secret"}, nil)
	return m
}

// unshare starts what keeps the namespace.
func (m *machine) unshare() {
	m.t.Helper()
	keeper := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", setupMachine, "machine", m.device, volumeID, m.dir)
	var complaint bytes.Buffer
	keeper.Stderr = &complaint
	stdout, err := keeper.StdoutPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = keeper.Process.Kill()
		_ = keeper.Wait()
	})
	said := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(stdout, said); err != nil {
		_ = keeper.Wait()
		m.t.Skipf("this computer gives no mount namespace with file systems in it: %s", complaint.String())
	}
	m.pid = fmt.Sprint(keeper.Process.Pid)
}

// run runs a command of the driver. The files that it has put are brought into the namespace before.
func (m *machine) run(ctx context.Context, s *sshtest.Session) int {
	for _, path := range []string{"/etc/fstab", "/etc/exports.d/kubernetes.exports"} {
		content, err := m.vm.ReadFile(path)
		if err != nil {
			continue
		}
		write := m.command(ctx, "sh", "-c", `cat >"$1"`, "sh", path)
		write.Stdin = bytes.NewReader(content)
		if err := write.Run(); err != nil {
			_, _ = fmt.Fprintln(s.Stderr, err)
			return 1
		}
	}
	command := m.command(ctx, s.Argv...)
	command.Stdin, command.Stdout, command.Stderr = s.Stdin, s.Stdout, s.Stderr
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		_, _ = fmt.Fprintln(s.Stderr, err)
		return 127
	}
	return 0
}

func (m *machine) command(ctx context.Context, argv ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "nsenter", append([]string{"--mount", "--target", m.pid, "--"}, argv...)...)
	command.Env = append(os.Environ(), "PATH="+m.dir+"/bin:"+os.Getenv("PATH"), "LC_ALL=C")
	return command
}

// do runs a command in the namespace.
func (m *machine) do(argv ...string) string {
	m.t.Helper()
	output, err := m.command(m.t.Context(), argv...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%q: %v: %s", argv, err, output)
	}
	return string(output)
}

// prepare carries the step out.
func (m *machine) prepare(server *storage.Server) error {
	m.t.Helper()
	limits := storage.Limits{Appear: 10 * time.Second, Format: time.Minute}
	attached := []mgmtdriver.Volume{{Name: "data", ID: volumeID}}
	for {
		result, err := server.PrepareVolumes(m.t.Context(), m.call, m.host, attached, limits)
		if err != nil || !result.Again {
			return err
		}
		select {
		case <-m.t.Context().Done():
			m.t.Fatal(result.Detail)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (m *machine) server() *storage.Server {
	return &storage.Server{Mounts: []storage.Mount{{Volume: "data", Dir: m.dir + "/volume"}}, Exports: []storage.Export{
		{Dir: m.dir + "/volume/nfs/pv1", To: "10.10.0.0/24"}, {Dir: m.dir + "/volume/nfs/pv1", To: "10.10.1.7/32"},
		{Dir: m.dir + "/volume/nfs/pv2", To: "10.10.0.0/24"}}}
}

func TestRealVolume(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	server := m.server()
	if err := m.prepare(server); err != nil {
		t.Fatal(err)
	}
	dir := server.Mounts[0].Dir
	if got := strings.Fields(m.do("findmnt", "-n", "-o", "SOURCE,FSTYPE", "--mountpoint", dir)); !slices.Equal(got, []string{m.device, "ext4"}) {
		t.Errorf("mounted is %q", got)
	}
	m.do("sh", "-c", "echo precious >"+dir+"/data")
	// Once more, on a machine that has lost the mount, as when it was replaced and the volume was kept.
	m.do("umount", dir)
	m.call.Operation.ID = "later"
	if err := m.prepare(server); err != nil {
		t.Fatal(err)
	}
	if got := m.do("cat", dir+"/data"); got != "precious\n" {
		t.Errorf("the volume has %q", got)
	}
	if fstab := m.do("cat", "/etc/fstab"); strings.Count(fstab, "\n") != 2 || strings.Count(fstab, "UUID=") != 1 {
		t.Errorf("/etc/fstab is\n%s", fstab)
	}
}

func TestRealVolumeWithContent(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, make, says string }{
		{"a partition table", `printf '\125\252' | dd of="$0" bs=1 seek=510 conv=notrunc status=none
			printf '\200\040\041\000\203\352\046\002\000\010\000\000\000\370\001\000' | dd of="$0" bs=1 seek=446 conv=notrunc status=none`, "a partition table (dos)"},
		{"swap", `mkswap -q "$0"`, `content of the type "swap"`},
		{"an older file system", `mkfs.ext2 -q "$0"`, `content of the type "ext2"`},
		{"data in the beginning", `printf x | dd of="$0" bs=1 seek=4194303 conv=notrunc status=none`, "content that blkid does not know"},
		{"data at the end", `printf x | dd of="$0" bs=1 seek=67108863 conv=notrunc status=none`, "content that blkid does not know"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.do("sh", "-c", row.make, m.device)
			before := m.do("sha256sum", m.device)
			err := m.prepare(m.server())
			var failure *mgmtdriver.Failure
			if !errors.As(err, &failure) || !strings.Contains(failure.Detail, row.says) || !strings.Contains(failure.Detail, m.device) {
				t.Errorf("got %v", err)
			}
			if m.do("sha256sum", m.device) != before {
				t.Error("the volume was changed")
			}
		})
	}
}

func TestRealVolumeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := os.Truncate(m.image, 0); err != nil {
		t.Fatal(err)
	}
	err := m.prepare(m.server())
	if err == nil || !strings.Contains(err.Error(), "storage (") || !strings.Contains(err.Error(), m.device+" cannot be read: cmp: ") || !strings.Contains(err.Error(), "Input/output error") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(m.image); err != nil || info.Size() != 0 {
		t.Errorf("the volume was changed: %v, %v", info, err)
	}
}

// A volume whose formatting was killed looks like one with a file system.
func TestRealVolumeThatIsHalfFormatted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	mkfs := m.dir + "/bin/mkfs.ext4"
	m.do("sh", "-c", `printf '#!/bin/sh\nPATH=%s\nmkfs.ext4 "$@"\nkill -KILL $PPID\n' "$1" >"$0"; chmod 755 "$0"`, mkfs, os.Getenv("PATH"))
	err := m.prepare(m.server())
	if failure := (*mgmtdriver.Failure)(nil); !errors.As(err, &failure) {
		t.Fatalf("got %v", err)
	}
	left := m.do("blkid", "-p", "-o", "value", "-s", "UUID", m.device)
	m.do("rm", mkfs)
	for range 2 { // the second time it has ended
		if err := m.prepare(m.server()); err != nil {
			t.Fatal(err)
		}
		m.call.Operation.ID += "-next"
	}
	if got := m.do("findmnt", "-n", "-o", "UUID", "--mountpoint", m.dir+"/volume"); left == "" || got == left {
		t.Errorf("what was left, %s, is mounted: %s", left, got)
	}
}

func TestRealExports(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("exportfs"); err != nil {
		t.Skip("nfs-kernel-server is not installed on this computer")
	}
	m := newMachine(t)
	server := m.server()
	if err := m.prepare(server); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := server.Export(t.Context(), m.host); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.do("stat", "-c", "%U:%G", server.Exports[0].Dir); got != "nobody:nogroup\n" {
		t.Errorf("the directory belongs to %s", got)
	}
	exported := m.do("exportfs", "-s")
	for _, export := range server.Exports {
		if !strings.Contains(exported, export.Dir+"  "+export.To+"(") {
			t.Errorf("%s is not exported to %s:\n%s", export.Dir, export.To, exported)
		}
	}
	if !strings.Contains(m.do("cat", m.dir+"/journal"), "systemctl enable --now nfs-server\n") {
		t.Error("the NFS server was not started")
	}
	// Another line, which cannot be exported.
	m.do("sh", "-c", "echo '/none 10.10.0.0/24(rw)' >/etc/exports")
	err := server.Export(t.Context(), m.host)
	var failure *mgmtdriver.Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Detail, "Failed to stat /none") {
		t.Errorf("got %v", err)
	}
}
