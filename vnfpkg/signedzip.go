package vnfpkg

import (
	"archive/zip"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// signedZip is the zip file in which a provider delivers a CSAR with its signature, and the certificate if it is not in the signature
// (SOL004 5.1, option 2).
type signedZip struct {
	zip         *CSAR // all of the zip file
	csar        string
	signature   string
	certificate string // "" = it is in the signature
}

// signedZip tells whether an archive is such a zip file; nil if it is not.
func (c *CSAR) signedZip() (*signedZip, error) {
	files := map[string][]string{} // in the root, by extension
	for _, name := range c.names {
		if isYAML(name) && path.Dir(name) == "." || name == metaFile {
			return nil, nil
		}
		if path.Dir(name) == "." {
			extension := strings.ToLower(path.Ext(name))
			files[extension] = append(files[extension], name)
		}
	}
	csars, signatures, certificates := files[".csar"], files[".cms"], files[".cert"]
	if len(csars) == 0 && len(signatures) > 0 {
		csars = files[".zip"]
	}
	switch {
	case len(csars) == 0:
		return nil, nil
	case len(csars) > 1:
		return nil, &Invalid{File: csars[1], Reason: "a second CSAR in the zip file, beside " + csars[0]}
	case len(signatures) == 0:
		return nil, &Invalid{File: csars[0], Reason: "the zip file has a CSAR but no signature of it, a file that ends in .cms"}
	case len(signatures) > 1:
		return nil, &Invalid{File: signatures[1], Reason: "a second signature in the zip file, beside " + signatures[0]}
	case len(certificates) > 1:
		return nil, &Invalid{File: certificates[1], Reason: "a second certificate file in the zip file, beside " + certificates[0]}
	}
	found := &signedZip{zip: c, csar: csars[0], signature: signatures[0]}
	if len(certificates) == 1 {
		found.certificate = certificates[0]
	}
	return found, nil
}

// verify checks the signature of the CSAR.
func (z *signedZip) verify(ctx context.Context, trust Trust) error {
	data, err := z.zip.ReadFile(z.signature, maxSignatureBytes)
	if err != nil {
		return err
	}
	s := &signature{file: z.signature, data: data}
	if z.certificate != "" {
		if s.certificates, err = z.zip.readCertificates(z.certificate); err != nil {
			return err
		}
	}
	err = s.verify(trust, func(hash crypto.Hash) (sum []byte, err error) {
		content, err := z.zip.Open(z.csar)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, content.Close()) }()
		hasher := hash.New()
		_, err = io.Copy(hasher, &contextReader{ctx, content})
		return hasher.Sum(nil), err
	})
	if errors.Is(err, errOtherContent) {
		return s.invalid("the signature is not of %s: it was changed after it was signed, or was signed as a text (openssl cms -sign needs -binary)", z.csar)
	}
	return err
}

// inPlace returns the part of the zip file that is the CSAR; nil if the CSAR is compressed.
func (z *signedZip) inPlace(r io.ReaderAt) (*io.SectionReader, error) {
	entry := z.zip.files[z.csar]
	if entry.Method != zip.Store {
		return nil, nil
	}
	start, err := entry.DataOffset()
	if err != nil {
		return nil, refuse(z.csar, err)
	}
	return io.NewSectionReader(r, start, int64(entry.UncompressedSize64)), nil
}

// limits are those of the CSAR. It may not get larger by being packed twice.
func (z *signedZip) limits(zipBytes int64) Limits {
	limits := z.zip.limits
	if limits.ContentBytes/limits.Ratio > zipBytes {
		limits.ContentBytes = max(freeBytes, zipBytes*limits.Ratio)
	}
	return limits
}

// errCompressed is returned for a CSAR that has to be taken out of its zip file before it can be read.
var errCompressed = errors.New("the CSAR is compressed in its zip file")

// OpenCSAR opens an archive of size bytes. Only its directory is read. *[Invalid] if it is not a zip file or is a hostile
// one: names that lead out of it or collide, links and special files, encryption, entries that overlap or claim what cannot
// be, more than the limits allow. Any other error is one of reading from r. A CSAR in a signed zip file is opened where it is; one
// that is compressed there has to be unpacked first, see [Inspect].
func OpenCSAR(r io.ReaderAt, size int64, limits Limits) (*CSAR, error) {
	outer, err := openZip(r, size, limits)
	if err != nil {
		return nil, err
	}
	signed, err := outer.signedZip()
	if signed == nil || err != nil {
		return outer, err
	}
	part, err := signed.inPlace(r)
	if err != nil {
		return nil, err
	}
	if part == nil {
		return nil, errCompressed
	}
	return openZip(part, part.Size(), signed.limits(size))
}

// Unpack keeps the CSAR that it is given, of which nothing may be left when it fails, and returns what it has kept, and its size in
// bytes.
type Unpack func(csar io.Reader) (io.ReaderAt, int64, error)

// Inspect opens a VNF package in any form that SOL004 knows, checks it with its signatures and describes it: it is the verdict of
// onboarding. A CSAR that is compressed in a signed zip file is handed to unpack. Errors are those of [CSAR.Describe].
func Inspect(ctx context.Context, r io.ReaderAt, size int64, limits Limits, trust Trust, unpack Unpack) (*Description, error) {
	outer, err := openZip(r, size, limits)
	if err != nil {
		return nil, err
	}
	signed, err := outer.signedZip()
	if err != nil {
		return nil, err
	}
	if signed == nil {
		return outer.describe(ctx, trust)
	}
	if err := signed.verify(ctx, trust); err != nil {
		return nil, err
	}
	csar, err := signed.open(ctx, r, size, unpack)
	if err != nil {
		return nil, err
	}
	trust.Required = false // the signature is there
	return csar.describe(ctx, trust)
}

// open opens the CSAR, which is unpacked if it has to be.
func (z *signedZip) open(ctx context.Context, r io.ReaderAt, size int64, unpack Unpack) (*CSAR, error) {
	part, err := z.inPlace(r)
	if err != nil {
		return nil, err
	}
	limits := z.limits(size)
	if part != nil {
		return openZip(part, part.Size(), limits)
	}
	if claimed := z.zip.files[z.csar].UncompressedSize64; claimed > uint64(limits.ArchiveBytes) {
		return nil, &Invalid{File: z.csar, Reason: fmt.Sprintf("the CSAR has %d bytes, more than %d", claimed, limits.ArchiveBytes)}
	}
	content, err := z.zip.Open(z.csar)
	if err != nil {
		return nil, err
	}
	unpacked, length, err := unpack(&contextReader{ctx, content})
	if err := errors.Join(err, content.Close()); err != nil {
		return nil, err
	}
	return openZip(unpacked, length, limits)
}
