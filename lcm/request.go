package lcm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"vnfm/vnfpkg/filter"
)

// CreateRequest asks for a VNF instance identifier (CreateVnfRequest, SOL003 5.5.2.3).
type CreateRequest struct {
	VnfdID      string         `json:"vnfdId"`
	Name        string         `json:"vnfInstanceName,omitempty"`
	Description string         `json:"vnfInstanceDescription,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// InstantiateRequest is InstantiateVnfRequest (SOL003 5.5.2.4).
type InstantiateRequest struct {
	FlavourID                 string                      `json:"flavourId"`
	InstantiationLevelID      string                      `json:"instantiationLevelId,omitempty"`
	ExtVirtualLinks           []ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks    []ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	VimConnectionInfo         []VimConnectionInfo         `json:"vimConnectionInfo,omitempty"`
	LocalizationLanguage      string                      `json:"localizationLanguage,omitempty"`
	AdditionalParams          map[string]any              `json:"additionalParams,omitempty"`
	Extensions                map[string]any              `json:"extensions,omitempty"`
	VnfConfigurableProperties map[string]any              `json:"vnfConfigurableProperties,omitempty"`
}

// ExtVirtualLinkData connects connection points to an existing network (SOL003 4.4.1.11).
type ExtVirtualLinkData struct {
	ID                 string            `json:"id"`
	VimConnectionID    string            `json:"vimConnectionId,omitempty"`
	ResourceProviderID string            `json:"resourceProviderId,omitempty"`
	ResourceID         string            `json:"resourceId"` // the network's id in the VIM
	ExtCps             []VnfExtCpData    `json:"extCps"`
	ExtLinkPorts       []ExtLinkPortData `json:"extLinkPorts,omitempty"`
}

// VnfExtCpData configures the instances of one external connection point descriptor (SOL003 4.4.1.13).
type VnfExtCpData struct {
	CpdID    string           `json:"cpdId"`
	CpConfig []VnfExtCpConfig `json:"cpConfig"`
}

// VnfExtCpConfig configures one external connection point (SOL003 4.4.1.13a).
type VnfExtCpConfig struct {
	CpInstanceID   string           `json:"cpInstanceId,omitempty"`
	LinkPortID     string           `json:"linkPortId,omitempty"`
	CpProtocolData []CpProtocolData `json:"cpProtocolData,omitempty"`
}

// CpProtocolData asks for the addressing of a connection point (SOL003 4.4.1.14).
type CpProtocolData struct {
	LayerProtocol  string              `json:"layerProtocol"` // always IP_OVER_ETHERNET
	IPOverEthernet *IPOverEthernetData `json:"ipOverEthernet,omitempty"`
}

// IPOverEthernetData asks for network addresses (SOL003 4.4.1.15).
type IPOverEthernetData struct {
	MacAddress  string          `json:"macAddress,omitempty"`
	IPAddresses []IPAddressData `json:"ipAddresses,omitempty"`
}

// IPAddressData asks for addresses of one subnet: fixed ones, a number of dynamic ones, or a range (SOL003 4.4.1.15).
type IPAddressData struct {
	Type                string        `json:"type"` // IPV4 or IPV6
	SubnetID            string        `json:"subnetId,omitempty"`
	FixedAddresses      []string      `json:"fixedAddresses,omitempty"`
	NumDynamicAddresses int           `json:"numDynamicAddresses,omitempty"`
	AddressRange        *AddressRange `json:"addressRange,omitempty"`
}

// AddressRange is a range of addresses, both ends included.
type AddressRange struct {
	MinAddress string `json:"minAddress"`
	MaxAddress string `json:"maxAddress"`
}

// ExtLinkPortData is an existing port of an external network (SOL003 4.4.1.16).
type ExtLinkPortData struct {
	ID             string         `json:"id"`
	ResourceHandle ResourceHandle `json:"resourceHandle"`
}

// ExtManagedVirtualLinkData replaces an internal virtual link by an existing network (SOL003 4.4.1.12). The standard's text
// and its schemas name the descriptor differently; both names are read.
type ExtManagedVirtualLinkData struct {
	ID                   string `json:"id"`
	VnfVirtualLinkDescID string `json:"vnfVirtualLinkDescId,omitempty"`
	VirtualLinkDescID    string `json:"virtualLinkDescId,omitempty"`
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ResourceID           string `json:"resourceId"`
}

// DescID is the id of the virtual link descriptor under either name.
func (d ExtManagedVirtualLinkData) DescID() string {
	if d.VnfVirtualLinkDescID != "" {
		return d.VnfVirtualLinkDescID
	}
	return d.VirtualLinkDescID
}

// TerminationType tells how a VNF is taken down (SOL003 5.5.2.8).
type TerminationType string

// The termination types.
const (
	Forceful TerminationType = "FORCEFUL"
	Graceful TerminationType = "GRACEFUL"
)

// TerminateRequest is TerminateVnfRequest (SOL003 5.5.2.8).
type TerminateRequest struct {
	TerminationType            TerminationType `json:"terminationType"`
	GracefulTerminationTimeout int             `json:"gracefulTerminationTimeout,omitempty"` // seconds
	AdditionalParams           map[string]any  `json:"additionalParams,omitempty"`
}

// Page asks for a part of a list, in the order of creation.
type Page struct {
	Limit  int    // the greatest number of elements; 0 = all
	After  Cursor // the zero value starts at the beginning
	Where  []filter.Condition
	Whole  bool // with the attributes that SOL003 leaves out of lists by default
	Told   bool // of operations: with those of them that tell how they go, the error and the progress
	Newest bool // the other way round: the newest element is the first
}

// Cursor names the last element that a client has seen. It stays right while elements come and go.
type Cursor struct {
	CreatedAt int64 // microseconds since 1970
	ID        uuid.UUID
}

// ScaleType is the direction of scaling (SOL003 5.5.2.5).
type ScaleType string

// The scale types.
const (
	ScaleOut ScaleType = "SCALE_OUT"
	ScaleIn  ScaleType = "SCALE_IN"
)

// ScaleRequest is ScaleVnfRequest (SOL003 5.5.2.5).
type ScaleRequest struct {
	Type             ScaleType      `json:"type"`
	AspectID         string         `json:"aspectId"`
	NumberOfSteps    steps          `json:"numberOfSteps,omitempty"` // 0 stands for 1
	AdditionalParams map[string]any `json:"additionalParams,omitempty"`
}

// count is the number of steps asked for.
func (r *ScaleRequest) count() int { return max(1, int(r.NumberOfSteps)) }

// steps is a number that existing users also write as a string.
type steps int

// UnmarshalJSON implements [json.Unmarshaler].
func (s *steps) UnmarshalJSON(encoded []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(encoded), `"`))
	*s = steps(n)
	return err
}

// HealRequest is HealVnfRequest (SOL003 5.5.2.9) with the VNFCs of SOL002; without any the whole VNF is healed.
type HealRequest struct {
	Cause            string         `json:"cause,omitempty"`
	VnfcInstanceID   oneOrMore      `json:"vnfcInstanceId,omitempty"`
	AdditionalParams map[string]any `json:"additionalParams,omitempty"`
}

// Includes reports whether the request asks to heal a VNFC.
func (r *HealRequest) Includes(vnfc string) bool {
	return len(r.VnfcInstanceID) == 0 || slices.Contains(r.VnfcInstanceID, vnfc)
}

// oneOrMore is a list that existing users also write as its only element.
type oneOrMore []string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *oneOrMore) UnmarshalJSON(encoded []byte) error {
	if len(encoded) > 0 && encoded[0] == '"' {
		*l = make(oneOrMore, 1)
		return json.Unmarshal(encoded, &(*l)[0])
	}
	return json.Unmarshal(encoded, (*[]string)(l))
}

// ScaleToLevelRequest is ScaleVnfToLevelRequest (SOL003 5.5.2.6): one of the two.
type ScaleToLevelRequest struct {
	InstantiationLevelID string         `json:"instantiationLevelId,omitempty"`
	ScaleInfo            []ScaleInfo    `json:"scaleInfo,omitempty"`
	AdditionalParams     map[string]any `json:"additionalParams,omitempty"`
}

// ChangeFlavourRequest is ChangeVnfFlavourRequest (SOL003 5.5.2.7). Links that are not given stay as they are.
type ChangeFlavourRequest struct {
	NewFlavourID              string                      `json:"newFlavourId"`
	InstantiationLevelID      string                      `json:"instantiationLevelId,omitempty"`
	ExtVirtualLinks           []ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks    []ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	AdditionalParams          map[string]any              `json:"additionalParams,omitempty"`          // merged into those of the instantiation
	Extensions                map[string]any              `json:"extensions,omitempty"`                // merged into those of the instance
	VnfConfigurableProperties map[string]any              `json:"vnfConfigurableProperties,omitempty"` // likewise
}

// ChangeExtConnRequest is ChangeExtVnfConnectivityRequest (SOL003 5.5.2.11). Connection points that are not named stay as they are.
type ChangeExtConnRequest struct {
	ExtVirtualLinks  []ExtVirtualLinkData `json:"extVirtualLinks"`
	AdditionalParams map[string]any       `json:"additionalParams,omitempty"`
}
