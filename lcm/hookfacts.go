package lcm

import (
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"

	"vnfm/mgmtdriver"
	"vnfm/vnfpkg"
)

// Names of the steps that read what drivers are told.
const (
	stepVnfcsBefore = "vnfcs_before"
	stepVnfcsAfter  = "vnfcs_after"
)

// vnfcs are the VNFCs of a VNF at one moment.
type vnfcs struct {
	Vnfcs []mgmtdriver.Vnfc `json:"vnfcs,omitempty"`
	Ports []mgmtdriver.Port `json:"ports,omitempty"` // those of no VNFC
	Going []string          `json:"going,omitempty"` // ids of the VNFCs whose servers the operation is going to remove
}

// sight is what a driver sees of the VNFCs.
type sight struct {
	before, after, removed, added []mgmtdriver.Vnfc
	ports                         []mgmtdriver.Port
}

func (s *sight) show(call *mgmtdriver.Call, flavour *vnfpkg.Flavour) {
	call.Before, call.After, call.Removed, call.Added, call.Ports = s.before, s.after, s.removed, s.added, s.ports
	for _, list := range [][]mgmtdriver.Vnfc{s.before, s.after, s.removed, s.added} {
		for i := range list {
			list[i].AspectID = aspectOf(flavour, list[i].VduID)
		}
	}
	for _, vdu := range flavour.Vdus {
		shown := mgmtdriver.Vdu{ID: vdu.Name, AspectID: aspectOf(flavour, vdu.Name), Storages: vdu.Storages}
		for _, cp := range flavour.CpsOf(vdu.Name) {
			shown.Cps = append(shown.Cps, cp.Name)
		}
		call.Vdus = append(call.Vdus, shown)
	}
}

// aspectOf is the scaling aspect of a VDU, "" if it has none.
func aspectOf(flavour *vnfpkg.Flavour, vdu string) string {
	i := slices.IndexFunc(flavour.AspectDeltas, func(d vnfpkg.AspectDelta) bool { return d.Vdu == vdu })
	if i < 0 {
		return ""
	}
	return flavour.AspectDeltas[i].Aspect
}

// idle reports whether a hook of scaling has nobody to be called for.
func (s *sight) idle(hook mgmtdriver.Hook) bool {
	switch hook {
	case mgmtdriver.ScaleStart, mgmtdriver.ScaleToLevelStart:
		return len(s.removed) == 0
	case mgmtdriver.ScaleEnd, mgmtdriver.ScaleToLevelEnd:
		return len(s.added) == 0
	default:
		return false
	}
}

// before is what is seen before the resources change.
func (v *vnfcs) before() *sight {
	s := &sight{before: v.Vnfcs, ports: v.Ports}
	for _, vnfc := range v.Vnfcs {
		if slices.Contains(v.Going, vnfc.ID) {
			s.removed = append(s.removed, vnfc)
		} else {
			s.after = append(s.after, vnfc)
		}
	}
	return s
}

// since is what is seen after the resources have changed.
func (v *vnfcs) since(before *vnfcs) *sight {
	return &sight{
		before: before.Vnfcs, after: v.Vnfcs, ports: v.Ports,
		removed: otherServers(before.Vnfcs, v.Vnfcs), added: otherServers(v.Vnfcs, before.Vnfcs),
	}
}

// otherServers are those of all whose servers are not in known.
func otherServers(all, known []mgmtdriver.Vnfc) []mgmtdriver.Vnfc {
	var others []mgmtdriver.Vnfc
	for _, vnfc := range all {
		if !slices.ContainsFunc(known, func(k mgmtdriver.Vnfc) bool { return k.ServerID == vnfc.ServerID }) {
			others = append(others, vnfc)
		}
	}
	return others
}

func seenBefore(run *Run) (*sight, error) {
	before := &vnfcs{}
	if err := run.Output(stepVnfcsBefore, before); err != nil {
		return nil, err
	}
	return before.before(), nil
}

func seenAfter(run *Run) (*sight, error) { return seenSince(run, stepVnfcsAfter) }

// seenAgain is what is seen by a hook that undoes hook, after the resources have gone back.
func seenAgain(hook mgmtdriver.Hook) func(*Run) (*sight, error) {
	return func(run *Run) (*sight, error) { return seenSince(run, string(hook)+"/"+stepVnfcsAfter) }
}

func seenSince(run *Run, step string) (*sight, error) {
	before, after := &vnfcs{}, &vnfcs{}
	if err := run.Output(stepVnfcsBefore, before); err != nil {
		return nil, err
	}
	if err := run.Output(step, after); err != nil {
		return nil, err
	}
	return after.since(before), nil
}

// seenGone is what is seen when the VNF has no resources any more.
func seenGone(run *Run) (*sight, error) {
	before := &vnfcs{}
	if err := run.Output(stepVnfcsBefore, before); err != nil {
		return nil, err
	}
	return (&vnfcs{}).since(before), nil
}

// seenBack is what is seen before the resources go back to what they were.
func seenBack(run *Run) (*sight, error) {
	before, after := &vnfcs{}, &vnfcs{}
	if err := run.Output(stepVnfcsBefore, before); err != nil {
		return nil, err
	}
	if err := run.Output(stepVnfcsAfter, after); err != nil {
		return nil, err
	}
	back := before.since(after)
	back.added, back.ports = nil, after.Ports
	return back, nil
}

// formerInfo describes the VNF as it was before the operation.
func formerInfo(run *Run) *InstantiatedVnfInfo {
	var planned changePlan
	if run.Output(stepPlan, &planned) == nil && planned.FormerInfo != nil {
		return planned.FormerInfo
	}
	return run.Instance.InstantiatedVnfInfo
}

// goingVnfcs are the ids of the VNFCs whose servers the operation is going to remove.
func goingVnfcs(run *Run) ([]string, error) {
	info := run.Instance.InstantiatedVnfInfo
	if info == nil {
		return nil, nil
	}
	goes := func(VnfcResourceInfo) bool { return false }
	switch run.Operation.Type {
	case OpTerminate:
		goes = func(VnfcResourceInfo) bool { return true }
	case OpHeal:
		request, err := decode[HealRequest](run.Request)
		if err != nil {
			return nil, err
		}
		goes = func(vnfc VnfcResourceInfo) bool {
			return len(request.VnfcInstanceID) == 0 || slices.Contains(request.VnfcInstanceID, vnfc.ID)
		}
	case OpScale, OpScaleToLevel:
		// The members that are marked are those that Heat removes.
		var planned changePlan
		if run.Output(stepPlan, &planned) != nil {
			break // the request is only being checked
		}
		goes = func(vnfc VnfcResourceInfo) bool {
			return slices.ContainsFunc(planned.Unhealthy, func(member Resource) bool {
				return member.PhysicalID != "" && member.PhysicalID == stackOf(vnfc)
			})
		}
	default: // Heat alone decides
	}
	var ids []string
	for _, vnfc := range info.VnfcResourceInfo {
		if goes(vnfc) {
			ids = append(ids, vnfc.ID)
		}
	}
	return ids, nil
}

func (h *hooks) readBefore(ctx context.Context, run *Run) (Result, error) {
	before, err := h.read(ctx, run, run.Instance.InstantiatedVnfInfo)
	if err != nil {
		return Result{}, err
	}
	before.Going, err = goingVnfcs(run)
	return Done(before), err
}

func (h *hooks) readAfter(ctx context.Context, run *Run) (Result, error) {
	info := run.Instance.InstantiatedVnfInfo
	if run.Operation.Type == OpInstantiate {
		info = &InstantiatedVnfInfo{}
		if err := run.Output(stepReadResources, info); err != nil {
			return Result{}, err
		}
	}
	after, err := h.read(ctx, run, info)
	return Done(after), err
}

// described are the VNFCs as far as the description of the VNF tells.
func described(info *InstantiatedVnfInfo) []mgmtdriver.Vnfc {
	if info == nil {
		return nil
	}
	var found []mgmtdriver.Vnfc
	for _, vnfc := range info.VnfcResourceInfo {
		one := mgmtdriver.Vnfc{ID: vnfc.ID, VduID: vnfc.VduID, ServerID: vnfc.ComputeResource.ResourceID, StackID: stackOf(vnfc),
			GrantedZone: vnfc.ZoneID}
		for _, storage := range info.VirtualStorageResourceInfo {
			if slices.Contains(vnfc.StorageResourceIDs, storage.ID) {
				one.Volumes = append(one.Volumes, mgmtdriver.Volume{Name: storage.VirtualStorageDescID, ID: storage.StorageResource.ResourceID})
			}
		}
		found = append(found, one)
	}
	return found
}

// portNames are those that the ports and floating IP addresses of a flavour may have.
func portNames(ctx context.Context, flavour *vnfpkg.Flavour, files *packageFiles) ([]string, error) {
	csar, err := files.open(ctx)
	if err != nil {
		return nil, err
	}
	names, err := csar.TemplateResources(flavour.ID, typePort, typeFloatingIP)
	for _, cp := range flavour.Cps {
		names = append(names, cp.Name)
	}
	return names, err
}

// Types of resources that are read for drivers alone.
const (
	typeFloatingIP  = "OS::Neutron::FloatingIP"
	typeServerGroup = "OS::Nova::ServerGroup"
)

// readTogether is how many resources are asked for at the same time.
const readTogether = 8

// read reads the addresses and the zones of the VNFCs and where their volumes are, as far as the stack exists.
func (h *hooks) read(ctx context.Context, run *Run, info *InstantiatedVnfInfo) (*vnfcs, error) {
	found := &vnfcs{Vnfcs: described(info)}
	if len(found.Vnfcs) == 0 || run.Deployment == nil {
		return found, nil
	}
	status, err := h.infra.Status(ctx, run.Deployment)
	if err != nil || status.Phase == StackAbsent {
		return found, err
	}
	resources, err := h.infra.Resources(ctx, run.Deployment)
	if err != nil {
		return nil, err
	}
	resources = slices.DeleteFunc(resources, func(r Resource) bool {
		return r.PhysicalID == "" || !slices.Contains([]string{typeServer, typePort, typeFloatingIP, typeServerGroup, typeVolume}, r.Type)
	})
	attributes := make([]map[string]any, len(resources))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(readTogether)
	for i := range resources {
		group.Go(func() (err error) {
			attributes[i], err = h.infra.Attributes(reading, run.Deployment, resources[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	apart := map[any]bool{}
	for i, resource := range resources {
		if resource.Type == typeServerGroup {
			apart[resource.PhysicalID] = keepsApart(attributes[i])
		}
	}
	for i, resource := range resources {
		switch resource.Type {
		case typeServer:
			found.describe(resource, attributes[i], apart)
		case typePort, typeFloatingIP:
			found.add(run, info, resource, attributes[i])
		case typeVolume:
			found.attach(resource, attributes[i])
		}
	}
	return found, nil
}

// keepsApart reports whether a server group keeps its members on different hosts. Nova tells a policy, or in older versions a list.
func keepsApart(group map[string]any) bool {
	policies, _ := group["policies"].([]any)
	return slices.ContainsFunc(append(policies, group["policy"]), func(policy any) bool {
		return policy == "anti-affinity" || policy == "soft-anti-affinity"
	})
}

// describe tells what the VIM says of a server.
func (v *vnfcs) describe(server Resource, attributes map[string]any, apart map[any]bool) {
	i := slices.IndexFunc(v.Vnfcs, func(vnfc mgmtdriver.Vnfc) bool { return vnfc.ServerID == server.PhysicalID })
	if i < 0 {
		return
	}
	vnfc := &v.Vnfcs[i]
	vnfc.Zone, _ = attributes["OS-EXT-AZ:availability_zone"].(string)
	vnfc.Host, _ = attributes["OS-EXT-SRV-ATTR:host"].(string)
	groups, _ := attributes["server_groups"].([]any)
	vnfc.AntiAffinity = slices.ContainsFunc(groups, func(group any) bool { return apart[group] })
}

// add gives a port to the VNFC that it belongs to: in a stack inside the VNF's all of it is one VNFC, in the VNF's own stack the
// names of the connection points tell.
func (v *vnfcs) add(run *Run, info *InstantiatedVnfInfo, resource Resource, attributes map[string]any) {
	port := mgmtdriver.Port{Name: resource.Name, ID: resource.PhysicalID, Floating: resource.Type == typeFloatingIP,
		Addresses: addressesIn(attributes)}
	for i, vnfc := range info.VnfcResourceInfo {
		ownCp := slices.ContainsFunc(vnfc.VnfcCpInfo, func(cp VnfcCpInfo) bool { return cp.CpdID == resource.Name })
		if stackOf(vnfc) == resource.StackID && (ownCp || resource.StackID != run.Deployment.StackID) {
			v.Vnfcs[i].Ports = append(v.Vnfcs[i].Ports, port)
			return
		}
	}
	v.Ports = append(v.Ports, port)
}

// attach gives a volume to the VNFC whose server has it.
func (v *vnfcs) attach(resource Resource, attributes map[string]any) {
	attachments, _ := attributes["attachments"].([]any)
	for _, element := range attachments {
		attachment, _ := element.(map[string]any)
		i := slices.IndexFunc(v.Vnfcs, func(vnfc mgmtdriver.Vnfc) bool { return vnfc.ServerID == attachment["server_id"] })
		if i < 0 {
			continue
		}
		volumes := &v.Vnfcs[i].Volumes
		at := slices.IndexFunc(*volumes, func(volume mgmtdriver.Volume) bool { return volume.ID == resource.PhysicalID })
		if at < 0 {
			at = len(*volumes)
			*volumes = append(*volumes, mgmtdriver.Volume{Name: resource.Name, ID: resource.PhysicalID})
		}
		(*volumes)[at].Device, _ = attachment["device"].(string)
	}
}

// addressesIn are the addresses of a port or a floating IP.
func addressesIn(attributes map[string]any) []netip.Addr {
	texts := []any{attributes["floating_ip_address"]}
	fixed, _ := attributes["fixed_ips"].([]any)
	for _, element := range fixed {
		if ip, ok := element.(map[string]any); ok {
			texts = append(texts, ip["ip_address"])
		}
	}
	var found []netip.Addr
	for _, text := range texts {
		text, _ := text.(string)
		if address, err := netip.ParseAddr(text); err == nil {
			found = append(found, address)
		}
	}
	return found
}
