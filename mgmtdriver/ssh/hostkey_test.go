package ssh_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
)

func TestChangedHostKeyIsAFailure(t *testing.T) {
	t.Parallel()
	first, second := sshtest.Start(t, sshtest.Options{Password: "geheim"}), sshtest.Start(t, sshtest.Options{Password: "geheim"})
	call, pool := newCall(), newPool(t, ssh.Config{})
	target := ssh.Target{Name: "master1", Address: first.AddrPort(), User: "u", Password: "geheim", VnfcID: "vnfc", ServerID: "server"}
	if err := pool.Host(call, target, nil).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	target.Address = second.AddrPort()
	err := pool.Host(call, target, nil).Ping(t.Context())
	var changed *ssh.HostKeyError
	if !errors.As(err, &changed) || !errors.As(err, new(*mgmtdriver.Failure)) || !strings.HasPrefix(err.Error(), "master1 ("+second.AddrPort().String()+")") ||
		changed.Known != gossh.FingerprintSHA256(first.HostKey()) || changed.Offered != gossh.FingerprintSHA256(second.HostKey()) {
		t.Errorf("got %v", err)
	}
	target.ServerID = "healed"
	if err := pool.Host(call, target, nil).Ping(t.Context()); err != nil {
		t.Errorf("a new server: %v", err)
	}
}

// keys are host keys that fail, or that another process has kept a moment earlier.
type keys struct {
	sshtest.HostKeys
	failure error
	earlier string
}

func (k *keys) HostKey(ctx context.Context, host mgmtdriver.Host) (string, error) {
	if k.failure != nil {
		return "", k.failure
	}
	return k.HostKeys.HostKey(ctx, host)
}

func (k *keys) KeepHostKey(ctx context.Context, host mgmtdriver.Host, key string) (string, error) {
	if k.earlier != "" {
		return k.earlier, nil
	}
	return k.HostKeys.KeepHostKey(ctx, host, key)
}

func TestHostKeysOfOtherProcessesCount(t *testing.T) {
	t.Parallel()
	vm, other := sshtest.Start(t, sshtest.Options{Password: "geheim"}), sshtest.Start(t, sshtest.Options{Password: "geheim"})
	target := ssh.Target{Address: vm.AddrPort(), User: "u", Password: "geheim"}
	call, store := newCall(), &keys{earlier: string(gossh.MarshalAuthorizedKey(other.HostKey()))}
	call.HostKeys = store
	pool := newPool(t, ssh.Config{})
	if err := pool.Host(call, target, nil).Ping(t.Context()); !errors.As(err, new(*ssh.HostKeyError)) {
		t.Errorf("another key was kept meanwhile: %v", err)
	}
	store.earlier, store.failure = "", errors.New("the database is away")
	err := pool.Host(call, target, nil).Ping(t.Context())
	if !errors.Is(err, store.failure) || errors.As(err, new(*mgmtdriver.Unavailable)) {
		t.Errorf("the keys cannot be read: %v", err)
	}
	store.failure = nil
	if err := pool.Host(call, target, nil).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// public reads a host key of a server.
func (s *sshd) public(t *testing.T, kind string) gossh.PublicKey {
	t.Helper()
	line, err := os.ReadFile(filepath.Join(s.dir, kind+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	key, _, _, _, err := gossh.ParseAuthorizedKey(line)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestExpectedHostKey(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	known := func(kind string) string {
		return "somehost,10.0.0.1 " + string(gossh.MarshalAuthorizedKey(server.public(t, kind)))
	}
	for _, row := range []struct {
		name, key string
		welcome   bool
		invalid   bool
	}{
		{"fingerprint of the preferred key", gossh.FingerprintSHA256(server.public(t, "ed25519")), true, false},
		{"fingerprint of the other key", gossh.FingerprintSHA256(server.public(t, "ecdsa")), true, false},
		{"line of known_hosts", known("ecdsa"), true, false},
		{"lines of known_hosts", known("ecdsa") + known("ed25519"), true, false},
		{"another fingerprint", gossh.FingerprintSHA256(server.public(t, "user")), false, false},
		{"line with another key", known("user"), false, false},
		{"something else", "aa:bb:cc", false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			call := newCall()
			target := ssh.Target{Address: server.address, User: server.user, PrivateKey: server.key, HostKey: row.key}
			err := newPool(t, ssh.Config{}).Host(call, target, nil).Ping(t.Context())
			if (err == nil) != row.welcome || (err != nil && !errors.As(err, new(*mgmtdriver.Failure))) ||
				(err != nil && errors.As(err, new(*ssh.HostKeyError)) == row.invalid) {
				t.Errorf("got %v", err)
			}
			if kept, _ := call.HostKeys.HostKey(t.Context(), mgmtdriver.Host{Address: server.address.String()}); kept != "" {
				t.Error("it was trusted on first use")
			}
		})
	}
}

func TestHostThatHasAnotherKindOfKeyNow(t *testing.T) {
	t.Parallel()
	server := startSSHD(t)
	call := newCall()
	host := mgmtdriver.Host{Address: server.address.String()}
	if _, err := call.HostKeys.KeepHostKey(t.Context(), host, string(gossh.MarshalAuthorizedKey(server.public(t, "ecdsa")))); err != nil {
		t.Fatal(err)
	}
	target := ssh.Target{Address: server.address, User: server.user, PrivateKey: server.key}
	if err := newPool(t, ssh.Config{}).Host(call, target, nil).Ping(t.Context()); err != nil {
		t.Errorf("a host that is known by a key it does not prefer: %v", err)
	}
	other := startSSHD(t, "HostKey "+filepath.Join(server.dir, "ed25519"))
	call = newCall()
	host.Address = other.address.String()
	if _, err := call.HostKeys.KeepHostKey(t.Context(), host, string(gossh.MarshalAuthorizedKey(server.public(t, "ecdsa")))); err != nil {
		t.Fatal(err)
	}
	target.Address, target.PrivateKey = other.address, other.key
	err := newPool(t, ssh.Config{}).Host(call, target, nil).Ping(t.Context())
	var changed *ssh.HostKeyError
	if !errors.As(err, &changed) || changed.Offered != gossh.FingerprintSHA256(server.public(t, "ed25519")) {
		t.Errorf("a host without the key that it is known by: %v", err)
	}
}
