package hot

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vnfm/vnfpkg"
)

// examine refuses what cannot be translated whatever the request says, and the request's levels if they do not exist.
func (t *translation) examine() {
	t.examineLevels()
	t.examineNodes()
	attached := map[string]string{} // storage → VDU
	for _, vdu := range t.Flavour.Vdus {
		t.examineVdu(vdu, attached)
	}
	for _, cp := range t.Flavour.Cps {
		t.examineCp(cp)
	}
	for _, link := range t.Flavour.VirtualLinks {
		t.apply(link.Name, t.topology.property(link.Name), linkLimits)
		pattern := text(t.topology.property(link.Name, "connectivity_type", "flow_pattern"))
		if pattern != "" && !strings.EqualFold(pattern, "mesh") {
			t.refuse(link.Name, "its flow_pattern is %q: Neutron has meshes only", pattern)
		}
	}
	for _, storage := range t.Flavour.Storages {
		t.examineStorage(storage, attached)
	}
	for _, policy := range t.topology.policies {
		if limit, ok := policyLimits[policy.kind]; ok {
			t.report(policy.name, "a policy of type "+policy.kind, limit)
		}
	}
}

func (t *translation) examineLevels() {
	if _, ok := t.Flavour.Level(t.LevelID); t.LevelID != "" && !ok {
		t.invalid("/instantiationLevelId", "the VNFD has no instantiation level %q", t.LevelID)
	}
	for _, name := range slices.Sorted(maps.Keys(t.levels)) {
		aspect, ok := t.Flavour.Aspect(name)
		if level := t.levels[name]; !ok || level < 0 || level > aspect.MaxLevel {
			t.invalid("", "the VNFD has no scale level %d of an aspect %q", level, name)
		}
	}
}

// examineNodes finds the node templates that the model has no place for.
func (t *translation) examineNodes() {
	f := t.Flavour
	for _, name := range slices.Sorted(maps.Keys(t.topology.nodes)) {
		_, vdu := f.Vdu(name)
		_, link := f.VirtualLink(name)
		_, storage := f.Storage(name)
		if name != f.VnfNode && !vdu && !link && !storage && !f.HasCp(name) {
			t.refuse(name, "node templates of type %s are not translated", text(t.topology.at(t.topology.nodes[name], "type")))
		}
	}
}

func (t *translation) examineVdu(vdu vnfpkg.Vdu, attached map[string]string) {
	t.apply(vdu.Name, t.topology.property(vdu.Name), vduLimits)
	for _, name := range vdu.Storages {
		if other, twice := attached[name]; twice {
			t.refuse(name, "it is attached to %s and to %s: a volume belongs to one server", other, vdu.Name)
		}
		attached[name] = vdu.Name
		if _, ok := t.Flavour.Storage(name); !ok {
			t.refuse(name, "%s needs it, and it is not a VirtualBlockStorage", vdu.Name)
		}
	}
	if !t.hasImage(vdu.Name, vdu.Image) && t.bootVolume(vdu) == "" {
		t.refuse(vdu.Name, "it has no software image, and neither has a storage attached to it")
	}
	for i, name := range t.bootOrder(vdu.Name) {
		switch {
		case !slices.Contains(vdu.Storages, name):
			t.refuse(vdu.Name, "its boot_order names %q, which is not a storage attached to it", name)
		case i == 0 && t.bootVolume(vdu) != name:
			t.refuse(vdu.Name, "its boot_order begins with %s, but it has an image of its own, or %s has none", name, name)
		case i > 0:
			t.note(vdu.Name, "of its boot_order only the first device counts")
		}
	}
	if data := t.topology.property(vdu.Name, "boot_data"); asks(data) && t.bootData(vdu.Name) == "" {
		t.refuse(vdu.Name, "its boot_data is not text that can be given to the server as it is")
	}
	named := 0
	for _, capability := range t.topology.items(t.topology.compute(vdu.Name, "requested_additional_capabilities")) {
		mandatory := asks(t.topology.at(capability, "support_mandatory"))
		if name := text(t.topology.at(capability, "requested_additional_capability_name")); name != "" && name != vdu.Flavor && mandatory {
			named++
		}
	}
	if named > 0 {
		t.refuse(vdu.Name, "it requests several additional capabilities: they name one flavor")
	}
}

// bootData is the text of boot_data (SOL001 6.8.3), "" if it is something else, such as a file of the package.
func (t *translation) bootData(vdu string) string {
	data := t.topology.property(vdu, "boot_data")
	content := text(t.topology.at(data, "content_or_file_data", "content"))
	for _, other := range []string{"data", "source_path", "destination_path"} {
		if asks(t.topology.at(data, "content_or_file_data", other)) {
			return ""
		}
	}
	if asks(t.topology.at(data, "kvp_data")) || asks(t.topology.at(data, "vim_specific_properties")) {
		return ""
	}
	if content == "" {
		content = text(data)
		// A single line is a path or URL, unless it is a script or a cloud-init document.
		if !strings.Contains(content, "\n") && !strings.HasPrefix(content, "#") {
			return ""
		}
	}
	return content
}

// vnicTypes are those that SOL001 6.8.5 and Neutron have in common: all.
var vnicTypes = []string{"", "normal", "macvtap", "direct", "baremetal", "virtio-forwarder", "direct-physical", "smart-nic"}

func (t *translation) examineCp(cp vnfpkg.Cp) {
	if cp.Vdu == "" {
		t.refuse(cp.Name, "it is bound to no VDU: external connection points of virtual links are not translated")
		return
	}
	if _, ok := t.Flavour.Vdu(cp.Vdu); !ok {
		t.refuse(cp.Name, "it is bound to %s, which is not a Vdu.Compute", cp.Vdu)
	}
	if _, ok := t.Flavour.VirtualLink(cp.VirtualLink); cp.VirtualLink != "" && !ok {
		t.refuse(cp.Name, "it is connected to %s, which is not a VnfVirtualLink", cp.VirtualLink)
	}
	t.apply(cp.Name, t.topology.property(cp.Name), cpLimits)
	if kind := text(t.topology.property(cp.Name, "vnic_type")); !slices.Contains(vnicTypes, kind) {
		t.refuse(cp.Name, "its vnic_type is %q", kind)
	}
	for _, requirement := range t.topology.items(t.topology.property(cp.Name, "virtual_network_interface_requirements")) {
		mandatory := asks(t.topology.at(requirement, "support_mandatory"))
		t.report(cp.Name, "virtual_network_interface_requirements", limit{refuse: mandatory})
	}
	for _, protocol := range t.topology.items(t.topology.property(cp.Name, "protocol")) {
		for _, address := range t.topology.items(t.topology.at(protocol, "address_data")) {
			l3 := t.topology.at(address, "l3_address_data")
			if asks(t.topology.at(l3, "floating_ip_activated")) {
				t.refuse(cp.Name, "floating_ip_activated is not translated")
			}
			if n, ok := whole(t.topology.at(l3, "number_of_ip_address")); ok && n > 1 && cp.VirtualLink != "" {
				t.refuse(cp.Name, "number_of_ip_address is %d: internal connection points get one address of each subnet", n)
			}
		}
	}
}

func (t *translation) examineStorage(storage vnfpkg.Storage, attached map[string]string) {
	t.apply(storage.Name, t.topology.property(storage.Name), storageLimits)
	if attached[storage.Name] == "" {
		t.refuse(storage.Name, "it is attached to no VDU")
	}
	if t.topology.property(storage.Name, "per_vnfc_instance") == false {
		t.refuse(storage.Name, "storage that VNFC instances share is not translated")
	}
}

// apply reports the limits that a node template meets; value holds the properties.
func (t *translation) apply(node string, value any, limits []limit) {
	for _, limit := range limits {
		if asks(t.topology.at(value, limit.path...)) {
			t.report(node, strings.Join(limit.path, "."), limit)
		}
	}
}

func (t *translation) report(node, what string, l limit) {
	if l.refuse {
		t.refuse(node, "%s is not translated", what)
		return
	}
	t.note(node, what+" is not asked of the VIM")
}

func compareNotes(a, b Note) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Detail, b.Detail))
}
