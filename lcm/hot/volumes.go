package hot

import "vnfm/vnfpkg"

const (
	mib = 1 << 20
	gib = 1 << 30
)

// hasImage tells whether a VDU or a storage is made from an image.
func (t *translation) hasImage(node string, image *vnfpkg.Image) bool {
	return t.Images[node] != "" || image != nil
}

// bootVolume returns the storage that a VDU boots from, "" if it boots from its own image: the first one with an image in
// boot_order, or else in the order of its requirements.
func (t *translation) bootVolume(vdu vnfpkg.Vdu) string {
	if t.hasImage(vdu.Name, vdu.Image) {
		return ""
	}
	for _, name := range append(t.bootOrder(vdu.Name), vdu.Storages...) {
		if storage, ok := t.Flavour.Storage(name); ok && t.hasImage(name, storage.Image) {
			return name
		}
	}
	return ""
}

func (t *translation) bootOrder(vdu string) []string {
	var order []string
	for _, item := range t.topology.items(t.topology.property(vdu, "boot_order")) {
		order = append(order, text(item))
	}
	return order
}

// volumes adds the volumes of a server, and attaches them one after the other so that the names of the devices are always the
// same. An attachment of its own, unlike one in the server's mapping, lets Heat replace the server and keep the volume.
func (t *translation) volumes(s *scope, vdu vnfpkg.Vdu, boot string) {
	var before []string
	for _, name := range vdu.Storages {
		storage, _ := t.Flavour.Storage(name)
		size := max(storage.SizeBytes, imageDisk(storage.Image))
		properties := object{{"size", max(units(size, gib), 1)}}
		if t.hasImage(name, storage.Image) {
			properties.add("image", t.image(s, name, storage.Image))
		}
		t.define(s, name, resource("OS::Cinder::Volume", nil, properties))
		if name == boot {
			continue
		}
		attachment := name + "_attachment"
		t.define(s, attachment, resource("OS::Cinder::VolumeAttachment", before, object{
			{"instance_uuid", getResource(vdu.Name)}, {"volume_id", getResource(name)},
		}))
		before = []string{attachment}
	}
}

func imageDisk(image *vnfpkg.Image) int64 {
	if image == nil {
		return 0
	}
	return image.MinDiskBytes
}

// units is the number of units that hold so many bytes.
func units(bytes, unit int64) int { return int((bytes + unit - 1) / unit) }
