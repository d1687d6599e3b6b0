package vnfpkg

import "slices"

// policies returns the policies of a type.
func (t *topology) policies(base string) []node {
	var policies []node
	for _, policy := range nodesOf(t.body.at("policies")) {
		if t.types.is(policy.kind, base) {
			policies = append(policies, policy)
		}
	}
	return policies
}

// targets returns the node templates that a policy is for; groups stand for their members.
func (t *topology) targets(policy node) []string {
	var targets []string
	for _, name := range policy.at("targets").items() {
		members := t.group[name.text()].at("members")
		switch {
		case members.given():
			targets = append(targets, members.texts()...)
		case t.names[name.text()]:
			targets = append(targets, name.text())
		default:
			t.p.addf(name, "the policy %s: there is no node template or group %q", policy.name, name.text())
		}
	}
	return targets
}

// scaling fills in the aspects, deltas and levels.
func (t *topology) scaling(f *Flavour) {
	for _, policy := range t.policies(typeScalingAspects) {
		for _, aspect := range t.property(policy, "aspects").named() {
			maximum := t.integer(aspect.at("max_scale_level"), 0)
			if maximum > MaxScaleLevel {
				t.p.addf(aspect.value, "the scaling aspect %s: max_scale_level is %d, more than %d", aspect.name, maximum, MaxScaleLevel)
				maximum = MaxScaleLevel
			}
			f.Aspects = append(f.Aspects, ScalingAspect{
				Name:        aspect.name,
				DisplayName: aspect.at("name").text(),
				Description: aspect.at("description").text(),
				MaxLevel:    maximum,
				StepDeltas:  aspect.at("step_deltas").texts(),
			})
		}
	}
	for _, policy := range t.policies(typeInitialDelta) {
		count := t.integer(t.property(policy, "initial_delta", "number_of_instances"), 1)
		for _, vdu := range t.targets(policy) {
			if f.InitialDeltas == nil {
				f.InitialDeltas = map[string]int{}
			}
			f.InitialDeltas[vdu] = count
		}
	}
	for _, policy := range t.policies(typeAspectDeltas) {
		t.aspectDeltas(f, policy)
	}
	t.levels(f)
	t.vduLevels(f)
}

// aspectDeltas reads a VduScalingAspectDeltas (SOL001 6.10.6). One of an aspect that does not exist occurs and does nothing.
func (t *topology) aspectDeltas(f *Flavour, policy node) {
	aspect := t.property(policy, "aspect").text()
	deltas := map[string]int{}
	for _, delta := range t.property(policy, "deltas").named() {
		deltas[delta.name] = t.integer(delta.at("number_of_instances"), 1)
	}
	for _, vdu := range t.targets(policy) {
		f.AspectDeltas = append(f.AspectDeltas, AspectDelta{Aspect: aspect, Vdu: vdu, Deltas: deltas})
	}
}

// levels reads InstantiationLevels (SOL001 6.10.2).
func (t *topology) levels(f *Flavour) {
	for _, policy := range t.policies(typeLevels) {
		for _, level := range t.property(policy, "levels").named() {
			f.Levels = append(f.Levels, Level{
				ID:          level.name,
				Description: level.at("description").text(),
				ScaleLevels: t.scaleInfo(f, level),
			})
		}
		// Several levels without a default are against SOL001 6.10.2 but occur: then all aspects are at 0.
		chosen := t.property(policy, "default_level")
		switch {
		case chosen.given():
			f.DefaultLevelID = chosen.text()
			if _, ok := f.Level(f.DefaultLevelID); !ok {
				t.p.addf(chosen, "default_level %q is not one of the levels", f.DefaultLevelID)
			}
		case len(f.Levels) == 1:
			f.DefaultLevelID = f.Levels[0].ID
		}
	}
}

func (t *topology) scaleInfo(f *Flavour, level field) map[string]int {
	info := level.at("scale_info")
	levels := make(map[string]int, len(info.fields()))
	for _, scaled := range info.named() {
		aspect, ok := f.Aspect(scaled.name)
		if !ok {
			t.p.addf(scaled.value, "the level %s: there is no scaling aspect %q", level.name, scaled.name)
			continue
		}
		levels[scaled.name] = t.integer(scaled.at("scale_level"), 0)
		if levels[scaled.name] > aspect.MaxLevel {
			t.p.addf(scaled.value, "the level %s: scale level %d of %s is above its maximum %d",
				level.name, levels[scaled.name], scaled.name, aspect.MaxLevel)
		}
	}
	return levels
}

// vduLevels reads VduInstantiationLevels and checks VirtualLinkInstantiationLevels (SOL001 6.10.3, 6.10.4).
func (t *topology) vduLevels(f *Flavour) {
	for _, policy := range slices.Concat(t.policies(typeVduLevels), t.policies(typeVirtualLinkLevels)) {
		if len(f.Levels) == 0 {
			t.p.addf(policy.value, "the policy %s needs a policy of type %s", policy.name, typeLevels)
			continue
		}
		targets := t.targets(policy)
		for _, level := range t.property(policy, "levels").named() {
			i := slices.IndexFunc(f.Levels, func(l Level) bool { return l.ID == level.name })
			if i < 0 {
				t.p.addf(level.value, "the policy %s: level %q is not one of the instantiation levels", policy.name, level.name)
				continue
			}
			if !t.types.is(policy.kind, typeVduLevels) {
				continue
			}
			if f.Levels[i].VduCounts == nil {
				f.Levels[i].VduCounts = map[string]int{}
			}
			for _, vdu := range targets {
				f.Levels[i].VduCounts[vdu] = t.integer(level.at("number_of_instances"), 1)
			}
		}
	}
}

// placement reads the affinity and anti-affinity rules (SOL001 6.10.10, 6.10.11). A rule for several targets is one for each
// placement group and one for all the node templates.
func (t *topology) placement(f *Flavour) {
	for _, policy := range slices.Concat(t.policies(typeAffinityRule), t.policies(typeAntiAffinityRule)) {
		rule := PlacementRule{
			Name:  policy.name,
			Anti:  t.types.is(policy.kind, typeAntiAffinityRule),
			Scope: t.property(policy, "scope").text(),
		}
		t.targets(policy) // names the targets that do not exist
		var single []string
		for _, target := range policy.at("targets").texts() {
			if members := t.group[target].at("members"); members.given() {
				group := rule
				group.Group, group.Members = target, members.texts()
				f.PlacementRules = append(f.PlacementRules, group)
			} else {
				single = append(single, target)
			}
		}
		if len(single) > 0 {
			rule.Members = single
			f.PlacementRules = append(f.PlacementRules, rule)
		}
	}
}
