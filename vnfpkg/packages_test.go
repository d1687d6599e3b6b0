package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/samples"
	"vnfm/vnfpkg"
)

// tree returns a source tree of testdata as a copy that a test may change.
func tree(tb testing.TB, name string) fstest.MapFS {
	tb.Helper()
	return copyTree(tb, os.DirFS("testdata/"+name))
}

func twoVdu(tb testing.TB) fstest.MapFS {
	tb.Helper()
	return copyTree(tb, samples.TwoVdu())
}

func copyTree(tb testing.TB, source fs.FS) fstest.MapFS {
	tb.Helper()
	copied := fstest.MapFS{}
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, name)
		copied[name] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return copied
}

// replace changes a file of a tree; the text must be there.
func replace(tb testing.TB, files fstest.MapFS, name, old, replacement string) {
	tb.Helper()
	file, ok := files[name]
	if !ok {
		tb.Fatalf("no file %s", name)
	}
	if !bytes.Contains(file.Data, []byte(old)) {
		tb.Fatalf("%s has no %q", name, old)
	}
	files[name] = &fstest.MapFile{Data: bytes.Replace(file.Data, []byte(old), []byte(replacement), 1), Mode: 0o644}
}

// build makes the CSAR of a tree.
func build(tb testing.TB, files fs.FS) []byte {
	tb.Helper()
	var csar bytes.Buffer
	if err := vnfpkg.BuildFS(tb.Context(), files, &csar); err != nil {
		tb.Fatal(err)
	}
	return csar.Bytes()
}

// archive makes a zip file of a tree as it is, without hashes.
func archive(tb testing.TB, files fstest.MapFS) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := w.AddFS(files); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func open(tb testing.TB, data []byte) *vnfpkg.CSAR {
	tb.Helper()
	csar, err := vnfpkg.OpenCSAR(bytes.NewReader(data), int64(len(data)), vnfpkg.DefaultLimits())
	if err != nil {
		tb.Fatal(err)
	}
	return csar
}

func describe(tb testing.TB, data []byte) *vnfpkg.Description {
	tb.Helper()
	description, err := open(tb, data).Describe(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return description
}

// wantInvalid checks that one of the problems is in that file (and line, unless 0) for that reason.
func wantInvalid(tb testing.TB, err error, file string, line int, reason string) {
	tb.Helper()
	if err == nil {
		tb.Fatalf("accepted; want %s:%d: %s", file, line, reason)
	}
	for _, problem := range flatten(err) {
		var invalid *vnfpkg.Invalid
		if errors.As(problem, &invalid) && invalid.File == file && (line == 0 || invalid.Line == line) &&
			strings.Contains(invalid.Reason, reason) {
			return
		}
	}
	tb.Errorf("got %v\nwant %s:%d: … %s …", err, file, line, reason)
}

func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, inner := range joined.Unwrap() {
		all = append(all, flatten(inner)...)
	}
	return all
}
