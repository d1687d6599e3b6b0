package vnfpkg

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Trust says whose packages are accepted. The zero value takes packages without a signature, and of a signature asks only that it is
// right by the certificate that comes with it, whosever that is.
type Trust struct {
	Roots    *x509.CertPool // certificates, or those of their authorities, of the providers that are trusted; nil: anybody
	Required bool           // packages without a signature are refused
}

// TrustOptions are the command-line options for [Trust].
type TrustOptions struct {
	PackageTrustStore     string `env:"VNFM_PACKAGE_TRUST_STORE" type:"path" placeholder:"FILE" help:"Certificates (PEM) of providers, or of their authorities, by whom signed VNF packages must be signed. Default: none, whoever has signed is accepted."`
	RequireSignedPackages bool   `env:"VNFM_REQUIRE_SIGNED_PACKAGES" help:"Refuse VNF packages without a signature. Default: false."`
}

// Trust reads the trust store.
func (o TrustOptions) Trust() (Trust, error) {
	trust := Trust{Required: o.RequireSignedPackages}
	if o.PackageTrustStore == "" {
		return trust, nil
	}
	certificates, err := os.ReadFile(o.PackageTrustStore)
	if err != nil {
		return Trust{}, fmt.Errorf("--package-trust-store: %w", err)
	}
	trust.Roots = x509.NewCertPool()
	if !trust.Roots.AppendCertsFromPEM(certificates) {
		return Trust{}, fmt.Errorf("--package-trust-store: %s holds no certificate in PEM", o.PackageTrustStore)
	}
	return trust, nil
}
