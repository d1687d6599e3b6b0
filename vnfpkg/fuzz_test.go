package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/fstest"

	"vnfm/vnfpkg"
	"vnfm/vnfpkg/signtest"
)

// fuzzLimits keep single inputs fast.
func fuzzLimits() vnfpkg.Limits {
	limits := vnfpkg.DefaultLimits()
	limits.ContentBytes = 1 << 22
	limits.DocumentBytes = 1 << 16
	limits.DocumentNodes = 10_000
	return limits
}

// check onboards a package. Whatever it is, it is described or refused with *Invalid.
func check(t *testing.T, data []byte) {
	t.Helper()
	csar := data
	description, err := vnfpkg.Inspect(t.Context(), bytes.NewReader(data), int64(len(data)), fuzzLimits(), vnfpkg.Trust{},
		func(unpacked io.Reader) (_ io.ReaderAt, _ int64, err error) {
			csar, err = io.ReadAll(unpacked)
			return bytes.NewReader(csar), int64(len(csar)), err
		})
	var invalid *vnfpkg.Invalid
	if err != nil {
		if !errors.As(err, &invalid) {
			t.Fatalf("error of another kind: %v", err)
		}
		return
	}
	text, err := json.Marshal(description)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(`\u0000`)) && !bytes.Contains(text, []byte(`\\u0000`)) {
		t.Errorf("NUL in %s", text)
	}
	opened, err := vnfpkg.OpenCSAR(bytes.NewReader(csar), int64(len(csar)), fuzzLimits())
	if err != nil {
		t.Fatalf("what was described does not open: %v", err)
	}
	for id, flavour := range description.Vnfd.Flavours {
		for _, vdu := range flavour.Vdus {
			flavour.VduCount(vdu.Name, map[string]int{"a": 1 << 30}, "")
		}
		if _, err := opened.BaseHOT(id); err != nil && !errors.Is(err, vnfpkg.ErrNoBaseHOT) {
			t.Error(err)
		}
	}
}

func FuzzCSAR(f *testing.F) {
	for _, name := range []string{"kubernetes", "registry", "single"} {
		f.Add(build(f, tree(f, name)))
	}
	f.Add([]byte("PK\x05\x06"))
	csar, provider := build(f, tree(f, "single")), signtest.New(f)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f.Add(signtest.Zip(f, signtest.File{Name: "p.csar", Content: csar, Method: method}, signtest.File{Name: "p.cms", Content: provider.Sign(f, csar)}))
	}
	f.Fuzz(check)
}

func FuzzSignature(f *testing.F) {
	csar, provider := build(f, tree(f, "single")), signtest.New(f)
	for _, arguments := range [][]string{{}, {"-outform", "DER"}, {"-outform", "DER", "-stream"}, {"-nodetach"}, {"-nocerts"}, {"-noattr"}, {"-keyid"}} {
		f.Add(provider.Sign(f, csar, arguments...), provider.Certificate)
	}
	f.Fuzz(func(t *testing.T, signature, certificate []byte) {
		check(t, signtest.Zip(t, signtest.File{Name: "p.csar", Content: csar}, signtest.File{Name: "p.cms", Content: signature},
			signtest.File{Name: "p.cert", Content: certificate}))
	})
}

func FuzzTOSCAMeta(f *testing.F) {
	files := tree(f, "registry")
	f.Add(files["TOSCA-Metadata/TOSCA.meta"].Data, files["registry.mf"].Data)
	signed, manifest := hashed(f, nil)
	f.Add(signed["TOSCA-Metadata/TOSCA.meta"].Data, slices.Concat(manifest, signtest.New(f).Sign(f, manifest)))
	f.Add([]byte("Entry-Definitions: a.yaml\nETSI-Entry-Manifest: registry.mf\n\nName: x\nAlgorithm: SHA-256\nHash: 0\n"), []byte("metadata:\n  a: b\n -----BEGIN CMS-----"))
	f.Fuzz(func(t *testing.T, meta, manifest []byte) {
		files := tree(t, "registry")
		files["TOSCA-Metadata/TOSCA.meta"] = &fstest.MapFile{Data: meta}
		files["registry.mf"] = &fstest.MapFile{Data: manifest}
		check(t, archive(t, files))
	})
}

func FuzzVNFD(f *testing.F) {
	f.Add(tree(f, "single")["small.yaml"].Data)
	f.Add(tree(f, "registry")["Definitions/registry.vnfd.yaml"].Data)
	f.Add(tree(f, "kubernetes")["Definitions/cluster_df_podaffinity.yaml"].Data)
	f.Add([]byte("a: &a [*a]\n<<: *a\n? {a: b}\n: c\n"))
	f.Fuzz(func(t *testing.T, vnfd []byte) {
		check(t, archive(t, fstest.MapFS{"a.yaml": {Data: vnfd}}))
	})
}
