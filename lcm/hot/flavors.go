package hot

import (
	"cmp"
	"maps"
	"slices"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// NovaFlavor is a flavor that a VIM has.
type NovaFlavor struct {
	ID         string
	Name       string
	VCPUs      int
	RAMMiB     int
	DiskGiB    int
	ExtraSpecs map[string]string
}

// ChooseFlavor picks the flavor of a VDU from those that a VIM has: the one that requested_additional_capability_name names,
// or else the smallest one that has the virtual resources. Small is first little memory, then few CPUs, then little disk;
// flavors with extra specs that the VDU does not ask for come last, since they stand for special hosts. False if there is
// none, or if the VNFD asks for resources that a flavor cannot be compared with.
func ChooseFlavor(f *vnfpkg.Flavour, vduName string, available []NovaFlavor) (NovaFlavor, bool) {
	vdu, ok := f.Vdu(vduName)
	if !ok {
		return NovaFlavor{}, false
	}
	if vdu.Flavor != "" {
		i := slices.IndexFunc(available, func(n NovaFlavor) bool { return n.Name == vdu.Flavor || n.ID == vdu.Flavor })
		if i < 0 {
			return NovaFlavor{}, false
		}
		return available[i], true
	}
	t := newTranslation(Request{Flavour: f, Instantiate: &lcm.InstantiateRequest{}})
	d := t.demand(vdu)
	if len(t.errs) > 0 {
		return NovaFlavor{}, false
	}
	fitting := slices.DeleteFunc(slices.Clone(available), func(n NovaFlavor) bool { return !d.fits(n) })
	if len(fitting) == 0 {
		return NovaFlavor{}, false
	}
	return slices.MinFunc(fitting, func(a, b NovaFlavor) int {
		return cmp.Or(
			cmp.Compare(len(a.ExtraSpecs), len(b.ExtraSpecs)), // both have those asked for
			cmp.Compare(a.RAMMiB, b.RAMMiB),
			cmp.Compare(a.VCPUs, b.VCPUs),
			cmp.Compare(a.DiskGiB, b.DiskGiB),
			cmp.Compare(a.Name, b.Name),
		)
	}), true
}

// demand is what a flavor must have.
type demand struct {
	vcpus, ramMiB, diskGiB int
	extraSpecs             map[string]string
}

func (d demand) fits(n NovaFlavor) bool {
	for key, value := range d.extraSpecs {
		if n.ExtraSpecs[key] != value {
			return false
		}
	}
	return n.VCPUs >= d.vcpus && n.RAMMiB >= d.ramMiB && n.DiskGiB >= d.diskGiB
}

// demand reads the virtual resources of a VDU (SOL001 6.2.3 to 6.2.5, 6.4.2).
func (t *translation) demand(vdu vnfpkg.Vdu) demand {
	if vdu.VirtualCPUs == 0 || vdu.MemoryBytes == 0 {
		t.refuse(vdu.Name, "it has neither a requested_additional_capability_name nor virtual_cpu and virtual_memory")
	}
	t.apply(vdu.Name, t.topology.compute(vdu.Name), computeLimits)
	for _, disk := range t.topology.items(t.topology.compute(vdu.Name, "virtual_local_storage")) {
		t.apply(vdu.Name, disk, diskLimits)
	}
	d := demand{vcpus: vdu.VirtualCPUs, extraSpecs: map[string]string{}}
	ram, disk := vdu.MemoryBytes, vdu.LocalStorageBytes
	if vdu.Image != nil {
		ram, disk = max(ram, vdu.Image.MinRAMBytes), max(disk, vdu.Image.MinDiskBytes)
	}
	d.ramMiB, d.diskGiB = units(ram, mib), units(disk, gib)
	switch pinning := text(t.topology.compute(vdu.Name, "virtual_cpu", "virtual_cpu_pinning", "virtual_cpu_pinning_policy")); pinning {
	case "":
	case "static":
		d.extraSpecs["hw:cpu_policy"] = "dedicated"
	case "dynamic":
		d.extraSpecs["hw:cpu_policy"] = "shared"
	default:
		t.refuse(vdu.Name, "its virtual_cpu_pinning_policy is %q, not static or dynamic", pinning)
	}
	if asks(t.topology.compute(vdu.Name, "virtual_memory", "numa_enabled")) {
		d.extraSpecs["hw:numa_nodes"] = "1"
	}
	return d
}

func sortedObject(values map[string]string) object {
	var o object
	for _, key := range slices.Sorted(maps.Keys(values)) {
		o.add(key, values[key])
	}
	return o
}
