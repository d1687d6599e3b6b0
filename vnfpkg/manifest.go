package vnfpkg

import (
	"bytes"
	"crypto"
	"errors"
	"path"
)

// verifyManifest checks the signature in the manifest and that it covers the whole package (SOL004 5.1, option 1): the manifest is what
// is signed, and the hashes in it are those of all other files. The certificate needs no hash, nor does TOSCA.meta, which only says
// which of the signed files is the VNFD.
func (c *CSAR) verifyManifest(found layout, trust Trust, p *problems) {
	if found.signature == nil {
		if trust.Required {
			p.add(&Invalid{File: found.manifest, Reason: "the package is not signed: neither its manifest is, nor is it in a zip file with a signature"})
		}
		return
	}
	p.add(verifyText(found.signature, found.signed, trust))
	listed := map[string]bool{found.manifest: true, found.certificate: true, metaFile: true}
	for _, b := range found.blocks {
		if b.file == found.manifest && b.first("Hash") != "" {
			listed[path.Clean(b.first("Source", "Name"))] = true
		}
	}
	for _, name := range c.names {
		if !listed[name] {
			p.add(found.signature.invalid("the manifest is signed but has no hash of the file %s, which anybody may have added", name))
		}
	}
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
