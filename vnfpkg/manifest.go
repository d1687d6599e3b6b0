package vnfpkg

import (
	"bytes"
	"crypto"
	"errors"
	"path"
	"slices"
	"strings"
)

// verifyManifest checks the signature in the manifest and that it covers the whole package (SOL004 5.1, option 1): the manifest is what
// is signed, and the hashes in it are those of all other files and of what is elsewhere. The certificate needs no hash, nor does TOSCA.meta,
// which only says which of the signed files is the VNFD.
func (c *CSAR) verifyManifest(found layout, trust Trust, p *problems) {
	if found.signature == nil {
		if trust.Required {
			p.add(&Invalid{File: found.manifest, Reason: "the package is not signed: neither its manifest is, nor is it in a zip file with a signature"})
		}
		return
	}
	p.add(verifyText(found.signature, found.signed, trust))
	listed := map[string]bool{found.manifest: true, metaFile: true}
	if isCertificate(found.certificate) {
		listed[found.certificate] = true
	}
	names := slices.Clone(c.names)
	for _, b := range found.blocks {
		name := artifactPath(b.first("Source", "Name"))
		if b.file == found.manifest && b.first("Hash") != "" {
			listed[name] = true
		} else if isURL(name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !listed[name] {
			p.add(found.signature.invalid("the manifest is signed but has no hash of the file %s, which anybody may have added", name))
		}
	}
}

// isCertificate tells by its name that a file is a certificate and nothing else: what says in TOSCA.meta that it is one is not signed, and a
// script may have a certificate in it.
func isCertificate(name string) bool {
	return slices.Contains([]string{".cert", ".crt", ".cer", ".pem", ".der"}, strings.ToLower(path.Ext(name)))
}

// verifyText checks the signature of a text. Tools sign it as it is or with the line ends of mail, and with or without the end of the
// last line, which then belongs to the signature that follows: to us it is the same text.
func verifyText(s *signature, text []byte, trust Trust) error {
	lines := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	mail := bytes.ReplaceAll(lines, []byte("\n"), []byte("\r\n"))
	for _, form := range [][]byte{text, bytes.TrimSuffix(lines, []byte("\n")), mail, bytes.TrimSuffix(mail, []byte("\r\n"))} {
		err := s.verify(trust, func(hash crypto.Hash) ([]byte, error) {
			hasher := hash.New()
			hasher.Write(form)
			return hasher.Sum(nil), nil
		})
		if !errors.Is(err, errOtherContent) {
			return err
		}
	}
	return s.invalid("the signature is not of this manifest: it was changed after it was signed")
}
