package lcm

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// authoritiesKey is what a VIM of the registry has its authorities by, in auth_cred, or in extra: of the file of the openstack client for an
// OpenStack nothing else arrives.
const authoritiesKey = "ssl_ca_cert"

func registeredAuthorities(vim *Vim) (string, error) {
	authorities, err := certificates("/vim/auth_cred/"+authoritiesKey, vim.AuthCred[authoritiesKey])
	if err != nil || authorities != "" {
		return authorities, err
	}
	return certificates("/vim/extra/"+authoritiesKey, vim.Extra[authoritiesKey])
}

// checkTrust refuses authorities that are none, and those that nobody would ask. The attributes are that of the endpoint, and the one that says that
// certificates are not checked.
func (a *VimAccess) checkTrust(endpoint, skip string) error {
	switch {
	case a.NoAuthorities != nil:
		return a.NoAuthorities
	case a.Authorities == "":
		return nil
	case a.SkipVerify:
		return &InvalidRequest{skip, "certificates are to be checked if the VIM names authorities that they are from"}
	case !strings.HasPrefix(strings.ToLower(a.AuthURL), "https://"):
		return &InvalidRequest{endpoint, "must be an https URL if the VIM names authorities that its certificate is from"}
	}
	return nil
}

// certificates reads the authorities that the certificate of a VIM has to be from: one text or a list of them, each in PEM, or in base64 as
// SOL003 has trustedCertificates, of PEM or of DER. It returns them in PEM; "" if there are none.
func certificates(attribute string, value any) (string, error) {
	var texts []any
	switch value := value.(type) {
	case nil:
	case []any:
		texts = value
	default:
		texts = []any{value}
	}
	var bundle strings.Builder
	for i, element := range texts {
		at := attribute
		if len(texts) > 1 {
			at = fmt.Sprintf("%s/%d", attribute, i)
		}
		text, ok := element.(string)
		if !ok {
			return "", &InvalidRequest{at, "must be a text with certificates in PEM, or in base64"}
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		blocks, err := decodeCertificates(text)
		if err != nil {
			return "", &InvalidRequest{at, "holds no certificates in PEM, or in base64: " + err.Error()}
		}
		for _, block := range blocks {
			bundle.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Raw}))
		}
	}
	return bundle.String(), nil
}

const pemBegin = "-----BEGIN"

func decodeCertificates(text string) ([]*x509.Certificate, error) {
	content := []byte(text)
	if !strings.Contains(text, pemBegin) {
		var err error
		if content, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), "")); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(string(content), pemBegin) {
		return x509.ParseCertificates(content)
	}
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, content = pem.Decode(content); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("there is a %s among them", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, certificate)
	}
	if rest := strings.TrimSpace(string(content)); strings.Contains(rest, pemBegin) || len(found) == 0 {
		return nil, errors.New("a block of PEM does not end, or is damaged")
	}
	return found, nil
}
