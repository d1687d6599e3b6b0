package vnfpkg_test

import (
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"vnfm/vnfpkg"
)

func TestBaseHOT(t *testing.T) {
	t.Parallel()
	files := tree(t, "kubernetes")
	files["BaseHOT/simple/README.txt"] = &fstest.MapFile{}
	files["BaseHOT/simple/nested/deeper/other.yaml"] = &fstest.MapFile{}
	csar := open(t, archive(t, files))
	hot, err := csar.BaseHOT("simple")
	if err != nil {
		t.Fatal(err)
	}
	if hot.TopName != "simple_top.yaml" || string(hot.Top) != string(files["BaseHOT/simple/simple_top.yaml"].Data) {
		t.Errorf("top template %s", hot.TopName)
	}
	if len(hot.Files) != 2 || string(hot.Files["simple_nested_worker.yaml"]) != string(files["BaseHOT/simple/nested/simple_nested_worker.yaml"].Data) {
		t.Errorf("nested templates: %d", len(hot.Files))
	}
	for _, flavour := range []string{"none", "", "../BaseHOT/simple", "simple/nested/..", "."} {
		if _, err := csar.BaseHOT(flavour); !errors.Is(err, vnfpkg.ErrNoBaseHOT) {
			t.Errorf("flavour %q: %v", flavour, err)
		}
	}
}

func TestResourcesOfTemplates(t *testing.T) {
	t.Parallel()
	files := tree(t, "kubernetes")
	files["BaseHOT/simple/nested/odd.yaml"] = &fstest.MapFile{Data: []byte("heat_template_version: 2013-05-23\nresources:\n  fip: {type: OS::Neutron::FloatingIP}\n  odd: 7\n")}
	csar := open(t, archive(t, files))
	for flavour, want := range map[string][]string{"simple": {"fip", "masterNode_CP1", "workerNode_CP2"}, "none": nil} {
		got, err := csar.TemplateResources(flavour, "OS::Neutron::Port", "OS::Neutron::FloatingIP")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("flavour %s: %q, %v", flavour, got, err)
		}
	}
}

func TestBaseHOTRefusesAmbiguity(t *testing.T) {
	t.Parallel()
	files := tree(t, "kubernetes")
	files["BaseHOT/simple/other.yml"] = &fstest.MapFile{Data: []byte("heat_template_version: 2013-05-23\n")}
	_, err := open(t, archive(t, files)).Describe(t.Context())
	wantInvalid(t, err, "BaseHOT/simple/simple_top.yaml", 0, "a second top template beside other.yml")

	delete(files, "BaseHOT/simple/other.yml")
	delete(files, "BaseHOT/simple/simple_top.yaml")
	_, err = open(t, archive(t, files)).Describe(t.Context())
	wantInvalid(t, err, "BaseHOT/simple", 0, "no top template")
}

func TestBaseHOTIsBounded(t *testing.T) {
	t.Parallel()
	files := tree(t, "kubernetes")
	files["BaseHOT/simple/nested/large.yaml"] = &fstest.MapFile{Data: slices.Repeat([]byte("# x\n"), 1<<19)}
	_, err := open(t, archive(t, files)).BaseHOT("simple")
	wantInvalid(t, err, "BaseHOT/simple/nested/large.yaml", 0, "more than")
}
