package hot

import (
	"slices"
	"strings"

	"vnfm/vnfpkg"
)

// PackageImage is a software image that a flavour brings with it, in the words of Glance.
type PackageImage struct {
	Nodes           []string // the VDUs and storages made from it, in the order of the VNFD: the keys for Request.Images
	Name            string
	Path            string // in the CSAR, or a URL
	URL             bool   // Path is a URL
	Checksum        vnfpkg.Checksum
	DiskFormat      string // in small letters: qcow2
	ContainerFormat string // in small letters: bare
	MinDiskGiB      int
	MinRAMMiB       int
	SizeBytes       int64 // as the VNFD says; it may be that of the disk inside
}

// Images returns the software images that have to be in Glance before the flavour is deployed, each one once. Those that
// have no artifact in the VNFD are not among them: the VIM has to have them by name.
func Images(f *vnfpkg.Flavour) []PackageImage {
	var sources []vnfpkg.Image
	var images []PackageImage
	add := func(node string, image *vnfpkg.Image) {
		if image == nil || image.Path == "" {
			return
		}
		i := slices.Index(sources, *image)
		if i < 0 {
			i = len(sources)
			sources = append(sources, *image)
			images = append(images, packageImage(*image))
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

func packageImage(image vnfpkg.Image) PackageImage {
	return PackageImage{
		Name:            image.Name,
		Path:            image.Path,
		URL:             strings.Contains(image.Path, "://"),
		Checksum:        image.Checksum,
		DiskFormat:      strings.ToLower(image.DiskFormat),
		ContainerFormat: strings.ToLower(image.ContainerFormat),
		MinDiskGiB:      units(image.MinDiskBytes, gib),
		MinRAMMiB:       units(image.MinRAMBytes, mib),
		SizeBytes:       image.SizeBytes,
	}
}
