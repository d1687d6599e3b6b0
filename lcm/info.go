package lcm

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// Heat's names of the resources that a VNF consists of.
const (
	typeServer  = "OS::Nova::Server"
	typePort    = "OS::Neutron::Port"
	typeNetwork = "OS::Neutron::Net"
	typeVolume  = "OS::Cinder::Volume"
)

// infoSource is what InstantiatedVnfInfo is made of.
type infoSource struct {
	VimID       string
	Flavour     *vnfpkg.Flavour
	Request     *InstantiateRequest
	ScaleLevels map[string]int
	Zones       map[string]string    // granted availability zones by VDU
	Previous    *InstantiatedVnfInfo // whose identifiers are kept where the resource is still in the same place; nil: none
	Planned     plannedIDs           // the identifiers of what is new
	Resources   []Resource
}

// buildInfo describes a VNF by what there is in the VIM: a resource belongs to the node template of the VNFD that has its name, and
// servers, ports and volumes of one VNFC are in the same stack.
func buildInfo(source infoSource) *InstantiatedVnfInfo {
	b := &infoBuilder{infoSource: source, known: identifiers(source.Previous), places: map[place]Resource{}, info: &InstantiatedVnfInfo{
		FlavourID:            source.Flavour.ID,
		InstantiationLevelID: source.Request.InstantiationLevelID,
		LocalizationLanguage: source.Request.LocalizationLanguage,
	}}
	for link, id := range source.Planned.Links {
		b.known[place{"", kindLink + link}] = id
	}
	for _, resource := range source.Resources {
		b.places[place{resource.StackID, resource.Name}] = resource
	}
	if params, ok := Mask(source.Request.AdditionalParams).(map[string]any); ok && len(params) > 0 {
		b.info.AdditionalParams = params
	}
	for _, aspect := range source.Flavour.Aspects {
		b.info.ScaleStatus = append(b.info.ScaleStatus, ScaleInfo{AspectID: aspect.Name, ScaleLevel: source.ScaleLevels[aspect.Name]})
	}
	b.addLinks()
	b.addExternalCps()
	for _, vdu := range source.Flavour.Vdus {
		for _, server := range b.servers(vdu.Name) {
			b.addVnfc(vdu, server)
		}
	}
	b.dropUnusedLinks()
	b.info.VnfState = overall(b.info.VnfcInfo)
	return b.info
}

// plannedIDs are identifiers that the NFVO has been told before the resources were made.
type plannedIDs struct {
	Vnfcs []plannedVnfc     `json:"vnfcs,omitempty"`
	Links map[string]string `json:"links,omitempty"` // by virtual link descriptor
}

// plannedVnfc are the identifiers of a VNFC that is going to be made.
type plannedVnfc struct {
	VduID string            `json:"vduId"`
	ID    string            `json:"id"`
	Parts map[string]string `json:"parts,omitempty"` // by kind and node template
}

// place is where a resource is: names are unique within a stack.
type place struct{ stack, name string }

type infoBuilder struct {
	infoSource
	info   *InstantiatedVnfInfo
	places map[place]Resource
	known  map[place]string
}

// Kinds of identifiers, which keep apart what a resource's place stands for.
const (
	kindCp      = "cp:"
	kindPort    = "port:"
	kindStorage = "storage:"
	kindLink    = "link:"
	kindExtCp   = "extCp:"
)

// identifiers returns the ids that a VNF's parts have had, by place.
func identifiers(info *InstantiatedVnfInfo) map[place]string {
	known := map[place]string{}
	if info == nil {
		return known
	}
	storages := map[string]string{}
	for _, storage := range info.VirtualStorageResourceInfo {
		storages[storage.ID] = storage.VirtualStorageDescID
	}
	for _, vnfc := range info.VnfcResourceInfo {
		stack := stackOf(vnfc)
		known[place{stack, vnfc.VduID}] = vnfc.ID
		for _, cp := range vnfc.VnfcCpInfo {
			known[place{stack, kindCp + cp.CpdID}] = cp.ID
			if cp.VnfLinkPortID != "" {
				known[place{stack, kindPort + cp.CpdID}] = cp.VnfLinkPortID
			}
		}
		for _, id := range vnfc.StorageResourceIDs {
			known[place{stack, kindStorage + storages[id]}] = id
		}
	}
	for _, link := range info.VnfVirtualLinkResourceInfo {
		known[place{"", kindLink + link.VnfVirtualLinkDescID}] = link.ID
	}
	for _, cp := range info.ExtCpInfo {
		known[place{"", kindExtCp + cp.CpdID}] = cp.ID
	}
	return known
}

// adopt gives a VNFC that is new the first identifiers that are planned for its VDU.
func (b *infoBuilder) adopt(stack, vdu string) {
	i := slices.IndexFunc(b.Planned.Vnfcs, func(planned plannedVnfc) bool { return planned.VduID == vdu })
	if _, known := b.known[place{stack, vdu}]; known || i < 0 {
		return
	}
	planned := b.Planned.Vnfcs[i]
	b.Planned.Vnfcs = slices.Concat(b.Planned.Vnfcs[:i], b.Planned.Vnfcs[i+1:])
	b.known[place{stack, vdu}] = planned.ID
	for name, id := range planned.Parts {
		b.known[place{stack, name}] = id
	}
}

func (b *infoBuilder) id(stack, name string) string {
	if id, ok := b.known[place{stack, name}]; ok {
		return id
	}
	return uuid.NewString()
}

// servers returns the servers of a VDU, in the order of their creation.
func (b *infoBuilder) servers(vdu string) []Resource {
	var found []Resource
	for _, resource := range b.Resources {
		if resource.Name == vdu && resource.Type == typeServer && resource.PhysicalID != "" {
			found = append(found, resource)
		}
	}
	slices.SortFunc(found, func(a, b Resource) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.StackName, b.StackName))
	})
	return found
}

func (b *infoBuilder) handle(resourceID, resourceType string) ResourceHandle {
	return ResourceHandle{VimConnectionID: b.VimID, ResourceID: resourceID, VimLevelResourceType: resourceType}
}

// addLinks adds the networks: those of the VNFD, then the external ones.
func (b *infoBuilder) addLinks() {
	managed := map[string]string{}
	for _, data := range b.Request.ExtManagedVirtualLinks {
		managed[data.DescID()] = data.ResourceID
		b.info.ExtManagedVirtualLinkInfo = append(b.info.ExtManagedVirtualLinkInfo, ExtManagedVirtualLinkInfo{
			ID: data.ID, VnfVirtualLinkDescID: data.DescID(), NetworkResource: b.handle(data.ResourceID, typeNetwork),
		})
	}
	for _, link := range b.Flavour.VirtualLinks {
		network := managed[link.Name]
		for _, resource := range b.Resources {
			if network == "" && resource.Name == link.Name && resource.Type == typeNetwork {
				network = resource.PhysicalID
			}
		}
		b.addLink(link.Name, network)
	}
	for _, data := range b.Request.ExtVirtualLinks {
		info := ExtVirtualLinkInfo{ID: data.ID, ResourceHandle: b.handle(data.ResourceID, typeNetwork)}
		for _, port := range data.ExtLinkPorts {
			info.ExtLinkPorts = append(info.ExtLinkPorts, ExtLinkPortInfo{ID: port.ID, ResourceHandle: port.ResourceHandle})
		}
		b.info.ExtVirtualLinkInfo = append(b.info.ExtVirtualLinkInfo, info)
		b.addLink(data.ID, data.ResourceID)
	}
}

func (b *infoBuilder) addLink(descriptor, network string) {
	b.info.VnfVirtualLinkResourceInfo = append(b.info.VnfVirtualLinkResourceInfo, VnfVirtualLinkResourceInfo{
		ID: b.id("", kindLink+descriptor), VnfVirtualLinkDescID: descriptor, NetworkResource: b.handle(network, typeNetwork),
	})
}

// dropUnusedLinks leaves out virtual links of the VNFD for which the package's templates make nothing.
func (b *infoBuilder) dropUnusedLinks() {
	b.info.VnfVirtualLinkResourceInfo = slices.DeleteFunc(b.info.VnfVirtualLinkResourceInfo, func(link VnfVirtualLinkResourceInfo) bool {
		return link.NetworkResource.ResourceID == "" && len(link.VnfLinkPorts) == 0
	})
}

// addExternalCps adds an external connection point for each descriptor that the request connects.
func (b *infoBuilder) addExternalCps() {
	for _, link := range b.Request.ExtVirtualLinks {
		for _, data := range link.ExtCps {
			cp := VnfExtCpInfo{ID: b.id("", kindExtCp+data.CpdID), CpdID: data.CpdID, CpProtocolInfo: protocolInfo(data)}
			for _, config := range data.CpConfig {
				cp.ExtLinkPortID = cmp.Or(cp.ExtLinkPortID, config.LinkPortID)
			}
			if len(cp.CpProtocolInfo) == 0 {
				cp.CpProtocolInfo = []CpProtocolInfo{{LayerProtocol: "IP_OVER_ETHERNET"}}
			}
			b.info.ExtCpInfo = append(b.info.ExtCpInfo, cp)
		}
	}
}

// addVnfc adds a VNFC with its volumes, connection points and ports.
func (b *infoBuilder) addVnfc(vdu vnfpkg.Vdu, server Resource) {
	b.adopt(server.StackID, vdu.Name)
	vnfc := VnfcResourceInfo{
		ID:              b.id(server.StackID, vdu.Name),
		VduID:           vdu.Name,
		ZoneID:          b.Zones[vdu.Name],
		ComputeResource: b.handle(server.PhysicalID, typeServer),
		Metadata:        map[string]any{"stack_id": server.StackID},
	}
	for _, storage := range vdu.Storages {
		volume, ok := b.places[place{server.StackID, storage}]
		if !ok || volume.Type != typeVolume {
			continue
		}
		id := b.id(server.StackID, kindStorage+storage)
		vnfc.StorageResourceIDs = append(vnfc.StorageResourceIDs, id)
		b.info.VirtualStorageResourceInfo = append(b.info.VirtualStorageResourceInfo, VirtualStorageResourceInfo{
			ID: id, VirtualStorageDescID: storage, StorageResource: b.handle(volume.PhysicalID, typeVolume),
		})
	}
	for _, cp := range b.Flavour.CpsOf(vdu.Name) {
		vnfc.VnfcCpInfo = append(vnfc.VnfcCpInfo, b.vnfcCp(cp, vnfc.ID, server.StackID))
	}
	b.info.VnfcResourceInfo = append(b.info.VnfcResourceInfo, vnfc)
	b.info.VnfcInfo = append(b.info.VnfcInfo, VnfcInfo{ID: vnfc.ID, VduID: vdu.Name, VnfcState: b.stateOf(vnfc)})
}

// stateOf is the run state that a VNFC has been left in; a new server is started.
func (b *infoBuilder) stateOf(vnfc VnfcResourceInfo) VnfState {
	if b.Previous != nil {
		if former, ok := findVnfc(b.Previous, vnfc.ID); ok && former.ComputeResource == vnfc.ComputeResource {
			return stateOf(b.Previous, vnfc.ID)
		}
	}
	return Started
}

// vnfcCp describes a connection point of a VNFC, and adds its port to the network that it is on.
func (b *infoBuilder) vnfcCp(cp vnfpkg.Cp, vnfcID, stack string) VnfcCpInfo {
	info := VnfcCpInfo{ID: b.id(stack, kindCp+cp.Name), CpdID: cp.Name}
	link := cp.VirtualLink
	for _, external := range b.Request.ExtVirtualLinks {
		for _, data := range external.ExtCps {
			if data.CpdID == cp.Name {
				link, info.CpProtocolInfo = external.ID, protocolInfo(data)
			}
		}
	}
	for i := range b.info.ExtCpInfo {
		if external := &b.info.ExtCpInfo[i]; external.CpdID == cp.Name {
			info.VnfExtCpID = external.ID
			external.AssociatedVnfcCpID = cmp.Or(external.AssociatedVnfcCpID, vnfcID)
		}
	}
	port, ok := b.places[place{stack, cp.Name}]
	if !ok || port.Type != typePort {
		return info
	}
	info.VnfLinkPortID = b.id(stack, kindPort+cp.Name)
	linkPort := VnfLinkPortInfo{
		ID: info.VnfLinkPortID, ResourceHandle: b.handle(port.PhysicalID, typePort), CpInstanceID: info.ID, CpInstanceType: "VNFC_CP",
	}
	for i := range b.info.VnfVirtualLinkResourceInfo {
		if known := &b.info.VnfVirtualLinkResourceInfo[i]; known.VnfVirtualLinkDescID == link {
			known.VnfLinkPorts = append(known.VnfLinkPorts, linkPort)
		}
	}
	for i := range b.info.ExtManagedVirtualLinkInfo {
		if managed := &b.info.ExtManagedVirtualLinkInfo[i]; managed.VnfVirtualLinkDescID == link {
			managed.VnfLinkPorts = append(managed.VnfLinkPorts, linkPort)
		}
	}
	return info
}

// protocolInfo describes the addresses that a request asks for.
func protocolInfo(data VnfExtCpData) []CpProtocolInfo {
	var infos []CpProtocolInfo
	for _, config := range data.CpConfig {
		for _, protocol := range config.CpProtocolData {
			info := CpProtocolInfo{LayerProtocol: protocol.LayerProtocol}
			if asked := protocol.IPOverEthernet; asked != nil {
				info.IPOverEthernet = &IPOverEthernetInfo{MacAddress: asked.MacAddress}
				for _, address := range asked.IPAddresses {
					info.IPOverEthernet.IPAddresses = append(info.IPOverEthernet.IPAddresses, IPAddressInfo{
						Type: address.Type, Addresses: address.FixedAddresses, IsDynamic: len(address.FixedAddresses) == 0, SubnetID: address.SubnetID,
					})
				}
			}
			infos = append(infos, info)
		}
	}
	return infos
}

// withoutResources describes a VNF whose resources are gone.
func (info *InstantiatedVnfInfo) withoutResources() *InstantiatedVnfInfo {
	return &InstantiatedVnfInfo{
		FlavourID:            info.FlavourID,
		InstantiationLevelID: info.InstantiationLevelID,
		VnfState:             Stopped,
		ScaleStatus:          info.ScaleStatus,
		ExtVirtualLinkInfo:   info.ExtVirtualLinkInfo,
		LocalizationLanguage: info.LocalizationLanguage,
		AdditionalParams:     info.AdditionalParams,
	}
}

// stackOf is the innermost stack that holds a VNFC.
func stackOf(vnfc VnfcResourceInfo) string {
	id, _ := vnfc.Metadata["stack_id"].(string)
	return id
}
