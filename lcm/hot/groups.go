package hot

import (
	"maps"
	"slices"

	"vnfm/vnfpkg"
)

// group is the VDUs that scale together, as members of an OS::Heat::AutoScalingGroup.
type group struct {
	aspect        string
	members       []member
	min, max, now int // numbers of members
	adjustment    int // members that a step adds or removes; 0 = steps differ
}

// member is a VDU with the number of its instances in one member of a group.
type member struct {
	vdu   string
	count int
}

// groups returns the scaling groups in the order of the aspects.
func (t *translation) groups() []group {
	aspects := map[string][]string{} // VDUs by aspect
	for _, vdu := range t.Flavour.Vdus {
		var names []string
		for _, delta := range t.Flavour.AspectDeltas {
			// Deltas of an aspect that does not exist do nothing.
			if _, ok := t.Flavour.Aspect(delta.Aspect); ok && delta.Vdu == vdu.Name && !slices.Contains(names, delta.Aspect) {
				names = append(names, delta.Aspect)
			}
		}
		if len(names) > 1 {
			t.refuse(vdu.Name, "it scales with several aspects (%s, %s): a server is in one group only", names[0], names[1])
		}
		if len(names) > 0 {
			aspects[names[0]] = append(aspects[names[0]], vdu.Name)
		}
	}
	var list []group
	for _, aspect := range t.Flavour.Aspects {
		vdus := aspects[aspect.Name]
		if len(vdus) == 0 {
			continue
		}
		if g, ok := t.group(aspect, vdus); ok {
			list = append(list, g)
		}
	}
	return list
}

// group finds the member of which each scale level has a whole number: the greatest common divisor of the VDUs' numbers.
func (t *translation) group(aspect vnfpkg.ScalingAspect, vdus []string) (group, bool) {
	counts := make([][]int, len(vdus)) // by VDU and level
	for i, vdu := range vdus {
		counts[i] = t.countsByLevel(aspect, vdu)
		if slices.Min(counts[i]) < 0 {
			t.refuse(vdu, "its deltas and its numbers of instances at the instantiation levels contradict each other")
			return group{}, false
		}
	}
	sizes := make([]int, aspect.MaxLevel+1)
	for level := range sizes {
		for i := range vdus {
			sizes[level] = divisor(sizes[level], counts[i][level])
		}
	}
	g := group{aspect: aspect.Name, min: slices.Min(sizes), max: slices.Max(sizes), now: sizes[t.levels[aspect.Name]], adjustment: step(sizes)}
	for i, vdu := range vdus {
		each := -1
		for level, size := range sizes {
			switch {
			case size == 0:
			case each < 0:
				each = counts[i][level] / size
			case each*size != counts[i][level]:
				t.refuse(aspect.Name, "the numbers of its VDUs are not in the same proportion at all scale levels (%s)", vdu)
				return group{}, false
			}
		}
		if each < 0 {
			each = 1 // there is never one
		}
		g.members = append(g.members, member{vdu, each})
	}
	return g, true
}

func (t *translation) countsByLevel(aspect vnfpkg.ScalingAspect, vdu string) []int {
	levels := maps.Clone(t.levels)
	counts := make([]int, aspect.MaxLevel+1)
	for level := range counts {
		levels[aspect.Name] = level
		counts[level] = t.Flavour.VduCount(vdu, levels, t.LevelID)
	}
	return counts
}

// step returns by how much each size is greater than the one before, 0 if that is not always the same.
func step(sizes []int) int {
	if len(sizes) < 2 {
		return 0
	}
	first := sizes[1] - sizes[0]
	for i := range sizes[1:] {
		if sizes[i+1]-sizes[i] != first {
			return 0
		}
	}
	return first
}

func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// alone tells whether a VDU without an aspect has one instance at every instantiation level, so that its server needs no group
// around it. Going to another level must not make Heat replace servers.
func (t *translation) alone(vdu string) bool {
	if t.Flavour.VduCount(vdu, t.levels, t.LevelID) != 1 {
		return false
	}
	return !slices.ContainsFunc(t.Flavour.Levels, func(level vnfpkg.Level) bool {
		return t.Flavour.VduCount(vdu, nil, level.ID) != 1
	})
}
