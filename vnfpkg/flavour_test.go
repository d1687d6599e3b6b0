package vnfpkg_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vnfm/vnfpkg"
)

func TestVduCount(t *testing.T) {
	t.Parallel()
	f := &vnfpkg.Flavour{
		Vdus: []vnfpkg.Vdu{
			{Name: "worker", MinInstances: 1, MaxInstances: 9}, {Name: "pinned", MinInstances: 1, MaxInstances: 9},
			{Name: "pair", MinInstances: 2, MaxInstances: 2}, {Name: "growing", MinInstances: 1, MaxInstances: 9},
		},
		Aspects: []vnfpkg.ScalingAspect{
			{Name: "workers", MaxLevel: 3, StepDeltas: []string{"one"}},
			{Name: "steps", MaxLevel: 3, StepDeltas: []string{"one", "two", "one"}},
			{Name: "unnamed", MaxLevel: 2},
		},
		InitialDeltas: map[string]int{"worker": 2, "growing": 1},
		AspectDeltas: []vnfpkg.AspectDelta{
			{Aspect: "workers", Vdu: "worker", Deltas: map[string]int{"one": 2}},
			{Aspect: "workers", Vdu: "pinned", Deltas: map[string]int{"other": 1}},
			{Aspect: "steps", Vdu: "growing", Deltas: map[string]int{"one": 1, "two": 2}},
			{Aspect: "unnamed", Vdu: "growing", Deltas: map[string]int{"any": 3}},
			{Aspect: "none", Vdu: "worker", Deltas: map[string]int{"one": 100}},
		},
		Levels: []vnfpkg.Level{
			{ID: "small", ScaleLevels: map[string]int{"workers": 0}, VduCounts: map[string]int{"pinned": 4}},
			{ID: "big", ScaleLevels: map[string]int{"workers": 2, "steps": 2}, VduCounts: map[string]int{"pinned": 7}},
		},
		DefaultLevelID: "small",
	}
	tests := []struct {
		name   string
		vdu    string
		levels map[string]int
		level  string
		want   int
	}{
		{"initial delta at the default level", "worker", nil, "", 2},
		{"initial delta and steps of a level", "worker", nil, "big", 6},
		{"initial delta and given scale levels", "worker", map[string]int{"workers": 3}, "", 8},
		{"never above the aspect's maximum", "worker", map[string]int{"workers": 30}, "", 8},
		{"never below level 0", "worker", map[string]int{"workers": -1}, "", 2},
		{"VduInstantiationLevels of the default level", "pinned", nil, "", 4},
		{"VduInstantiationLevels of a level", "pinned", nil, "big", 7},
		{"VduInstantiationLevels and what was scaled since", "pinned", map[string]int{"workers": 3, "steps": 2}, "big", 8},
		{"VduInstantiationLevels and what was scaled in since", "pinned", map[string]int{"workers": 1, "steps": 2}, "big", 6},
		{"profile where no policy says a number", "pair", nil, "", 2},
		{"steps with deltas of their own", "growing", map[string]int{"steps": 2}, "", 4},
		{"all steps", "growing", map[string]int{"steps": 3}, "", 5},
		{"an aspect without step deltas", "growing", map[string]int{"unnamed": 2}, "", 7},
		{"a VDU that does not exist", "none", nil, "", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := f.VduCount(test.vdu, test.levels, test.level); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
	if diff := cmp.Diff(map[string]int{"workers": 2, "steps": 2, "unnamed": 0}, f.ScaleLevels("big")); diff != "" {
		t.Errorf("scale levels, -want +got:\n%s", diff)
	}
	if got := []int{f.DeltaOf("growing", "steps", 1), f.DeltaOf("growing", "steps", 2), f.DeltaOf("worker", "workers", 1), f.DeltaOf("worker", "steps", 1)}; cmp.Diff([]int{1, 2, 2, 0}, got) != "" {
		t.Errorf("deltas: %v", got)
	}
	if level, ok := f.Level(""); !ok || level.ID != "small" {
		t.Errorf("default level: %+v", level)
	}
	if _, ok := f.Level("none"); ok {
		t.Error("a level that does not exist")
	}
	if _, ok := (&vnfpkg.Flavour{}).Level(""); ok {
		t.Error("a default level where there are no levels")
	}
}

func TestCountsOfTheSample(t *testing.T) {
	t.Parallel()
	flavours := describe(t, build(t, twoVdu(t))).Vnfd.Flavours
	for _, test := range []struct {
		flavour, level string
		workers        int
	}{
		{"simple", "", 1}, {"simple", "instantiation_level_2", 2}, {"simple", "instantiation_level_3", 3},
		{"large", "", 2}, {"large", "instantiation_level_2", 4}, {"large", "instantiation_level_3", 6},
	} {
		f := flavours[test.flavour]
		if got := f.VduCount("worker", nil, test.level); got != test.workers {
			t.Errorf("%s %s: %d workers, want %d", test.flavour, test.level, got, test.workers)
		}
		if got := f.VduCount("controller", nil, test.level); got != 1 {
			t.Errorf("%s %s: %d controllers", test.flavour, test.level, got)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	image := vnfpkg.Image{Name: "os", Path: "Files/os.img", DiskFormat: "QCOW2"}
	same, remote, there := image, image, image
	remote.Path = "https://example.com/os.img"
	there.Path = ""
	flavour := vnfpkg.Flavour{
		Vdus:     []vnfpkg.Vdu{{Name: "a", Image: &image}, {Name: "b", Image: &same}, {Name: "c", Image: &there}, {Name: "d"}},
		Storages: []vnfpkg.Storage{{Name: "s", Image: &remote}},
	}
	want := []vnfpkg.PackageImage{{Image: image, Nodes: []string{"a", "b"}}, {Image: remote, Nodes: []string{"s"}}}
	if diff := cmp.Diff(want, flavour.Images()); diff != "" {
		t.Error(diff)
	}
}
