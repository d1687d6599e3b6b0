// Package signtest signs VNF packages in tests, with certificates of its own and the signatures that openssl makes.
//
//	provider := signtest.New(t)
//	signature := provider.Sign(t, csar)  // PEM, with the certificate in it
package signtest

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Provider is a provider of VNF packages with a key, and a certificate of an authority of its own.
type Provider struct {
	Authority   []byte // PEM
	Certificate []byte // PEM
	dir         string
}

// Option changes how a provider is made.
type Option func(*options)

type options struct {
	name     string
	rsaBits  int // 0: ECDSA
	notAfter time.Time
}

// Named sets the common name of the provider.
func Named(name string) Option { return func(o *options) { o.name = name } }

// WithRSA gives the provider an RSA key of that many bits, instead of one for ECDSA.
func WithRSA(bits int) Option { return func(o *options) { o.rsaBits = bits } }

// Until ends the certificate's time.
func Until(end time.Time) Option { return func(o *options) { o.notAfter = end } }

// New returns a provider.
func New(tb testing.TB, given ...Option) *Provider {
	tb.Helper()
	chosen := options{name: "provider", notAfter: time.Now().AddDate(1, 0, 0)}
	for _, option := range given {
		option(&chosen)
	}
	authorityKey := newKey(tb, 0)
	authority := template(chosen.name + " authority")
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	authorityDER := certify(tb, authority, authority, authorityKey.Public(), authorityKey)
	key := newKey(tb, chosen.rsaBits)
	certificate := template(chosen.name)
	certificate.NotAfter, certificate.SubjectKeyId = chosen.notAfter, []byte(chosen.name)
	der := certify(tb, certificate, authority, key.Public(), authorityKey)
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Provider{Authority: encode("CERTIFICATE", authorityDER), Certificate: encode("CERTIFICATE", der), dir: tb.TempDir()}
	p.write(tb, "key.pem", encode("PRIVATE KEY", encodedKey))
	p.write(tb, "cert.pem", p.Certificate)
	return p
}

func newKey(tb testing.TB, rsaBits int) (key crypto.Signer) {
	tb.Helper()
	var err error
	if rsaBits == 0 {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, rsaBits)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func certify(tb testing.TB, certificate, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) []byte {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, public, key)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (p *Provider) write(tb testing.TB, name string, content []byte) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), content, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Sign returns the CMS signature of content in PEM, made by openssl with these arguments more, such as "-md", "sha512".
func (p *Provider) Sign(tb testing.TB, content []byte, arguments ...string) []byte {
	tb.Helper()
	return p.SignText(tb, content, append([]string{"-binary"}, arguments...)...)
}

// Beside are the arguments of [Provider.Sign] with which this provider signs too.
func (p *Provider) Beside() []string {
	return []string{"-signer", filepath.Join(p.dir, "cert.pem"), "-inkey", filepath.Join(p.dir, "key.pem")}
}

// SignText is Sign without -binary, so that openssl changes the ends of lines.
func (p *Provider) SignText(tb testing.TB, content []byte, arguments ...string) []byte {
	tb.Helper()
	sign := exec.CommandContext(tb.Context(), "openssl", slices.Concat([]string{"cms", "-sign", "-outform", "PEM"}, p.Beside(), arguments)...)
	var signature, complaint bytes.Buffer
	sign.Stdin, sign.Stdout, sign.Stderr = bytes.NewReader(content), &signature, &complaint
	if err := sign.Run(); err != nil {
		tb.Fatalf("openssl: %v: %s", err, complaint.Bytes())
	}
	return signature.Bytes()
}

// File is a file of a zip file.
type File struct {
	Name    string
	Content []byte
	Method  uint16 // zip.Store or zip.Deflate
}

// Zip makes a zip file.
func Zip(tb testing.TB, files ...File) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, file := range files {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: file.Name, Method: file.Method})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := entry.Write(file.Content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
