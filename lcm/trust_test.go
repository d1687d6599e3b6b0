package lcm

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"vnfm/api/peer/peertest"
)

// certificateOf returns a certificate and its key, both in PEM.
func certificateOf(t *testing.T) (certificate, key string) {
	t.Helper()
	certFile, keyFile, _ := peertest.Certificate(t)
	for path, to := range map[string]*string{certFile: &certificate, keyFile: &key} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		*to = string(content)
	}
	return certificate, key
}

func TestTrustedCertificates(t *testing.T) {
	t.Parallel()
	certificate, key := certificateOf(t)
	block, _ := pem.Decode([]byte(certificate))
	der := base64.StdEncoding.EncodeToString(block.Bytes)
	coded := base64.StdEncoding.EncodeToString([]byte(certificate))
	for _, row := range []struct {
		name  string
		value any
		want  string // what is read
		wrong string // or the attribute that is wrong
	}{
		{"nothing", nil, "", ""},
		{"an empty text takes them away", "", "", ""},
		{"PEM", "# ours\n" + certificate, certificate, ""},
		{"PEM in base64", coded, certificate, ""},
		{"DER in base64, in lines", der[:60] + "\n" + der[60:], certificate, ""},
		{"a list", []any{certificate, der}, certificate + certificate, ""},
		{"a chain", certificate + certificate, certificate + certificate, ""},
		{"words", "trust me", "", "/a"},
		{"a flag", true, "", "/a"},
		{"base64 of nothing", base64.StdEncoding.EncodeToString([]byte("nothing")), "", "/a"},
		{"a key, which has no business there", key, "", "/a"},
		{"half a certificate", certificate[:200], "", "/a"},
		{"one and a half", certificate + certificate[:200], "", "/a"},
		{"damaged", strings.Replace(certificate, certificate[100:104], "AAAA", 1), "", "/a"},
		{"the second of a list", []any{certificate, 7.0}, "", "/a/1"},
	} {
		got, err := certificates("/a", row.value)
		var invalid *InvalidRequest
		wrong := ""
		if errors.As(err, &invalid) {
			wrong = invalid.Attribute
		}
		if got != row.want || wrong != row.wrong || (err != nil) != (row.wrong != "") {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), key[40:80]) {
			t.Errorf("%s: the error shows the key: %v", row.name, err)
		}
	}
}

func TestWhatAVimTrusts(t *testing.T) {
	t.Parallel()
	ca, _ := certificateOf(t)
	for _, row := range []struct {
		name        string
		url         string
		credentials map[string]any
		extra       map[string]any
		want        string // the authorities
		wrong       string // or the attribute that is wrong
	}{
		{"nothing", "http://keystone/v3", nil, nil, "", ""},
		{"of the credentials", "https://keystone/v3", map[string]any{"ssl_ca_cert": ca}, nil, ca, ""},
		{"of the extra attributes, beside an empty text", "HTTPS://keystone/v3", map[string]any{"ssl_ca_cert": ""}, map[string]any{"ssl_ca_cert": ca}, ca, ""},
		{"nothing to trust, and no check", "https://keystone/v3", map[string]any{"cert_verify": "False"}, map[string]any{"ssl_ca_cert": nil}, "", ""},
		{"no check", "https://keystone/v3", map[string]any{"cert_verify": "False"}, map[string]any{"ssl_ca_cert": ca}, ca, "/vim/auth_cred/cert_verify"},
		{"no check, as a boolean", "https://keystone/v3", map[string]any{"cert_verify": false, "ssl_ca_cert": ca}, nil, ca, "/vim/auth_cred/cert_verify"},
		{"no TLS", "http://keystone/v3", map[string]any{"ssl_ca_cert": ca}, nil, ca, "/vim/auth_url"},
		{"no certificate", "https://keystone/v3", nil, map[string]any{"ssl_ca_cert": "None"}, "", "/vim/extra/ssl_ca_cert"},
	} {
		credentials := map[string]any{"username": "u", "password": "geheim"}
		maps.Copy(credentials, row.credentials)
		vim := &Vim{AuthURL: row.url, AuthCred: credentials, VimProject: map[string]any{"name": "p"}, Extra: row.extra}
		access, err := accessOf(vim) // what was stored by a former release is not refused
		if err != nil || access.Authorities != row.want {
			t.Errorf("%s: %q, %v", row.name, access.Authorities, err)
		}
		refusedFor(t, row.name, access.checkTrust("/vim/auth_url", "/vim/auth_cred/cert_verify"), row.wrong)
	}
}

func TestWhatAVimOfARequestTrusts(t *testing.T) {
	t.Parallel()
	ca, _ := certificateOf(t)
	const facts = "/vimConnectionInfo/0/interfaceInfo/"
	for _, row := range []struct {
		name  string
		facts map[string]any
		wrong string
	}{
		{"its authorities", map[string]any{"endpoint": "https://keystone/v3", "trustedCertificates": ca}, ""},
		{"no TLS", map[string]any{"endpoint": "http://keystone/v3", "trustedCertificates": ca}, facts + "endpoint"},
		{"no check", map[string]any{"endpoint": "https://keystone/v3", "trustedCertificates": ca, "skipCertificateVerification": true},
			facts + "skipCertificateVerification"},
		{"no certificate", map[string]any{"endpoint": "https://keystone/v3", "trustedCertificates": "none"}, facts + "trustedCertificates"},
	} {
		connections := []VimConnectionInfo{{ID: "cloud", VimType: vimTypeKeystone, InterfaceInfo: row.facts,
			AccessInfo: map[string]any{"username": "u", "password": "geheim", "project": "p"}}}
		registry := NewVimRegistry(nil, nil)
		_, err := registry.Choose(t.Context(), connections)
		refusedFor(t, row.name, err, row.wrong)
		if _, err := registry.Access(t.Context(), connections); err != nil {
			t.Errorf("%s: what was stored by a former release is refused: %v", row.name, err)
		}
	}
}

// refusedFor tells that an error is not about that attribute; "" = there is to be none.
func refusedFor(t *testing.T, name string, err error, attribute string) {
	t.Helper()
	var invalid *InvalidRequest
	if errors.As(err, &invalid) && invalid.Attribute == attribute || err == nil && attribute == "" {
		return
	}
	t.Errorf("%s: %v, want %q to be refused", name, err, attribute)
}
