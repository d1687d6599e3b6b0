package lcm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

// Terminate starts to terminate a VNF, SOL003 5.4.8. It also cleans up after an instantiation that has failed for good.
func (m *Manager) Terminate(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	request, err := decode[TerminateRequest](params)
	if err != nil {
		return nil, err
	}
	if request.TerminationType == Forceful && request.GracefulTerminationTimeout > 0 {
		return nil, &InvalidRequest{"/gracefulTerminationTimeout", "goes with terminationType GRACEFUL only"}
	}
	instance, err := m.instances.Instance(ctx, id)
	if err != nil {
		return nil, err
	}
	if instance.InstantiationState != Instantiated && !instance.Deployed {
		return nil, &Conflict{fmt.Sprintf("VNF instance %s is %s", id, instance.InstantiationState)}
	}
	if err := m.planner.vims.Free(ctx, id); err != nil {
		return nil, err
	}
	return m.start(ctx, instance, OpTerminate, params)
}

// termination is how TERMINATE is carried out. What it removes cannot be brought back, so nothing can be undone.
func termination(planner *planner) plan {
	return plan{
		start: planner.granting(nil),
		steps: []Step{
			{Name: "graceful_period", Do: gracefulPeriod},
			{Name: stepDeleteStack, Do: deleteStack(planner.driver)},
			{Name: stepRemoveImages, Do: planner.removeImages(nothing)},
		},
		finish: finishTermination,
	}
}

// gracefulPeriod leaves the VNF the time to end its service that the client has asked for.
func gracefulPeriod(_ context.Context, run *Run) (Result, error) {
	request, err := decode[TerminateRequest](run.Request)
	if err != nil {
		return Result{}, err
	}
	if request.TerminationType != Graceful {
		return Done(nil), nil
	}
	return pause(run, request.GracefulTerminationTimeout, "graceful termination period"), nil
}

func finishTermination(run *Run) error {
	var was *InstantiatedVnfInfo
	if err := run.Output(stepDeleteStack, &was); err != nil {
		return err
	}
	run.Operation.ResourceChanges = resourceChanges(was, nil)
	instance := run.Instance
	instance.InstantiationState = NotInstantiated
	instance.InstantiatedVnfInfo = nil
	instance.VimConnectionInfo = nil
	run.Deployment = nil
	return nil
}
