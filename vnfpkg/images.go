package vnfpkg

import (
	"path"
	"strings"
)

// image returns the software image of a VDU or a storage (SOL001 6.8.3, 6.2.34), nil if it has none.
func (t *topology) image(n node) *Image {
	file := t.imageArtifact(n)
	data := t.given(n, "sw_image_data")
	if !data.given() {
		if file.given() {
			t.p.addf(file, "%s has a software image as an artifact but no property sw_image_data", n.name)
		}
		return nil
	}
	text := func(keys ...string) string { return t.given(n, append([]string{"sw_image_data"}, keys...)...).text() }
	image := &Image{
		Name:            text("name"),
		Version:         text("version"),
		Provider:        text("provider"),
		Checksum:        Checksum{text("checksum", "algorithm"), text("checksum", "hash")},
		ContainerFormat: strings.ToUpper(text("container_format")),
		DiskFormat:      strings.ToUpper(text("disk_format")),
		MinDiskBytes:    t.size(t.given(n, "sw_image_data", "min_disk")),
		MinRAMBytes:     t.size(t.given(n, "sw_image_data", "min_ram")),
		SizeBytes:       t.size(t.given(n, "sw_image_data", "size")),
		Path:            t.artifactPath(file),
	}
	if image.Name == "" {
		t.p.addf(data, "sw_image_data of %s has no name", n.name)
	}
	if sum := text("checksum"); sum != "" {
		image.Checksum.Hash = sum // SOL001 before 2.5.1
	}
	return image
}

// imageArtifact returns the file of the software image artifact. One without a type is an image too: VDUs have no others.
func (t *topology) imageArtifact(n node) value {
	var found value
	for _, artifact := range n.at("artifacts").named() {
		file := artifact.value
		if kind := artifact.at("type"); kind.given() {
			if !t.types.is(kind.text(), typeSwImage) {
				continue
			}
			file = artifact.at("file")
		}
		if file.text() == "" {
			t.p.addf(artifact.value, "the artifact %s of %s has no file", artifact.name, n.name)
			continue
		}
		if found.given() {
			t.p.addf(artifact.value, "%s has more than one software image", n.name)
			continue
		}
		found = file
	}
	return found
}

// artifactPath finds the file of an artifact in the archive. The path is relative to the file that names it, or, as many
// packages have it, to the root.
func (t *topology) artifactPath(file value) string {
	name := file.text()
	if name == "" || isURL(name) {
		return name
	}
	for _, resolved := range []string{path.Join(path.Dir(file.file), name), path.Clean(name)} {
		if t.csar.has(resolved) {
			return resolved
		}
	}
	t.p.addf(file, "the package has no file %q", name)
	return ""
}
