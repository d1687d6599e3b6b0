package ssh_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

// keyPair is a key to log in with, and the line of it for authorized_keys.
func keyPair(t *testing.T) (ssh.Secret, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := gossh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return ssh.Secret(pem.EncodeToMemory(block)), string(gossh.MarshalAuthorizedKey(key))
}

func TestWaysToLogIn(t *testing.T) {
	t.Parallel()
	key, authorized := keyPair(t)
	stranger, _ := keyPair(t)
	for _, row := range []struct {
		name    string
		options sshtest.Options
		target  ssh.Target
	}{
		{"password", sshtest.Options{Password: "geheim"}, ssh.Target{Password: "geheim"}},
		{"password that is asked for", sshtest.Options{Password: "geheim", Interactive: true}, ssh.Target{Password: "geheim"}},
		{"key", sshtest.Options{AuthorizedKeys: []string{authorized}}, ssh.Target{PrivateKey: key}},
		{"password after a key that is not wanted", sshtest.Options{Password: "geheim", AuthorizedKeys: []string{authorized}},
			ssh.Target{Password: "geheim", PrivateKey: stranger}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.options.User, row.target.User = "ubuntu", "ubuntu"
			row.target.Address = sshtest.Start(t, row.options).AddrPort()
			pool := newPool(t, ssh.Config{})
			if err := pool.Host(newCall(), row.target, nil).Ping(t.Context()); err != nil {
				t.Error(err)
			}
			jump := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "jump"})
			row.target.Jump = &ssh.Target{Address: jump.AddrPort(), User: "ubuntu", Password: "jump"}
			if err := pool.Host(newCall(), row.target, nil).Ping(t.Context()); err != nil {
				t.Errorf("through another host: %v", err)
			}
		})
	}
}

func TestKeyThatIsNoneIsAFailure(t *testing.T) {
	t.Parallel()
	vm := sshtest.Start(t, sshtest.Options{Password: "geheim"})
	host := newPool(t, ssh.Config{}).Host(newCall(), ssh.Target{Address: vm.AddrPort(), User: "u", PrivateKey: "not a key"}, nil)
	if err := host.Ping(t.Context()); !errors.As(err, new(*mgmtdriver.Failure)) || strings.Contains(err.Error(), "not a key") {
		t.Errorf("got %v", err)
	}
}

// A host that starts lets nobody in before it has made the account, and shows the host key of its image.
func TestHostThatStarts(t *testing.T) {
	t.Parallel()
	addr, release, err := sshtest.FreeAddr(t.Context(), sshtest.DefaultPort)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	call, target := newCall(), ssh.Target{Name: "worker7", Address: netip.AddrPortFrom(addr, sshtest.DefaultPort), User: "ubuntu", Password: "geheim"}
	host := newPool(t, ssh.Config{LoginGrace: time.Hour}).Host(call, target, nil)
	expect := func(when, text string) {
		t.Helper()
		err := host.Ping(t.Context())
		var unavailable *mgmtdriver.Unavailable
		if !errors.As(err, &unavailable) || errors.As(err, new(*mgmtdriver.Failure)) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", when, err)
		}
	}
	expect("when nobody answers", "worker7 ("+target.Address.String()+") cannot be reached")
	image, err := sshtest.New(t.Context(), sshtest.Options{Addr: addr, Password: "another one"})
	if err != nil {
		t.Fatal(err)
	}
	expect("without the account", "unable to authenticate")
	if err := image.Close(); err != nil {
		t.Fatal(err)
	}
	if known, _ := call.HostKeys.HostKey(t.Context(), mgmtdriver.Host{Address: target.Address.String()}); known != "" {
		t.Error("the key of a host that lets nobody in is known")
	}
	sshtest.Start(t, sshtest.Options{Addr: addr, Password: "geheim"})
	// Another process; this one does not ask so soon again.
	if err := newPool(t, ssh.Config{}).Host(call, target, nil).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWrongPasswordIsAFailureInTheEnd(t *testing.T) {
	t.Parallel()
	vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "geheim"})
	target := ssh.Target{Name: "worker7", Address: vm.AddrPort(), User: "ubuntu", Password: "wrong password"}
	host := newPool(t, ssh.Config{LoginGrace: 100 * time.Millisecond}).Host(newCall(), target, nil)
	err := host.Ping(t.Context())
	if errors.As(err, new(*mgmtdriver.Failure)) {
		t.Error("there is no grace")
	}
	until(t, "it fails", func() bool {
		if err = host.Ping(t.Context()); errors.As(err, new(*mgmtdriver.Failure)) {
			return true
		}
		if !errors.As(err, new(*mgmtdriver.Unavailable)) {
			t.Fatalf("got %v", err)
		}
		return false
	})
	var refused *ssh.LoginError
	if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "worker7 ("+vm.AddrPort().String()+") refuses the login of ubuntu") ||
		strings.Contains(err.Error(), "wrong password") {
		t.Errorf("got %v", err)
	}
	target.Password = "geheim"
	if err := newPool(t, ssh.Config{}).Host(newCall(), target, nil).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHostThatSaysNothing(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	jump := sshtest.Start(t, sshtest.Options{Password: "jump"})
	pool := newPool(t, ssh.Config{DialTime: 200 * time.Millisecond})
	target := ssh.Target{Address: netip.MustParseAddrPort(silent.Addr().String()), User: "ubuntu", Password: "geheim"}
	for range 2 {
		err = pool.Host(newCall(), target, nil).Ping(t.Context())
		if !errors.As(err, new(*mgmtdriver.Unavailable)) {
			t.Errorf("got %v", err)
		}
		target.Jump = &ssh.Target{Address: jump.AddrPort(), User: "ubuntu", Password: "jump"}
		if err := pool.Host(newCall(), *target.Jump, nil).Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAwaitTellsOfEachHost(t *testing.T) {
	t.Parallel()
	up := sshtest.Start(t, sshtest.Options{Password: "geheim"})
	down := sshtest.Start(t, sshtest.Options{Password: "geheim"})
	pool, call := newPool(t, ssh.Config{}), newCall()
	hosts := []*ssh.Host{
		pool.Host(call, ssh.Target{Name: "up", Address: up.AddrPort(), User: "u", Password: "geheim"}, nil),
		pool.Host(call, ssh.Target{Name: "down", Address: down.AddrPort(), User: "u", Password: "geheim"}, nil),
	}
	if result, err := ssh.Await(t.Context(), call, hosts, time.Hour); err != nil || result.Again {
		t.Errorf("all are there: %+v, %v", result, err)
	}
	if err := down.Close(); err != nil {
		t.Fatal(err)
	}
	result, err := ssh.Await(t.Context(), call, hosts, time.Hour)
	if err != nil || !result.Again || !strings.HasPrefix(result.Detail, "1 of 2 hosts answer; down (") {
		t.Fatalf("one is missing: %+v, %v", result, err)
	}
	call.State = []byte(`"2020-01-01T00:00:00Z"`)
	_, err = ssh.Await(t.Context(), call, hosts, time.Hour)
	if !errors.As(err, new(*mgmtdriver.Failure)) || !strings.Contains(err.Error(), "down (") || strings.Contains(err.Error(), "up (") {
		t.Errorf("in the end: %v", err)
	}
}

func TestCancelledStepLeavesItsCommand(t *testing.T) {
	t.Parallel()
	running, ended := make(chan struct{}), make(chan struct{})
	_, host := fake(t, newPool(t, ssh.Config{}), newCall(), func(ctx context.Context, _ *sshtest.Session) int {
		close(running)
		<-ctx.Done()
		close(ended)
		return 137
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	if _, err := host.Run(ctx, ssh.Command{Argv: []string{"wait"}}); !errors.As(err, new(*mgmtdriver.Unavailable)) {
		t.Errorf("got %v", err)
	}
	<-ended // it is killed
	if err := host.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
