package peer

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles are the command-line options that say whom to trust, and who we are.
type TLSFiles struct {
	CAFile   string `name:"ca-file" env:"CA_FILE" type:"path" placeholder:"FILE" help:"Certificates (PEM) of the authorities that the peer's certificate must be from. Default: those of the system."`
	CertFile string `env:"CERT_FILE" type:"path" placeholder:"FILE" help:"Certificate (PEM) by which the peer knows this server. Default: none."`
	KeyFile  string `env:"KEY_FILE" type:"path" placeholder:"FILE" help:"Key (PEM) of that certificate. Default: none."`
}

// Authorities are those of the system and of a file, if one is named. Errors name the option.
func Authorities(option, file string) (*x509.CertPool, error) {
	found, err := x509.SystemCertPool()
	if err != nil || file == "" {
		return found, err
	}
	return found, addAuthorities(found, option, file)
}

func addAuthorities(to *x509.CertPool, option, file string) error {
	content, err := os.ReadFile(file) //nolint:gosec // the operator's own choice
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	if !to.AppendCertsFromPEM(content) {
		return fmt.Errorf("%s: %s holds no certificate in PEM", option, file)
	}
	return nil
}

// Config reads the files. Errors name the option, whose prefix is given, such as "--grant-".
func (f *TLSFiles) Config(prefix string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CAFile != "" {
		config.RootCAs = x509.NewCertPool()
		if err := addAuthorities(config.RootCAs, prefix+"ca-file", f.CAFile); err != nil {
			return nil, err
		}
	}
	if (f.CertFile == "") != (f.KeyFile == "") {
		return nil, fmt.Errorf("%scert-file and %skey-file go together", prefix, prefix)
	}
	if f.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%scert-file, %skey-file: %w", prefix, prefix, err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}
