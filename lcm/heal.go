package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// healStorageParam is the attribute of additionalParams that keeps the volumes of healed VNFCs when it is false.
const healStorageParam = "tacker_extension_heal_include_block_storage"

// Heal starts to heal a VNF, SOL003 5.4.9: the VNFCs that the request names, or the whole VNF.
func (m *Manager) Heal(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	request, err := decode[HealRequest](params)
	if err != nil {
		return nil, err
	}
	instance, err := m.instantiated(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := checkVnfcs(instance, request.VnfcInstanceID); err != nil {
		return nil, err
	}
	if len(request.VnfcInstanceID) == 0 {
		if err := m.planner.vims.Free(ctx, id); err != nil {
			return nil, err
		}
	}
	return m.start(ctx, instance, OpHeal, params)
}

// checkVnfcs refuses VNFCs that an instance lacks.
func checkVnfcs(instance *VnfInstance, ids oneOrMore) error {
	for i, id := range ids {
		if _, ok := findVnfc(instance.InstantiatedVnfInfo, id); !ok {
			return &InvalidRequest{fmt.Sprintf("/vnfcInstanceId/%d", i),
				fmt.Sprintf("Vnfc id %s not present in vnf instance %s", id, instance.ID)}
		}
	}
	return nil
}

func findVnfc(info *InstantiatedVnfInfo, id string) (VnfcResourceInfo, bool) {
	i := slices.IndexFunc(info.VnfcResourceInfo, func(vnfc VnfcResourceInfo) bool { return vnfc.ID == id })
	if i < 0 {
		return VnfcResourceInfo{}, false
	}
	return info.VnfcResourceInfo[i], true
}

// healing is how HEAL is carried out: VNFCs are marked and replaced by Heat in place; the whole VNF is deleted and made again.
func healing(planner *planner) func(context.Context, *Run) (plan, error) {
	parts := reshaping(planner, func(ctx context.Context, run *Run) (*change, error) {
		wanted, request, err := healed(run)
		if err != nil {
			return nil, err
		}
		wanted.reason = request.Cause
		if wanted.reason == "" {
			wanted.reason = "healing"
		}
		wanted.unhealthy, err = planner.ailing(ctx, run, request)
		return wanted, err
	})
	driver := planner.driver
	everything := func(_ context.Context, run *Run) (*change, error) {
		wanted, _, err := healed(run)
		if err != nil {
			return nil, err
		}
		// The images of the package are brought into the VIM again.
		wanted.assets, wanted.whole = wanted.assets.given(), true
		return wanted, nil
	}
	whole := plan{
		start:   planner.granting(everything),
		prepare: []Step{planner.uploading(planner.shaped(everything), current), {Name: stepPlan, Do: planner.planChange(everything)}},
		steps: []Step{
			{Name: stepDeleteStack, Do: deleteStack(driver)},
			{Name: stepCreateStack, Do: createAgain(driver)},
			{Name: "await_stack", Do: awaitStack(driver, stepCreateStack)},
			{Name: stepReadResources, Do: planner.readTarget},
			{Name: stepRemoveImages, Do: planner.removeImages(target)},
		},
		finish: finishChange,
	}
	return func(_ context.Context, run *Run) (plan, error) {
		request, err := decode[HealRequest](run.Request)
		if err != nil || len(request.VnfcInstanceID) > 0 {
			return parts, err
		}
		return whole, nil
	}
}

// healed asks for the VNF as it is.
func healed(run *Run) (*change, *HealRequest, error) {
	request, err := decode[HealRequest](run.Request)
	if err != nil {
		return nil, nil, err
	}
	wanted := &change{shape: presentShape(run), existing: existing(run)}
	wanted.existing.Heal = request
	return wanted, request, nil
}

// ailing are the resources of the VNFCs to be healed: their servers, and their volumes unless the request keeps them. A server whose
// volume is part of its own definition can only be replaced together with it.
func (p *planner) ailing(ctx context.Context, run *Run, request *HealRequest) ([]Resource, error) {
	resources, err := p.driver.Resources(ctx, run.Deployment)
	if err != nil {
		return nil, err
	}
	info := run.Instance.InstantiatedVnfInfo
	ids := map[string]bool{}
	for _, id := range request.VnfcInstanceID {
		vnfc, ok := findVnfc(info, id)
		if !ok {
			continue
		}
		ids[vnfc.ComputeResource.ResourceID] = true
		for _, storage := range info.VirtualStorageResourceInfo {
			if slices.Contains(vnfc.StorageResourceIDs, storage.ID) && includesStorage(request) {
				ids[storage.StorageResource.ResourceID] = true
			}
		}
	}
	return slices.DeleteFunc(resources, func(resource Resource) bool {
		return !ids[resource.PhysicalID] || (resource.Type != typeServer && resource.Type != typeVolume)
	}), nil
}

func includesStorage(request *HealRequest) bool {
	value, ok := request.AdditionalParams[healStorageParam]
	return !ok || !strings.EqualFold(fmt.Sprint(value), "false")
}

// deleteStack deletes the stack and waits until it is gone. What it was made from is kept, so that the VNF can be healed or terminated
// again if the operation is given up later; until then the instance says that it has no resources. The output describes the VNF as it
// was.
func deleteStack(driver InfraDriver) action {
	remove := removeStack(driver)
	return func(ctx context.Context, run *Run) (Result, error) {
		result, err := remove(ctx, run)
		if err != nil || result.again {
			return result, err
		}
		was := run.Instance.InstantiatedVnfInfo
		if was != nil {
			run.Instance.InstantiatedVnfInfo, run.instanceChanged = was.withoutResources(), true
		}
		return Done(was), nil
	}
}

// createAgain makes the stack of the target, which is what the VNF has from then on, whatever becomes of the operation.
func createAgain(driver InfraDriver) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		next, err := target(run)
		if err != nil {
			return Result{}, err
		}
		next.StackID = ""
		if next.StackID, err = driver.Create(ctx, next); err != nil {
			return Result{}, err
		}
		run.Deployment = next
		return Done(nil), nil
	}
}
