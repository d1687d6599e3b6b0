package ssh_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// sshd is a real OpenSSH server that lets in who runs the test, with a key.
type sshd struct {
	t       testing.TB
	dir     string
	address netip.AddrPort
	user    string
	key     ssh.Secret
	command *exec.Cmd
}

// find returns the path of a program; sshd is not on everybody's PATH.
func find(tb testing.TB, name, of string) string {
	tb.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/lib/openssh") {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	tb.Fatalf("there is no %s: install the package %s", name, of)
	return ""
}

// startSSHD starts a server; settings are further lines of its configuration.
func startSSHD(tb testing.TB, settings ...string) *sshd {
	tb.Helper()
	s := &sshd{t: tb, dir: tb.TempDir(), user: whoami(tb)}
	if os.Geteuid() == 0 {
		// Only for root does sshd want it.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	keygen := find(tb, "ssh-keygen", "openssh-client")
	for _, kind := range []string{"ed25519", "ecdsa"} {
		s.must(keygen, "-q", "-t", kind, "-N", "", "-f", filepath.Join(s.dir, kind))
	}
	s.must(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, "user"))
	private, err := os.ReadFile(filepath.Join(s.dir, "user"))
	if err != nil {
		tb.Fatal(err)
	}
	s.key = ssh.Secret(private)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.address = netip.MustParseAddrPort(listener.Addr().String())
	_ = listener.Close()
	lines := slices.Concat(settings, []string{fmt.Sprintf("ListenAddress %s", s.address), "PidFile none", "UsePAM no", "StrictModes no", "LogLevel VERBOSE",
		"AuthorizedKeysFile " + filepath.Join(s.dir, "user.pub"), "PermitRootLogin yes", "Subsystem sftp internal-sftp", "MaxStartups 100"})
	if !strings.Contains(strings.Join(settings, "\n"), "HostKey ") {
		for _, kind := range []string{"ed25519", "ecdsa"} {
			lines = append(lines, "HostKey "+filepath.Join(s.dir, kind))
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "config"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.start()
	return s
}

func whoami(tb testing.TB) string {
	tb.Helper()
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s *sshd) must(name string, args ...string) {
	s.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

func (s *sshd) start() {
	s.t.Helper()
	s.command = exec.Command(find(s.t, "sshd", "openssh-server"), "-D", "-e", "-f", filepath.Join(s.dir, "config"))
	log, err := s.command.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	var reading sync.WaitGroup
	listening := make(chan struct{})
	reading.Go(func() {
		said := false
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if !said && strings.HasPrefix(lines.Text(), "Server listening") {
				close(listening)
				said = true
			}
		}
		if !said {
			close(listening)
		}
	})
	command := s.command
	s.t.Cleanup(func() {
		_ = command.Process.Kill()
		reading.Wait()
		_ = command.Wait()
	})
	<-listening
}

// newPool returns a pool for the length of a test.
func newPool(tb testing.TB, config ssh.Config) *ssh.Pool {
	tb.Helper()
	pool := ssh.NewPool(config)
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}

func newCall() *mgmtdriver.Call {
	return &mgmtdriver.Call{HostKeys: &sshtest.HostKeys{}, Instance: mgmtdriver.Instance{ID: "instance"},
		Operation: mgmtdriver.Operation{ID: "op"}, Hook: mgmtdriver.InstantiateEnd}
}

// host is the server with a login that works.
func (s *sshd) host(call *mgmtdriver.Call) *ssh.Host {
	return newPool(s.t, ssh.Config{}).Host(call, ssh.Target{Name: "node", Address: s.address, User: s.user, PrivateKey: s.key}, nil)
}

// behind is the server behind a network.
func (s *sshd) behind(call *mgmtdriver.Call) (*proxy, *ssh.Host) {
	p := newProxy(s.t, s.address)
	target := ssh.Target{Name: "node", Address: p.address(), User: s.user, PrivateKey: s.key}
	return p, newPool(s.t, ssh.Config{}).Host(call, target, nil)
}

func TestCommandsOnOpenSSH(t *testing.T) {
	t.Parallel()
	host := startSSHD(t).host(newCall())
	output, err := host.Run(t.Context(), ssh.Command{Argv: []string{"printf", "%s|", "it's", "$HOME", "a b", "", "x\ny"},
		Stdin: strings.NewReader("unused")})
	if err != nil || output.Stdout != "it's|$HOME|a b||x\ny|" {
		t.Errorf("got %+v, %v", output, err)
	}
	output, err = host.Run(t.Context(), ssh.Command{Argv: []string{"sh", "-c", `printf %s "$A"; cat`}, Env: map[string]string{"A": "l1\nit's"},
		Stdin: strings.NewReader("input")})
	if err != nil || output.Stdout != "l1\nit'sinput" {
		t.Errorf("got %+v, %v", output, err)
	}
	var exit *ssh.ExitError
	_, err = host.Run(t.Context(), ssh.Shell("echo sorry >&2; exit 3"))
	if !errors.As(err, &exit) || exit.Status != 3 || exit.Stderr != "sorry" {
		t.Errorf("got %v", err)
	}
	_, err = host.Run(t.Context(), ssh.Shell("kill -KILL $$"))
	if !errors.As(err, &exit) || exit.Signal != "KILL" {
		t.Errorf("got %v", err)
	}
}

func TestJobsOnOpenSSH(t *testing.T) {
	t.Parallel()
	host := startSSHD(t).host(newCall())
	job := ssh.Job{ID: "test-" + filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid()), Argv: []string{"sh", "-c", `echo "$A"; cat; echo bad >&2; exit 4`},
		Env: map[string]string{"A": "it's"}, Stdin: []byte("input")}
	t.Cleanup(func() { _ = host.Clean(t.Context(), job) })
	var exit *ssh.ExitError
	for {
		progress, err := host.Drive(t.Context(), job)
		if err == nil && progress.Phase == ssh.JobRunning {
			continue
		}
		if !errors.As(err, &exit) || exit.Status != 4 || exit.Stdout != "it's\ninput" || exit.Stderr != "bad" {
			t.Errorf("got %+v, %v", progress, err)
		}
		break
	}
}
