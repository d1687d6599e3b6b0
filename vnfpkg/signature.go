package vnfpkg

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/smallstep/pkcs7"
)

// signature is a CMS signature (RFC 5652) of content that is elsewhere.
type signature struct {
	file         string // that holds it
	line         int    // 0: it is all of the file
	data         []byte // DER or PEM
	certificates []*x509.Certificate
}

// digest computes a hash of the content that is signed.
type digest func(crypto.Hash) ([]byte, error)

// Hash implements [pkcs7.Hasher]. The content is not in the signature.
func (d digest) Hash(hash crypto.Hash, _ io.Reader) ([]byte, error) { return d(hash) }

var errOtherContent = errors.New("the signature is of other content")

// maxSignatureBytes bounds a signature with its certificates. The parser takes time by the square of it.
const maxSignatureBytes = 64 << 10

// The shortest RSA key that is taken for safe, in bits.
const minRSABits = 2048

func (s *signature) invalid(format string, args ...any) error {
	return &Invalid{File: s.file, Line: s.line, Reason: fmt.Sprintf(format, args...)}
}

// verify checks that the content is what somebody has signed whom the trust allows: errOtherContent or *[Invalid] if it is not; other
// errors are those of the digest.
func (s *signature) verify(trust Trust, content digest) error {
	if len(s.data) > maxSignatureBytes {
		return s.invalid("the signature has more than %d bytes", maxSignatureBytes)
	}
	der := s.data
	if block, _ := pem.Decode(s.data); block != nil {
		der = block.Bytes
	}
	message, err := pkcs7.Parse(der)
	if err != nil {
		return s.invalid("not a CMS signature: %s", strings.TrimPrefix(err.Error(), "pkcs7: "))
	}
	if len(message.Signers) == 0 {
		return s.invalid("the signature has no signer that is named by the issuer and the serial number of a certificate")
	}
	message.Certificates = append(message.Certificates, s.certificates...)
	for _, signer := range message.Signers {
		if err := s.checkAlgorithms(signer.DigestAlgorithm.Algorithm, signer.DigestEncryptionAlgorithm.Algorithm); err != nil {
			return err
		}
		if len(signer.AuthenticatedAttributes) == 0 {
			return s.invalid("the signature has no signed attributes")
		}
		name := signer.IssuerAndSerialNumber
		at := slices.IndexFunc(message.Certificates, func(c *x509.Certificate) bool {
			return c.SerialNumber.Cmp(name.SerialNumber) == 0 && bytes.Equal(c.RawIssuer, name.IssuerName.FullBytes)
		})
		if at < 0 {
			return s.invalid("the certificate of the signer is neither in the signature nor in a file beside it")
		}
		if err := s.checkCertificate(message.Certificates[at], message.Certificates, trust); err != nil {
			return err
		}
	}
	return s.verifyContent(message, content)
}

// verifyContent compares the content with what was signed, and that with the signers' certificates.
func (s *signature) verifyContent(message *pkcs7.PKCS7, content digest) error {
	var unread error
	sums := map[crypto.Hash][]byte{} // the content is read once, however many have signed it
	message.Hasher = digest(func(hash crypto.Hash) ([]byte, error) {
		if sums[hash] == nil {
			sums[hash], unread = content(hash)
		}
		return sums[hash], unread
	})
	err := message.VerifyWithChainAtTime(nil, time.Now())
	var changed *pkcs7.MessageDigestMismatchError
	var early *pkcs7.SigningTimeNotValidError
	switch {
	case unread != nil:
		return unread
	case errors.As(err, &changed):
		return errOtherContent
	case errors.As(err, &early):
		return s.invalid("signed at %s, when the certificate was not valid, which it is from %s to %s",
			early.SigningTime.UTC().Format(time.RFC3339), early.NotBefore.UTC().Format(time.RFC3339), early.NotAfter.UTC().Format(time.RFC3339))
	case err != nil:
		return s.invalid("the signature is not by the key of its certificate: %v", err)
	}
	return nil
}

// checkCertificate checks the certificate of a signer.
func (s *signature) checkCertificate(signer *x509.Certificate, others []*x509.Certificate, trust Trust) error {
	if key, ok := signer.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSABits {
		return s.invalid("the RSA key of the certificate of %s has %d bits, less than %d", signer.Subject, key.N.BitLen(), minRSABits)
	}
	if trust.Roots == nil {
		return nil
	}
	between := x509.NewCertPool()
	for _, certificate := range others {
		between.AddCert(certificate)
	}
	_, err := signer.Verify(x509.VerifyOptions{
		Roots: trust.Roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return s.invalid("the certificate of %s is not trusted: %s", signer.Subject, strings.TrimPrefix(err.Error(), "x509: "))
	}
	return nil
}

const strongAlgorithms = "RSA (PKCS #1 v1.5) or ECDSA with SHA-256, SHA-384 or SHA-512"

var (
	strongDigests = []asn1.ObjectIdentifier{
		pkcs7.OIDDigestAlgorithmSHA256, pkcs7.OIDDigestAlgorithmSHA384, pkcs7.OIDDigestAlgorithmSHA512,
	}
	strongSignatures = []asn1.ObjectIdentifier{
		pkcs7.OIDEncryptionAlgorithmRSA,
		pkcs7.OIDEncryptionAlgorithmRSASHA256, pkcs7.OIDEncryptionAlgorithmRSASHA384, pkcs7.OIDEncryptionAlgorithmRSASHA512,
		pkcs7.OIDDigestAlgorithmECDSASHA256, pkcs7.OIDDigestAlgorithmECDSASHA384, pkcs7.OIDDigestAlgorithmECDSASHA512,
	}
	weakAlgorithms = map[string]string{
		"1.2.840.113549.2.5":                         "MD5",
		pkcs7.OIDDigestAlgorithmSHA1.String():        "SHA-1",
		pkcs7.OIDEncryptionAlgorithmRSAMD5.String():  "RSA with MD5",
		pkcs7.OIDEncryptionAlgorithmRSASHA1.String(): "RSA with SHA-1",
		pkcs7.OIDDigestAlgorithmECDSASHA1.String():   "ECDSA with SHA-1",
		pkcs7.OIDDigestAlgorithmDSA.String():         "DSA",
		pkcs7.OIDDigestAlgorithmDSASHA1.String():     "DSA with SHA-1",
	}
)

// checkAlgorithms refuses what can be forged, and what is not known.
func (s *signature) checkAlgorithms(digest, signing asn1.ObjectIdentifier) error {
	for _, row := range []struct {
		used   asn1.ObjectIdentifier
		strong []asn1.ObjectIdentifier
	}{{digest, strongDigests}, {signing, strongSignatures}} {
		if slices.ContainsFunc(row.strong, row.used.Equal) {
			continue
		}
		if weak := weakAlgorithms[row.used.String()]; weak != "" {
			return s.invalid("the signature uses %s, which is too weak: sign with %s", weak, strongAlgorithms)
		}
		return s.invalid("the signature uses the algorithm %s, which is not supported: sign with %s", row.used, strongAlgorithms)
	}
	return nil
}

// parseCertificates reads a certificate file, PEM or DER.
func parseCertificates(file string, data []byte) ([]*x509.Certificate, error) {
	var der []byte
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			der = append(der, block.Bytes...)
		}
	}
	if der == nil {
		der = data
	}
	certificates, err := x509.ParseCertificates(der)
	if err != nil || len(certificates) == 0 {
		return nil, &Invalid{File: file, Reason: "not an X.509 certificate in PEM or DER"}
	}
	return certificates, nil
}
