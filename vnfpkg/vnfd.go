package vnfpkg

// Vnfd is what a VNFD says about the deployment of a VNF (SOL001 6). It is serialised with the package.
type Vnfd struct {
	Flavours map[string]*Flavour `json:"flavours"` // by flavour id
}

// Flavour is a deployment flavour: one topology of the VNF (SOL001 6.8.1, 6.11). Elements are in the order of the VNFD.
type Flavour struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	VnfNode     string `json:"vnfNode,omitempty"` // name of the node template of the VNF, usually "VNF"

	Vdus         []Vdu         `json:"vdus,omitempty"`
	Cps          []Cp          `json:"cps,omitempty"`
	VirtualLinks []VirtualLink `json:"virtualLinks,omitempty"`
	Storages     []Storage     `json:"storages,omitempty"`

	Aspects        []ScalingAspect `json:"aspects,omitempty"`
	InitialDeltas  map[string]int  `json:"initialDeltas,omitempty"` // VDU name → instances at scale level 0
	AspectDeltas   []AspectDelta   `json:"aspectDeltas,omitempty"`
	Levels         []Level         `json:"levels,omitempty"`
	DefaultLevelID string          `json:"defaultLevelId,omitempty"` // "" = none: all aspects at 0

	PlacementRules []PlacementRule `json:"placementRules,omitempty"`

	// Hooks are the management drivers: name of the LCM hook ("instantiate_end") → name of the driver, from the interface
	// Vnflcm of the VNF node (SOL001 6.7). Hooks without an implementation are left out.
	Hooks map[string]string `json:"hooks,omitempty"`

	// Raw is the topology template as plain data, for user data scripts: inputs, node_templates, policies, and
	// substitution_mappings without its requirements.
	Raw map[string]any `json:"raw,omitempty"`
}

// Vdu is a virtualisation deployment unit, tosca.nodes.nfv.Vdu.Compute (SOL001 6.8.3).
type Vdu struct {
	Name        string `json:"name"`                  // of the node template: the vduId of the interfaces
	DisplayName string `json:"displayName,omitempty"` // property name
	Description string `json:"description,omitempty"`

	// Flavor is requested_additional_capability_name: the name of an existing Nova flavor. "" = none is asked for, the
	// virtual resources below say what is needed.
	Flavor            string `json:"flavor,omitempty"`
	VirtualCPUs       int    `json:"virtualCpus,omitempty"`
	MemoryBytes       int64  `json:"memoryBytes,omitempty"`
	LocalStorageBytes int64  `json:"localStorageBytes,omitempty"` // sum of virtual_local_storage

	Image *Image `json:"image,omitempty"` // nil: boots from a storage

	MinInstances int `json:"minInstances"` // of vdu_profile; 1 if not given
	MaxInstances int `json:"maxInstances"` // of vdu_profile; MinInstances if not given

	Storages []string `json:"storages,omitempty"` // names of the storages attached (requirement virtual_storage)
}

// Image is the software image of a VDU or of a storage: sw_image_data (SOL001 6.2.34) and its artifact.
type Image struct {
	Name            string   `json:"name"`
	Version         string   `json:"version,omitempty"`
	Provider        string   `json:"provider,omitempty"`
	Checksum        Checksum `json:"checksum,omitzero"`         // as the VNFD gives it
	ContainerFormat string   `json:"containerFormat,omitempty"` // in capitals: BARE
	DiskFormat      string   `json:"diskFormat,omitempty"`      // in capitals: QCOW2
	MinDiskBytes    int64    `json:"minDiskBytes"`
	MinRAMBytes     int64    `json:"minRamBytes"`
	SizeBytes       int64    `json:"sizeBytes"`
	Path            string   `json:"path,omitempty"` // in the CSAR, or a URL; "" = the VIM must have the image already
}

// Checksum is a hash in hexadecimal and the name of its algorithm (SOL003 4.4.1.7).
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Hash      string `json:"hash"`
}

// Cp is a connection point: tosca.nodes.nfv.VduCp (SOL001 6.8.5), or tosca.nodes.nfv.VnfExtCp (6.8.8) with Vdu "".
type Cp struct {
	Name           string   `json:"name"` // of the node template: the cpdId of the interfaces
	Vdu            string   `json:"vdu,omitempty"`
	VirtualLink    string   `json:"virtualLink,omitempty"` // internal one; "" = none
	Order          int      `json:"order"`                 // of the network interface on the VDU
	LayerProtocols []string `json:"layerProtocols,omitempty"`
	External       bool     `json:"external,omitempty"` // exposed by substitution_mappings
}

// VirtualLink is an internal virtual link, tosca.nodes.nfv.VnfVirtualLink (SOL001 6.8.6).
type VirtualLink struct {
	Name           string   `json:"name"`
	Description    string   `json:"description,omitempty"`
	LayerProtocols []string `json:"layerProtocols,omitempty"`
}

// Storage is tosca.nodes.nfv.Vdu.VirtualBlockStorage (SOL001 6.8.4).
type Storage struct {
	Name      string `json:"name"`
	SizeBytes int64  `json:"sizeBytes"`
	Image     *Image `json:"image,omitempty"` // nil: an empty volume
}

// ScalingAspect is an aspect of tosca.policies.nfv.ScalingAspects (SOL001 6.10.5).
type ScalingAspect struct {
	Name        string   `json:"name"`                  // the aspectId of the interfaces
	DisplayName string   `json:"displayName,omitempty"` // field name
	Description string   `json:"description,omitempty"`
	MaxLevel    int      `json:"maxLevel"`
	StepDeltas  []string `json:"stepDeltas,omitempty"` // one for all steps, or one for each step
}

// AspectDelta is tosca.policies.nfv.VduScalingAspectDeltas for one VDU (SOL001 6.10.6).
type AspectDelta struct {
	Aspect string         `json:"aspect"`
	Vdu    string         `json:"vdu"`
	Deltas map[string]int `json:"deltas"` // name of the delta → instances that it adds
}

// Level is an instantiation level, tosca.policies.nfv.InstantiationLevels and VduInstantiationLevels (SOL001 6.10.2, 6.10.3).
type Level struct {
	ID          string         `json:"id"`
	Description string         `json:"description,omitempty"`
	ScaleLevels map[string]int `json:"scaleLevels,omitempty"` // aspect → scale level
	VduCounts   map[string]int `json:"vduCounts,omitempty"`   // VDU → instances, where VduInstantiationLevels says so
}

// PlacementRule is tosca.policies.nfv.AffinityRule or AntiAffinityRule (SOL001 6.10.10, 6.10.11).
type PlacementRule struct {
	Name    string   `json:"name"`
	Anti    bool     `json:"anti,omitempty"`
	Scope   string   `json:"scope,omitempty"`   // nfvi_node, zone, zone_group or nfvi_pop
	Group   string   `json:"group,omitempty"`   // the placement group that it is for; "" = none
	Members []string `json:"members,omitempty"` // node templates: the targets, groups replaced by their members
}
