package lcm

import "context"

// GrantSource is an NFVO that permits operations, SOL003 clause 9. Its refusal is a *[Failure] with the NFVO's own words; an NFVO that
// cannot be reached, or that is in trouble itself, is *[Unavailable].
type GrantSource interface {
	// Request asks for a grant. Asked again for the same operation occurrence, because the first answer was lost, the NFVO can tell by
	// vnfLcmOpOccId that it is the same request.
	Request(ctx context.Context, request *GrantRequest) (GrantAnswer, error)
	// Poll asks for the decision that an earlier answer has promised.
	Poll(ctx context.Context, location string) (GrantAnswer, error)
}

// GrantAnswer is the grant, or the place where it will be found once the NFVO has decided.
type GrantAnswer struct {
	Grant    *Grant `json:"grant,omitempty"`
	Location string `json:"location,omitempty"`
}

// GrantRequest is GrantRequest (SOL003 9.5.2.2).
type GrantRequest struct {
	VnfInstanceID         string                `json:"vnfInstanceId"`
	VnfLcmOpOccID         string                `json:"vnfLcmOpOccId"`
	VnfdID                string                `json:"vnfdId"`
	FlavourID             string                `json:"flavourId,omitempty"` // the one that the VNF will have
	Operation             OperationType         `json:"operation"`
	IsAutomaticInvocation bool                  `json:"isAutomaticInvocation"`
	InstantiationLevelID  string                `json:"instantiationLevelId,omitempty"` // with INSTANTIATE only
	AddResources          []ResourceDefinition  `json:"addResources,omitempty"`
	RemoveResources       []ResourceDefinition  `json:"removeResources,omitempty"`
	UpdateResources       []ResourceDefinition  `json:"updateResources,omitempty"`
	PlacementConstraints  []PlacementConstraint `json:"placementConstraints,omitempty"`
	AdditionalParams      map[string]any        `json:"additionalParams,omitempty"` // of the operation's request, secrets masked
	Links                 GrantRequestLinks     `json:"_links"`
}

// GrantRequestLinks are the links of a GrantRequest (SOL003 9.5.2.2).
type GrantRequestLinks struct {
	VnfLcmOpOcc Link `json:"vnfLcmOpOcc"`
	VnfInstance Link `json:"vnfInstance"`
}

// Link points at a resource (SOL003 4.4.1.3).
type Link struct {
	Href string `json:"href"`
}

// ResourceType is the kind of a resource that a grant is about (SOL003 9.5.3.2).
type ResourceType string

// The resource types.
const (
	ResourceCompute  ResourceType = "COMPUTE"
	ResourceVL       ResourceType = "VL"
	ResourceStorage  ResourceType = "STORAGE"
	ResourceLinkPort ResourceType = "LINKPORT"
)

// ResourceDefinition is a resource that an operation adds, removes or updates (SOL003 9.5.3.2). ID is the one that the resource has, or
// is going to have, in InstantiatedVnfInfo.
type ResourceDefinition struct {
	ID                 string          `json:"id"`
	Type               ResourceType    `json:"type"`
	VduID              string          `json:"vduId,omitempty"`
	ResourceTemplateID string          `json:"resourceTemplateId,omitempty"` // the node template in the VNFD
	Resource           *ResourceHandle `json:"resource,omitempty"`           // nil if it is to be added
}

// PlacementConstraint says which resources have to be together or apart (SOL003 9.5.3.6).
type PlacementConstraint struct {
	AffinityOrAntiAffinity string                  `json:"affinityOrAntiAffinity"` // AFFINITY or ANTI_AFFINITY
	Scope                  string                  `json:"scope"`                  // NFVI_POP, ZONE, ZONE_GROUP or NFVI_NODE
	Resource               []ConstraintResourceRef `json:"resource"`               // two or more
}

// ConstraintResourceRef names a resource of a placement constraint (SOL003 9.5.3.7).
type ConstraintResourceRef struct {
	IDType          string `json:"idType"`                    // RES_MGMT or GRANT
	ResourceID      string `json:"resourceId"`                // in the VIM, or of a resource definition
	VimConnectionID string `json:"vimConnectionId,omitempty"` // with RES_MGMT
}

// Grant is Grant (SOL003 9.5.2.3), as far as it is made use of. It can hold the credentials of VIMs.
type Grant struct {
	ID                     string                      `json:"id"`
	VnfInstanceID          string                      `json:"vnfInstanceId"`
	VnfLcmOpOccID          string                      `json:"vnfLcmOpOccId"`
	VimConnections         []VimConnectionInfo         `json:"vimConnections,omitempty"`
	Zones                  []ZoneInfo                  `json:"zones,omitempty"`
	AddResources           []GrantInfo                 `json:"addResources,omitempty"`
	RemoveResources        []GrantInfo                 `json:"removeResources,omitempty"`
	UpdateResources        []GrantInfo                 `json:"updateResources,omitempty"`
	VimAssets              VimAssets                   `json:"vimAssets,omitzero"`
	ExtVirtualLinks        []ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks []ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	AdditionalParams       map[string]any              `json:"additionalParams,omitempty"`
	Links                  GrantLinks                  `json:"_links"`
}

// GrantLinks are the links of a Grant (SOL003 9.5.2.3).
type GrantLinks struct {
	Self Link `json:"self"`
}

// GrantInfo is what is granted for one resource definition (SOL003 9.5.3.3).
type GrantInfo struct {
	ResourceDefinitionID string `json:"resourceDefinitionId"`
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ZoneID               string `json:"zoneId,omitempty"` // the ID of a ZoneInfo
}

// ZoneInfo is an availability zone (SOL003 9.5.3.4).
type ZoneInfo struct {
	ID              string `json:"id"`
	ZoneID          string `json:"zoneId"` // the name in the VIM
	VimConnectionID string `json:"vimConnectionId,omitempty"`
}

// VimAssets are what a VIM has for the VNF (SOL003 9.5.3.10). Both descriptors are the names of node templates of the VNFD.
type VimAssets struct {
	ComputeResourceFlavours []VimComputeResourceFlavour `json:"computeResourceFlavours,omitempty"`
	SoftwareImages          []VimSoftwareImage          `json:"softwareImages,omitempty"`
}

// VimComputeResourceFlavour is the Nova flavor of a VDU (SOL003 9.5.3.11).
type VimComputeResourceFlavour struct {
	VimConnectionID          string `json:"vimConnectionId,omitempty"`
	VnfdVirtualComputeDescID string `json:"vnfdVirtualComputeDescId"`
	VimFlavourID             string `json:"vimFlavourId"`
}

// VimSoftwareImage is the Glance image of a VDU or a virtual storage (SOL003 9.5.3.12).
type VimSoftwareImage struct {
	VimConnectionID     string `json:"vimConnectionId,omitempty"`
	VnfdSoftwareImageID string `json:"vnfdSoftwareImageId"`
	VimSoftwareImageID  string `json:"vimSoftwareImageId"`
}
