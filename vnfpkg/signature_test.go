package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/vnfpkg"
	"vnfm/vnfpkg/signtest"
)

// roots is the trust in those whom a provider's authority certifies.
func roots(providers ...*signtest.Provider) vnfpkg.Trust {
	trust := vnfpkg.Trust{Roots: x509.NewCertPool()}
	for _, provider := range providers {
		trust.Roots.AppendCertsFromPEM(provider.Authority)
	}
	return trust
}

// inspect gives the verdict of onboarding, and tells whether the CSAR was unpacked.
func inspect(tb testing.TB, data []byte, trust vnfpkg.Trust) (description *vnfpkg.Description, unpacked bool, err error) {
	tb.Helper()
	description, err = vnfpkg.Inspect(tb.Context(), bytes.NewReader(data), int64(len(data)), vnfpkg.DefaultLimits(), trust,
		func(csar io.Reader) (io.ReaderAt, int64, error) {
			unpacked = true
			content, err := io.ReadAll(csar)
			return bytes.NewReader(content), int64(len(content)), err
		})
	return description, unpacked, err
}

// hashed is the tree of a package with the hashes of its files in the manifest, which it returns too.
func hashed(tb testing.TB, change func(fstest.MapFS)) (files fstest.MapFS, manifest []byte) {
	tb.Helper()
	source := tree(tb, "registry")
	if change != nil {
		change(source)
	}
	csar := open(tb, build(tb, source))
	files = fstest.MapFS{}
	for _, name := range csar.Names() {
		content, err := csar.ReadFile(name, 1<<20)
		if err != nil {
			tb.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: content}
	}
	return files, files["registry.mf"].Data
}

func TestSignedManifest(t *testing.T) {
	t.Parallel()
	provider, other := signtest.New(t), signtest.New(t, signtest.Named("other"))
	long := signtest.New(t, signtest.WithRSA(2048))
	expired := signtest.New(t, signtest.Until(time.Now().Add(-time.Hour)))
	const meta = "TOSCA-Metadata/TOSCA.meta"
	const at = 26 // the line of the signature
	type files = fstest.MapFS
	sign := func(sign func(testing.TB, []byte, ...string) []byte, arguments ...string) func(*testing.T, files, []byte) {
		return func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			f["registry.mf"].Data = slices.Concat(manifest, sign(t, manifest, arguments...))
		}
	}
	// unlisted signs a manifest without the hash of TOSCA.meta, in which then something is put.
	unlisted := func(t *testing.T, f files, manifest []byte, old, replacement string) {
		t.Helper()
		text := regexp.MustCompile(`\nSource: `+meta+`\nAlgorithm: .*\nHash: .*\n`).ReplaceAll(manifest, nil)
		sign(provider.Sign)(t, f, text)
		replace(t, f, meta, old, replacement)
	}
	certificate := func(content []byte) func(files) {
		return func(f files) {
			replace(t, f, meta, "ETSI-Entry-Licenses", "ETSI-Entry-Certificate: registry.cert\nETSI-Entry-Licenses")
			f["registry.cert"] = &fstest.MapFile{Data: content}
		}
	}
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, f files, manifest []byte) // when the hashes are in the manifest already
		trust   vnfpkg.Trust
		file    string // "" = accepted
		line    int
		reason  string
		tree    func(f files) // before that
	}{
		{"signed", sign(provider.Sign), roots(provider), "", 0, "", nil},
		{"signed with RSA", sign(long.Sign), roots(long), "", 0, "", nil},
		{"signed with SHA-512", sign(provider.Sign, "-md", "sha512"), roots(provider), "", 0, "", nil},
		{"signed as a text", sign(provider.SignText), roots(provider), "", 0, "", nil},
		{"signature with the content in it", sign(provider.Sign, "-nodetach"), roots(provider), "", 0, "", nil},
		{"of one of several that are trusted", sign(provider.Sign), roots(other, provider), "", 0, "", nil},
		{"by whomever", sign(provider.Sign), vnfpkg.Trust{}, "", 0, "", nil},
		{"signed and required", sign(provider.Sign), vnfpkg.Trust{Required: true}, "", 0, "", nil},
		{"an empty line before the signature", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			f["registry.mf"].Data = slices.Concat(manifest, []byte("\n"), provider.Sign(t, manifest))
		}, roots(provider), "", 0, "", nil},
		{"ends of lines of Windows", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			windows := bytes.ReplaceAll(manifest, []byte("\n"), []byte("\r\n"))
			f["registry.mf"].Data = slices.Concat(windows, provider.Sign(t, windows))
		}, roots(provider), "", 0, "", nil},
		{"unsigned", func(*testing.T, files, []byte) {}, roots(provider), "", 0, "", nil},
		{"unsigned but required", func(*testing.T, files, []byte) {}, vnfpkg.Trust{Required: true}, "registry.mf", 0, "not signed", nil},
		{"by a stranger", sign(other.Sign), roots(provider), "registry.mf", at, "CN=other is not trusted: certificate signed by unknown authority", nil},
		{"by a certificate that has expired", sign(expired.Sign), roots(expired), "registry.mf", at, "has expired", nil},
		{"by a certificate that has expired, of whomever", sign(expired.Sign), vnfpkg.Trust{}, "registry.mf", at, "certificate was not valid", nil},
		{"SHA-1", sign(long.Sign, "-md", "sha1"), roots(long), "registry.mf", at, "uses SHA-1, which is too weak", nil},
		{"MD5", sign(long.Sign, "-md", "md5"), roots(long), "registry.mf", at, "uses MD5, which is too weak", nil},
		{"short RSA key", sign(signtest.New(t, signtest.WithRSA(1024)).Sign), vnfpkg.Trust{}, "registry.mf", at, "1024 bits", nil},
		{"RSA-PSS", sign(long.Sign, "-keyopt", "rsa_padding_mode:pss"), roots(long), "registry.mf", at, "not supported", nil},
		{"named by its key", sign(provider.Sign, "-keyid"), roots(provider), "registry.mf", at, "issuer and the serial number", nil},
		{"without signed attributes", sign(provider.Sign, "-noattr"), roots(provider), "registry.mf", at, "no signed attributes", nil},
		{"no certificate", sign(provider.Sign, "-nocerts"), roots(provider), "registry.mf", at, "neither in the signature nor", nil},
		{"manifest that was changed", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			f["registry.mf"].Data = append(bytes.Replace(manifest, []byte("Registry"), []byte("Other"), 1), provider.Sign(t, manifest)...)
		}, vnfpkg.Trust{}, "registry.mf", at, "not of this manifest", nil},
		{"file that was changed", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			sign(provider.Sign)(t, f, manifest)
			replace(t, f, "Licenses/license.txt", "", "more")
		}, vnfpkg.Trust{}, "registry.mf", 0, "of Licenses/license.txt is", nil},
		{"file that was added", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			sign(provider.Sign)(t, f, manifest)
			f["BaseHOT/simple/top.yaml"] = &fstest.MapFile{Data: []byte("heat_template_version: 2018-08-31\n")}
		}, vnfpkg.Trust{}, "registry.mf", at, "no hash of the file BaseHOT/simple/top.yaml", nil},
		{"file that was taken away", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			sign(provider.Sign)(t, f, manifest)
			delete(f, "Licenses/license.txt")
		}, vnfpkg.Trust{}, "registry.mf", 0, `no file "Licenses/license.txt"`, nil},
		{"file without a hash", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			text := regexp.MustCompile(`(Source: Licenses/license.txt\n)Algorithm: .*\nHash: .*\n`).ReplaceAll(manifest, []byte("$1"))
			sign(provider.Sign)(t, f, text)
		}, vnfpkg.Trust{}, "registry.mf", 0, "no hash of the file Licenses/license.txt", nil},
		{"no signature", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			f["registry.mf"].Data = append(bytes.Clone(manifest), "-----BEGIN CMS-----\nbm9uZQ==\n-----END CMS-----\n"...)
		}, vnfpkg.Trust{}, "registry.mf", at, "not a CMS signature", nil},
		{"something behind the signature", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			sign(provider.Sign)(t, f, manifest)
			f["registry.mf"].Data = append(f["registry.mf"].Data, "Source: x\n"...)
		}, vnfpkg.Trust{}, "registry.mf", at, "follows the signature", nil},
		{"certificate in a file", sign(provider.Sign, "-nocerts"), roots(provider), "", 0, "", certificate(provider.Certificate)},
		{"certificate file that is something else too", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			unlisted(t, f, manifest, "ETSI-Entry-Licenses", "ETSI-Entry-Certificate: Scripts/start.sh\nETSI-Entry-Licenses")
			f["Scripts/start.sh"] = &fstest.MapFile{Data: append([]byte("rm -rf /\n"), provider.Certificate...)}
		}, roots(provider), "registry.mf", 0, "no hash of the file Scripts/start.sh", nil},
		{"artifact elsewhere that was added", func(t *testing.T, f files, manifest []byte) {
			t.Helper()
			unlisted(t, f, manifest, "Licenses: Licenses\n", "Licenses: Licenses\n\nName: https://evil.example/driver\nAlgorithm: SHA-256\nHash: 00\n")
		}, roots(provider), "registry.mf", 0, "no hash of the file https://evil.example/driver", nil},
		{"certificate file that is none", sign(provider.Sign), vnfpkg.Trust{}, "registry.cert", 0, "not an X.509", certificate([]byte("none"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files, manifest := hashed(t, test.tree)
			test.prepare(t, files, manifest)
			_, _, err := inspect(t, archive(t, files), test.trust)
			if test.file != "" {
				wantInvalid(t, err, test.file, test.line, test.reason)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSignedZip(t *testing.T) {
	t.Parallel()
	provider, other := signtest.New(t), signtest.New(t, signtest.Named("other"))
	csar := build(t, tree(t, "registry"))
	signature := provider.Sign(t, csar)
	file := func(name string, content []byte) signtest.File {
		return signtest.File{Name: name, Content: content, Method: zip.Deflate}
	}
	required := roots(provider)
	required.Required = true
	changed := build(t, tree(t, "single"))
	for _, test := range []struct {
		name   string
		files  []signtest.File
		trust  vnfpkg.Trust
		file   string // "" = accepted
		reason string
	}{
		{"stored CSAR", []signtest.File{{Name: "p.csar", Content: csar}, file("p.cms", signature)}, required, "", ""},
		{"compressed CSAR", []signtest.File{file("p.csar", csar), file("p.cms", signature)}, required, "", ""},
		{"CSAR that is named as a zip file", []signtest.File{file("p.zip", csar), file("p.cms", signature)}, required, "", ""},
		{"certificate in a file", []signtest.File{file("p.csar", csar), file("p.cms", provider.Sign(t, csar, "-nocerts")), file("p.cert", provider.Certificate)},
			required, "", ""},
		{"signature in DER", []signtest.File{file("p.csar", csar), file("p.cms", provider.Sign(t, csar, "-outform", "DER"))}, required, "", ""},
		{"signature as a stream", []signtest.File{file("p.csar", csar), file("p.cms", provider.Sign(t, csar, "-outform", "DER", "-stream"))},
			required, "", ""},
		{"by whomever", []signtest.File{file("p.csar", csar), file("p.cms", signature)}, vnfpkg.Trust{Required: true}, "", ""},
		{"by a stranger", []signtest.File{file("p.csar", csar), file("p.cms", other.Sign(t, csar))}, required, "p.cms", "CN=other is not trusted"},
		{"SHA-1", []signtest.File{file("p.csar", csar), file("p.cms", provider.Sign(t, csar, "-md", "sha1"))}, required, "p.cms", "uses SHA-1"},
		{"other CSAR", []signtest.File{file("p.csar", changed), file("p.cms", signature)}, vnfpkg.Trust{}, "p.cms", "not of p.csar"},
		{"signed as a text", []signtest.File{file("p.csar", csar), file("p.cms", provider.SignText(t, csar))}, vnfpkg.Trust{}, "p.cms", "-binary"},
		{"no certificate", []signtest.File{file("p.csar", csar), file("p.cms", provider.Sign(t, csar, "-nocerts"))}, vnfpkg.Trust{}, "p.cms", "neither in"},
		{"no signature", []signtest.File{file("p.csar", csar)}, vnfpkg.Trust{}, "p.csar", "no signature"},
		{"no CSAR", []signtest.File{file("p.cms", signature)}, vnfpkg.Trust{}, "", "neither TOSCA-Metadata/TOSCA.meta nor"},
		{"two CSARs", []signtest.File{file("p.csar", csar), file("q.csar", csar), file("p.cms", signature)}, vnfpkg.Trust{}, "q.csar", "second CSAR"},
		{"two signatures", []signtest.File{file("p.csar", csar), file("p.cms", signature), file("q.cms", signature)}, vnfpkg.Trust{}, "q.cms", "second signature"},
		{"two certificates", []signtest.File{file("p.csar", csar), file("p.cms", signature), file("p.cert", nil), file("q.cert", nil)}, vnfpkg.Trust{},
			"q.cert", "second certificate"},
		{"CSAR that is none", []signtest.File{file("p.csar", []byte("none")), file("p.cms", provider.Sign(t, []byte("none")))}, vnfpkg.Trust{}, "", "not a valid zip"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			description, unpacked, err := inspect(t, signtest.Zip(t, test.files...), test.trust)
			switch {
			case test.reason != "":
				wantInvalid(t, err, test.file, 0, test.reason)
			case err != nil:
				t.Error(err)
			case description.ProductName != "Registry" || unpacked != (test.files[0].Method == zip.Deflate):
				t.Errorf("product %s, unpacked: %t", description.ProductName, unpacked)
			}
		})
	}
}

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	bytes int
}

func (c *counted) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, offset)
	c.bytes += n
	return n, err
}

func TestSignersShareOneReading(t *testing.T) {
	t.Parallel()
	files := tree(t, "registry")
	large := make([]byte, 4<<20)
	_, _ = rand.Read(large)
	files["Licenses/large"] = &fstest.MapFile{Data: large}
	csar, provider := build(t, files), signtest.New(t)
	var more []string
	for range 9 {
		more = append(more, signtest.New(t).Beside()...)
	}
	data := signtest.Zip(t, signtest.File{Name: "p.csar", Content: csar}, signtest.File{Name: "p.cms", Content: provider.Sign(t, csar, more...)})
	source := &counted{ReaderAt: bytes.NewReader(data)}
	if _, err := vnfpkg.Inspect(t.Context(), source, int64(len(data)), vnfpkg.DefaultLimits(), vnfpkg.Trust{}, nil); err != nil {
		t.Fatal(err)
	}
	if source.bytes > 3*len(data) { // for the signature and for the hashes
		t.Errorf("%d bytes were read of a package of %d with ten signers", source.bytes, len(data))
	}
}

func TestCSARInASignedZipIsReadWhereItIs(t *testing.T) {
	t.Parallel()
	csar := build(t, tree(t, "registry"))
	signature := signtest.New(t).Sign(t, csar)
	opened := open(t, signtest.Zip(t, signtest.File{Name: "p.cms", Content: signature}, signtest.File{Name: "p.csar", Content: csar}))
	content, err := opened.ReadFile("Licenses/license.txt", 1<<10)
	if want := tree(t, "registry")["Licenses/license.txt"].Data; err != nil || !bytes.Equal(content, want) {
		t.Errorf("%q, %v; want %q", content, err, want)
	}
}

func TestTrustStore(t *testing.T) {
	t.Parallel()
	dir, provider := t.TempDir(), signtest.New(t)
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	csar := build(t, tree(t, "registry"))
	signed := write("p.zip", signtest.Zip(t, signtest.File{Name: "p.csar", Content: csar, Method: zip.Deflate}, signtest.File{Name: "p.cms", Content: provider.Sign(t, csar)}))
	validate := func(store []byte) error {
		trust, err := vnfpkg.TrustOptions{PackageTrustStore: write("store.pem", store), RequireSignedPackages: true}.Trust()
		if err != nil {
			return err
		}
		_, err = vnfpkg.Validate(context.WithoutCancel(t.Context()), signed, trust)
		return err
	}
	if err := validate(append(signtest.New(t).Authority, provider.Authority...)); err != nil {
		t.Errorf("with the provider's authority: %v", err)
	}
	if err := validate(provider.Certificate); err != nil {
		t.Errorf("with the provider's certificate: %v", err)
	}
	if err := validate(signtest.New(t).Authority); err == nil || !strings.Contains(err.Error(), "p.cms: the certificate of CN=provider is not trusted") {
		t.Errorf("with another authority: %v", err)
	}
	if err := validate([]byte("none")); err == nil || !strings.Contains(err.Error(), "--package-trust-store") {
		t.Errorf("with a store that holds nothing: %v", err)
	}
	if _, err := (vnfpkg.TrustOptions{PackageTrustStore: filepath.Join(dir, "none")}).Trust(); err == nil || !strings.Contains(err.Error(), "--package-trust-store") {
		t.Errorf("without the store: %v", err)
	}
}
