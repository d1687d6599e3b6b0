package grant_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"vnfm/api/peer"
	"vnfm/api/peer/peertest"
	"vnfm/lcm"
	"vnfm/lcm/grant"
	"vnfm/lcm/grant/granttest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, authority := peertest.Certificate(t)
	server := httptest.NewUnstartedServer(granttest.New(t))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority}
	server.StartTLS()
	t.Cleanup(server.Close)
	caFile := peertest.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for name, row := range map[string]struct {
		options grant.Options
		granted bool
	}{
		"authority and certificate": {grant.Options{Access: peer.Access{TLSFiles: peer.TLSFiles{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}}}, true},
		"no authority":              {grant.Options{Access: peer.Access{TLSFiles: peer.TLSFiles{CertFile: certFile, KeyFile: keyFile}}}, false},
		"another authority":         {grant.Options{Access: peer.Access{TLSFiles: peer.TLSFiles{CAFile: certFile, CertFile: certFile, KeyFile: keyFile}}}, false},
		"no certificate":            {grant.Options{Access: peer.Access{TLSFiles: peer.TLSFiles{CAFile: caFile}}}, false},
	} {
		row.options.URL = server.URL + granttest.Path
		answer, err := source(t, row.options).Request(t.Context(), request())
		if row.granted && (err != nil || answer.Grant == nil) || !row.granted && !errors.As(err, new(*lcm.Unavailable)) {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	t.Parallel()
	const nfvo = "https://nfvo/grant/v1/grants"
	text, empty := peertest.File(t, "text"), peertest.File(t, "\n")
	for _, row := range []struct {
		options grant.Options
		option  string
	}{
		{grant.Options{URL: "nfvo/grants"}, "--grant-url"},
		{grant.Options{URL: "ftp://nfvo/grants"}, "--grant-url"},
		{grant.Options{URL: "https://me:secret@nfvo/grants"}, "--grant-url"},
		{grant.Options{URL: "http://nfvo/grants", Access: peer.Access{Username: "me", PasswordFile: text}}, "--grant-url must be an https URL"},
		{grant.Options{Access: peer.Access{Username: "me", PasswordFile: text}}, "--grant-url"},
		{grant.Options{URL: nfvo, Access: peer.Access{Username: "me"}}, "--grant-password-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{Username: "a:b", PasswordFile: text}}, "--grant-username"},
		{grant.Options{URL: nfvo, Access: peer.Access{Username: "me", PasswordFile: "/nonexistent/file"}}, "--grant-password-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{Username: "me", PasswordFile: empty}}, "--grant-password-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{TokenURL: "https://nfvo/token"}}, "--grant-client-id"},
		{grant.Options{URL: nfvo, Access: peer.Access{TokenURL: "http://nfvo/token", ClientID: "me", ClientSecretFile: text}}, "--grant-token-url"},
		{grant.Options{URL: nfvo, Access: peer.Access{TokenURL: "https://nfvo/token", ClientID: "me", ClientSecretFile: empty}}, "--grant-client-secret-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{Username: "me", PasswordFile: text, TokenURL: "https://nfvo/token"}}, "exclude each other"},
		{grant.Options{URL: nfvo, Access: peer.Access{TLSFiles: peer.TLSFiles{CAFile: "/nonexistent/file"}}}, "--grant-ca-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{TLSFiles: peer.TLSFiles{CAFile: text}}}, "--grant-ca-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{TLSFiles: peer.TLSFiles{CertFile: text}}}, "--grant-key-file"},
		{grant.Options{URL: nfvo, Access: peer.Access{TLSFiles: peer.TLSFiles{CertFile: text, KeyFile: text}}}, "--grant-cert-file"},
		{grant.Options{URL: nfvo, Timeout: -1}, "--grant-timeout"},
		{grant.Options{URL: nfvo, Timeout: time.Hour}, "--grant-timeout"},
	} {
		if row.options.Timeout == 0 {
			row.options.Timeout = time.Second
		}
		client, err := row.options.Source()
		if client != nil || err == nil || !strings.Contains(err.Error(), row.option) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%+v: %v, %v, want an error that names %s", row.options, client, err, row.option)
		}
	}
	none := grant.Options{Timeout: time.Second}
	if client, err := none.Source(); client != nil || err != nil {
		t.Errorf("no options: %v, %v", client, err)
	}
}
