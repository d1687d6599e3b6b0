package hot

import (
	"slices"

	"vnfm/vnfpkg"
)

// vdus makes the servers: those of the scaling groups, of the groups with a fixed number, and single ones.
func (t *translation) vdus() {
	scaled := map[string]bool{}
	groups := t.groups()
	for _, g := range groups {
		for _, m := range g.members {
			scaled[m.vdu] = true
		}
	}
	for _, vdu := range t.Flavour.Vdus {
		switch {
		case scaled[vdu.Name]:
		case t.alone(vdu.Name):
			t.eachCp(vdu, func(cp vnfpkg.Cp) { t.single(cp.Name) })
			t.server(t.top, vdu, nil)
		default:
			count := t.Flavour.VduCount(vdu.Name, t.levels, t.LevelID)
			indexed := map[string]bool{}
			t.eachCp(vdu, func(cp vnfpkg.Cp) { indexed[cp.Name] = t.numbered(cp.Name, count) })
			t.several(t.top, vdu, count, indexed)
		}
	}
	for _, g := range groups {
		t.scalingGroup(g)
	}
}

// eachCp connects the connection points of a VDU: internal ones on managed networks here, external ones by the function.
func (t *translation) eachCp(vdu vnfpkg.Vdu, external func(vnfpkg.Cp)) {
	for _, cp := range t.Flavour.CpsOf(vdu.Name) {
		if cp.VirtualLink == "" {
			external(cp)
		} else {
			t.connectManaged(cp)
		}
	}
}

// scalingGroup makes the group of an aspect with its policies.
func (t *translation) scalingGroup(g group) {
	s := &scope{parent: t.top, description: "member of scaling aspect " + g.aspect}
	for _, m := range g.members {
		vdu, _ := t.Flavour.Vdu(m.vdu)
		t.eachCp(vdu, func(cp vnfpkg.Cp) { t.scalable(cp.Name, "its VDU scales with "+g.aspect) })
		if m.count == 1 {
			t.server(s, vdu, nil)
		} else {
			t.several(s, vdu, m.count, nil)
		}
	}
	t.define(t.top, g.aspect, resource("OS::Heat::AutoScalingGroup", s.needs, object{
		{"min_size", g.min}, {"max_size", g.max}, {"desired_capacity", g.now}, {"resource", t.nest(s, g.aspect, nil)},
	}))
	if g.adjustment <= 0 {
		return
	}
	for _, direction := range []struct {
		suffix     string
		adjustment int
	}{{"_scale_out", g.adjustment}, {"_scale_in", -g.adjustment}} {
		t.define(t.top, g.aspect+direction.suffix, resource("OS::Heat::ScalingPolicy", nil, object{
			{"auto_scaling_group_id", getResource(g.aspect)},
			{"adjustment_type", "change_in_capacity"},
			{"scaling_adjustment", direction.adjustment},
		}))
	}
}

// several makes a group with a number of servers of one VDU that no scaling changes.
func (t *translation) several(outer *scope, vdu vnfpkg.Vdu, count int, indexed map[string]bool) {
	name := vdu.Name + "_group"
	s := &scope{parent: outer, description: "member of the group of VDU " + vdu.Name}
	var properties object
	if slices.ContainsFunc(t.Flavour.CpsOf(vdu.Name), func(cp vnfpkg.Cp) bool { return indexed[cp.Name] }) {
		s.parameters.add("index", object{{"type", "string"}})
		properties.add("index", "%index%")
	}
	t.server(s, vdu, indexed)
	t.define(outer, name, resource("OS::Heat::ResourceGroup", s.needs, object{
		{"count", count}, {"resource_def", t.nest(s, name, properties)},
	}))
}

// server adds the server of a VDU with its ports and volumes to a template.
func (t *translation) server(s *scope, vdu vnfpkg.Vdu, indexed map[string]bool) {
	networks := []any{}
	for _, cp := range t.Flavour.CpsOf(vdu.Name) {
		networks = append(networks, t.port(s, cp, indexed[cp.Name]))
	}
	if len(networks) == 0 {
		networks = append(networks, object{{"allocate_network", "none"}}) // Nova would choose one
	}
	name := vdu.Name
	if t.Prefix != "" {
		name = t.Prefix + "-" + name
	}
	properties := object{{"name", name}, {"flavor", t.flavor(s, vdu)}}
	boot := t.bootVolume(vdu)
	if boot == "" {
		properties.add("image", t.image(s, vdu.Name, vdu.Image))
	} else {
		properties.add("block_device_mapping_v2", []any{object{
			{"boot_index", 0}, {"volume_id", getResource(boot)}, {"delete_on_termination", false},
		}})
	}
	properties.add("networks", networks)
	if zone := t.Zones[vdu.Name]; zone != "" {
		properties.add("availability_zone", t.vduParameter(s, vdu.Name, "zone", zone))
	}
	if group, ok := t.groupOf[vdu.Name]; ok {
		properties.add("scheduler_hints", object{{"group", s.pass(group+"_hint", "string", getResource(group))}})
	}
	properties.add("user_data_format", "RAW")
	if content := t.bootData(vdu.Name); content != "" {
		properties.add("user_data", content)
	}
	t.volumes(s, vdu, boot)
	t.define(s, vdu.Name, resource("OS::Nova::Server", nil, properties))
}

// vduParameter sets a parameter of a VDU or a storage and returns how a template reads it.
func (t *translation) vduParameter(s *scope, name, key, value string) any {
	if t.vduParameters[name] == nil {
		t.vduParameters[name] = map[string]any{}
	}
	t.vduParameters[name][key] = value
	return s.pass(name+"_"+key, "string", getParam("nfv", "VDU", name, key))
}

// flavor returns the flavor of a VDU. If none is named, one is made in the top template for all servers of the VDU.
func (t *translation) flavor(s *scope, vdu vnfpkg.Vdu) any {
	name := t.Flavors[vdu.Name]
	if name == "" {
		name = vdu.Flavor
	}
	if name != "" {
		return t.vduParameter(s, vdu.Name, "flavor", name)
	}
	made := vdu.Name + "_flavor"
	d := t.demand(vdu)
	properties := object{{"vcpus", d.vcpus}, {"ram", d.ramMiB}, {"disk", d.diskGiB}}
	if len(d.extraSpecs) > 0 {
		properties.add("extra_specs", sortedObject(d.extraSpecs))
	}
	t.define(t.top, made, resource("OS::Nova::Flavor", nil, properties))
	return s.pass(made, "string", getResource(made))
}

// image returns the image of a VDU or of a storage.
func (t *translation) image(s *scope, node string, image *vnfpkg.Image) any {
	name := t.Images[node]
	if name == "" && image != nil {
		name = image.Name
	}
	return t.vduParameter(s, node, "image", name)
}
