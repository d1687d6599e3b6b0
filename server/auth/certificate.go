package auth

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// TLSOptions are the command-line options of the server's side of TLS.
type TLSOptions struct {
	CertFile string `env:"CERT_FILE" type:"path" placeholder:"FILE" help:"Certificate (PEM) of the API, with those between it and its authority. Default: none, the API is plain HTTP."`
	KeyFile  string `env:"KEY_FILE" type:"path" placeholder:"FILE" help:"Key (PEM) of that certificate."`
	ClientCA string `name:"client-ca-file" env:"CLIENT_CA_FILE" type:"path" placeholder:"FILE" help:"Authorities (PEM) of the certificates of clients, which then have to show one. Default: clients need none."`
}

// On reports whether the API has TLS.
func (o *TLSOptions) On() bool { return o.CertFile != "" }

// Config returns how connections are taken; nil without TLS. The files are read again when they have changed, so that certificates are renewed
// while the server runs; while they cannot be read, those from before are used.
func (o *TLSOptions) Config(log *slog.Logger) (*tls.Config, error) {
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("--tls-cert-file and --tls-key-file go together")
	}
	if !o.On() {
		if o.ClientCA != "" {
			return nil, errors.New("--tls-client-ca-file needs --tls-cert-file")
		}
		return nil, nil
	}
	files := &tlsFiles{options: *o, log: log}
	if files.current() == nil {
		return nil, files.err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return files.current(), nil },
	}, nil
}

// tlsFiles are the files of [TLSOptions] as they were read last.
type tlsFiles struct {
	options TLSOptions

	mu     sync.Mutex
	looked time.Time
	stamp  string // of the files
	config *tls.Config
	err    error // why they could not be read last
	log    *slog.Logger
}

// lookAgain is how long the files are taken to be as they were.
const lookAgain = time.Second

// current returns the configuration of the files, that from before if they cannot be read.
func (f *tlsFiles) current() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookAgain {
		return f.config
	}
	f.looked = time.Now()
	stamp, err := f.stamps()
	if err == nil && stamp == f.stamp {
		return f.config
	}
	f.stamp = stamp
	config, readErr := f.read()
	if f.err = cmp.Or(err, readErr); f.err != nil {
		f.log.Error("the certificate of the API is not renewed", "error", f.err)
		return f.config
	}
	f.config = config
	return f.config
}

func (f *tlsFiles) stamps() (string, error) {
	all := ""
	for _, path := range []string{f.options.CertFile, f.options.KeyFile, f.options.ClientCA} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		all += fmt.Sprintf("%d/%d ", info.ModTime().UnixNano(), info.Size())
	}
	return all, nil
}

func (f *tlsFiles) read() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(f.options.CertFile, f.options.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-key-file: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	if f.options.ClientCA == "" {
		return config, nil
	}
	authorities, err := os.ReadFile(f.options.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("--tls-client-ca-file: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("--tls-client-ca-file: %s holds no certificate in PEM", f.options.ClientCA)
	}
	return config, nil
}
