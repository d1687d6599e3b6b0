package vnfpkg

import (
	"cmp"
	"maps"
	"slices"
)

// Vdu returns the VDU of that name.
func (f *Flavour) Vdu(name string) (Vdu, bool) {
	return find(f.Vdus, func(v Vdu) bool { return v.Name == name })
}

// Cp returns the connection point of that name.
func (f *Flavour) Cp(name string) (Cp, bool) {
	return find(f.Cps, func(cp Cp) bool { return cp.Name == name })
}

// HasCp tells whether the flavour has a connection point of that name.
func (f *Flavour) HasCp(name string) bool {
	_, ok := f.Cp(name)
	return ok
}

// CpsOf returns the connection points of a VDU in the order of its network interfaces.
func (f *Flavour) CpsOf(vdu string) []Cp {
	var cps []Cp
	for _, cp := range f.Cps {
		if cp.Vdu == vdu {
			cps = append(cps, cp)
		}
	}
	sortCps(cps)
	return cps
}

// VirtualLink returns the internal virtual link of that name.
func (f *Flavour) VirtualLink(name string) (VirtualLink, bool) {
	return find(f.VirtualLinks, func(l VirtualLink) bool { return l.Name == name })
}

// Storage returns the storage of that name.
func (f *Flavour) Storage(name string) (Storage, bool) {
	return find(f.Storages, func(s Storage) bool { return s.Name == name })
}

// PackageImage is a software image that a package brings with it, as a file or as a URL.
type PackageImage struct {
	Image
	Nodes []string // the VDUs and storages made from it, in the order of the VNFD
}

// Images returns the software images that the flavour brings with it, each one once. Those that have no artifact in the VNFD are not
// among them: the VIM has to have them by name.
func (f *Flavour) Images() []PackageImage {
	var images []PackageImage
	add := func(node string, image *Image) {
		if image == nil || image.Path == "" {
			return
		}
		i := slices.IndexFunc(images, func(known PackageImage) bool { return known.Image == *image })
		if i < 0 {
			i = len(images)
			images = append(images, PackageImage{Image: *image})
		}
		images[i].Nodes = append(images[i].Nodes, node)
	}
	for _, vdu := range f.Vdus {
		add(vdu.Name, vdu.Image)
	}
	for _, storage := range f.Storages {
		add(storage.Name, storage.Image)
	}
	return images
}

// Remote tells whether the image is to be fetched from a URL.
func (i Image) Remote() bool { return isURL(i.Path) }

// Aspect returns the scaling aspect of that name.
func (f *Flavour) Aspect(name string) (ScalingAspect, bool) {
	return find(f.Aspects, func(a ScalingAspect) bool { return a.Name == name })
}

// Level returns the instantiation level of that id, the default one for "".
func (f *Flavour) Level(id string) (Level, bool) {
	if id == "" {
		id = f.DefaultLevelID
	}
	return find(f.Levels, func(l Level) bool { return l.ID == id })
}

// ScaleLevels returns the scale level of every aspect at an instantiation level, the default one for "". Aspects that the
// level does not name are at 0.
func (f *Flavour) ScaleLevels(levelID string) map[string]int {
	levels := make(map[string]int, len(f.Aspects))
	for _, aspect := range f.Aspects {
		levels[aspect.Name] = 0
	}
	if level, ok := f.Level(levelID); ok {
		maps.Copy(levels, level.ScaleLevels)
	}
	return levels
}

// VduCount returns how many instances of a VDU there are when the aspects are at the given scale levels (nil = those of the
// instantiation level) and the VNF was instantiated at an instantiation level ("" = the default one).
//
// The number is that of VduInstantiationLevels plus what was scaled since; without such a policy it is the initial delta,
// or else min_number_of_instances, plus the deltas of all steps (SOL001 6.10.2 to 6.10.7).
func (f *Flavour) VduCount(vdu string, levels map[string]int, levelID string) int {
	if levels == nil {
		levels = f.ScaleLevels(levelID)
	}
	if level, ok := f.Level(levelID); ok {
		if count, ok := level.VduCounts[vdu]; ok {
			return count + f.added(vdu, levels) - f.added(vdu, level.ScaleLevels)
		}
	}
	count, ok := f.InitialDeltas[vdu]
	if !ok {
		count = 1
		if v, ok := f.Vdu(vdu); ok {
			count = v.MinInstances
		}
	}
	return count + f.added(vdu, levels)
}

// GroupSize returns how many members the scaling group of an aspect has, which is as many as there are instances of a VDU that the aspect
// scales; levels and levelID are as for VduCount. ok is false if the aspect scales nothing.
func (f *Flavour) GroupSize(aspect string, levels map[string]int, levelID string) (size int, ok bool) {
	deltas, ok := find(f.AspectDeltas, func(d AspectDelta) bool { return d.Aspect == aspect })
	if !ok {
		return 0, false
	}
	return f.VduCount(deltas.Vdu, levels, levelID), true
}

// added is the number of instances that the scale levels add to a VDU.
func (f *Flavour) added(vdu string, levels map[string]int) int {
	sum := 0
	for _, deltas := range f.AspectDeltas {
		if deltas.Vdu == vdu {
			sum += f.sum(deltas, levels[deltas.Aspect])
		}
	}
	return sum
}

// DeltaOf returns how many instances of a VDU a step of an aspect adds: the step that leads to the given scale level.
func (f *Flavour) DeltaOf(vdu, aspect string, level int) int {
	delta := 0
	for _, deltas := range f.AspectDeltas {
		if deltas.Vdu == vdu && deltas.Aspect == aspect {
			delta += f.sum(deltas, level) - f.sum(deltas, level-1)
		}
	}
	return delta
}

// sum adds up the deltas of the steps 1 to level. A single step delta is that of every step, and a single delta is meant
// where the step deltas are left out or have other names.
func (f *Flavour) sum(deltas AspectDelta, level int) int {
	aspect, _ := f.Aspect(deltas.Aspect)
	level = min(level, aspect.MaxLevel)
	steps := aspect.StepDeltas
	total := 0
	for step := range level {
		name := ""
		switch {
		case len(steps) == 1:
			name = steps[0]
		case step < len(steps):
			name = steps[step]
		}
		total += deltas.of(name)
	}
	return total
}

func (d AspectDelta) of(name string) int {
	if count, ok := d.Deltas[name]; ok || len(d.Deltas) != 1 {
		return count
	}
	for _, only := range d.Deltas {
		return only
	}
	return 0
}

func find[T any](list []T, match func(T) bool) (T, bool) {
	for _, element := range list {
		if match(element) {
			return element, true
		}
	}
	var zero T
	return zero, false
}

func sortCps(cps []Cp) {
	slices.SortStableFunc(cps, func(a, b Cp) int { return cmp.Compare(a.Order, b.Order) })
}
