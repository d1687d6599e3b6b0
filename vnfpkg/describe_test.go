package vnfpkg_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfm/vnfpkg"
)

var update = flag.Bool("update", false, "write the golden files")

func TestDescriptionOfTheSample(t *testing.T) {
	t.Parallel()
	description := describe(t, build(t, twoVdu(t)))
	for i := range description.Artifacts {
		description.Artifacts[i].Checksum.Hash = "of the file"
	}
	for _, flavour := range description.Vnfd.Flavours {
		flavour.Raw = map[string]any{"inputs": flavour.Raw["inputs"]} // the rest says the same once more
	}
	got, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/two-vdu.json"
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// It comes back from the registry as it went in.
	var stored vnfpkg.Description
	if err := json.Unmarshal(got, &stored); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(&stored, "", "  ")
	if err != nil || string(again) != string(got) {
		t.Errorf("changed by storing: %v\n%s", err, cmp.Diff(string(got), string(again)))
	}
}

func TestDescriptionOfAPackageWithThreeFlavours(t *testing.T) {
	t.Parallel()
	d := describe(t, build(t, tree(t, "kubernetes")))
	if got := []string{d.VnfdID, d.Provider, d.ProductName, d.SoftwareVersion, d.DescriptorVersion}; cmp.Diff(got, []string{
		"0d6a2f10-3c58-4a9e-8f5b-6d1c9a7e2b34", "Example", "Cluster", "1.26", "2.1",
	}) != "" {
		t.Errorf("identity: %q", got)
	}
	if len(d.Vnfd.Flavours) != 3 || d.Vnfd.Flavours["podaffinity"] == nil {
		t.Fatalf("flavours: %v", d.Vnfd.Flavours)
	}
	var images []string
	for _, image := range d.SoftwareImages {
		images = append(images, image.FlavourID+" "+image.ID+" "+image.Name+" "+image.Path)
	}
	want := []string{
		"simple masterNode Image for masterNode Files/images/node.img", "simple workerNode Image for workerNode Files/images/node.img",
		"complex masterNode Image for masterNode Files/images/node.img", "complex workerNode Image for workerNode Files/images/node.img",
		"podaffinity masterNode Image for masterNode Files/images/node.img", "podaffinity workerNode Image for workerNode Files/images/node.img",
	}
	if diff := cmp.Diff(want, images); diff != "" {
		t.Errorf("images, -want +got:\n%s", diff)
	}
	if image := d.SoftwareImages[0]; image.SizeBytes != 2_000_000_000 || image.DiskFormat != "QCOW2" || image.Checksum.Algorithm != "sha-512" {
		t.Errorf("image: %+v", image)
	}
	f := d.Vnfd.Flavours["podaffinity"]
	if diff := cmp.Diff(map[string]string{
		"instantiate_end": "mgmt-drivers-kubernetes", "terminate_end": "mgmt-drivers-kubernetes", "heal_start": "mgmt-drivers-kubernetes",
	}, f.Hooks); diff != "" {
		t.Errorf("hooks, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]vnfpkg.PlacementRule{
		{Name: "together", Scope: "zone", Members: []string{"masterNode", "workerNode"}},
		{Name: "apart", Anti: true, Scope: "nfvi_node", Group: "masters", Members: []string{"masterNode"}},
		{Name: "apart", Anti: true, Scope: "nfvi_node", Group: "workers", Members: []string{"workerNode"}},
	}, f.PlacementRules); diff != "" {
		t.Errorf("placement, -want +got:\n%s", diff)
	}
	if cp, ok := f.Cp("masterNode_CP1"); !ok || !cp.External || cp.Vdu != "masterNode" {
		t.Errorf("connection point: %+v", cp)
	}
	if f.Description != "the podaffinity one" {
		t.Errorf("description %q", f.Description)
	}
	if got := d.VnfdFiles[:2]; cmp.Diff(got, []string{"TOSCA-Metadata/TOSCA.meta", "Definitions/cluster_top.vnfd.yaml"}) != "" || len(d.VnfdFiles) != 6 {
		t.Errorf("VNFD files: %q", d.VnfdFiles)
	}
	if _, ok := d.PlainVnfd(); ok {
		t.Error("a VNFD of five files can be shown as one")
	}
	for _, artifact := range d.Artifacts {
		if strings.HasPrefix(artifact.Path, "Definitions/") || strings.HasSuffix(artifact.Path, ".img") || artifact.Unchecked {
			t.Errorf("artifact %+v", artifact)
		}
	}
	if _, ok := f.Raw["node_templates"].(map[string]any)["VNF"]; !ok {
		t.Error("no raw topology")
	}
	if _, ok := f.Raw["substitution_mappings"].(map[string]any)["requirements"]; ok {
		t.Error("raw topology with the requirements of substitution_mappings")
	}
}

func TestDescriptionOfAPackageWithoutBaseHOT(t *testing.T) {
	t.Parallel()
	csar := open(t, build(t, tree(t, "registry")))
	d, err := csar.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := d.Vnfd.Flavours["simple"]
	f.Raw = nil
	want := &vnfpkg.Flavour{
		ID: "simple", Description: "one machine", VnfNode: "VNF",
		Vdus: []vnfpkg.Vdu{{
			Name: "PrivateRegistryVDU", DisplayName: "registry", Description: "registry", VirtualCPUs: 2,
			MemoryBytes: 4 << 30, LocalStorageBytes: 45 << 30, MinInstances: 1, MaxInstances: 1, Storages: []string{"data"},
			Image: &vnfpkg.Image{
				Name: "registry image", Version: "1", Checksum: vnfpkg.Checksum{Algorithm: "sha-256", Hash: "ab"}, ContainerFormat: "BARE",
				DiskFormat: "RAW", MinDiskBytes: 1536 << 20, MinRAMBytes: 512, SizeBytes: 10_000_000, Path: "Files/images/registry.img",
			},
		}},
		Cps: []vnfpkg.Cp{
			{Name: "CP1", Vdu: "PrivateRegistryVDU", Order: 1, LayerProtocols: []string{"ipv4"}, External: true},
			{Name: "CP2", Vdu: "PrivateRegistryVDU", VirtualLink: "internal", LayerProtocols: []string{"ipv4", "ipv6"}},
		},
		VirtualLinks: []vnfpkg.VirtualLink{{Name: "internal", Description: "inside", LayerProtocols: []string{"ipv4"}}},
		Storages:     []vnfpkg.Storage{{Name: "data", SizeBytes: 10_000_000_000}},
		Hooks: map[string]string{
			"instantiate_end": "mgmt-drivers-private-registry", "heal_end": "mgmt-drivers-private-registry",
		},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if d.ProductName != "Registry" || d.DescriptorVersion != "1.0" || d.SoftwareVersion != "3" || len(d.VnfmInfo) != 2 {
		t.Errorf("identity: %+v", d)
	}
	if order := f.CpsOf("PrivateRegistryVDU"); order[0].Name != "CP2" || order[1].Name != "CP1" {
		t.Errorf("order of the connection points: %v", order)
	}
	if _, err := csar.BaseHOT("simple"); !errors.Is(err, vnfpkg.ErrNoBaseHOT) {
		t.Errorf("BaseHOT: %v", err)
	}
}

func TestDescriptionOfTheLayoutWithoutMetadata(t *testing.T) {
	t.Parallel()
	files := tree(t, "single")
	d := describe(t, build(t, files))
	if got := d.Vnfd.Flavours["only"].VduCount("VDU1", nil, ""); got != 2 {
		t.Errorf("VDU1 ×%d", got)
	}
	if len(d.Artifacts) != 1 || d.Artifacts[0].Path != "Scripts/run.sh" {
		t.Errorf("artifacts: %+v", d.Artifacts)
	}
	// Without the types in the package the VNFD is one file.
	delete(files, "etsi_nfv/etsi_nfv_sol001_vnfd_types.yaml")
	replace(t, files, "small.yaml", "etsi_nfv/", "https://forge.etsi.org/types/")
	d = describe(t, archive(t, files))
	if name, ok := d.PlainVnfd(); !ok || name != "small.yaml" {
		t.Errorf("plain VNFD: %q, %v", name, ok)
	}
}

func TestDescribeNamesFileLineAndReason(t *testing.T) {
	t.Parallel()
	const (
		top    = "Definitions/cluster_top.vnfd.yaml"
		simple = "Definitions/cluster_df_simple.yaml"
		types  = "Definitions/cluster_types.yaml"
		meta   = "TOSCA-Metadata/TOSCA.meta"
	)
	tests := []struct {
		name           string
		file, old, new string // the change to the Kubernetes package
		at             string // file of the error
		line           int
		reason         string
	}{
		{"no Entry-Definitions", meta, "Entry-Definitions", "Entry-Something", meta, 1, "Entry-Definitions is missing"},
		{"entry definition that does not exist", meta, "cluster_top", "none", meta, 4, `no file "Definitions/none.vnfd.yaml"`},
		{"entry definition that is no YAML", meta, "Definitions/cluster_top.vnfd.yaml", "Scripts/install.sh", meta, 4, "not a .yaml"},
		{"version of TOSCA.meta", meta, "File-Version: 1.0", "File-Version: 3.0", meta, 1, "not a version 1"},
		{"licence that does not exist", meta, "Created-by: Example", "ETSI-Entry-Licenses: x", meta, 3, `no file "x"`},
		{"manifest of another kind", meta, "Created-by: Example", "ETSI-Entry-Manifest: x.txt", meta, 3, "does not end in .mf"},
		{"manifest that does not exist", meta, "Created-by: Example", "ETSI-Entry-Manifest: x.mf", meta, 3, `no file "x.mf"`},
		{"line without a key", meta, "Created-by: Example", "Created by Example", meta, 3, "neither"},
		{"artifact without a hash", meta, "Content-Type: application/x-shellscript", "Algorithm: SHA-256", meta, 9, "needs all of"},
		{"artifact with an unknown algorithm", meta, "Content-Type: application/x-shellscript", "Algorithm: MD5\nHash: 00", meta, 10, `algorithm "MD5"`},
		{"artifact with a wrong hash", meta, "Content-Type: application/x-shellscript", "Algorithm: SHA-256\nHash: 00", meta, 11, "the SHA-256 of Scripts/install.sh is"},
		{"artifact that does not exist", meta, "Name: Scripts/install.sh", "Name: ../x\nAlgorithm: SHA-256\nHash: 00", meta, 9, `no file "../x"`},

		{"YAML with a mistake", simple, "  inputs:", "  inputs: [", simple, 0, "not valid YAML"},
		{"YAML with a key twice", simple, "    properties:\n      flavour_id: simple", "    node_type: x", simple, 21, `"node_type" is given twice`},
		{"YAML that refers to itself", types, "node_types:", "x: &x [ *x ]\nnode_types:", types, 6, "contains itself"},
		{"YAML that multiplies itself", types, "node_types:", bomb, types, 0, "too large"},
		{"YAML that is deep", types, "node_types:", "x: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\nnode_types:", types, 6, "deeper than 100"},
		{"YAML with NUL", types, "product_name: { type: string, default: Cluster", `product_name: { type: string, default: "a\0"`, types, 15, "NUL"},
		{"YAML with a list as a key", types, "node_types:", "? [a]\n: b\nnode_types:", types, 6, "a key that is not a plain value"},
		{"file that is no template", types, "tosca_definitions_version: tosca_simple_yaml_1_2", "tosca_definitions_version: 3", types, 1, "tosca_definitions_version"},

		{"import that is missing", top, "cluster_df_simple.yaml", "cluster_df_none.yaml", top, 5, "Definitions/cluster_df_none.yaml"},
		{"import that leads out", top, "cluster_df_simple.yaml", "../../x.yaml", top, 5, "leads out"},
		{"import with an absolute path", top, "cluster_df_simple.yaml", "/etc/passwd", top, 5, "absolute path"},
		{"import from elsewhere", top, "cluster_df_simple.yaml", "https://example.com/x.yaml", top, 5, "not in the package"},
		{"import from the machine", top, "cluster_df_simple.yaml", "file:///etc/passwd", top, 5, "not in the package"},
		{"import of nothing", top, "file: cluster_df_complex.yaml", "file: []", top, 6, "without a file"},

		{"no descriptor_id", types, "default: 0d6a2f10-3c58-4a9e-8f5b-6d1c9a7e2b34", "required: true", top, 18, "descriptor_id of the VNF is mandatory"},
		{"no vnfm_info", types, "default: [ Tacker ]", "required: true", top, 18, "vnfm_info of the VNF is mandatory"},
		{"no VNF", types, "derived_from: tosca.nodes.nfv.VNF", "derived_from: tosca.nodes.Root", top, 1, "no node template of type tosca.nodes.nfv.VNF"},
		{"flavour that is not a string", simple, "flavour_id: simple", "flavour_id: 1", simple, 22, "not a string"},
		{"flavour that is a function", simple, "flavour_id: simple", "flavour_id: { get_input: x }", simple, 22, "not a string"},
		{"flavour that is a path", simple, "flavour_id: simple", "flavour_id: ../x", simple, 22, "cannot be the name of a directory"},
		{"flavour twice", simple, "flavour_id: simple", "flavour_id: complex", "Definitions/cluster_df_complex.yaml", 0, "described twice"},
		{"value that the type does not allow", simple, "flavour_description: the simple one", "flavour_id: other", simple, 31, "not one of simple, complex, podaffinity"},
		{"type that is not defined", simple, "type: tosca.nodes.nfv.VduCp", "type: my.VduCp", simple, 0, "type my.VduCp of masterNode_CP1 is not defined"},
		{"node without a type", simple, "type: tosca.nodes.nfv.VduCp", "kind: x", simple, 0, "masterNode_CP1 has no type"},
		{"binding to a node that does not exist", simple, "virtual_binding: masterNode", "virtual_binding: none", simple, 0, `no node template "none"`},
		{"requirement of nothing", simple, "virtual_binding: masterNode", "virtual_binding: []", simple, 0, "names no node"},

		{"two images", simple, "        sw_image:\n", "        other: ../Files/images/node.img\n        sw_image:\n", simple, 0, "more than one software image"},
		{"image without data", simple, "        sw_image_data:", "        no_image_data:", simple, 0, "no property sw_image_data"},
		{"image without a file", simple, "          file: ../Files/images/node.img", "          description: x", simple, 0, "has no file"},
		{"image that is missing", simple, "images/node.img", "images/none.img", simple, 0, "none.img"},
		{"image without a name", simple, "          name: \"Image for masterNode\"", "          note: x", simple, 0, "has no name"},
		{"size that is none", simple, "size: 2 GB", "size: many", simple, 0, `"many" is not a size`},
		{"number that is none", simple, "num_virtual_cpu: 2", "num_virtual_cpu: -2", simple, 0, "not a number"},

		{"default level that does not exist", simple, "default_level: instantiation_level_1", "default_level: x", simple, 0, `default_level "x"`},
		{"level of an aspect that does not exist", simple, "scale_info: { master_instance:", "scale_info: { none:", simple, 0, `no scaling aspect "none"`},
		{"scale level above the maximum", simple, "{ scale_level: 2", "{ scale_level: 3", simple, 0, "above its maximum 2"},
		{"endless scaling", simple, "max_scale_level: 2", "max_scale_level: 2000000000", simple, 0, "max_scale_level is 2000000000, more than 1000"},
		{"target that does not exist", simple, "targets: [ masterNode ]", "targets: [ none ]", simple, 0, `no node template or group "none"`},
		{"VDU levels without levels", simple, "type: tosca.policies.nfv.InstantiationLevels", "type: tosca.policies.nfv.VduInstantiationLevels", simple, 0, "needs a policy of type"},
		{"VDU level that does not exist", simple, "    - levels:", vduLevels, simple, 0, `level "none" is not one`},

		{"HOT that is no YAML", "BaseHOT/simple/simple_top.yaml", "resources:", "resources: }", "BaseHOT/simple/simple_top.yaml", 4, "not valid YAML"},
		{"HOT that is none", "BaseHOT/simple/simple_top.yaml", "heat_template_version: 2013-05-23", "x: y", "BaseHOT/simple/simple_top.yaml", 1, "not a Heat template"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := tree(t, "kubernetes")
			replace(t, files, test.file, test.old, test.new)
			_, err := open(t, archive(t, files)).Describe(t.Context())
			wantInvalid(t, err, test.at, test.line, test.reason)
		})
	}
}

const bomb = `
a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]
node_types:`

const vduLevels = `
    - vdu_levels:
        type: tosca.policies.nfv.VduInstantiationLevels
        properties: { levels: { none: { number_of_instances: 1 } } }
        targets: [ masterNode ]
    - levels:`

func TestDescribeTellsAllProblems(t *testing.T) {
	t.Parallel()
	files := tree(t, "kubernetes")
	replace(t, files, "Definitions/cluster_df_simple.yaml", "virtual_binding: masterNode", "virtual_binding: none")
	replace(t, files, "Definitions/cluster_df_complex.yaml", "default_level: instantiation_level_1", "default_level: x")
	replace(t, files, "TOSCA-Metadata/TOSCA.meta", "Content-Type: application/x-shellscript", "Algorithm: SHA-256\nHash: 00")
	_, err := open(t, archive(t, files)).Describe(t.Context())
	wantInvalid(t, err, "Definitions/cluster_df_simple.yaml", 0, `"none"`)
	wantInvalid(t, err, "Definitions/cluster_df_complex.yaml", 0, "default_level")
	wantInvalid(t, err, "TOSCA-Metadata/TOSCA.meta", 11, "the SHA-256 of")
	replace(t, files, "Definitions/cluster_df_podaffinity.yaml", "  inputs:", "  inputs: [")
	replace(t, files, "Definitions/cluster_types.yaml", "node_types:", "node_types: [")
	_, err = open(t, archive(t, files)).Describe(t.Context())
	wantInvalid(t, err, "Definitions/cluster_df_podaffinity.yaml", 0, "not valid YAML")
	wantInvalid(t, err, "Definitions/cluster_types.yaml", 0, "not valid YAML")
	if lines := strings.Split(err.Error(), "\n"); !strings.HasPrefix(lines[0], "TOSCA-Metadata/TOSCA.meta:11: the SHA-256 of Scripts/install.sh is ") {
		t.Errorf("text of the error: %s", lines[0])
	}
}

func TestDescribeRefusesBrokenLayouts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		files  fstest.MapFS
		at     string
		reason string
	}{
		{"no YAML at all", fstest.MapFS{"a.txt": {}}, "", "neither TOSCA-Metadata/TOSCA.meta nor a YAML file"},
		{"directory without TOSCA.meta", fstest.MapFS{"TOSCA-Metadata/tosca.meta": {}, "a.yaml": {}}, "", "a directory TOSCA-Metadata but no file"},
		{"two YAML files in the root", fstest.MapFS{"a.yaml": {}, "b.yml": {}}, "b.yml", "a second YAML file"},
		{"manifest of another name", fstest.MapFS{"a.yaml": {}, "b.mf": {}}, "b.mf", "the manifest of a.yaml is named a.mf"},
		{"empty TOSCA.meta", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": {Data: []byte("\n\n")}}, "TOSCA-Metadata/TOSCA.meta", "empty"},
		{"binary TOSCA.meta", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": {Data: []byte("a\x00b\xff")}}, "TOSCA-Metadata/TOSCA.meta", "UTF-8"},
		{"huge TOSCA.meta", fstest.MapFS{"TOSCA-Metadata/TOSCA.meta": {Data: make([]byte, 2<<20)}}, "TOSCA-Metadata/TOSCA.meta", "more than"},
		{"empty VNFD", fstest.MapFS{"a.yaml": {}}, "a.yaml", "not a TOSCA service template"},
		{"VNFD that is not UTF-8", fstest.MapFS{"a.yaml": {Data: []byte("a: \xff")}}, "a.yaml", "UTF-8"},
		{"VNFD of nothing", fstest.MapFS{"a.yaml": {Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_2")}}, "a.yaml", "no deployment flavour"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, archive(t, test.files)).Describe(t.Context())
			wantInvalid(t, err, test.at, 0, test.reason)
		})
	}
}

func TestDescribeReadsOldMetadata(t *testing.T) {
	t.Parallel()
	files := tree(t, "registry")
	replace(t, files, "TOSCA-Metadata/TOSCA.meta", "ETSI-Entry-Manifest", "Entry-Manifest")
	files["TOSCA-Metadata/TOSCA.meta"].Data = append([]byte("\ufeff"),
		strings.ReplaceAll(string(files["TOSCA-Metadata/TOSCA.meta"].Data), "\n", "\r\n")...)
	files["registry.mf"] = &fstest.MapFile{Data: []byte(`metadata:
vnf_product_name: Registry
vnf_description: a long
 text on two lines
Source: https://example.com/driver.tgz
Algorithm: sha-512
Hash: 00

Source: Licenses/license.txt
algorithm: SHA-224
Hash: 79E9B7E63A87EF1BDF55A3FA27BCF70FB3F43C6B52B3CCE9B5FA3F9D
Source: Licenses/license.txt
Algorithm: SHA-256
Hash: 0000
`)}
	_, err := open(t, archive(t, files)).Describe(t.Context())
	wantInvalid(t, err, "registry.mf", 11, "the SHA-224 of Licenses/license.txt is ")
	wantInvalid(t, err, "registry.mf", 14, "the SHA-256 of Licenses/license.txt is ")

	files["registry.mf"].Data = files["registry.mf"].Data[:strings.Index(string(files["registry.mf"].Data), "\nSource: Licenses")]
	d := describe(t, archive(t, files))
	if diff := cmp.Diff([]vnfpkg.Artifact{
		{Path: "https://example.com/driver.tgz", Checksum: vnfpkg.Checksum{Algorithm: "SHA-512", Hash: "00"}, Unchecked: true},
	}, d.Artifacts); diff != "" {
		t.Errorf("artifacts, -want +got:\n%s", diff)
	}
	files["registry.mf"].Data = append(files["registry.mf"].Data, "\n-----BEGIN CMS-----\nx"...)
	_, err = open(t, archive(t, files)).Describe(t.Context())
	wantInvalid(t, err, "registry.mf", 9, "no end")
}

func TestDescribeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(t, build(t, twoVdu(t))).Describe(ctx)
	var invalid *vnfpkg.Invalid
	if !errors.Is(err, context.Canceled) || errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
}
