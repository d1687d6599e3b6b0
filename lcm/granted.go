package lcm

import (
	"maps"
	"slices"
	"strings"
)

// answeredBy checks that a grant is for the request, resource definition by resource definition.
func (p *grantPlan) answeredBy(grant *Grant) error {
	asked := p.Request
	switch {
	case grant.ID == "":
		return badGrant("it has no id")
	case grant.VnfLcmOpOccID != asked.VnfLcmOpOccID || grant.VnfInstanceID != asked.VnfInstanceID:
		return badGrant("it is for operation occurrence %q of VNF instance %q and not for %s of %s",
			grant.VnfLcmOpOccID, grant.VnfInstanceID, asked.VnfLcmOpOccID, asked.VnfInstanceID)
	}
	for _, list := range []struct {
		name    string
		asked   []ResourceDefinition
		granted []GrantInfo
	}{
		{"addResources", asked.AddResources, grant.AddResources},
		{"removeResources", asked.RemoveResources, grant.RemoveResources},
		{"updateResources", asked.UpdateResources, grant.UpdateResources},
	} {
		want, got := []string{}, []string{}
		for _, definition := range list.asked {
			want = append(want, definition.ID)
		}
		for _, info := range list.granted {
			got = append(got, info.ResourceDefinitionID)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			return badGrant("its %s are not those that were asked for: missing are [%s], unknown or repeated are [%s]",
				list.name, strings.Join(without(want, got), ", "), strings.Join(without(got, want), ", "))
		}
	}
	return nil
}

// without returns the elements of all that are not in others, counting those that are there several times.
func without(all, others []string) []string {
	rest := slices.Clone(all)
	for _, other := range others {
		if i := slices.Index(rest, other); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return rest
}

// granted is the prepared change on the VIM, in the zones, and with the assets, links and parameters of the grant.
func (p *grantPlan) granted(grant *Grant) (*change, error) {
	stored := p.Change
	request := *stored.Request
	var err error
	if p.Request.Operation == OpInstantiate {
		if request.VimConnectionInfo, err = grantedConnections(request.VimConnectionInfo, grant, false); err != nil {
			return nil, err
		}
	}
	// The NFVO knows the request when it grants it: what it says about a link is the later word.
	request.ExtVirtualLinks = reconnect(request.ExtVirtualLinks, grant.ExtVirtualLinks)
	request.ExtManagedVirtualLinks = remanage(request.ExtManagedVirtualLinks, grant.ExtManagedVirtualLinks)
	if len(grant.AdditionalParams) > 0 {
		// So are its parameters, each as a whole.
		merged := maps.Clone(request.AdditionalParams)
		if merged == nil {
			merged = map[string]any{}
		}
		for name, value := range grant.AdditionalParams {
			merged[name] = unmask(value, merged[name])
		}
		request.AdditionalParams = merged
	}
	assets, err := p.assets(grant)
	if err != nil {
		return nil, err
	}
	return &change{
		shape:     shape{&request, stored.Levels, assets},
		unhealthy: stored.Unhealthy, reason: stored.Reason,
	}, nil
}

// remanage returns the networks that replace internal links, with those of a grant in place of the others of the same link.
func remanage(links, granted []ExtManagedVirtualLinkData) []ExtManagedVirtualLinkData {
	kept := slices.DeleteFunc(slices.Clone(links), func(link ExtManagedVirtualLinkData) bool {
		return slices.ContainsFunc(granted, func(other ExtManagedVirtualLinkData) bool { return other.DescID() == link.DescID() })
	})
	return append(kept, granted...)
}

// unmask returns a value of a grant with the secrets put back that it repeats as the NFVO was shown them: masked.
func unmask(value, original any) any {
	switch value := value.(type) {
	case string:
		if secret, ok := original.(string); ok && (value == Masked || value == Mask(secret)) {
			return secret
		}
	case map[string]any:
		known, _ := original.(map[string]any)
		plain := make(map[string]any, len(value))
		for name, element := range value {
			plain[name] = unmask(element, known[name])
		}
		return plain
	case []any:
		known, _ := original.([]any)
		plain := make([]any, len(value))
		for i, element := range value {
			if i < len(known) {
				element = unmask(element, known[i])
			}
			plain[i] = element
		}
		return plain
	}
	return value
}

// grantedConnections returns the VIM connections of a VNF with those of a grant in place of the others of the same id. The one that the
// grant places resources on comes first: that is where they are made. If it does not say which, that is its first one, or that of the
// VNF if it is made already.
func grantedConnections(known []VimConnectionInfo, grant *Grant, made bool) ([]VimConnectionInfo, error) {
	merged := slices.Clone(known)
	for _, connection := range grant.VimConnections {
		i := slices.IndexFunc(merged, func(other VimConnectionInfo) bool { return other.ID == connection.ID })
		if i < 0 {
			merged = append(merged, connection)
		} else {
			merged[i] = connection
		}
	}
	used := map[string]bool{}
	for _, info := range slices.Concat(grant.AddResources, grant.UpdateResources) {
		if info.VimConnectionID != "" {
			used[info.VimConnectionID] = true
		}
	}
	chosen := slices.Sorted(maps.Keys(used))
	if len(chosen) > 1 {
		return nil, badGrant("it spreads the VNF over the VIM connections %s, but a VNF is made in one VIM", strings.Join(chosen, ", "))
	}
	first := 0
	switch {
	case len(chosen) == 1:
		first = slices.IndexFunc(merged, func(c VimConnectionInfo) bool { return c.ID == chosen[0] || c.VimID == chosen[0] })
		if first < 0 {
			return nil, badGrant("it places resources on the VIM connection %q, which neither it nor the VNF has", chosen[0])
		}
	case len(grant.VimConnections) > 0 && !made:
		first = slices.IndexFunc(merged, func(c VimConnectionInfo) bool { return c.ID == grant.VimConnections[0].ID })
	}
	if len(merged) == 0 {
		return nil, nil
	}
	return slices.Concat(merged[first:first+1], merged[:first], merged[first+1:]), nil
}

// sameVim reports whether two connections lead to the same VIM.
func sameVim(a, b VimConnectionInfo) bool {
	return a.VimID == b.VimID && identityV3(text(a.InterfaceInfo, "endpoint")) == identityV3(text(b.InterfaceInfo, "endpoint"))
}

// assets returns what the VNF is made from in the VIM: what the grant says, and where it says nothing what has been used so far. All
// instances of a VDU come from one template, so that what would make Heat replace the instances that are to stay is refused.
func (p *grantPlan) assets(grant *Grant) (Assets, error) {
	zones, err := p.zones(grant)
	if err != nil {
		return Assets{}, err
	}
	flavors, images := map[string]string{}, map[string]string{}
	for _, flavour := range grant.VimAssets.ComputeResourceFlavours {
		flavors[flavour.VnfdVirtualComputeDescID] = flavour.VimFlavourID
	}
	for _, image := range grant.VimAssets.SoftwareImages {
		images[image.VnfdSoftwareImageID] = image.VimSoftwareImageID
	}
	assets := p.Change.Assets
	for _, vdu := range p.Settled {
		if zone := zones[vdu]; zone != "" && zone != assets.Zones[vdu] {
			return Assets{}, badGrant("it places VDU %s in zone %q, but instances that stay are in zone %q", vdu, zone, assets.Zones[vdu])
		}
		// A first value is taken: the VNFD's name of a flavor or an image and its id mean the same to Heat.
		if was, is := assets.Flavors[vdu], flavors[vdu]; was != "" && is != "" && was != is {
			return Assets{}, badGrant("it gives VDU %s the flavor %q, but instances that stay have %q", vdu, is, was)
		}
		if was, is := assets.Images[vdu], images[vdu]; was != "" && is != "" && was != is {
			return Assets{}, badGrant("it gives VDU %s the image %q, but instances that stay have %q", vdu, is, was)
		}
	}
	return Assets{
		Images: overlaid(assets.Images, images), Flavors: overlaid(assets.Flavors, flavors), Zones: overlaid(assets.Zones, zones),
		Uploaded: without(assets.Uploaded, slices.Collect(maps.Keys(images))),
	}, nil
}

// zones returns the names of the availability zones in which a grant places servers, by VDU.
func (p *grantPlan) zones(grant *Grant) (map[string]string, error) {
	names := map[string]string{}
	for _, zone := range grant.Zones {
		names[zone.ID] = zone.ZoneID
	}
	vdus := map[string]string{} // by definition
	for _, definition := range slices.Concat(p.Request.AddResources, p.Request.UpdateResources) {
		if definition.Type == ResourceCompute {
			vdus[definition.ID] = definition.VduID
		}
	}
	zones := map[string]string{}
	for _, info := range slices.Concat(grant.AddResources, grant.UpdateResources) {
		vdu, isServer := vdus[info.ResourceDefinitionID]
		if info.ZoneID == "" || !isServer {
			continue
		}
		name := names[info.ZoneID]
		if name == "" {
			return nil, badGrant("it places resource definition %s in zone %q, which is none of its zones", info.ResourceDefinitionID, info.ZoneID)
		}
		if other := zones[vdu]; other != "" && other != name {
			return nil, badGrant("it spreads VDU %s over the zones %q and %q, but all instances of a VDU are made from one template", vdu, other, name)
		}
		zones[vdu] = name
	}
	return zones, nil
}

// overlaid are the entries of both, with the values of those that win; nil if there are none.
func overlaid(values, win map[string]string) map[string]string {
	if len(values)+len(win) == 0 {
		return nil
	}
	merged := maps.Clone(values)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, win)
	return merged
}
