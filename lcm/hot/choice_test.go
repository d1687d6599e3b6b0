package hot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/lcm/hot"
	"vnfm/vnfpkg"
)

func TestChooseFlavor(t *testing.T) {
	t.Parallel()
	available := []hot.NovaFlavor{
		{ID: "4", Name: "large", VCPUs: 4, RAMMiB: 8192, DiskGiB: 80},
		{ID: "3", Name: "medium", VCPUs: 2, RAMMiB: 4096, DiskGiB: 40},
		{ID: "5", Name: "pinned", VCPUs: 2, RAMMiB: 2048, DiskGiB: 40, ExtraSpecs: map[string]string{"hw:cpu_policy": "dedicated"}},
		{ID: "2", Name: "small", VCPUs: 1, RAMMiB: 2048, DiskGiB: 20},
	}
	const gib = 1 << 30
	pinned := map[string]any{"node_templates": map[string]any{"v": map[string]any{"capabilities": map[string]any{"virtual_compute": map[string]any{
		"properties": map[string]any{"virtual_cpu": map[string]any{"virtual_cpu_pinning": map[string]any{"virtual_cpu_pinning_policy": "static"}}}}}}}}
	for _, row := range []struct {
		name string
		vdu  vnfpkg.Vdu
		raw  map[string]any
		want string
	}{
		{"the smallest that fits", vnfpkg.Vdu{VirtualCPUs: 1, MemoryBytes: gib}, nil, "small"},
		{"a byte more memory", vnfpkg.Vdu{VirtualCPUs: 1, MemoryBytes: 2*gib + 1}, nil, "medium"},
		{"special flavors come last", vnfpkg.Vdu{VirtualCPUs: 2, MemoryBytes: gib}, nil, "medium"},
		{"a special flavor where it is asked for", vnfpkg.Vdu{VirtualCPUs: 2, MemoryBytes: gib}, pinned, "pinned"},
		{"room for the image", vnfpkg.Vdu{VirtualCPUs: 1, MemoryBytes: gib, Image: &vnfpkg.Image{MinDiskBytes: 50 * gib}}, nil, "large"},
		{"the named one, though it is small", vnfpkg.Vdu{VirtualCPUs: 8, MemoryBytes: gib, Flavor: "small"}, nil, "small"},
		{"the named one by its id", vnfpkg.Vdu{Flavor: "3"}, nil, "medium"},
		{"a name that there is not", vnfpkg.Vdu{VirtualCPUs: 1, MemoryBytes: gib, Flavor: "tiny"}, nil, ""},
		{"none that is large enough", vnfpkg.Vdu{VirtualCPUs: 5, MemoryBytes: gib}, nil, ""},
		{"nothing asked for", vnfpkg.Vdu{}, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.vdu.Name = "v"
			got, ok := hot.ChooseFlavor(&vnfpkg.Flavour{Vdus: []vnfpkg.Vdu{row.vdu}, Raw: row.raw}, "v", available)
			if got.Name != row.want || ok != (row.want != "") {
				t.Errorf("got %q, %t; want %q", got.Name, ok, row.want)
			}
		})
	}
}

// TestTranslateGroups looks at the sizes of groups for ways to count VDUs.
func TestTranslateGroups(t *testing.T) {
	t.Parallel()
	aspect := func(steps ...string) []vnfpkg.ScalingAspect {
		return []vnfpkg.ScalingAspect{{Name: "a", MaxLevel: 2, StepDeltas: steps}}
	}
	deltas := func(d map[string]int) []vnfpkg.AspectDelta {
		return []vnfpkg.AspectDelta{{Aspect: "a", Vdu: "v", Deltas: d}}
	}
	const out, in = "a_scale_out", "a_scale_in"
	for _, row := range []struct {
		name    string
		flavour vnfpkg.Flavour
		levels  map[string]int
		want    map[string]any // the numbers in the resources
	}{
		{"no aspect, one instance", vnfpkg.Flavour{}, nil, map[string]any{}},
		{"no aspect, none at one level", vnfpkg.Flavour{Levels: []vnfpkg.Level{{ID: "l", VduCounts: map[string]int{"v": 0}}}}, nil, map[string]any{"v_group": 1}},
		{"steps of two", vnfpkg.Flavour{Aspects: aspect("d"), AspectDeltas: deltas(map[string]int{"d": 2})}, map[string]int{"a": 1},
			map[string]any{"a": []any{1, 5, 3}, out: 2, in: -2}},
		{"unequal steps have no policies", vnfpkg.Flavour{Aspects: aspect("d", "e"), AspectDeltas: deltas(map[string]int{"d": 2, "e": 1})}, map[string]int{"a": 2},
			map[string]any{"a": []any{1, 4, 4}}},
		{"none at first", vnfpkg.Flavour{Aspects: aspect("d"), AspectDeltas: deltas(map[string]int{"d": 1}), InitialDeltas: map[string]int{"v": 0}}, nil,
			map[string]any{"a": []any{0, 2, 0}, out: 1, in: -1}},
		{"numbers of the instantiation level", vnfpkg.Flavour{Aspects: aspect("d"), AspectDeltas: deltas(map[string]int{"d": 1}), DefaultLevelID: "l",
			Levels: []vnfpkg.Level{{ID: "l", ScaleLevels: map[string]int{"a": 1}, VduCounts: map[string]int{"v": 4}}}}, nil,
			map[string]any{"a": []any{3, 5, 4}, out: 1, in: -1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.flavour.Vdus = []vnfpkg.Vdu{{Name: "v", Flavor: "f", Image: &vnfpkg.Image{Name: "i"}, MinInstances: 1}}
			template, err := hot.Translate(hot.Request{Flavour: &row.flavour, Instantiate: &lcm.InstantiateRequest{}, ScaleLevels: row.levels})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, numbers(t, template.Top)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// numbers returns the sizes of groups and the adjustments of policies.
func numbers(t *testing.T, top string) map[string]any {
	t.Helper()
	var document struct {
		Resources map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := yaml.Unmarshal([]byte(top), &document); err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	for name, r := range document.Resources {
		switch r.Type {
		case "OS::Heat::AutoScalingGroup":
			found[name] = []any{r.Properties["min_size"], r.Properties["max_size"], r.Properties["desired_capacity"]}
		case "OS::Heat::ResourceGroup":
			found[name] = r.Properties["count"]
		case "OS::Heat::ScalingPolicy":
			found[name] = r.Properties["scaling_adjustment"]
		}
	}
	return found
}

// TestTranslateKeepsText has text that YAML 1.1, which Heat reads, takes for something else than text.
func TestTranslateKeepsText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"yes", "on", "n", "null", "123", "1_000", "0777", "1.5", "2021-04-16", "12-30", "_", "é"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flavour := &vnfpkg.Flavour{Vdus: []vnfpkg.Vdu{{Name: name, Flavor: "f", Image: &vnfpkg.Image{Name: "i"}, MinInstances: 1}}}
			template, err := hot.Translate(hot.Request{Flavour: flavour, Instantiate: &lcm.InstantiateRequest{}})
			if err != nil {
				t.Fatal(err)
			}
			quoted := strings.Contains(template.Top, `name: "`+name+`"`) && strings.Contains(template.Top, `"`+name+`":`)
			if plain := name == "_"; quoted == plain {
				t.Errorf("quoted: %t in\n%s", quoted, template.Top)
			}
		})
	}
}
