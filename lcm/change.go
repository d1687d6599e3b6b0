package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// ScaleToLevel starts to bring a VNF to an instantiation level, or to scale levels, SOL003 5.4.6.
func (m *Manager) ScaleToLevel(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	return m.startChange(ctx, id, OpScaleToLevel, params)
}

// ChangeFlavour starts to change the deployment flavour of a VNF, SOL003 5.4.7.
func (m *Manager) ChangeFlavour(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	return m.startChange(ctx, id, OpChangeFlavour, params)
}

// ChangeExtConn starts to connect a VNF to other external networks, SOL003 5.4.11.
func (m *Manager) ChangeExtConn(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	return m.startChange(ctx, id, OpChangeExtConn, params)
}

// shapers compute the new shape of a VNF that an operation asks for, from the present one.
var shapers = map[OperationType]func(*planner, context.Context, *VnfInstance, shape, json.RawMessage) (shape, error){
	OpScaleToLevel:  (*planner).scaledToLevel,
	OpChangeFlavour: (*planner).reflavoured,
	OpChangeExtConn: (*planner).reconnected,
}

// startChange checks what can be checked of an operation that changes the shape of a VNF, and records it. The original request of the
// instance is sealed, so its links are first looked at when the operation runs.
func (m *Manager) startChange(ctx context.Context, id uuid.UUID, kind OperationType, params json.RawMessage) (*Operation, error) {
	instance, err := m.instantiated(ctx, id)
	if err != nil {
		return nil, err
	}
	info := instance.InstantiatedVnfInfo
	present := shape{
		request: &InstantiateRequest{FlavourID: info.FlavourID, InstantiationLevelID: info.InstantiationLevelID},
		levels:  levelsOf(info),
	}
	wanted, err := shapers[kind](m.planner, ctx, instance, present, params)
	if err != nil {
		return nil, err
	}
	if _, err := m.planner.flavour(ctx, instance, wanted.request); err != nil {
		return nil, renamed(err, kind)
	}
	return m.start(ctx, instance, kind, params)
}

// renamed gives an attribute the name that it has in the request of the operation.
func renamed(err error, kind OperationType) error {
	if invalid, ok := err.(*InvalidRequest); ok && kind == OpChangeFlavour && invalid.Attribute == "/flavourId" { //nolint:errorlint // made by flavour itself
		return &InvalidRequest{"/newFlavourId", invalid.Detail}
	}
	return err
}

// shaping is how an operation that changes the shape of a VNF is carried out.
func shaping(planner *planner, kind OperationType) plan {
	compute := func(ctx context.Context, run *Run) (*change, error) {
		wanted, err := shapers[kind](planner, ctx, run.Instance, presentShape(run), run.Request)
		if err != nil {
			return nil, err
		}
		changed := &change{shape: wanted, reason: "scaled in"}
		if kind != OpChangeFlavour { // which brings other templates
			changed.existing = existing(run)
		}
		if kind == OpScaleToLevel {
			changed.existing.Scale = stepsBetween(presentShape(run).levels, wanted.levels)
		}
		if kind == OpScaleToLevel || kind == OpChangeFlavour {
			changed.unhealthy, err = planner.shrinking(ctx, run, wanted)
		}
		return changed, err
	}
	reshaped := reshaping(planner, compute)
	if kind == OpChangeExtConn {
		reshaped.finish = finishReconnection
	}
	if kind == OpChangeFlavour {
		reshaped.finish = finishReflavouring
		wanted := planner.shaped(compute)
		provision := []Step{planner.uploading(wanted, current), {Name: stepChooseFlavors, Do: planner.chooseFlavors(wanted)}}
		reshaped.prepare = append(provision, reshaped.prepare...)
		reshaped.last = []Step{{Name: stepRemoveImages, Do: planner.removeImages(target)}}
	}
	return reshaped
}

// finishReflavouring brings in what the request says of the instance beside its shape.
func finishReflavouring(run *Run) error {
	asked, err := decode[ChangeFlavourRequest](run.Request)
	if err != nil {
		return err
	}
	if asked.Extensions != nil {
		run.Instance.Extensions = mergePatch(run.Instance.Extensions, asked.Extensions)
	}
	if asked.VnfConfigurableProperties != nil {
		run.Instance.VnfConfigurableProperties = mergePatch(run.Instance.VnfConfigurableProperties, asked.VnfConfigurableProperties)
	}
	return finishChange(run)
}

// finishReconnection tells, beside what has changed in the VIM, how the links look that the request names.
func finishReconnection(run *Run) error {
	asked, err := decode[ChangeExtConnRequest](run.Request)
	if err != nil {
		return err
	}
	if err := finishChange(run); err != nil {
		return err
	}
	run.Operation.ChangedExtConnectivity = slices.DeleteFunc(slices.Clone(run.Instance.InstantiatedVnfInfo.ExtVirtualLinkInfo),
		func(link ExtVirtualLinkInfo) bool {
			return !slices.ContainsFunc(asked.ExtVirtualLinks, func(data ExtVirtualLinkData) bool { return data.ID == link.ID })
		})
	return nil
}

// shrinking are the members that go because their aspect comes to a lower level: the oldest ones.
func (p *planner) shrinking(ctx context.Context, run *Run, wanted shape) ([]Resource, error) {
	flavour, err := p.flavour(ctx, run.Instance, wanted.request)
	if err != nil {
		return nil, err
	}
	resources, err := p.driver.Resources(ctx, run.Deployment)
	if err != nil {
		return nil, err
	}
	var victims []Resource
	for _, aspect := range flavour.Aspects {
		found := members(resources, aspect.Name)
		victims = append(victims, found[:max(0, len(found)-sizeOf(flavour, aspect.Name, wanted, len(found)))]...)
	}
	return victims, nil
}

func (p *planner) scaledToLevel(ctx context.Context, instance *VnfInstance, present shape, params json.RawMessage) (shape, error) {
	asked, err := decode[ScaleToLevelRequest](params)
	if err != nil {
		return shape{}, err
	}
	if (asked.InstantiationLevelID == "") == (len(asked.ScaleInfo) == 0) {
		return shape{}, &InvalidRequest{Detail: "exactly one of instantiationLevelId and scaleInfo must be given"}
	}
	flavour, err := p.flavour(ctx, instance, present.request)
	if err != nil {
		return shape{}, err
	}
	if asked.InstantiationLevelID != "" {
		request := *present.request
		request.InstantiationLevelID = asked.InstantiationLevelID
		return shape{&request, flavour.ScaleLevels(asked.InstantiationLevelID), present.assets}, nil
	}
	levels := maps.Clone(present.levels)
	for i, info := range asked.ScaleInfo {
		aspect, ok := flavour.Aspect(info.AspectID)
		if !ok {
			return shape{}, &InvalidRequest{fmt.Sprintf("/scaleInfo/%d/aspectId", i), fmt.Sprintf("the VNF has no scaling aspect %q", info.AspectID)}
		}
		if info.ScaleLevel < 0 || info.ScaleLevel > aspect.MaxLevel {
			return shape{}, &InvalidRequest{fmt.Sprintf("/scaleInfo/%d/scaleLevel", i),
				fmt.Sprintf("aspect %s can have the levels 0 to %d", aspect.Name, aspect.MaxLevel)}
		}
		levels[aspect.Name] = info.ScaleLevel
	}
	return shape{present.request, levels, present.assets}, nil
}

func (p *planner) reflavoured(_ context.Context, _ *VnfInstance, present shape, params json.RawMessage) (shape, error) {
	asked, err := decode[ChangeFlavourRequest](params)
	if err != nil {
		return shape{}, err
	}
	request := *present.request
	request.FlavourID, request.InstantiationLevelID = asked.NewFlavourID, asked.InstantiationLevelID
	request.ExtVirtualLinks = reconnect(request.ExtVirtualLinks, asked.ExtVirtualLinks)
	if asked.ExtManagedVirtualLinks != nil {
		request.ExtManagedVirtualLinks = asked.ExtManagedVirtualLinks
	}
	merged := map[string]any{}
	maps.Copy(merged, request.AdditionalParams)
	maps.Copy(merged, asked.AdditionalParams)
	request.AdditionalParams = merged
	// The new flavour has images and flavors of its own.
	return shape{&request, nil, Assets{Zones: present.assets.Zones}}, nil
}

func (p *planner) reconnected(_ context.Context, _ *VnfInstance, present shape, params json.RawMessage) (shape, error) {
	asked, err := decode[ChangeExtConnRequest](params)
	if err != nil {
		return shape{}, err
	}
	request := *present.request
	request.ExtVirtualLinks = reconnect(request.ExtVirtualLinks, asked.ExtVirtualLinks)
	return shape{&request, present.levels, present.assets}, nil
}

// reconnect returns the links with those connection points moved that the changes name. A link without any is left out.
func reconnect(links, changes []ExtVirtualLinkData) []ExtVirtualLinkData {
	moved := map[string]bool{}
	for _, change := range changes {
		for _, cp := range change.ExtCps {
			moved[cp.CpdID] = true
		}
	}
	var result []ExtVirtualLinkData
	for _, link := range links {
		link.ExtCps = slices.DeleteFunc(slices.Clone(link.ExtCps), func(cp VnfExtCpData) bool { return moved[cp.CpdID] })
		if i := slices.IndexFunc(changes, func(change ExtVirtualLinkData) bool { return change.ID == link.ID }); i >= 0 {
			change := changes[i]
			change.ExtCps = append(link.ExtCps, change.ExtCps...)
			link = change
		}
		if len(link.ExtCps) > 0 {
			result = append(result, link)
		}
	}
	for _, change := range changes {
		if !slices.ContainsFunc(links, func(link ExtVirtualLinkData) bool { return link.ID == change.ID }) {
			result = append(result, change)
		}
	}
	return result
}
