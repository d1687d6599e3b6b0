package lcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// OperateRequest is OperateVnfRequest (SOL003 5.5.2.10) with the VNFCs of SOL002; without any the whole VNF is started or stopped.
type OperateRequest struct {
	ChangeStateTo       VnfState        `json:"changeStateTo"`
	StopType            TerminationType `json:"stopType,omitempty"`            // "" = FORCEFUL
	GracefulStopTimeout int             `json:"gracefulStopTimeout,omitempty"` // seconds
	VnfcInstanceID      oneOrMore       `json:"vnfcInstanceId,omitempty"`
	AdditionalParams    map[string]any  `json:"additionalParams,omitempty"`
}

// Operate starts to start or stop the servers of a VNF, SOL003 5.4.10.
func (m *Manager) Operate(ctx context.Context, id uuid.UUID, params json.RawMessage) (*Operation, error) {
	request, err := decode[OperateRequest](params)
	if err != nil {
		return nil, err
	}
	if request.StopType != "" && request.ChangeStateTo != Stopped {
		return nil, &InvalidRequest{"/stopType", "goes with changeStateTo STOPPED only"}
	}
	if request.GracefulStopTimeout > 0 && request.StopType != Graceful {
		return nil, &InvalidRequest{"/gracefulStopTimeout", "goes with stopType GRACEFUL only"}
	}
	instance, err := m.instantiated(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := checkVnfcs(instance, request.VnfcInstanceID); err != nil {
		return nil, err
	}
	return m.start(ctx, instance, OpOperate, params)
}

// operating is how OPERATE is carried out. When it is undone, what was running before is started again, and the other way round.
func operating(planner *planner) plan {
	driver := planner.driver
	return plan{
		start: planner.granting(func(_ context.Context, run *Run) (*change, error) { return &change{shape: presentShape(run)}, nil }),
		steps: []Step{
			{Name: "graceful_period", Do: gracefulStop},
			{Name: "switch_servers", Do: switchServers(driver, false), Undo: []Step{{Name: "switch_back", Do: switchServers(driver, true)}}},
		},
		finish: finishOperating,
	}
}

func gracefulStop(_ context.Context, run *Run) (Result, error) {
	request, err := decode[OperateRequest](run.Request)
	if err != nil || request.StopType != Graceful {
		return Done(nil), err
	}
	return pause(run, request.GracefulStopTimeout, "graceful stop period"), nil
}

// pause waits until so many seconds have passed since its step began: the NFVO and the drivers may have taken long before.
func pause(run *Run, seconds int, detail string) Result {
	left := time.Until(run.stepBegan.Add(time.Duration(seconds) * time.Second))
	if left > 0 {
		return WaitFor(left, detail)
	}
	return Done(nil)
}

// switchServers brings the servers of the VNFCs that the request names to the state that it asks for, or back to the one they had.
func switchServers(driver InfraDriver, back bool) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		request, err := decode[OperateRequest](run.Request)
		if err != nil {
			return Result{}, err
		}
		info := run.Instance.InstantiatedVnfInfo
		waiting := 0
		for _, vnfc := range info.VnfcResourceInfo {
			if !request.concerns(vnfc.ID) {
				continue
			}
			to := request.ChangeStateTo
			if back {
				to = stateOf(info, vnfc.ID)
			}
			there, err := driver.Power(ctx, run.Deployment, vnfc.ComputeResource.ResourceID, to)
			var rejected *Rejected
			switch gone := errors.As(err, &rejected) && rejected.Status == http.StatusNotFound; {
			case gone && back: // there is nothing to bring back
			case gone:
				return Result{}, &Failure{Title: "Server is gone", Status: http.StatusConflict, Detail: fmt.Sprintf(
					"server %s of VNFC %s does not exist any more: somebody has deleted it; heal the VNFC",
					vnfc.ComputeResource.ResourceID, vnfc.ID)}
			case err != nil:
				return Result{}, err
			case !there:
				waiting++
			}
		}
		if waiting > 0 {
			return Wait(fmt.Sprintf("%d servers are on their way", waiting)), nil
		}
		return Done(nil), nil
	}
}

func (r *OperateRequest) concerns(vnfcID string) bool {
	return len(r.VnfcInstanceID) == 0 || slices.Contains(r.VnfcInstanceID, vnfcID)
}

// stateOf is what is known of the run state of a VNFC; a new one is started.
func stateOf(info *InstantiatedVnfInfo, vnfcID string) VnfState {
	if i := slices.IndexFunc(info.VnfcInfo, func(v VnfcInfo) bool { return v.ID == vnfcID }); i >= 0 {
		return info.VnfcInfo[i].VnfcState
	}
	return Started
}

func finishOperating(run *Run) error {
	request, err := decode[OperateRequest](run.Request)
	if err != nil {
		return err
	}
	info := run.Instance.InstantiatedVnfInfo
	changes := &ResourceChanges{}
	for i := range info.VnfcInfo {
		if vnfc := &info.VnfcInfo[i]; request.concerns(vnfc.ID) {
			vnfc.VnfcState = request.ChangeStateTo
			if resource, ok := findVnfc(info, vnfc.ID); ok {
				changes.AffectedVnfcs = append(changes.AffectedVnfcs, AffectedVnfc{
					ID: resource.ID, VduID: resource.VduID, ChangeType: Modified, ComputeResource: resource.ComputeResource,
					Metadata: resource.Metadata,
				})
			}
		}
	}
	info.VnfState = overall(info.VnfcInfo)
	run.Operation.ResourceChanges = changes
	return nil
}

// overall is the state of a VNF: it is stopped when all of it is.
func overall(vnfcs []VnfcInfo) VnfState {
	if len(vnfcs) > 0 && !slices.ContainsFunc(vnfcs, func(v VnfcInfo) bool { return v.VnfcState != Stopped }) {
		return Stopped
	}
	return Started
}
