package auth_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"vnfm/api/peer/peertest"
	"vnfm/server/auth"
)

// listen serves with the TLS of options; the answer is the user that a gate finds, if there is one.
func listen(t *testing.T, options auth.TLSOptions, gate *auth.Gate) string {
	t.Helper()
	config, err := options.Config(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if gate == nil {
			return
		}
		caller, err := gate.Admit(request)
		if err != nil {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = response.Write([]byte(caller.User))
	}))
	server.Listener = tls.NewListener(server.Listener, config)
	server.Start()
	t.Cleanup(server.Close)
	return "https://" + server.Listener.Addr().String()
}

// call asks with a configuration, on a connection of its own.
func call(t *testing.T, url string, config *tls.Config) (int, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

func TestCertificateIsRenewedWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	certFile, keyFile, former := peertest.Certificate(t)
	newCert, newKey, renewed := peertest.Certificate(t)
	url := listen(t, auth.TLSOptions{CertFile: certFile, KeyFile: keyFile}, nil)
	trusting := func(authority *x509.CertPool) *tls.Config {
		return &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS10}
	}
	if _, err := call(t, url, trusting(former)); err != nil {
		t.Fatal(err)
	}
	old := trusting(former)
	old.MaxVersion = tls.VersionTLS11
	if _, err := call(t, url, old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	replace := func(path, with string) {
		content, err := os.ReadFile(with)
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	replace(certFile, newCert) // between the two files the pair does not fit, and the former serves
	replace(keyFile, newKey)
	for {
		_, err := call(t, url, trusting(renewed))
		if err == nil {
			break
		}
		if _, err := call(t, url, trusting(former)); err != nil && t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	replace(certFile, os.DevNull)
	deadline := time.Now().Add(3 * time.Second) // longer than the files are taken to be as they were
	for time.Now().Before(deadline) {
		if _, err := call(t, url, trusting(renewed)); err != nil {
			t.Fatalf("after the certificate was damaged: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestClientsWithCertificates(t *testing.T) {
	t.Parallel()
	certFile, keyFile, authority := peertest.Certificate(t)
	clientCert, clientKey, _ := peertest.Certificate(t)
	strangerCert, strangerKey, _ := peertest.Certificate(t)
	users := peertest.File(t, "vnfm:-:p1:member\n")
	admitting := gate(t, auth.Options{Auth: "tls", UsersFile: users})
	url := listen(t, auth.TLSOptions{CertFile: certFile, KeyFile: keyFile, ClientCA: clientCert}, admitting)
	with := func(certFile, keyFile string) *tls.Config {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if status, err := call(t, url, with(clientCert, clientKey)); err != nil || status != http.StatusOK {
		t.Errorf("%d %v", status, err)
	}
	if err := os.WriteFile(users, []byte("somebody:-:p1:member\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, err := call(t, url, with(clientCert, clientKey)); err != nil || status != http.StatusUnauthorized {
		t.Errorf("one that is no user: %d %v", status, err)
	}
	if _, err := call(t, url, with(strangerCert, strangerKey)); err == nil {
		t.Error("a certificate of another authority is taken")
	}
	if _, err := call(t, url, &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}); err == nil {
		t.Error("a client without a certificate comes in")
	}
}

func TestTLSOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	certFile, keyFile, _ := peertest.Certificate(t)
	for name, options := range map[string]auth.TLSOptions{
		"key alone": {KeyFile: keyFile}, "certificate alone": {CertFile: certFile}, "authority alone": {ClientCA: certFile},
		"no such file": {CertFile: "/none", KeyFile: keyFile}, "no certificate": {CertFile: keyFile, KeyFile: keyFile},
		"no authority": {CertFile: certFile, KeyFile: keyFile, ClientCA: keyFile},
	} {
		if _, err := options.Config(slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
