//go:build e2e

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// playProxy is the proxy of the requests with secrets, and the registry behind it, until the test ends. Who lacks a login learns so.
func playProxy(t *testing.T) {
	t.Helper()
	basic := func(login string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(login)) }
	listener, err := net.Listen("tcp", ":3128")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		switch {
		case request.Header.Get("Proxy-Authorization") != basic("me:geheim-of-proxy"):
			response.WriteHeader(http.StatusProxyAuthRequired)
		case request.URL.Host != registryServer:
			response.WriteHeader(http.StatusBadGateway)
		case request.Header.Get("Authorization") != basic("me:geheim-of-registry"):
			response.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			response.WriteHeader(http.StatusUnauthorized)
		}
	})}
	go func() { _ = proxy.Serve(listener) }()
	t.Cleanup(func() { _ = proxy.Close() })
}

// safeRegistry is Debian's docker-registry on this machine, with TLS and logins.
type safeRegistry struct {
	t       *testing.T
	dir     string
	command *exec.Cmd
}

const (
	safeServer   = "registry.example:5443"
	safeUser     = "me"
	safePassword = "geheim-of-safe-registry"
)

// authority makes a certificate of an authority that signs for the registry, both in PEM form, and writes what the registry needs of
// them into a directory.
func authority(t *testing.T, dir string) string {
	t.Helper()
	certify := func(template, parent *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if by == nil {
			by = key
		}
		template.SerialNumber = big.NewInt(time.Now().UnixNano())
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		content, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		return key, content
	}
	ca := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca.Subject.CommonName = "authority of " + filepath.Base(dir)
	caKey, caContent := certify(ca, ca, nil)
	server := &x509.Certificate{DNSNames: []string{"registry.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	key, content := certify(server, ca, caKey)
	keyContent, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, content []byte) string {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("server.crt", "CERTIFICATE", content)
	write("server.key", "PRIVATE KEY", keyContent)
	return write("ca.crt", "CERTIFICATE", caContent)
}

// start starts the registry, in the place of the one that runs, with the certificate in a directory and a password.
func (s *safeRegistry) start(certificates, password string) {
	s.t.Helper()
	s.stop()
	hashed, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		s.t.Fatal(err)
	}
	files := map[string]string{
		"htpasswd": safeUser + ":" + string(hashed) + "\n",
		"config.yml": fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %q}}\nauth: {htpasswd: {realm: test, path: %q}}\n"+
			"http: {addr: \":5443\", tls: {certificate: %q, key: %q}}\n", s.dir+"/images", s.dir+"/htpasswd", certificates+"/server.crt", certificates+"/server.key"),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.command = exec.Command("docker-registry", "serve", s.dir+"/config.yml")
	s.command.Env = []string{"OTEL_TRACES_EXPORTER=none", "PATH=" + os.Getenv("PATH")}
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the registry with TLS listens", func() bool {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:5443", time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func (s *safeRegistry) stop() {
	if s.command != nil {
		_ = s.command.Process.Kill()
		_ = s.command.Wait()
		s.command = nil
	}
}
