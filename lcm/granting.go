package lcm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Names of the steps by which an operation is granted.
const (
	stepPrepareGrant = "prepare_grant"
	stepRequestGrant = "request_grant"
	stepAwaitGrant   = "await_grant"
)

// granting are the steps of an operation in STARTING: what it will do is decided, the NFVO is asked for it, and its decision is awaited.
// There are none without an NFVO. compute is nil for an operation after which nothing is left.
func (p *planner) granting(compute func(context.Context, *Run) (*change, error)) []Step {
	if p.grants == nil {
		return nil
	}
	return []Step{
		{Name: stepPrepareGrant, Do: p.prepareGrant(compute)},
		{Name: stepRequestGrant, Do: p.requestGrant},
		{Name: stepAwaitGrant, Do: p.awaitGrant},
	}
}

// grantingSettled are the same steps for an operation that changes a stack: what will be done with its members is decided when Heat
// does nothing with them.
func (p *planner) grantingSettled(compute func(context.Context, *Run) (*change, error)) []Step {
	steps := p.granting(compute)
	if len(steps) > 0 {
		steps[0].Do = whenSettled(p.driver, steps[0].Do)
	}
	return steps
}

// grantPlan is what an operation will do if it is granted. It is stored before the NFVO is asked, so that an operation that dies in
// between asks for the same again, and later does exactly that.
type grantPlan struct {
	Request *GrantRequest `json:"request"`
	Planned plannedIDs    `json:"planned"`
	Settled []string      `json:"settled,omitempty"` // the VDUs that have instances which stay as they are
	Change  *storedChange `json:"change,omitempty"`  // nil: nothing is left
}

// storedChange is a [change] as JSON.
type storedChange struct {
	Request   *InstantiateRequest `json:"request"`
	Levels    map[string]int      `json:"levels,omitempty"`
	Assets    Assets              `json:"assets,omitzero"`
	Unhealthy []Resource          `json:"unhealthy,omitempty"`
	Reason    string              `json:"reason,omitempty"`
}

func (p *planner) prepareGrant(compute func(context.Context, *Run) (*change, error)) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		var wanted *change
		if compute != nil {
			var err error
			if wanted, err = compute(ctx, run); err != nil {
				return Result{}, err
			}
		}
		prepared, err := p.grantPlan(ctx, run, wanted)
		return Done(prepared), err
	}
}

func (p *planner) requestGrant(ctx context.Context, run *Run) (Result, error) {
	var prepared grantPlan
	if err := run.Output(stepPrepareGrant, &prepared); err != nil {
		return Result{}, err
	}
	answer, err := p.grants.Request(ctx, prepared.Request)
	return Done(answer), err
}

func (p *planner) awaitGrant(ctx context.Context, run *Run) (Result, error) {
	var (
		prepared grantPlan
		answer   GrantAnswer
	)
	if err := run.Output(stepPrepareGrant, &prepared); err != nil {
		return Result{}, err
	}
	if err := run.Output(stepRequestGrant, &answer); err != nil {
		return Result{}, err
	}
	if answer.Grant == nil {
		var err error
		if answer, err = p.grants.Poll(ctx, answer.Location); err != nil {
			return Result{}, err
		}
		if answer.Grant == nil {
			return Wait("the NFVO has not decided on the grant yet"), nil
		}
	}
	grant := answer.Grant
	if err := prepared.answeredBy(grant); err != nil {
		return Result{}, err
	}
	if err := p.tryGrant(ctx, run, &prepared, grant); err != nil {
		return Result{}, err
	}
	return Done(grant), nil
}

// showGrant names the grant, if there is one, in the operation that it was given for.
func (r *Run) showGrant() error {
	if !r.has(stepAwaitGrant) {
		return nil
	}
	var grant Grant
	err := r.Output(stepAwaitGrant, &grant)
	r.Operation.GrantID, r.Operation.GrantURI = grant.ID, grant.Links.Self.Href
	return err
}

// has reports whether the step of that name is done.
func (r *Run) has(step string) bool {
	return slices.ContainsFunc(r.Operation.Steps, func(s StepRecord) bool { return s.Name == step && s.State == StepDone })
}

// tryGrant finds out, while nothing has been touched yet, whether a grant can be made use of. New parameters of the VIM connection that
// the VNF has already are taken over: the NFVO hands them out to be used from now on.
func (p *planner) tryGrant(ctx context.Context, run *Run, prepared *grantPlan, grant *Grant) error {
	if prepared.Change != nil {
		granted, err := prepared.granted(grant)
		if err != nil {
			return err
		}
		if run.Operation.Type == OpInstantiate {
			return p.tryConnections(ctx, granted.request.VimConnectionInfo)
		}
	}
	if run.Deployment == nil {
		return nil
	}
	known := run.Deployment.VimConnectionInfo
	merged, err := grantedConnections(known, grant, true)
	if err != nil {
		return err
	}
	if !sameVim(merged[0], known[0]) {
		return badGrant("the resources of the VNF are in another VIM than that of connection %q, and stay there", merged[0].ID)
	}
	if err := p.tryConnections(ctx, merged); err != nil {
		return err
	}
	run.Deployment.VimConnectionInfo = merged
	if run.Instance.InstantiationState == Instantiated {
		run.Instance.VimConnectionInfo, run.instanceChanged = MaskConnections(merged), true
	}
	return nil
}

func (p *planner) tryConnections(ctx context.Context, connections []VimConnectionInfo) error {
	var invalid *InvalidRequest
	if _, err := p.vims.Choose(ctx, connections); errors.As(err, &invalid) {
		return badGrant("its VIM connection cannot be used: %s", invalid.Detail)
	} else if err != nil {
		return err
	}
	return nil
}

// badGrant says that a grant cannot be made use of.
func badGrant(format string, args ...any) error {
	return &Failure{Title: "Unusable grant", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("the NFVO's grant: "+format, args...)}
}

// decided is what an operation makes of a VNF: what it is computed to be and, with an NFVO, what was granted of that.
func (p *planner) decided(ctx context.Context, run *Run, compute func(context.Context, *Run) (*change, error)) (*change, error) {
	wanted, err := compute(ctx, run)
	if err != nil || !run.has(stepAwaitGrant) {
		return wanted, err
	}
	var (
		prepared grantPlan
		grant    Grant
	)
	if err := run.Output(stepPrepareGrant, &prepared); err != nil {
		return nil, err
	}
	if err := run.Output(stepAwaitGrant, &grant); err != nil {
		return nil, err
	}
	granted, err := prepared.granted(&grant)
	if err != nil {
		return nil, err
	}
	granted.existing, granted.whole = wanted.existing, wanted.whole
	return granted, nil
}

// shaped tells steps of which shape a VNF is to be.
func (p *planner) shaped(compute func(context.Context, *Run) (*change, error)) wantedShape {
	return func(ctx context.Context, run *Run) (shape, error) {
		wanted, err := p.decided(ctx, run, compute)
		if err != nil {
			return shape{}, err
		}
		return wanted.shape, nil
	}
}

// plannedFor are the identifiers that the NFVO was told, none without an NFVO.
func plannedFor(run *Run) (plannedIDs, error) {
	var prepared grantPlan
	if !run.has(stepPrepareGrant) {
		return plannedIDs{}, nil
	}
	err := run.Output(stepPrepareGrant, &prepared)
	return prepared.Planned, err
}
