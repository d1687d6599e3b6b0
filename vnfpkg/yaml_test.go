package vnfpkg_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// Lines of syntax errors come out of the parser's text in two ways.
func TestSyntaxErrorsHaveTheirLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		content string
		line    int
	}{
		{"a: 1\nb: 2\nc: }\nd: 1\n", 3},
		{"}\n", 1},
		{"a: 1\n\tb: 2\n", 2},
		{"a: 1\nb: 2\n c: 3\n", 3},
		{"a: 1\nb: @x\n", 2},
	} {
		_, err := open(t, archive(t, fstest.MapFS{"a.yaml": {Data: []byte(test.content)}})).Describe(t.Context())
		wantInvalid(t, err, "a.yaml", test.line, "not valid YAML")
	}
}

// A few lines of YAML that stand for billions, or for no end of them.
func TestYAMLThatGrowsIsRefused(t *testing.T) {
	t.Parallel()
	var aliases, merges strings.Builder
	aliases.WriteString("a0: &a0 [x, x]\n")
	merges.WriteString("a0: &a0 {x: 1}\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&aliases, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		fmt.Fprintf(&merges, "a%d: &a%d {y: *a%d, z: *a%d, <<: [*a%d, *a%d]}\n", i, i, i-1, i-1, i-1, i-1)
	}
	for name, row := range map[string]struct{ content, want string }{
		"aliases of aliases":          {aliases.String(), "too large, aliases counted"},
		"merged aliases":              {merges.String(), "too large, aliases counted"},
		"an anchor that holds itself": {"a: &a [*a]\n", "contains itself"},
		"brackets":                    {"a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", "nested deeper"},
	} {
		_, err := open(t, archive(t, fstest.MapFS{"a.yaml": {Data: []byte(row.content)}})).Describe(t.Context())
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The work for a hostile VNFD stays in proportion to its size: types that inherit much do not multiply it.
func TestDescribeOfManyTypesTakesLittleMemory(t *testing.T) {
	var vnfd strings.Builder
	vnfd.WriteString("tosca_definitions_version: tosca_simple_yaml_1_2\nnode_types:\n  B: {derived_from: tosca.nodes.nfv.Vdu.Compute, properties: {")
	for i := range 10_000 {
		fmt.Fprintf(&vnfd, "p%d: {},", i)
	}
	vnfd.WriteString("}}\n")
	for i := range 5000 {
		fmt.Fprintf(&vnfd, "  K%d: {derived_from: B}\n", i)
	}
	vnfd.WriteString("topology_template:\n  substitution_mappings: {properties: {flavour_id: a}}\n  node_templates:\n")
	for i := range 5000 {
		fmt.Fprintf(&vnfd, "    n%d: {type: K%d}\n", i, i)
	}
	csar := open(t, archive(t, fstest.MapFS{"a.yaml": {Data: []byte(vnfd.String())}}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := csar.Describe(t.Context())
	runtime.ReadMemStats(&after)
	wantInvalid(t, err, "a.yaml", 0, "mandatory")
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 300 {
		t.Errorf("allocated %d MiB in all", allocated)
	}
}
