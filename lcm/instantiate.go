package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"vnfm/api/access"
	"vnfm/vnfpkg"
)

// Names of steps that are referred to elsewhere.
const (
	stepCreateStack   = "create_stack"
	stepDeleteStack   = "delete_stack"
	stepReadResources = "read_resources"
)

// Instantiate starts to instantiate a VNF, SOL003 5.4.4. What can be known to be wrong is refused now: a flavour, level,
// connection point or user data that the package lacks, a VIM that is not registered.
func (m *Manager) Instantiate(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	request, err := decode[InstantiateRequest](params)
	if err != nil {
		return nil, err
	}
	instance, err := m.instances.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	if instance.InstantiationState != NotInstantiated {
		return nil, &Conflict{fmt.Sprintf("VNF instance %s is %s already", id, instance.InstantiationState)}
	}
	ctx = access.Within(ctx, instance.ProjectID)
	_, err = m.planner.plan(ctx, instance, shape{request: request}, PlanRequest{CheckOnly: true})
	if err == nil {
		_, err = m.planner.vims.Choose(ctx, request.VimConnectionInfo)
	}
	if err != nil && (!m.granted || !isGap(err)) {
		return nil, err
	}
	return m.start(ctx, instance, OpInstantiate, params)
}

// isGap reports whether a request is refused only for what it does not say and a grant can: there is no VIM, or no network.
func isGap(err error) bool {
	var invalid *InvalidRequest
	return errors.As(err, &invalid) && (invalid.Attribute == "/vimConnectionInfo" || invalid.Attribute == "/extVirtualLinks")
}

// planner computes what is to be made in a VIM for a VNF.
type planner struct {
	packages PackageSource
	vims     *VimRegistry
	driver   InfraDriver
	images   ImageStore  // nil where nothing is made
	grants   GrantSource // nil: nobody has to permit operations
}

// shape is what a VNF is to be made from.
type shape struct {
	request *InstantiateRequest
	levels  map[string]int // by aspect; nil = those of the request's instantiation level
	assets  Assets
}

// plan checks a shape against the package, and computes the deployment but for its VIM. asked says what is no part of the shape.
func (p *planner) plan(ctx context.Context, instance *VnfInstance, of shape, asked PlanRequest) (*Deployment, error) {
	request, levels := of.request, of.levels
	flavour, err := p.flavour(ctx, instance, request)
	if err != nil {
		return nil, err
	}
	if levels == nil {
		levels = flavour.ScaleLevels(request.InstantiationLevelID)
	}
	csar, err := p.packages.OpenCSAR(ctx, instance.VnfPkgID)
	if err != nil {
		return nil, fmt.Errorf("open VNF package %s: %w", instance.VnfPkgID, err)
	}
	defer csar.Close()
	asked.InstanceID, asked.Package, asked.Flavour = instance.ID, csar.CSAR, flavour
	asked.Request, asked.ScaleLevels, asked.Assets = request, levels, of.assets
	deployment, err := p.driver.Plan(ctx, asked)
	if err != nil {
		return nil, err
	}
	deployment.Request, deployment.ScaleLevels, deployment.Assets = request, levels, of.assets
	return deployment, nil
}

// flavour returns the flavour that a request names, which must fit it.
func (p *planner) flavour(ctx context.Context, instance *VnfInstance, request *InstantiateRequest) (*vnfpkg.Flavour, error) {
	pkg, err := p.packages.Package(ctx, instance.VnfPkgID)
	if err != nil {
		return nil, fmt.Errorf("read VNF package %s: %w", instance.VnfPkgID, err)
	}
	return chooseFlavour(pkg.Description, request)
}

// chooseFlavour finds the flavour of a request and checks what the request says about it.
func chooseFlavour(description *vnfpkg.Description, request *InstantiateRequest) (*vnfpkg.Flavour, error) {
	flavour, ok := description.Vnfd.Flavours[request.FlavourID]
	if !ok {
		return nil, &InvalidRequest{"/flavourId", fmt.Sprintf("the VNFD has no flavour %q", request.FlavourID)}
	}
	if _, ok := flavour.Level(request.InstantiationLevelID); !ok && request.InstantiationLevelID != "" {
		return nil, &InvalidRequest{"/instantiationLevelId",
			fmt.Sprintf("flavour %s has no instantiation level %q", flavour.ID, request.InstantiationLevelID)}
	}
	for i, link := range request.ExtVirtualLinks {
		for j, cp := range link.ExtCps {
			if !flavour.HasCp(cp.CpdID) {
				return nil, &InvalidRequest{fmt.Sprintf("/extVirtualLinks/%d/extCps/%d/cpdId", i, j),
					fmt.Sprintf("flavour %s has no connection point %q", flavour.ID, cp.CpdID)}
			}
		}
	}
	return flavour, nil
}

// instantiation is how INSTANTIATE is carried out.
func instantiation(planner *planner) plan {
	return plan{
		start: planner.granting(requested),
		prepare: []Step{
			{Name: "choose_vim", Do: planner.chooseVim, Undo: []Step{{Name: "forget_vim", Do: forgetVim}}},
			planner.uploading(planner.shaped(requested), nothing),
			{Name: stepChooseFlavors, Do: planner.chooseFlavors(planner.shaped(requested))},
			{Name: stepPlan, Do: planner.planStep},
		},
		steps: []Step{
			{Name: stepCreateStack, Do: createStack(planner.driver), Undo: []Step{{Name: stepDeleteStack, Do: removeStack(planner.driver)}}},
			{Name: "await_stack", Do: awaitStack(planner.driver, stepCreateStack)},
			{Name: stepReadResources, Do: planner.readResources},
		},
		finish: finishInstantiation,
	}
}

// nothing is the deployment of a VNF that is undone or terminated.
func nothing(*Run) (*Deployment, error) { return &Deployment{}, nil }

// chooseVim records where the VNF is going to be, before anything is made there.
func (p *planner) chooseVim(ctx context.Context, run *Run) (Result, error) {
	of, err := p.shaped(requested)(ctx, run)
	if err != nil {
		return Result{}, err
	}
	connections, err := p.vims.Choose(ctx, of.request.VimConnectionInfo)
	if err != nil {
		return Result{}, err
	}
	if err := p.vims.tryInline(ctx, connections[0]); err != nil {
		return Result{}, err
	}
	run.Deployment = &Deployment{VimConnectionInfo: connections, Request: of.request}
	return Done(nil), nil
}

// forgetVim ends that the instance has anything in a VIM.
func forgetVim(_ context.Context, run *Run) (Result, error) {
	run.Deployment = nil
	return Done(nil), nil
}

func (p *planner) planStep(ctx context.Context, run *Run) (Result, error) {
	of, err := p.shaped(requested)(ctx, run)
	if err != nil {
		return Result{}, err
	}
	if of.assets, err = provided(run, of.assets); err != nil {
		return Result{}, err
	}
	deployment, err := p.plan(ctx, run.Instance, of, PlanRequest{})
	if err != nil {
		return Result{}, err
	}
	// The VIM stays the one that has the images, even if another one has become the default meanwhile.
	deployment.VimConnectionInfo = run.Deployment.VimConnectionInfo
	run.Deployment = deployment
	return Done(nil), nil
}

// provided are assets with what earlier steps have uploaded and chosen.
func provided(run *Run, assets Assets) (Assets, error) {
	for _, record := range run.Operation.Steps {
		if record.State != StepDone || (record.Name != stepUploadImages && record.Name != stepChooseFlavors) {
			continue
		}
		var found map[string]string
		if err := run.Output(record.Name, &found); err != nil {
			return Assets{}, err
		}
		if record.Name == stepUploadImages {
			assets.Images, assets.Uploaded = overlaid(assets.Images, found), slices.Sorted(maps.Keys(found))
		} else {
			assets.Flavors = overlaid(assets.Flavors, found)
		}
	}
	return assets, nil
}

// requested is what an instantiation asks for.
func requested(_ context.Context, run *Run) (*change, error) {
	request, err := decode[InstantiateRequest](run.Request)
	return &change{shape: shape{request: request}}, err
}

func createStack(driver InfraDriver) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		id, err := driver.Create(ctx, run.Deployment)
		if err != nil {
			return Result{}, err
		}
		run.Deployment.StackID = id
		return Done(nil), nil
	}
}

// deletionPatience is how long a deletion that fails is asked for again: Heat often fails to delete what Nova or Neutron let go
// of only a moment later.
const deletionPatience = time.Minute

// removeStack deletes the stack and waits until it is gone; what it was made from is kept.
func removeStack(driver InfraDriver) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		if run.Deployment == nil || run.Deployment.StackName == "" { // nothing was planned
			return Done(nil), nil
		}
		status, err := driver.Status(ctx, run.Deployment)
		if err != nil {
			return Result{}, err
		}
		waiting := Wait("stack " + run.Deployment.StackName + " is being deleted")
		deleting := status.Action == "DELETE"
		switch {
		case status.Phase == StackAbsent:
			run.Deployment.StackID = ""
			return Done(nil), nil
		case deleting && status.Phase == StackInProgress:
			return waiting, nil
		case deleting && status.Phase == StackFailed && time.Since(run.stepBegan) > deletionPatience:
			return Result{}, stackFailed(run.Deployment, status)
		}
		return waiting, driver.Delete(ctx, run.Deployment)
	}
}

// awaitStack waits until Heat has done what it was asked for. If that fails, the next attempt begins with the step redo.
func awaitStack(driver InfraDriver, redo string) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		status, err := driver.Status(ctx, run.Deployment)
		if err != nil {
			return Result{}, err
		}
		switch status.Phase {
		case StackComplete:
			return Done(nil), nil
		case StackInProgress:
			return Wait(fmt.Sprintf("stack %s is %s_IN_PROGRESS", run.Deployment.StackName, status.Action)), nil
		case StackAbsent:
			return Result{}, &Failure{Title: "Stack is gone", Status: http.StatusConflict, Redo: redo,
				Detail: fmt.Sprintf("stack %s does not exist any more: somebody has deleted it", run.Deployment.StackName)}
		default:
			failure := stackFailed(run.Deployment, status)
			failure.Redo = redo
			return Result{}, failure
		}
	}
}

func stackFailed(deployment *Deployment, status StackStatus) *Failure {
	return &Failure{Title: "Stack failed", Status: http.StatusInternalServerError,
		Detail: fmt.Sprintf("stack %s is %s_FAILED: %s", deployment.StackName, status.Action, status.Reason)}
}

// readResources learns from the VIM what was made.
func (p *planner) readResources(ctx context.Context, run *Run) (Result, error) {
	info, err := p.read(ctx, run, run.Deployment, nil)
	return Done(info), err
}

// read learns what a VNF consists of once it has the shape of a deployment. Identifiers are those of the previous description.
func (p *planner) read(ctx context.Context, run *Run, deployment *Deployment, previous *InstantiatedVnfInfo) (*InstantiatedVnfInfo, error) {
	flavour, err := p.flavour(ctx, run.Instance, deployment.Request)
	if err != nil {
		return nil, err
	}
	resources, err := p.driver.Resources(ctx, run.Deployment)
	if err != nil {
		return nil, err
	}
	return describe(run, flavour, deployment, resources, previous)
}

// describe is the InstantiatedVnfInfo of an instance that has resources in the shape of a deployment.
func describe(run *Run, flavour *vnfpkg.Flavour, deployment *Deployment, resources []Resource, previous *InstantiatedVnfInfo,
) (*InstantiatedVnfInfo, error) {
	planned, err := plannedFor(run)
	if err != nil {
		return nil, err
	}
	return buildInfo(infoSource{
		VimID:       run.Deployment.Vim.VimID,
		Flavour:     flavour,
		Request:     deployment.Request,
		ScaleLevels: deployment.ScaleLevels,
		Zones:       deployment.Assets.Zones,
		Previous:    previous,
		Planned:     planned,
		Resources:   resources,
	}), nil
}

func finishInstantiation(run *Run) error {
	info := &InstantiatedVnfInfo{}
	if err := run.Output(stepReadResources, info); err != nil {
		return err
	}
	instance := run.Instance
	run.Operation.ResourceChanges = resourceChanges(nil, info)
	instance.InstantiationState = Instantiated
	instance.InstantiatedVnfInfo = info
	instance.VimConnectionInfo = MaskConnections(run.Deployment.VimConnectionInfo)
	request := run.Deployment.Request
	if request.Extensions != nil {
		instance.Extensions = request.Extensions
	}
	if request.VnfConfigurableProperties != nil {
		instance.VnfConfigurableProperties = request.VnfConfigurableProperties
	}
	return nil
}

// MaskConnections returns connections with their secrets masked.
func MaskConnections(connections []VimConnectionInfo) []VimConnectionInfo {
	mask := func(params map[string]any) map[string]any {
		if params == nil {
			return nil
		}
		masked, _ := Mask(params).(map[string]any)
		return masked
	}
	masked := make([]VimConnectionInfo, len(connections))
	for i, connection := range connections {
		connection.InterfaceInfo = mask(connection.InterfaceInfo)
		connection.AccessInfo = mask(connection.AccessInfo)
		connection.Extra = mask(connection.Extra)
		masked[i] = connection
	}
	return masked
}
