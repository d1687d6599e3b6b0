package registry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/registry/registrytest"
)

func gzipped(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return packed.Bytes()
}

func manifest(text string) []byte {
	return registrytest.Tar(map[string]string{"manifest.json": text}, "manifest.json")
}

func layout(index string) []byte {
	return registrytest.Tar(map[string]string{"oci-layout": "{}", "index.json": index}, "oci-layout", "index.json")
}

func named(name string) string {
	return fmt.Sprintf(`{"manifests": [{"annotations": {"io.containerd.image.name": %q, "org.opencontainers.image.ref.name": "latest"}}]}`, name)
}

// The archive is looked at when the request arrives.
func TestArchivesAreChecked(t *testing.T) {
	t.Parallel()
	whole := registrytest.Archive(seenImage)
	for _, row := range []struct {
		name    string
		content []byte
		says    string // "" = it is right
	}{
		{"docker save", whole, ""},
		{"packed", gzipped(whole), ""},
		{"one of several images", registrytest.Archive(otherImage, seenImage), ""},
		{"skopeo", registrytest.Archive("docker.io/library/registry:latest"), ""},
		{"an OCI image layout", layout(named("docker.io/library/registry:latest")), ""},
		{"both, as Docker writes them", registrytest.Tar(map[string]string{"index.json": named("docker.io/library/registry:latest"),
			"manifest.json": `[{"RepoTags": ["registry:latest"]}]`}, "index.json", "manifest.json"), ""},
		{"names that begin with a dot", registrytest.Tar(map[string]string{"./manifest.json": `[{"RepoTags": ["registry:latest"]}]`}, "./manifest.json"), ""},
		{"more than is looked at", gzipped(make([]byte, 257<<20)), "is no archive"}, // zeros are the end of an archive
		{"empty", nil, "is no archive of images"},
		{"a text", []byte(strings.Repeat("image ", 1000)), "is no archive of images"},
		{"a disk image", append([]byte("QFI\xfb"), make([]byte, 4096)...), "is no archive of images"},
		{"cut", whole[:1200], "is no archive of images"},
		{"packed and cut", gzipped(whole)[:40], "is no archive of images"},
		{"an archive of other things", registrytest.Tar(map[string]string{"a": "b"}, "a"), "neither a manifest.json nor an index.json"},
		{"a list that is none", manifest(`{"RepoTags": 7`), "manifest.json: "},
		{"a list that does not end", manifest(strings.Repeat(" ", 2<<20)), "it has more than 1048576 bytes"},
		{"an image without a name", manifest(`[{"RepoTags": null}]`), "have no name: save the image as registry:latest"},
		{"a layout without a name", layout(`{"manifests": [{}]}`), "have no name"},
		{"another image", registrytest.Archive(otherImage), `has "example/other:1.0" in it, not registry:latest`},
		{"another version", registrytest.Archive("registry:2"), `has "registry:2" in it, not registry:latest`},
		{"many images", registrytest.Archive("a", "b", "c", "d", "e", "f"), `"a", "b", "c", "d", "e", …`},
		{"a layout of another image", layout(named("docker.io/library/registry:3")), `has "registry:3" in it`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			attribute := ""
			if row.says != "" {
				attribute = "/image_path"
			}
			expectInvalid(t, checkArchive(t, drivertest.Files{FS: fstest.MapFS{imagePath: {Data: row.content}}}), attribute, row.says)
		})
	}
}

func checkArchive(t *testing.T, pkg mgmtdriver.Package) error {
	t.Helper()
	return registry.New(nil, registry.Config{}).Check(t.Context(), &mgmtdriver.Call{Hook: mgmtdriver.InstantiateEnd, Package: pkg,
		Instance: mgmtdriver.Instance{AdditionalParams: map[string]any{registry.Parameter: map[string]any{
			"ssh_cp_name": "CP1", "ssh_username": "ubuntu", "ssh_password": "ubuntu", "image_path": imagePath}}}})
}

// one is a package with one file.
type one struct {
	mgmtdriver.Package
	io.Reader
}

func (o one) Open(context.Context, string) (io.ReadCloser, error) { return io.NopCloser(o.Reader), nil }

// counted counts what is read.
type counted struct {
	io.Reader
	bytes int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += int64(n)
	return n, err
}

// repeated is a layer that never ends.
type repeated struct{}

func (repeated) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A client does not wait until all of a large archive has been read, and a small one that unpacks to a large one is no better.
func TestLittleIsReadOfLargeArchives(t *testing.T) {
	t.Parallel()
	header := registrytest.Tar(map[string]string{"layer.tar": ""}, "layer.tar")[:512]
	copy(header[124:], "77777777777\x00") // 8 GiB
	sum := 0
	copy(header[148:156], "        ")
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	for name, packed := range map[string]bool{"as it is": false, "packed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endless := io.MultiReader(bytes.NewReader(header), repeated{})
			if packed {
				endless = bytes.NewReader(gzipped(append(header, make([]byte, 300<<20)...)))
			}
			source := &counted{Reader: endless}
			expectInvalid(t, checkArchive(t, one{Reader: source}), "", "")
			if source.bytes > 257<<20 {
				t.Errorf("%d bytes were read", source.bytes)
			}
		})
	}
}

// A package that cannot be read just now is not the client's fault.
func TestPackageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection lost")
	err := checkArchive(t, one{Reader: io.MultiReader(bytes.NewReader(registrytest.Archive(otherImage)[:700]), failing{broken})})
	if !errors.Is(err, broken) || errors.As(err, new(*mgmtdriver.Invalid)) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzArchive(f *testing.F) {
	f.Add(registrytest.Archive(seenImage))
	f.Add(gzipped(registrytest.Archive(otherImage)))
	f.Add(layout(named("registry:latest")))
	f.Fuzz(func(t *testing.T, content []byte) {
		err := checkArchive(t, drivertest.Files{FS: fstest.MapFS{imagePath: {Data: content}}})
		if err != nil && !errors.As(err, new(*mgmtdriver.Invalid)) {
			t.Errorf("got %v", err)
		}
	})
}
