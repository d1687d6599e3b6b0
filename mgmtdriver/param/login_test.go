package param_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/param"
)

// privateKey is a key as users have it in a file.
func privateKey(t *testing.T, passphrase string) string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = gossh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

func TestLogins(t *testing.T) {
	t.Parallel()
	key := privateKey(t, "")
	jump := func(address string) map[string]any {
		return map[string]any{"address": address, "username": "ops", "private_key": key}
	}
	for _, row := range []struct {
		name   string
		values map[string]any
		wrong  string // attribute; "" = none
	}{
		{"a password", map[string]any{"username": "ubuntu", "password": "geheim"}, ""},
		{"a key", map[string]any{"username": "ubuntu", "private_key": key}, ""},
		{"a key without its last line end", map[string]any{"username": "ubuntu", "private_key": strings.TrimSpace(key)}, ""},
		{"a key, and a password for sudo", map[string]any{"username": "ubuntu", "private_key": key, "password": "geheim"}, ""},
		{"a key that is masked", map[string]any{"username": "ubuntu", "private_key": "***"}, ""},
		{"neither", map[string]any{"username": "ubuntu"}, "password"},
		{"nobody", map[string]any{"password": "geheim"}, "username"},
		{"a key that is none", map[string]any{"username": "ubuntu", "private_key": "geheim"}, "private_key"},
		{"a public key", map[string]any{"username": "ubuntu", "private_key": "ssh-ed25519 AAAA"}, "private_key"},
		{"a key with a passphrase", map[string]any{"username": "ubuntu", "private_key": privateKey(t, "geheim")}, "private_key"},
		{"a key that is a number", map[string]any{"username": "ubuntu", "private_key": 7.0}, "private_key"},
		{"a jump host", map[string]any{"username": "ubuntu", "password": "geheim", "jump_host": jump("192.0.2.7")}, ""},
		{"a jump host with a port", map[string]any{"username": "ubuntu", "password": "geheim", "jump_host": jump("[2001:db8::7]:2222")}, ""},
		{"a jump host by its name", map[string]any{"username": "ubuntu", "password": "geheim", "jump_host": jump("bastion.example")}, "jump_host/address"},
		{"a jump host that lets nobody in", map[string]any{"username": "ubuntu", "password": "geheim",
			"jump_host": map[string]any{"address": "192.0.2.7", "username": "ops"}}, "jump_host/password"},
	} {
		r := param.NewReader("/additionalParams", row.values)
		login := r.Login("")
		var invalid *mgmtdriver.Invalid
		switch err := r.Err(); {
		case row.wrong == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.wrong != "" && (!errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/"+row.wrong || strings.Contains(invalid.Detail, "geheim")):
			t.Errorf("%s: got %v", row.name, err)
		}
		if shown := fmt.Sprintf("%+v", login); strings.Contains(shown, "geheim") || strings.Contains(shown, "PRIVATE KEY") {
			t.Errorf("%s: it is shown as %s", row.name, shown)
		}
	}
}

func TestLoginOfALaterRequest(t *testing.T) {
	t.Parallel()
	r := param.NewReader("", map[string]any{"worker_node_username": "debian", "worker_node_password": "geheim"})
	if !r.HasLogin("worker_node_") || r.HasLogin("master_node_") {
		t.Error("it is not known who has another login")
	}
	if login := r.Login("worker_node_"); r.Err() != nil || login.Username != "debian" || string(login.Password) != "geheim" {
		t.Errorf("got %+v, %v", login, r.Err())
	}
}
