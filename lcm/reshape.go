package lcm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
)

// Names of the steps of an operation that changes existing resources.
const (
	stepPlan         = "plan"
	stepUpdateStack  = "update_stack"
	stepRestoreStack = "restore_stack"
)

// change is what an operation makes of a VNF that has resources.
type change struct {
	shape                // what the VNF is to look as if made from
	existing  *Existing  // what of the VNF is carried on; nil: nothing
	unhealthy []Resource // resources to be made anew, or members of a group that have to be the ones that go
	reason    string     // why they are
	whole     bool       // whether everything is deleted and made anew
}

// changePlan is the output of the first step of a reshaping operation.
type changePlan struct {
	Target    *Deployment `json:"target"`
	Unhealthy []Resource  `json:"unhealthy,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	// What the VNF has been before: what a rollback goes back to, and what the changes are told against.
	Former     *Deployment          `json:"former"`
	FormerInfo *InstantiatedVnfInfo `json:"formerInfo"`
}

// reshaping is how every operation that changes existing resources is carried out: the deployment is computed anew, what has to be
// replaced or to go is marked unhealthy, and Heat brings the stack to its new shape.
func reshaping(planner *planner, compute func(context.Context, *Run) (*change, error)) plan {
	driver := planner.driver
	return plan{
		start:   planner.grantingSettled(compute),
		prepare: []Step{{Name: stepPlan, Do: whenSettled(driver, planner.planChange(compute))}},
		steps: []Step{
			{Name: "mark_unhealthy", Do: markUnhealthy(driver)},
			{Name: stepUpdateStack, Do: updateStack(driver, target), Undo: []Step{
				{Name: "mark_additions", Do: markAdditions(driver)},
				{Name: stepRestoreStack, Do: updateStack(driver, former)},
				{Name: "await_stack", Do: awaitStack(driver, stepUpdateStack+"/"+stepRestoreStack)},
				{Name: stepReadResources, Do: planner.readFormer},
			}},
			{Name: "await_stack", Do: awaitStack(driver, stepUpdateStack)},
			{Name: stepReadResources, Do: planner.readTarget},
		},
		finish: finishChange,
	}
}

func (p *planner) planChange(compute func(context.Context, *Run) (*change, error)) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		wanted, err := p.decided(ctx, run, compute)
		if err != nil {
			return Result{}, err
		}
		if wanted.assets, err = provided(run, wanted.assets); err != nil {
			return Result{}, err
		}
		next, err := p.plan(ctx, run.Instance, wanted.shape, PlanRequest{Existing: wanted.existing})
		if err != nil {
			return Result{}, err
		}
		next.StackID, next.VimConnectionInfo = run.Deployment.StackID, run.Deployment.VimConnectionInfo
		// Heat reads the definition of what it replaces from the files of the update, there and back.
		back := *run.Deployment
		next.Files, back.Files = overlaid(back.Files, next.Files), overlaid(next.Files, back.Files)
		return Done(changePlan{
			Target: next, Unhealthy: wanted.unhealthy, Reason: wanted.reason,
			Former: &back, FormerInfo: run.Instance.InstantiatedVnfInfo,
		}), nil
	}
}

// current is the deployment that the VNF has, former the one that it has had before the operation, target the one that it is to have.
// All are the stack that there is now, in the VIM connections that there are now: the stack of a VNF healed as a whole is new, and drivers
// add and remove connections.
func current(run *Run) (*Deployment, error) { return run.Deployment, nil }

func former(run *Run) (*Deployment, error) {
	return planned(run, func(p *changePlan) *Deployment { return p.Former })
}

func target(run *Run) (*Deployment, error) {
	return planned(run, func(p *changePlan) *Deployment { return p.Target })
}

func planned(run *Run, choose func(*changePlan) *Deployment) (*Deployment, error) {
	var plan changePlan
	if err := run.Output(stepPlan, &plan); err != nil {
		return nil, err
	}
	deployment := choose(&plan)
	deployment.Vim, deployment.StackID = run.Deployment.Vim, run.Deployment.StackID
	deployment.VimConnectionInfo = run.Deployment.VimConnectionInfo
	return deployment, nil
}

// whenSettled does something once Heat does nothing with the stack, which has to exist: a change on top of one that is under way would
// supersede it halfway.
func whenSettled(driver InfraDriver, act action) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		status, err := driver.Status(ctx, run.Deployment)
		switch {
		case err != nil:
			return Result{}, err
		case status.Phase == StackInProgress:
			return Wait(fmt.Sprintf("stack %s is %s_IN_PROGRESS", run.Deployment.StackName, status.Action)), nil
		case status.Phase == StackAbsent:
			return Result{}, &Failure{Title: "Stack is gone", Status: http.StatusConflict, Detail: fmt.Sprintf(
				"stack %s does not exist any more: somebody has deleted it; heal the whole VNF, or terminate it", run.Deployment.StackName)}
		}
		return act(ctx, run)
	}
}

func markUnhealthy(driver InfraDriver) action {
	return whenSettled(driver, func(ctx context.Context, run *Run) (Result, error) {
		var planned changePlan
		if err := run.Output(stepPlan, &planned); err != nil {
			return Result{}, err
		}
		for _, resource := range planned.Unhealthy {
			if err := driver.MarkUnhealthy(ctx, run.Deployment, resource, planned.Reason); err != nil {
				return Result{}, err
			}
		}
		return Done(nil), nil
	})
}

// markAdditions makes Heat remove, when it goes back to the former shape, exactly the members that have come since.
func markAdditions(driver InfraDriver) action {
	return whenSettled(driver, func(ctx context.Context, run *Run) (Result, error) {
		resources, err := driver.Resources(ctx, run.Deployment)
		if err != nil {
			return Result{}, err
		}
		var planned changePlan
		if err := run.Output(stepPlan, &planned); err != nil {
			return Result{}, err
		}
		known := map[string]bool{}
		for _, vnfc := range planned.FormerInfo.VnfcResourceInfo {
			known[stackOf(vnfc)] = true
		}
		for aspect := range planned.Former.ScaleLevels {
			for _, member := range members(resources, aspect) {
				if known[member.PhysicalID] {
					continue
				}
				if err := driver.MarkUnhealthy(ctx, run.Deployment, member, "rolled back"); err != nil {
					return Result{}, err
				}
			}
		}
		return Done(nil), nil
	})
}

// updateStack asks Heat to bring the stack to a deployment. Asked twice, Heat finds nothing left to do the second time.
func updateStack(driver InfraDriver, choose func(*Run) (*Deployment, error)) action {
	// Not settled: an update whose answer, or whose commit, was lost.
	return whenSettled(driver, func(ctx context.Context, run *Run) (Result, error) {
		deployment, err := choose(run)
		if err != nil {
			return Result{}, err
		}
		return Done(nil), driver.Update(ctx, deployment)
	})
}

// readTarget learns what the VNF consists of now. From here on the instance says so, even if the operation is given up later.
func (p *planner) readTarget(ctx context.Context, run *Run) (Result, error) {
	return p.adopt(ctx, run, target)
}

// readFormer learns what the VNF consists of after it went back to what it was: servers may have been made anew.
func (p *planner) readFormer(ctx context.Context, run *Run) (Result, error) {
	return p.adopt(ctx, run, former)
}

func (p *planner) adopt(ctx context.Context, run *Run, choose func(*Run) (*Deployment, error)) (Result, error) {
	var planned changePlan
	if err := run.Output(stepPlan, &planned); err != nil {
		return Result{}, err
	}
	deployment, err := choose(run)
	if err != nil {
		return Result{}, err
	}
	info, err := p.read(ctx, run, deployment, planned.FormerInfo)
	if err != nil {
		return Result{}, err
	}
	run.Deployment = deployment
	run.Instance.InstantiatedVnfInfo, run.instanceChanged = info, true
	return Done(nil), nil
}

func finishChange(run *Run) error {
	var planned changePlan
	if err := run.Output(stepPlan, &planned); err != nil {
		return err
	}
	run.Operation.ResourceChanges = resourceChanges(planned.FormerInfo, run.Instance.InstantiatedVnfInfo)
	return nil
}

// members returns the members of an aspect's scaling group, oldest first.
func members(resources []Resource, aspect string) []Resource {
	var group string
	for _, resource := range resources {
		if resource.Name == aspect && isGroup(resource.Type) {
			group = resource.PhysicalID
		}
	}
	var found []Resource
	for _, resource := range resources {
		if group != "" && resource.StackID == group {
			found = append(found, resource)
		}
	}
	slices.SortFunc(found, func(a, b Resource) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return found
}

func isGroup(resourceType string) bool {
	return resourceType == "OS::Heat::AutoScalingGroup" || resourceType == "OS::Heat::ResourceGroup"
}

// presentShape is what the VNF has been made from.
func presentShape(run *Run) shape {
	return shape{run.Deployment.Request, levelsOf(run.Instance.InstantiatedVnfInfo), run.Deployment.Assets}
}

// levelsOf returns the scale levels that an instance has.
func levelsOf(info *InstantiatedVnfInfo) map[string]int {
	levels := make(map[string]int, len(info.ScaleStatus))
	for _, scale := range info.ScaleStatus {
		levels[scale.AspectID] = scale.ScaleLevel
	}
	return levels
}
