package vnfpkg

import (
	"slices"
	"strings"
)

// flavour makes the model of a topology that is a flavour.
func (t *topology) flavour(id string) *Flavour {
	f := &Flavour{ID: id, Raw: t.raw()}
	if n, ok := t.vnf(); ok {
		f.VnfNode = n.name
		f.Description = t.given(n, "flavour_description").text()
		f.Hooks = hooks(n)
	}
	for _, n := range t.of(typeBlockStorage) {
		f.Storages = append(f.Storages, t.storage(n))
	}
	for _, n := range t.of(typeVduCompute) {
		f.Vdus = append(f.Vdus, t.vdu(n))
	}
	for _, n := range t.of(typeVirtualLink) {
		f.VirtualLinks = append(f.VirtualLinks, VirtualLink{
			Name:           n.name,
			Description:    t.property(n, "description").text(),
			LayerProtocols: t.property(n, "connectivity_type", "layer_protocols").texts(),
		})
	}
	f.Cps = t.cps()
	t.scaling(f)
	t.placement(f)
	return f
}

// raw returns the topology template as plain data.
func (t *topology) raw() map[string]any {
	raw := map[string]any{}
	for _, section := range []string{"inputs", "node_templates", "groups", "policies", "substitution_mappings"} {
		if v := t.body.at(section); v.given() {
			raw[section] = v.plain()
		}
	}
	if mappings, ok := raw["substitution_mappings"].(map[string]any); ok {
		delete(mappings, "requirements")
	}
	return raw
}

// hooks returns the management drivers of the interface Vnflcm, whose operations come in several notations (TOSCA 1.2
// 3.5.14, 1.3 3.6.17).
func hooks(vnf node) map[string]string {
	drivers := map[string]string{}
	lifecycle := vnf.at("interfaces", "Vnflcm")
	if operations := lifecycle.at("operations"); operations.given() {
		lifecycle = operations
	}
	for _, operation := range lifecycle.fields() {
		if !strings.HasSuffix(operation.name, "_start") && !strings.HasSuffix(operation.name, "_end") {
			continue
		}
		implementation := operation.value
		for _, key := range []string{"implementation", "primary"} {
			if inner := implementation.at(key); inner.given() {
				implementation = inner
			}
		}
		if name := implementation.text(); name != "" {
			drivers[operation.name] = name
		}
	}
	if len(drivers) == 0 {
		return nil
	}
	return drivers
}

func (t *topology) vdu(n node) Vdu {
	compute := n.at("capabilities", "virtual_compute", "properties")
	vdu := Vdu{
		Name:         n.name,
		DisplayName:  t.property(n, "name").text(),
		Description:  t.property(n, "description").text(),
		VirtualCPUs:  t.integer(t.resolve(compute.at("virtual_cpu", "num_virtual_cpu")), 0),
		MemoryBytes:  t.size(t.resolve(compute.at("virtual_memory", "virtual_mem_size"))),
		Image:        t.image(n),
		MinInstances: t.integer(t.property(n, "vdu_profile", "min_number_of_instances"), 1),
		Storages:     t.requirements(n, "virtual_storage"),
	}
	vdu.MaxInstances = t.integer(t.property(n, "vdu_profile", "max_number_of_instances"), vdu.MinInstances)
	for _, capability := range compute.at("requested_additional_capabilities").fields() {
		if name := t.resolve(capability.at("requested_additional_capability_name")).text(); name != "" {
			vdu.Flavor = name
			break
		}
	}
	for _, disk := range compute.at("virtual_local_storage").items() {
		vdu.LocalStorageBytes += t.size(t.resolve(disk.at("size_of_storage")))
	}
	return vdu
}

func (t *topology) storage(n node) Storage {
	size := t.property(n, "virtual_block_storage_data", "size_of_storage")
	if !size.given() {
		size = t.property(n, "size_of_storage") // SOL001 before 2.5.1
	}
	return Storage{Name: n.name, SizeBytes: t.size(size), Image: t.image(n)}
}

// cps returns the connection points in the order of their node templates.
func (t *topology) cps() []Cp {
	var external []string
	for _, requirement := range t.body.at("substitution_mappings", "requirements").named() {
		external = append(external, first(requirement.texts())) // [node, requirement of the node]
	}
	var cps []Cp
	for _, n := range t.nodes {
		if !t.types.is(n.kind, typeVduCp) && !t.types.is(n.kind, typeVnfExtCp) {
			continue
		}
		cp := Cp{
			Name:           n.name,
			Vdu:            first(t.requirements(n, "virtual_binding")),
			VirtualLink:    first(append(t.requirements(n, "virtual_link"), t.requirements(n, "internal_virtual_link")...)),
			Order:          t.integer(t.property(n, "order"), 0),
			LayerProtocols: t.property(n, "layer_protocols").texts(),
			External:       slices.Contains(external, n.name),
		}
		cps = append(cps, cp)
	}
	return cps
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
