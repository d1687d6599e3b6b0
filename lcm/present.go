package lcm

import (
	"slices"

	"github.com/google/uuid"
)

// This file defines resources that exist already: those that an operation removes or updates.

func (d *definer) remove(definitions ...ResourceDefinition) {
	d.plan.Request.RemoveResources = append(d.plan.Request.RemoveResources, definitions...)
}

func (d *definer) update(definitions ...ResourceDefinition) {
	d.plan.Request.UpdateResources = append(d.plan.Request.UpdateResources, definitions...)
}

func (d *definer) removeAll() {
	for _, vnfc := range d.info.VnfcResourceInfo {
		d.remove(d.parts(vnfc)...)
	}
	for _, link := range d.presentLinks() {
		d.remove(network(link))
	}
}

func compute(vnfc VnfcResourceInfo) ResourceDefinition {
	return ResourceDefinition{
		ID: vnfc.ID, Type: ResourceCompute, VduID: vnfc.VduID, ResourceTemplateID: vnfc.VduID, Resource: &vnfc.ComputeResource,
	}
}

func network(link VnfVirtualLinkResourceInfo) ResourceDefinition {
	return ResourceDefinition{
		ID: link.ID, Type: ResourceVL, ResourceTemplateID: link.VnfVirtualLinkDescID, Resource: &link.NetworkResource,
	}
}

// parts defines a VNFC with its volumes and ports.
func (d *definer) parts(vnfc VnfcResourceInfo) []ResourceDefinition {
	definitions := append([]ResourceDefinition{compute(vnfc)}, d.volumes(vnfc)...)
	for _, cp := range vnfc.VnfcCpInfo {
		definitions = append(definitions, d.ports(vnfc, cp)...)
	}
	return definitions
}

func (d *definer) volumes(vnfc VnfcResourceInfo) []ResourceDefinition {
	var definitions []ResourceDefinition
	for _, storage := range d.info.VirtualStorageResourceInfo {
		if slices.Contains(vnfc.StorageResourceIDs, storage.ID) {
			definitions = append(definitions, ResourceDefinition{ID: storage.ID, Type: ResourceStorage, VduID: vnfc.VduID,
				ResourceTemplateID: storage.VirtualStorageDescID, Resource: &storage.StorageResource})
		}
	}
	return definitions
}

// ports defines the port of a connection point, if it has one.
func (d *definer) ports(vnfc VnfcResourceInfo, cp VnfcCpInfo) []ResourceDefinition {
	for _, link := range d.info.VnfVirtualLinkResourceInfo {
		for _, port := range link.VnfLinkPorts {
			if port.ID == cp.VnfLinkPortID {
				return []ResourceDefinition{{ID: port.ID, Type: ResourceLinkPort, VduID: vnfc.VduID,
					ResourceTemplateID: cp.CpdID, Resource: &port.ResourceHandle}}
			}
		}
	}
	return nil
}

// updatePorts defines the ports of the connection points that change their network.
func (d *definer) updatePorts(links []ExtVirtualLinkData) {
	for _, vnfc := range d.info.VnfcResourceInfo {
		for _, cp := range vnfc.VnfcCpInfo {
			moved := slices.ContainsFunc(links, func(link ExtVirtualLinkData) bool {
				return slices.ContainsFunc(link.ExtCps, func(data VnfExtCpData) bool { return data.CpdID == cp.CpdID })
			})
			if moved {
				d.update(d.ports(vnfc, cp)...)
			}
		}
	}
}

// updateUnhealthy defines the servers and volumes that are made anew in their place.
func (d *definer) updateUnhealthy() {
	for _, vnfc := range d.info.VnfcResourceInfo {
		for _, definition := range append([]ResourceDefinition{compute(vnfc)}, d.volumes(vnfc)...) {
			ill := func(r Resource) bool { return r.PhysicalID == definition.Resource.ResourceID }
			if slices.ContainsFunc(d.change.unhealthy, ill) {
				d.update(definition)
			}
		}
	}
}

// presentLinks are the networks that belong to the VNF: those outside belong to others.
func (d *definer) presentLinks() []VnfVirtualLinkResourceInfo {
	return slices.DeleteFunc(slices.Clone(d.info.VnfVirtualLinkResourceInfo), func(link VnfVirtualLinkResourceInfo) bool {
		outside := slices.ContainsFunc(d.info.ExtVirtualLinkInfo, func(e ExtVirtualLinkInfo) bool { return e.ID == link.VnfVirtualLinkDescID })
		managed := slices.ContainsFunc(d.info.ExtManagedVirtualLinkInfo, func(e ExtManagedVirtualLinkInfo) bool {
			return e.VnfVirtualLinkDescID == link.VnfVirtualLinkDescID
		})
		return outside || managed || link.NetworkResource.ResourceID == ""
	})
}

// links are the names of the networks that the VNF makes for itself in its new shape.
func (d *definer) links() []string {
	var names []string
	for _, link := range d.flavour.VirtualLinks {
		managed := func(data ExtManagedVirtualLinkData) bool { return data.DescID() == link.Name }
		if !slices.ContainsFunc(d.change.request.ExtManagedVirtualLinks, managed) {
			names = append(names, link.Name)
		}
	}
	return names
}

func (d *definer) addLinks(names []string) {
	for _, name := range names {
		id := uuid.NewString()
		if d.plan.Planned.Links == nil {
			d.plan.Planned.Links = map[string]string{}
		}
		d.plan.Planned.Links[name] = id
		d.plan.Request.AddResources = append(d.plan.Request.AddResources,
			ResourceDefinition{ID: id, Type: ResourceVL, ResourceTemplateID: name})
	}
}

// changeLinks defines the networks that only one of two flavours has.
func (d *definer) changeLinks() {
	wanted := d.links()
	for _, link := range d.presentLinks() {
		i := slices.Index(wanted, link.VnfVirtualLinkDescID)
		if i < 0 {
			d.remove(network(link))
		} else {
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	d.addLinks(wanted)
}
