package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfm/vnfpkg"
)

func TestBuildIsDeterministic(t *testing.T) {
	t.Parallel()
	files := twoVdu(t)
	first := build(t, files)
	for _, file := range files {
		file.ModTime = file.ModTime.AddDate(20, 0, 0)
		file.Mode = 0o600
	}
	if !bytes.Equal(first, build(t, files)) {
		t.Error("the same files gave another archive")
	}
}

func TestBuildWritesHashesOfAllFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tree, list, key, head string
		method                map[string]uint16
	}{
		{"kubernetes", "TOSCA-Metadata/TOSCA.meta", "Name", "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-by: Example\nEntry-Definitions: Definitions/cluster_top.vnfd.yaml\n",
			map[string]uint16{"Files/images/node.img": zip.Store, "Scripts/install.sh": zip.Deflate}},
		{"registry", "registry.mf", "Source", "metadata:\n  vnf_product_name: Registry\n", nil},
		{"single", "small.mf", "Source", "Source: Scripts/run.sh\n", nil},
	}
	for _, test := range tests {
		t.Run(test.tree, func(t *testing.T) {
			t.Parallel()
			files := tree(t, test.tree)
			files[".git/config"] = &fstest.MapFile{}
			files["Scripts/.swp"] = &fstest.MapFile{}
			files["UserData/__pycache__/x.txt"] = &fstest.MapFile{}
			files["UserData/x.pyc"] = &fstest.MapFile{}
			data := build(t, files)
			csar := open(t, data)
			listed, err := csar.ReadFile(test.list, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(listed), test.head) {
				t.Errorf("%s begins with\n%s", test.list, listed)
			}
			for _, name := range csar.Names() {
				if strings.Contains(name, "/.") || strings.HasPrefix(name, ".") || strings.Contains(name, "pyc") {
					t.Errorf("%s is in the package", name)
				}
				if name == test.list || name == "TOSCA-Metadata/TOSCA.meta" {
					continue
				}
				sum := sha256.Sum256(files[name].Data)
				if !strings.Contains(string(listed), test.key+": "+name+"\n") || !strings.Contains(string(listed), "Hash: "+hex.EncodeToString(sum[:])+"\n") {
					t.Errorf("%s does not list %s with its hash", test.list, name)
				}
			}
			if test.tree == "kubernetes" && !strings.Contains(string(listed), "Name: Scripts/install.sh\nContent-Type: application/x-shellscript\nAlgorithm: SHA-256\n") {
				t.Errorf("content type lost:\n%s", listed)
			}
			describe(t, data)
			checkEntries(t, data, test.method)
		})
	}
}

// checkEntries looks at the archive as other programs will.
func checkEntries(t *testing.T, data []byte, methods map[string]uint16) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range r.File {
		if file.Name == "TOSCA-Metadata/TOSCA.meta" && i != 0 {
			t.Error("TOSCA.meta is not the first file")
		}
		if file.Mode() != 0o644 {
			t.Errorf("%s has mode %v", file.Name, file.Mode())
		}
		if method, ok := methods[file.Name]; ok && method != file.Method {
			t.Errorf("%s has method %d", file.Name, file.Method)
		}
	}
}

func TestBuildOfABuiltTreeChangesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kubernetes", "registry", "single"} {
		first := build(t, tree(t, name))
		unpacked := fstest.MapFS{}
		csar := open(t, first)
		for _, file := range csar.Names() {
			data, err := csar.ReadFile(file, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			unpacked[file] = &fstest.MapFile{Data: data, Mode: 0o644}
		}
		if !bytes.Equal(first, build(t, unpacked)) {
			t.Errorf("%s: built again it differs", name)
		}
	}
}

func TestBuildKeepsArtifactsThatAreElsewhere(t *testing.T) {
	t.Parallel()
	files := tree(t, "registry")
	files["registry.mf"].Data = append(files["registry.mf"].Data, "\nSource: https://example.com/driver.tgz\nAlgorithm: SHA-512\nHash: 00\n"...)
	artifacts := describe(t, build(t, files)).Artifacts
	want := vnfpkg.Artifact{Path: "https://example.com/driver.tgz", Checksum: vnfpkg.Checksum{Algorithm: "SHA-512", Hash: "00"}, Unchecked: true}
	if !slices.Contains(artifacts, want) {
		t.Errorf("artifacts %+v lack %+v", artifacts, want)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	signed := tree(t, "registry")
	signed["registry.mf"].Data = append(signed["registry.mf"].Data, "-----BEGIN CMS-----\n-----END CMS-----\n"...)
	link := tree(t, "single")
	link["Scripts/link"] = &fstest.MapFile{Mode: os.ModeSymlink | 0o777, Data: []byte("/etc/passwd")}
	for _, test := range []struct {
		name   string
		files  fstest.MapFS
		file   string
		reason string
	}{
		{"a tree that is no package", fstest.MapFS{"a.txt": {}}, "", "neither"},
		{"an empty TOSCA.meta", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": {}}, "TOSCA-Metadata/TOSCA.meta", "empty"},
		{"a signed manifest", signed, "registry.mf", "signed"},
		{"a link", link, "Scripts/link", "not an ordinary file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantInvalid(t, vnfpkg.BuildFS(t.Context(), test.files, io.Discard), test.file, 0, test.reason)
		})
	}
	if err := vnfpkg.Build(t.Context(), filepath.Join(t.TempDir(), "none"), io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a tree that does not exist: %v", err)
	}
}

func TestBuildEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := vnfpkg.BuildFS(ctx, twoVdu(t), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("with its context: %v", err)
	}
	if err := vnfpkg.BuildFS(t.Context(), twoVdu(t), full{}); !errors.Is(err, errFull) {
		t.Errorf("with the disk: %v", err)
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := os.CopyFS(filepath.Join(dir, "tree"), os.DirFS("testdata/kubernetes")); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	fromTree, err := vnfpkg.Validate(t.Context(), filepath.Join(dir, "tree"), vnfpkg.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("validating changed the disk:\n%s", diff)
	}
	file := filepath.Join(dir, "a.csar")
	if err := os.WriteFile(file, build(t, tree(t, "kubernetes")), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile, err := vnfpkg.Validate(t.Context(), file, vnfpkg.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromTree, fromFile); diff != "" {
		t.Errorf("-tree +file:\n%s", diff)
	}
	if _, err := vnfpkg.Validate(t.Context(), filepath.Join(dir, "none"), vnfpkg.Trust{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	_, err = vnfpkg.Validate(t.Context(), filepath.Join(dir, "tree/Scripts/install.sh"), vnfpkg.Trust{})
	wantInvalid(t, err, "", 0, "not a valid zip")
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			fmt.Fprintln(&out, name, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteVnfd(t *testing.T) {
	t.Parallel()
	csar := open(t, build(t, tree(t, "kubernetes")))
	description, err := csar.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := csar.WriteVnfd(t.Context(), &out, description.VnfdFiles); err != nil {
		t.Fatal(err)
	}
	vnfd := open(t, out.Bytes())
	if len(vnfd.Names()) != len(description.VnfdFiles) {
		t.Errorf("files: %q", vnfd.Names())
	}
	for _, name := range description.VnfdFiles {
		want, _ := csar.ReadFile(name, 1<<20)
		if got, err := vnfd.ReadFile(name, 1<<20); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
	if err := csar.WriteVnfd(t.Context(), io.Discard, []string{"none"}); !errors.Is(err, vnfpkg.ErrNotFound) {
		t.Errorf("a file that does not exist: %v", err)
	}
}
