package sshtest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver/ssh/sshtest"
)

func dial(t *testing.T, vm *sshtest.Server, auth ...ssh.AuthMethod) (*ssh.Client, error) {
	t.Helper()
	client, err := ssh.Dial("tcp", vm.AddrPort().String(), &ssh.ClientConfig{User: "ubuntu", Auth: auth, HostKeyCallback: ssh.FixedHostKey(vm.HostKey())})
	if err == nil {
		t.Cleanup(func() { _ = client.Close() })
	}
	return client, err
}

func login(t *testing.T, vm *sshtest.Server) *ssh.Client {
	t.Helper()
	client, err := dial(t, vm, ssh.Password("ubuntu"))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func run(client *ssh.Client, command string, stdin io.Reader) (stdout, stderr string, status int) {
	session, err := client.NewSession()
	if err != nil {
		return "", err.Error(), -1
	}
	defer func() { _ = session.Close() }()
	var out, complaints bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = stdin, &out, &complaints
	err = session.Run(command)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit):
		status = exit.ExitStatus()
	case err != nil:
		status = -1
	}
	return out.String(), complaints.String(), status
}

func TestCommands(t *testing.T) {
	t.Parallel()
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "ubuntu", Handler: func(ctx context.Context, s *sshtest.Session) int {
		switch s.Command {
		case "whoami":
			_, _ = fmt.Fprintln(s.Stdout, s.User)
			return 0
		case "cat":
			_, _ = io.Copy(s.Stdout, s.Stdin)
			return 0
		case "false":
			return 1
		}
		return sshtest.Unknown(ctx, s)
	}})
	client := login(t, vm)
	for _, row := range []struct {
		name, command, stdin, stdout, stderr string
		status                               int
	}{
		{"output goes to the client", "whoami", "", "ubuntu\n", "", 0},
		{"input comes from the client", "cat", "hello", "hello", "", 0},
		{"the exit status is the handler's", "false", "", "", "", 1},
		{"an unknown command is loud", "rm -rf /", "", "", `no handler knows the command "rm -rf /"`, 127},
	} {
		stdout, stderr, status := run(client, row.command, strings.NewReader(row.stdin))
		if stdout != row.stdout || !strings.Contains(stderr, row.stderr) || status != row.status {
			t.Errorf("%s: stdout %q, stderr %q, status %d", row.name, stdout, stderr, status)
		}
	}
	journal := vm.Journal()
	if len(journal) != 4 || journal[3].Command != "rm -rf /" || journal[3].Exit != 127 || journal[3].Ended.IsZero() {
		t.Errorf("journal: %+v", journal)
	}
}

func TestWhoMayLogIn(t *testing.T) {
	t.Parallel()
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	_, stranger, _ := ed25519.GenerateKey(rand.Reader)
	signer, _ := ssh.NewSignerFromKey(private)
	strangeSigner, _ := ssh.NewSignerFromKey(stranger)
	authorized := []string{string(ssh.MarshalAuthorizedKey(signer.PublicKey()))}
	for _, row := range []struct {
		name    string
		user    string
		auth    ssh.AuthMethod
		welcome bool
	}{
		{"right password", "ubuntu", ssh.Password("ubuntu"), true},
		{"wrong password", "ubuntu", ssh.Password("debian"), false},
		{"wrong user", "ubuntu2", ssh.Password("ubuntu"), false},
		{"authorized key", "ubuntu", ssh.PublicKeys(signer), true},
		{"another key", "ubuntu", ssh.PublicKeys(strangeSigner), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			user := "ubuntu"
			if row.user != user {
				user = "root"
			}
			vm := sshtest.Start(t, sshtest.Options{User: user, Password: "ubuntu", AuthorizedKeys: authorized})
			if _, err := dial(t, vm, row.auth); (err == nil) != row.welcome {
				t.Errorf("login: %v", err)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "ubuntu"})
	client, err := sftp.NewClient(login(t, vm))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	f, err := client.Create("/home/ubuntu/a.new")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), client.PosixRename("/home/ubuntu/a.new", "/home/ubuntu/a")); err != nil {
		t.Fatal(err)
	}
	if content, err := vm.ReadFile("/home/ubuntu/a"); err != nil || string(content) != "content" {
		t.Errorf("the machine reads %q, %v", content, err)
	}
	if _, err := vm.ReadFile("/home/ubuntu/b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	if err := vm.WriteFile("/etc/motd", []byte("welcome")); err != nil {
		t.Fatal(err)
	}
	if err := vm.WriteFile("/etc/motd", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	g, err := client.Open("/etc/motd")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(g); err != nil || string(content) != "hi" {
		t.Errorf("the client reads %q, %v", content, err)
	}
}

func TestCutConnectionEndsTheCommand(t *testing.T) {
	t.Parallel()
	running, ended := make(chan struct{}), make(chan struct{})
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "ubuntu", Handler: func(ctx context.Context, s *sshtest.Session) int {
		if s.Command == "true" {
			return 0
		}
		close(running)
		<-ctx.Done()
		close(ended)
		return 0
	}})
	client := login(t, vm)
	var status int
	var waiting sync.WaitGroup
	waiting.Go(func() { _, _, status = run(client, "sleep 3600", nil) })
	<-running
	vm.Kill()
	<-ended
	waiting.Wait()
	if status != -1 {
		t.Errorf("the client got the exit status %d over a cut connection", status)
	}
	if _, _, status := run(login(t, vm), "true", nil); status != 0 {
		t.Error("the machine does not answer any more")
	}
}

func TestMachinesHaveAddressesAndKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	one, two := sshtest.Start(t, sshtest.Options{Password: "x"}), sshtest.Start(t, sshtest.Options{Password: "x"})
	if one.AddrPort() == two.AddrPort() {
		t.Errorf("both are at %s", one.AddrPort())
	}
	if bytes.Equal(one.HostKey().Marshal(), two.HostKey().Marshal()) {
		t.Error("both have the same host key")
	}
	if _, err := sshtest.New(t.Context(), sshtest.Options{Addr: one.AddrPort().Addr()}); err == nil {
		t.Error("an address was given away twice")
	}
	extra, release, err := sshtest.FreeAddr(t.Context(), sshtest.DefaultPort)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := one.Attach(t.Context(), extra); err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort(extra.String(), fmt.Sprint(sshtest.DefaultPort))
	if conn, err := net.Dial("tcp", at); err != nil {
		t.Errorf("attached address: %v", err)
	} else {
		_ = conn.Close()
	}
	if err := one.Detach(t.Context(), extra); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		_ = conn.Close()
		t.Error("the detached address still answers")
	}
}

func TestClosedMachineRefusesConnections(t *testing.T) {
	t.Parallel()
	vm := sshtest.Start(t, sshtest.Options{Password: "ubuntu"})
	client := login(t, vm)
	if err := vm.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.Wait(); err == nil {
		t.Error("the connection is still there")
	}
	if _, err := dial(t, vm, ssh.Password("ubuntu")); err == nil {
		t.Error("somebody answers")
	}
}

func TestJumpHost(t *testing.T) {
	t.Parallel()
	jump, target := sshtest.Start(t, sshtest.Options{Password: "ubuntu"}), sshtest.Start(t, sshtest.Options{Password: "ubuntu"})
	conn, err := login(t, jump).Dial("tcp", target.AddrPort().String())
	if err != nil {
		t.Fatal(err)
	}
	c, channels, requests, err := ssh.NewClientConn(conn, target.AddrPort().String(), &ssh.ClientConfig{User: "ubuntu",
		Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyCallback: ssh.FixedHostKey(target.HostKey())})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(c, channels, requests)
	defer func() { _ = client.Close() }()
	if _, _, status := run(client, "true", nil); status != 127 {
		t.Errorf("status %d", status)
	}
}

// A file that was being written when its connection was cut can be written again.
func TestFilesOutliveTheirConnection(t *testing.T) {
	t.Parallel()
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "ubuntu"})
	for range 2 {
		connection := login(t, vm)
		client, err := sftp.NewClient(connection)
		if err != nil {
			t.Fatal(err)
		}
		file, err := client.OpenFile("/tmp/file", os.O_WRONLY|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("content")); err != nil {
			t.Fatal(err)
		}
		connection.Close()
		_ = client.Wait()
	}
}
