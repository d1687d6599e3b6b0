package vnfpkg

import (
	"path"
	"strings"
)

// Description is what a package's content says about it: the part of VnfPkgInfo that comes with onboarding (SOL003
// 10.5.2.2), and the VNFD's model. It is serialised as JSON in the registry.
type Description struct {
	VnfdID            string          `json:"vnfdId"` // descriptor_id of the VNF node
	Provider          string          `json:"vnfProvider"`
	ProductName       string          `json:"vnfProductName"`
	SoftwareVersion   string          `json:"vnfSoftwareVersion"`
	DescriptorVersion string          `json:"vnfdVersion"`
	VnfmInfo          []string        `json:"vnfmInfo"`
	SoftwareImages    []SoftwareImage `json:"softwareImages,omitempty"`
	Artifacts         []Artifact      `json:"additionalArtifacts,omitempty"`
	VnfdFiles         []string        `json:"vnfdFiles"` // TOSCA.meta, if there is one, then the entry definition, then its imports
	Vnfd              *Vnfd           `json:"vnfd,omitempty"`
}

// SoftwareImage is VnfPackageSoftwareImageInfo (SOL003 10.5.3.2): one for each flavour and node template with an image.
type SoftwareImage struct {
	ID        string `json:"id"`        // the name of the node template; the same in several flavours
	FlavourID string `json:"flavourId"` // not shown by the interface
	Image
}

// Artifact is VnfPackageArtifactInfo (SOL003 10.5.3.3): a file of the package that TOSCA.meta or the manifest lists with its
// hash and that is neither a software image nor part of the VNFD.
type Artifact struct {
	Path     string   `json:"artifactPath"` // in the CSAR, or a URL
	Checksum Checksum `json:"checksum"`     // algorithm in capitals: SHA-256

	// Unchecked is set for an artifact that is not in the CSAR but at a URL, which is not fetched at onboarding.
	Unchecked bool `json:"unchecked,omitempty"`
}

// PlainVnfd returns the name of the VNFD's only file; ok is false if it has several (SOL003 10.4.4.3.2).
func (d *Description) PlainVnfd() (name string, ok bool) {
	for _, file := range d.VnfdFiles {
		if !isYAML(file) {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = file, true
	}
	return name, ok
}

func isYAML(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension == ".yaml" || extension == ".yml"
}
