package lcm

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// Where the interface has VNF instances and operation occurrences.
const (
	InstancesPath  = "/vnflcm/v1/vnf_instances/"
	OperationsPath = "/vnflcm/v1/vnf_lcm_op_occs/"
)

// grantPlan computes what an operation adds, removes and updates. wanted is nil if nothing is to be left.
func (p *planner) grantPlan(ctx context.Context, run *Run, wanted *change) (*grantPlan, error) {
	params, err := decode[struct {
		AdditionalParams map[string]any `json:"additionalParams"`
	}](run.Request)
	if err != nil {
		return nil, err
	}
	operation, info := run.Operation, run.Instance.InstantiatedVnfInfo
	if info == nil { // nothing is there, or an instantiation was given up: what it has left behind is not described
		info = &InstantiatedVnfInfo{}
	}
	d := &definer{
		plan: &grantPlan{Request: &GrantRequest{
			VnfInstanceID: run.Instance.ID.String(), VnfLcmOpOccID: operation.ID.String(), VnfdID: run.Instance.VnfdID,
			FlavourID: info.FlavourID, Operation: operation.Type, IsAutomaticInvocation: operation.IsAutomaticInvocation,
			Links: GrantRequestLinks{
				VnfLcmOpOcc: Link{OperationsPath + operation.ID.String()}, VnfInstance: Link{InstancesPath + run.Instance.ID.String()},
			},
		}},
		info: info,
	}
	if masked, ok := Mask(params.AdditionalParams).(map[string]any); ok && len(masked) > 0 {
		d.plan.Request.AdditionalParams = masked
	}
	if wanted == nil {
		d.removeAll()
		return d.plan, nil
	}
	d.plan.Change = &storedChange{wanted.request, wanted.levels, wanted.assets, wanted.unhealthy, wanted.reason}
	if d.flavour, err = p.flavour(ctx, run.Instance, wanted.request); err != nil {
		return nil, err
	}
	if len(wanted.unhealthy) > 0 || operation.Type == OpChangeFlavour {
		if d.resources, err = p.driver.Resources(ctx, run.Deployment); err != nil {
			return nil, err
		}
	}
	if operation.Type == OpChangeFlavour {
		next, err := p.plan(ctx, run.Instance, wanted.shape, PlanRequest{CheckOnly: true})
		switch {
		case err == nil:
			d.files = next.Files
		case !isGap(err):
			return nil, err
		}
	}
	d.change = wanted
	return d.plan, d.define(run)
}

// definer writes the resource definitions of a grant request.
type definer struct {
	plan      *grantPlan
	info      *InstantiatedVnfInfo // what there is
	change    *change
	flavour   *vnfpkg.Flavour   // of the change
	resources []Resource        // in the VIM; nil if they do not matter
	files     map[string]string // of a new flavour: its nested templates
}

func (d *definer) define(run *Run) error {
	request := d.plan.Request
	request.FlavourID = d.flavour.ID
	switch kind := run.Operation.Type; {
	case kind == OpInstantiate || d.change.whole:
		if kind == OpInstantiate {
			request.InstantiationLevelID = d.change.request.InstantiationLevelID
		}
		d.removeAll()
		d.info = &InstantiatedVnfInfo{}
		d.resize()
		d.addLinks(d.links())
	case kind == OpChangeExtConn:
		asked, err := decode[ChangeExtConnRequest](run.Request)
		if err != nil {
			return err
		}
		d.updatePorts(asked.ExtVirtualLinks)
		d.resize()
	case kind == OpOperate:
		asked, err := decode[OperateRequest](run.Request)
		if err != nil {
			return err
		}
		for _, vnfc := range d.info.VnfcResourceInfo {
			if asked.concerns(vnfc.ID) {
				d.update(compute(vnfc))
			}
		}
	default:
		d.updateUnhealthy()
		d.resize()
	}
	if kind := run.Operation.Type; kind == OpChangeFlavour {
		d.changeLinks()
	}
	d.constrain()
	return nil
}

// resize adds and removes instances of VDUs until there are as many as the change wants.
func (d *definer) resize() {
	leaving := d.leaving()
	vdus := []string{}
	for _, vdu := range d.flavour.Vdus {
		vdus = append(vdus, vdu.Name)
	}
	for _, vnfc := range d.info.VnfcResourceInfo {
		if !slices.Contains(vdus, vnfc.VduID) {
			vdus = append(vdus, vnfc.VduID)
		}
	}
	for _, name := range vdus {
		wanted := 0
		vdu, ok := d.flavour.Vdu(name)
		if ok {
			wanted = d.flavour.VduCount(name, d.change.levels, d.change.request.InstantiationLevelID)
		}
		var stay []VnfcResourceInfo
		for _, vnfc := range d.info.VnfcResourceInfo {
			switch {
			case vnfc.VduID != name:
			case leaving[stackOf(vnfc)], d.isRemade(vnfc):
				d.remove(d.parts(vnfc)...)
			default:
				stay = append(stay, vnfc)
			}
		}
		if surplus := len(stay) - wanted; surplus > 0 { // of a group that goes as a whole, or of no group: the oldest, as Heat does
			for _, vnfc := range stay[:surplus] {
				d.remove(d.parts(vnfc)...)
			}
			stay = stay[surplus:]
		}
		d.keep(name, stay)
		for range wanted - len(stay) {
			d.add(vdu)
		}
	}
}

// isRemade reports whether another instance comes in place of a VNFC: Heat replaces a nested stack whose template has another name in
// the new flavour, and changes in place what is in other stacks.
func (d *definer) isRemade(vnfc VnfcResourceInfo) bool {
	if d.plan.Request.Operation != OpChangeFlavour {
		return false
	}
	stack := stackOf(vnfc)
	for range d.resources {
		i := slices.IndexFunc(d.resources, func(r Resource) bool { return r.PhysicalID == stack })
		if i < 0 { // the top stack
			return false
		}
		if _, same := d.files[d.resources[i].Type]; !same && !isGroup(d.resources[i].Type) {
			return true
		}
		stack = d.resources[i].StackID
	}
	return false
}

// keep says what becomes of the instances of a VDU that stay.
func (d *definer) keep(vdu string, stay []VnfcResourceInfo) {
	for _, vnfc := range stay {
		switch {
		case d.plan.Request.Operation == OpChangeFlavour:
			d.update(compute(vnfc))
		case slices.Contains(d.plan.Settled, vdu), d.updates(vnfc.ID):
		default:
			d.plan.Settled = append(d.plan.Settled, vdu)
		}
	}
}

func (d *definer) updates(id string) bool {
	return slices.ContainsFunc(d.plan.Request.UpdateResources, func(r ResourceDefinition) bool { return r.ID == id })
}

// leaving are the stacks that go with the unhealthy members of scaling groups: theirs, and those nested in them.
func (d *definer) leaving() map[string]bool {
	gone := map[string]bool{}
	for _, resource := range d.change.unhealthy {
		if resource.Type != typeServer && resource.Type != typeVolume {
			gone[resource.PhysicalID] = true
		}
	}
	for found := len(gone) > 0; found; {
		found = false
		for _, resource := range d.resources {
			if gone[resource.StackID] && resource.PhysicalID != "" && !gone[resource.PhysicalID] {
				gone[resource.PhysicalID], found = true, true
			}
		}
	}
	return gone
}

// add defines an instance of a VDU with its volumes and ports.
func (d *definer) add(vdu vnfpkg.Vdu) {
	planned := plannedVnfc{VduID: vdu.Name, ID: uuid.NewString(), Parts: map[string]string{}}
	define := func(id string, kind ResourceType, template string) {
		d.plan.Request.AddResources = append(d.plan.Request.AddResources,
			ResourceDefinition{ID: id, Type: kind, VduID: vdu.Name, ResourceTemplateID: template})
	}
	part := func(prefix, name string, kind ResourceType) {
		id := uuid.NewString()
		planned.Parts[prefix+name] = id
		define(id, kind, name)
	}
	define(planned.ID, ResourceCompute, vdu.Name)
	for _, storage := range vdu.Storages {
		part(kindStorage, storage, ResourceStorage)
	}
	for _, cp := range d.flavour.CpsOf(vdu.Name) {
		if !d.usesGivenPort(cp.Name) {
			part(kindPort, cp.Name, ResourceLinkPort)
		}
	}
	d.plan.Planned.Vnfcs = append(d.plan.Planned.Vnfcs, planned)
}

// usesGivenPort reports whether a connection point is connected to a port that exists, so that none has to be made.
func (d *definer) usesGivenPort(cpd string) bool {
	for _, link := range d.change.request.ExtVirtualLinks {
		for _, cp := range link.ExtCps {
			if cp.CpdID == cpd && slices.ContainsFunc(cp.CpConfig, func(c VnfExtCpConfig) bool { return c.LinkPortID != "" }) {
				return true
			}
		}
	}
	return false
}

// constrain adds the placement rules of the VNFD for servers and networks that are added or updated, together with those that stay.
func (d *definer) constrain() {
	request := d.plan.Request
	for _, rule := range d.flavour.PlacementRules {
		constraint := PlacementConstraint{AffinityOrAntiAffinity: "AFFINITY", Scope: strings.ToUpper(rule.Scope)}
		if rule.Anti {
			constraint.AffinityOrAntiAffinity = "ANTI_AFFINITY"
		}
		placed := false
		for _, definition := range request.AddResources {
			if isPlaced(definition) && slices.Contains(rule.Members, definition.ResourceTemplateID) {
				constraint.Resource = append(constraint.Resource, ConstraintResourceRef{IDType: "GRANT", ResourceID: definition.ID})
				placed = true
			}
		}
		for _, vnfc := range d.info.VnfcResourceInfo {
			removed := slices.ContainsFunc(request.RemoveResources, func(r ResourceDefinition) bool { return r.ID == vnfc.ID })
			if removed || !slices.Contains(rule.Members, vnfc.VduID) {
				continue
			}
			constraint.Resource = append(constraint.Resource, ConstraintResourceRef{
				IDType: "RES_MGMT", ResourceID: vnfc.ComputeResource.ResourceID, VimConnectionID: vnfc.ComputeResource.VimConnectionID,
			})
			placed = placed || d.updates(vnfc.ID)
		}
		if placed && len(constraint.Resource) > 1 {
			request.PlacementConstraints = append(request.PlacementConstraints, constraint)
		}
	}
}

func isPlaced(definition ResourceDefinition) bool {
	return definition.Type == ResourceCompute || definition.Type == ResourceVL
}
