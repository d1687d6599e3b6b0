package lcm

import "slices"

// resourceChanges tells what an operation has done to the resources of a VNF, by their ids in the VIM. Either may be nil: no
// resources. It returns nil if nothing has changed.
func resourceChanges(before, after *InstantiatedVnfInfo) *ResourceChanges {
	if before == nil {
		before = &InstantiatedVnfInfo{}
	}
	if after == nil {
		after = &InstantiatedVnfInfo{}
	}
	changes := &ResourceChanges{
		AffectedVnfcs:           affectedVnfcs(before.VnfcResourceInfo, after.VnfcResourceInfo),
		AffectedVirtualLinks:    affectedLinks(before.VnfVirtualLinkResourceInfo, after.VnfVirtualLinkResourceInfo),
		AffectedVirtualStorages: affectedStorages(before.VirtualStorageResourceInfo, after.VirtualStorageResourceInfo),
	}
	if changes.AffectedVnfcs == nil && changes.AffectedVirtualLinks == nil && changes.AffectedVirtualStorages == nil {
		return nil
	}
	return changes
}

// compare calls changed for every element that is gone, new, or of the same id and another content.
func compare[T any](before, after []T, id func(T) string, same func(a, b T) bool, changed func(kind ChangeType, before, after T)) {
	var none T
	for _, old := range before {
		if !slices.ContainsFunc(after, func(e T) bool { return id(e) == id(old) }) {
			changed(Removed, old, none)
		}
	}
	for _, current := range after {
		i := slices.IndexFunc(before, func(e T) bool { return id(e) == id(current) })
		switch {
		case i < 0:
			changed(Added, none, current)
		case !same(before[i], current):
			changed(Modified, before[i], current)
		}
	}
}

func affectedVnfcs(before, after []VnfcResourceInfo) []AffectedVnfc {
	var affected []AffectedVnfc
	same := func(a, b VnfcResourceInfo) bool {
		return a.ComputeResource == b.ComputeResource && slices.Equal(a.StorageResourceIDs, b.StorageResourceIDs)
	}
	compare(before, after, func(v VnfcResourceInfo) string { return v.ID }, same,
		func(kind ChangeType, old, current VnfcResourceInfo) {
			shown := current
			if kind == Removed {
				shown = old
			}
			vnfc := AffectedVnfc{
				ID: shown.ID, VduID: shown.VduID, ChangeType: kind, ComputeResource: shown.ComputeResource, Metadata: shown.Metadata,
				AddedStorageResourceIDs:   missing(current.StorageResourceIDs, old.StorageResourceIDs),
				RemovedStorageResourceIDs: missing(old.StorageResourceIDs, current.StorageResourceIDs),
			}
			for _, cp := range shown.VnfcCpInfo {
				vnfc.AffectedVnfcCpIDs = append(vnfc.AffectedVnfcCpIDs, cp.ID)
			}
			affected = append(affected, vnfc)
		})
	return affected
}

// missing returns what is in all and not in from.
func missing(all, from []string) []string {
	var found []string
	for _, element := range all {
		if !slices.Contains(from, element) {
			found = append(found, element)
		}
	}
	return found
}

func affectedLinks(before, after []VnfVirtualLinkResourceInfo) []AffectedVirtualLink {
	var affected []AffectedVirtualLink
	// What older versions stored has no type of connection points.
	samePort := func(a, b VnfLinkPortInfo) bool {
		return a.ID == b.ID && a.ResourceHandle == b.ResourceHandle && a.CpInstanceID == b.CpInstanceID
	}
	same := func(a, b VnfVirtualLinkResourceInfo) bool {
		return a.NetworkResource == b.NetworkResource && slices.EqualFunc(a.VnfLinkPorts, b.VnfLinkPorts, samePort)
	}
	compare(before, after, func(l VnfVirtualLinkResourceInfo) string { return l.ID }, same,
		func(kind ChangeType, old, current VnfVirtualLinkResourceInfo) {
			shown := current
			if kind == Removed {
				shown = old
			}
			affected = append(affected, AffectedVirtualLink{
				ID: shown.ID, VnfVirtualLinkDescID: shown.VnfVirtualLinkDescID, VirtualLinkDescID: shown.VnfVirtualLinkDescID,
				ChangeType: kind, NetworkResource: shown.NetworkResource,
			})
		})
	return affected
}

func affectedStorages(before, after []VirtualStorageResourceInfo) []AffectedVirtualStorage {
	var affected []AffectedVirtualStorage
	same := func(a, b VirtualStorageResourceInfo) bool { return a.StorageResource == b.StorageResource }
	compare(before, after, func(s VirtualStorageResourceInfo) string { return s.ID }, same,
		func(kind ChangeType, old, current VirtualStorageResourceInfo) {
			shown := current
			if kind == Removed {
				shown = old
			}
			affected = append(affected, AffectedVirtualStorage{
				ID: shown.ID, VirtualStorageDescID: shown.VirtualStorageDescID, ChangeType: kind, StorageResource: shown.StorageResource,
			})
		})
	return affected
}
