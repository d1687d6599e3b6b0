package lcm

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// stockTime bounds how long the VIM may take to tell what is left of an operation that is given up.
const stockTime = 20 * time.Second

// Fail gives a failed operation up, SOL003 5.4.16. What exists in the VIM stays; the instance then tells what that is, and can be
// terminated, or healed if it is INSTANTIATED. If the VIM cannot be asked, the operation's error says so.
func (m *Manager) Fail(ctx context.Context, id uuid.UUID) (*Operation, error) {
	operation, err := m.operations.EndOperation(ctx, id, func(run *Run) error {
		next, err := run.Operation.State.Next(EventFail)
		if err != nil {
			return err
		}
		run.Operation.State = next
		asking, cancel := context.WithTimeout(ctx, stockTime)
		defer cancel()
		if err := m.planner.takeStock(asking, run); err != nil && run.Operation.Error != nil {
			run.Operation.Error.Detail += fmt.Sprintf("; what is left of the operation could not be read, so the instance is shown as it was before: %v", err)
		}
		return nil
	})
	return m.entered(operation, err)
}

// takeStock brings what is known of an instance in line with what there is in the VIM.
func (p *planner) takeStock(ctx context.Context, run *Run) error {
	instance := run.Instance
	if run.Deployment == nil || run.Operation.Type == OpOperate || run.Operation.Type == OpModifyInfo {
		return nil // there is nothing, or it was left as it is
	}
	var err error
	if run.Deployment.Vim, err = p.vims.Access(ctx, run.Deployment.VimConnectionInfo); err != nil {
		return err
	}
	flavour, err := p.flavour(ctx, instance, run.Deployment.Request)
	if err != nil {
		return err
	}
	status := StackStatus{Phase: StackAbsent}
	if run.Deployment.StackName != "" { // it was planned
		if status, err = p.driver.Status(ctx, run.Deployment); err != nil {
			return err
		}
	}
	var resources []Resource
	run.Deployment.StackID = status.ID
	if status.Phase != StackAbsent {
		if resources, err = p.driver.Resources(ctx, run.Deployment); err != nil {
			return err
		}
	}
	before := formerInfo(run)
	info, err := describe(run, flavour, run.Deployment, resources, before)
	if err != nil {
		return err
	}
	run.Operation.ResourceChanges = resourceChanges(before, info)
	switch {
	case instance.InstantiationState == Instantiated:
		instance.InstantiatedVnfInfo = info
	case status.Phase == StackAbsent && len(flavour.Images()) == 0:
		run.Deployment = nil // nothing remains to be terminated
	}
	return nil
}
