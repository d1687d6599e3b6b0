package lcm

import (
	"time"

	"github.com/google/uuid"
)

// InstantiationState tells whether a VNF instance has resources (SOL003 5.5.2.2).
type InstantiationState string

// The instantiation states.
const (
	NotInstantiated InstantiationState = "NOT_INSTANTIATED"
	Instantiated    InstantiationState = "INSTANTIATED"
)

// VnfInstance is a VNF instance (SOL003 5.5.2.2). Its secrets are not here: VimConnectionInfo and
// InstantiatedVnfInfo.AdditionalParams are masked, the originals are in [Deployment].
type VnfInstance struct {
	ID                        uuid.UUID
	ProjectID                 string // that it belongs to, that of its package
	Name                      string
	Description               string
	VnfdID                    string
	VnfPkgID                  uuid.UUID
	Provider                  string
	ProductName               string
	SoftwareVersion           string
	VnfdVersion               string
	InstantiationState        InstantiationState
	InstantiatedVnfInfo       *InstantiatedVnfInfo // nil unless INSTANTIATED
	VimConnectionInfo         []VimConnectionInfo  // secrets masked
	Metadata                  map[string]any
	Extensions                map[string]any
	VnfConfigurableProperties map[string]any
	Deployed                  bool  // whether resources may exist: also after an instantiation that was given up
	Version                   int64 // counts changes; the entity tag of the API
	CreatedAt, UpdatedAt      time.Time
}

// InstantiatedVnfInfo describes the resources of an instantiated VNF (SOL003 5.5.2.2). Its JSON form is the standard's, with
// the names that existing users of the interface know: vnfVirtualLinkResourceInfo, vnfcInfo and additionalParams.
type InstantiatedVnfInfo struct {
	FlavourID                  string                       `json:"flavourId"`
	InstantiationLevelID       string                       `json:"instantiationLevelId,omitempty"`
	VnfState                   VnfState                     `json:"vnfState"`
	ScaleStatus                []ScaleInfo                  `json:"scaleStatus,omitempty"`
	ExtCpInfo                  []VnfExtCpInfo               `json:"extCpInfo,omitempty"`
	ExtVirtualLinkInfo         []ExtVirtualLinkInfo         `json:"extVirtualLinkInfo,omitempty"`
	ExtManagedVirtualLinkInfo  []ExtManagedVirtualLinkInfo  `json:"extManagedVirtualLinkInfo,omitempty"`
	LocalizationLanguage       string                       `json:"localizationLanguage,omitempty"`
	VnfcResourceInfo           []VnfcResourceInfo           `json:"vnfcResourceInfo,omitempty"`
	VnfVirtualLinkResourceInfo []VnfVirtualLinkResourceInfo `json:"vnfVirtualLinkResourceInfo,omitempty"`
	VirtualStorageResourceInfo []VirtualStorageResourceInfo `json:"virtualStorageResourceInfo,omitempty"`
	VnfcInfo                   []VnfcInfo                   `json:"vnfcInfo,omitempty"`
	AdditionalParams           map[string]any               `json:"additionalParams,omitempty"` // secrets masked
}

// VnfState is the run state of a VNF or a VNFC (SOL003 5.5.4.3).
type VnfState string

// The run states.
const (
	Started VnfState = "STARTED"
	Stopped VnfState = "STOPPED"
)

// ScaleInfo is the scale level of one aspect, 0 being the smallest (SOL003 5.5.3.4).
type ScaleInfo struct {
	AspectID   string `json:"aspectId"`
	ScaleLevel int    `json:"scaleLevel"`
}

// VnfExtCpInfo is an external connection point (SOL003 5.5.3.25). AssociatedVnfcCpID holds the id of the first VNFC that has
// the connection point, as the users of existing systems read it.
type VnfExtCpInfo struct {
	ID                 string           `json:"id"`
	CpdID              string           `json:"cpdId"`
	ExtLinkPortID      string           `json:"extLinkPortId,omitempty"`
	AssociatedVnfcCpID string           `json:"associatedVnfcCpId,omitempty"`
	CpProtocolInfo     []CpProtocolInfo `json:"cpProtocolInfo"`
}

// CpProtocolInfo is the addressing of a connection point (SOL003 5.5.3.9b).
type CpProtocolInfo struct {
	LayerProtocol  string              `json:"layerProtocol"` // always IP_OVER_ETHERNET
	IPOverEthernet *IPOverEthernetInfo `json:"ipOverEthernet,omitempty"`
}

// IPOverEthernetInfo are the network addresses of a connection point (SOL003 5.5.3.10).
type IPOverEthernetInfo struct {
	MacAddress  string          `json:"macAddress,omitempty"`
	IPAddresses []IPAddressInfo `json:"ipAddresses,omitempty"`
}

// IPAddressInfo are addresses of one subnet (SOL003 5.5.3.10).
type IPAddressInfo struct {
	Type      string   `json:"type"` // IPV4 or IPV6
	Addresses []string `json:"addresses,omitempty"`
	IsDynamic bool     `json:"isDynamic"`
	SubnetID  string   `json:"subnetId,omitempty"`
}

// ExtVirtualLinkInfo is a network outside the VNF that it is connected to (SOL003 5.5.3.2).
type ExtVirtualLinkInfo struct {
	ID             string            `json:"id"`
	ResourceHandle ResourceHandle    `json:"resourceHandle"`
	ExtLinkPorts   []ExtLinkPortInfo `json:"extLinkPorts,omitempty"`
}

// ExtLinkPortInfo is a port of an external virtual link (SOL003 5.5.3.3).
type ExtLinkPortInfo struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
	CpInstanceID   string         `json:"cpInstanceId,omitempty"`
}

// ExtManagedVirtualLinkInfo is an internal network that somebody else manages (SOL003 5.5.3.3a).
type ExtManagedVirtualLinkInfo struct {
	ID                   string            `json:"id"`
	VnfVirtualLinkDescID string            `json:"vnfVirtualLinkDescId"`
	NetworkResource      ResourceHandle    `json:"networkResource"`
	VnfLinkPorts         []VnfLinkPortInfo `json:"vnfLinkPorts,omitempty"`
}

// VnfcResourceInfo is a VNFC with its virtual machine (SOL003 5.5.3.5). ID is the vnfcInstanceId that heal requests name.
type VnfcResourceInfo struct {
	ID                 string         `json:"id"`
	VduID              string         `json:"vduId"`
	ComputeResource    ResourceHandle `json:"computeResource"`
	ZoneID             string         `json:"zoneId,omitempty"`             // the availability zone that a grant has chosen
	StorageResourceIDs []string       `json:"storageResourceIds,omitempty"` // ids in VirtualStorageResourceInfo
	VnfcCpInfo         []VnfcCpInfo   `json:"vnfcCpInfo,omitempty"`
	Metadata           map[string]any `json:"metadata,omitempty"` // stack_id: the Heat stack that holds the server
}

// VnfcCpInfo is a connection point of a VNFC (SOL003 5.5.3.5).
type VnfcCpInfo struct {
	ID             string           `json:"id"`
	CpdID          string           `json:"cpdId"`
	VnfExtCpID     string           `json:"vnfExtCpId,omitempty"`
	CpProtocolInfo []CpProtocolInfo `json:"cpProtocolInfo,omitempty"`
	VnfLinkPortID  string           `json:"vnfLinkPortId,omitempty"`
}

// VnfVirtualLinkResourceInfo is a network that the VNF uses, inside or outside (SOL003 5.5.3.6). For an external one
// VnfVirtualLinkDescID is the id of the external virtual link.
type VnfVirtualLinkResourceInfo struct {
	ID                   string            `json:"id"`
	VnfVirtualLinkDescID string            `json:"vnfVirtualLinkDescId"`
	NetworkResource      ResourceHandle    `json:"networkResource"`
	VnfLinkPorts         []VnfLinkPortInfo `json:"vnfLinkPorts,omitempty"`
}

// VnfLinkPortInfo is a port of a network (SOL003 5.5.3.8).
type VnfLinkPortInfo struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
	CpInstanceID   string         `json:"cpInstanceId,omitempty"`   // id of a VnfcCpInfo
	CpInstanceType string         `json:"cpInstanceType,omitempty"` // VNFC_CP with a CpInstanceID; what older versions stored lacks it
}

// VirtualStorageResourceInfo is a volume (SOL003 5.5.3.7).
type VirtualStorageResourceInfo struct {
	ID                   string         `json:"id"`
	VirtualStorageDescID string         `json:"virtualStorageDescId"`
	StorageResource      ResourceHandle `json:"storageResource"`
}

// VnfcInfo is the run state of a VNFC; ID is that of the VNFC's VnfcResourceInfo.
type VnfcInfo struct {
	ID        string   `json:"id"`
	VduID     string   `json:"vduId"`
	VnfcState VnfState `json:"vnfcState"`
}

// ResourceHandle points at a resource in a VIM (SOL003 4.4.1.7).
type ResourceHandle struct {
	VimConnectionID      string `json:"vimConnectionId,omitempty"` // the id of the VIM in the registry
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ResourceID           string `json:"resourceId"`
	VimLevelResourceType string `json:"vimLevelResourceType,omitempty"` // Heat's name of the type
}

// VimConnectionInfo tells how to reach a VIM (SOL003 4.4.1.6): by VimID, an id of the VIM registry, or else inline.
type VimConnectionInfo struct {
	ID            string         `json:"id"`
	VimID         string         `json:"vimId,omitempty"`
	VimType       string         `json:"vimType"`
	InterfaceInfo map[string]any `json:"interfaceInfo,omitempty"`
	AccessInfo    map[string]any `json:"accessInfo,omitempty"`
	Extra         map[string]any `json:"extra,omitempty"`
}
