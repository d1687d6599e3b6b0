package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// show is a handler that tells how it was called.
func show(ctx context.Context, s *sshtest.Session) int {
	if s.Argv[0] != "show" {
		return sshtest.Unknown(ctx, s)
	}
	input, _ := io.ReadAll(s.Stdin)
	_, _ = fmt.Fprintf(s.Stdout, "%q %v %v %q", s.Argv[1:], s.Root, s.Env["A"], input)
	_, _ = fmt.Fprint(s.Stderr, "noise")
	return len(s.Argv) - 2
}

func fake(t *testing.T, pool *ssh.Pool, call *mgmtdriver.Call, handler sshtest.Handler) (*sshtest.Server, *ssh.Host) {
	t.Helper()
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "secret-word", Handler: sshtest.Linux(handler)})
	return vm, pool.Host(call, ssh.Target{Name: "node", Address: vm.AddrPort(), User: "ubuntu", Password: "secret-word"}, nil)
}

// What drivers are tested with has to behave as an OpenSSH server on Linux does.
func TestFakeMachine(t *testing.T) {
	t.Parallel()
	vm, host := fake(t, newPool(t, ssh.Config{}), newCall(), show)
	output, err := host.Run(t.Context(), ssh.Command{Argv: []string{"show", "it's"}, Root: true, Env: map[string]string{"A": "a b"},
		Stdin: strings.NewReader("input\nx")})
	if err != nil || output.Stdout != `["it's"] true a b "input\nx"` {
		t.Errorf("got %+v, %v", output, err)
	}
	var exit *ssh.ExitError
	if _, err := host.Run(t.Context(), ssh.Command{Argv: []string{"show", "1", "2"}}); !errors.As(err, &exit) || exit.Status != 1 {
		t.Errorf("got %v", err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	for _, file := range []ssh.File{{Path: "/home/ubuntu/x/y", Content: ssh.Bytes(content)}, {Path: "/etc/a/b", Content: ssh.Bytes(content), Root: true}} {
		for range 2 {
			if err := host.Put(t.Context(), file); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := vm.ReadFile(file.Path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes, %v", file.Path, len(got), err)
		}
	}
	if got, err := host.Read(t.Context(), "/etc/a/b", true, len(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := host.Read(t.Context(), "/etc/none", true, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	job := ssh.Job{ID: "op-install", Argv: []string{"show", "it's"}, Env: map[string]string{"A": "a b"}, Stdin: []byte("input"), Root: true}
	for {
		progress, err := host.Drive(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if progress.Phase == ssh.JobEnded {
			if progress.Stdout != `["it's"] true a b "input"` || progress.Stderr != "noise" {
				t.Errorf("got %+v", progress)
			}
			break
		}
	}
}
