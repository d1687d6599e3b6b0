package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// Scale starts to scale a VNF, SOL003 5.4.5. An aspect that the VNF lacks, or a level beyond its limits, is refused now.
func (m *Manager) Scale(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	request, err := decode[ScaleRequest](params)
	if err != nil {
		return nil, err
	}
	instance, err := m.instantiated(ctx, id)
	if err != nil {
		return nil, err
	}
	pkg, err := m.packages.Package(ctx, instance.VnfPkgID)
	if err != nil {
		return nil, fmt.Errorf("read VNF package %s: %w", instance.VnfPkgID, err)
	}
	flavour, ok := pkg.Description.Vnfd.Flavours[instance.InstantiatedVnfInfo.FlavourID]
	if !ok {
		return nil, fmt.Errorf("VNF package %s has no flavour %s", pkg.ID, instance.InstantiatedVnfInfo.FlavourID)
	}
	if _, err := scaledLevels(flavour, instance.InstantiatedVnfInfo, request); err != nil {
		return nil, err
	}
	return m.start(ctx, instance, OpScale, params)
}

// instantiated returns an instance that has resources, else *[Conflict].
func (m *Manager) instantiated(ctx context.Context, id uuid.UUID) (*VnfInstance, error) {
	instance, err := m.instances.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	if instance.InstantiationState != Instantiated {
		return nil, &Conflict{fmt.Sprintf("VNF instance %s is %s", id, instance.InstantiationState)}
	}
	return instance, nil
}

// scaledLevels returns the scale levels that a request leads to.
func scaledLevels(flavour *vnfpkg.Flavour, info *InstantiatedVnfInfo, request *ScaleRequest) (map[string]int, error) {
	levels := levelsOf(info)
	level, known := levels[request.AspectID]
	aspect, ok := flavour.Aspect(request.AspectID)
	if !known || !ok {
		return nil, &InvalidRequest{"/aspectId", fmt.Sprintf("the VNF has no scaling aspect %q", request.AspectID)}
	}
	wanted := level + request.count()
	if request.Type == ScaleIn {
		wanted = level - request.count()
	}
	if wanted < 0 || wanted > aspect.MaxLevel {
		return nil, &InvalidRequest{"/numberOfSteps", fmt.Sprintf("aspect %s is at level %d and can have 0 to %d, not %d",
			aspect.Name, level, aspect.MaxLevel, wanted)}
	}
	levels[aspect.Name] = wanted
	return levels, nil
}

// scaling is how SCALE is carried out.
func scaling(planner *planner) plan {
	return reshaping(planner, func(ctx context.Context, run *Run) (*change, error) {
		request, err := decode[ScaleRequest](run.Request)
		if err != nil {
			return nil, err
		}
		info := run.Instance.InstantiatedVnfInfo
		flavour, err := planner.flavour(ctx, run.Instance, run.Deployment.Request)
		if err != nil {
			return nil, err
		}
		wanted := &change{shape: presentShape(run), existing: existing(run)}
		request.NumberOfSteps = steps(request.count())
		wanted.existing.Scale = []ScaleRequest{*request}
		if wanted.levels, err = scaledLevels(flavour, info, request); err != nil {
			return nil, err
		}
		if request.Type == ScaleIn {
			wanted.reason = "scaled in"
			wanted.unhealthy, err = planner.victims(ctx, run, flavour, request, wanted.shape)
		}
		return wanted, err
	})
}

// victims are the members that scaling in removes: the oldest, as Heat does by itself, or with is_reverse the newest. They are marked, so
// that they are the ones that go whatever else changes meanwhile.
func (p *planner) victims(ctx context.Context, run *Run, flavour *vnfpkg.Flavour, request *ScaleRequest, wanted shape) ([]Resource, error) {
	resources, err := p.driver.Resources(ctx, run.Deployment)
	if err != nil {
		return nil, err
	}
	found := members(resources, request.AspectID)
	if reverse, _ := request.AdditionalParams["is_reverse"].(string); strings.EqualFold(reverse, "true") {
		slices.Reverse(found)
	}
	stay := sizeOf(flavour, request.AspectID, wanted, len(found))
	return found[:max(0, len(found)-stay)], nil
}

// sizeOf is the number of members that the group of an aspect has in a shape; otherwise, if the VNFD does not say.
func sizeOf(flavour *vnfpkg.Flavour, aspect string, of shape, otherwise int) int {
	if size, ok := flavour.GroupSize(aspect, of.levels, of.request.InstantiationLevelID); ok {
		return size
	}
	return otherwise
}
