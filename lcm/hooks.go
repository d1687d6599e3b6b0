package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/vnfpkg"
)

// hooks weave the steps of management drivers into operations.
type hooks struct {
	packages PackageSource
	drivers  mgmtdriver.Drivers
	infra    InfraDriver
	keys     HostKeyStore // nil where requests are only checked
	vims     *VimRegistry
	ownVims  OwnVimStore // nil where nothing is done
	log      *slog.Logger
}

// hookPair are the hooks before and after the resources change; "" = none.
type hookPair struct{ start, end mgmtdriver.Hook }

var hooksOf = map[OperationType]hookPair{
	OpInstantiate:   {mgmtdriver.InstantiateStart, mgmtdriver.InstantiateEnd},
	OpScale:         {mgmtdriver.ScaleStart, mgmtdriver.ScaleEnd},
	OpScaleToLevel:  {mgmtdriver.ScaleToLevelStart, mgmtdriver.ScaleToLevelEnd},
	OpChangeFlavour: {mgmtdriver.ChangeFlavourStart, mgmtdriver.ChangeFlavourEnd},
	OpOperate:       {mgmtdriver.OperateStart, mgmtdriver.OperateEnd},
	OpHeal:          {mgmtdriver.HealStart, mgmtdriver.HealEnd},
	OpChangeExtConn: {mgmtdriver.ChangeExtConnStart, mgmtdriver.ChangeExtConnEnd},
	OpTerminate:     {mgmtdriver.TerminateStart, mgmtdriver.TerminateEnd},
	OpModifyInfo:    {mgmtdriver.ModifyStart, mgmtdriver.ModifyEnd},
}

// opposite are the hooks that undo what a hook has begun: those of the operation that leads back.
var opposite = map[mgmtdriver.Hook]mgmtdriver.Hook{
	mgmtdriver.InstantiateEnd:     mgmtdriver.TerminateStart,
	mgmtdriver.InstantiateStart:   mgmtdriver.TerminateEnd,
	mgmtdriver.ScaleEnd:           mgmtdriver.ScaleStart,
	mgmtdriver.OperateEnd:         mgmtdriver.OperateStart,
	mgmtdriver.OperateStart:       mgmtdriver.OperateEnd,
	mgmtdriver.ChangeFlavourEnd:   mgmtdriver.ChangeFlavourStart,
	mgmtdriver.ChangeFlavourStart: mgmtdriver.ChangeFlavourEnd,
	mgmtdriver.ChangeExtConnEnd:   mgmtdriver.ChangeExtConnStart,
	mgmtdriver.ChangeExtConnStart: mgmtdriver.ChangeExtConnEnd,
}

// hooksFor are the hooks of an operation: scaling has one before members go, or one after members have come.
func hooksFor(kind OperationType, params json.RawMessage) (hookPair, error) {
	pair := hooksOf[kind]
	if kind != OpScale {
		return pair, nil
	}
	request, err := decode[ScaleRequest](params)
	if err != nil {
		return hookPair{}, err
	}
	if request.Type == ScaleIn {
		return hookPair{start: pair.start}, nil
	}
	return hookPair{end: pair.end}, nil
}

// flavourIDs are the flavours that a VNF has before and after an operation; "" = none.
func flavourIDs(kind OperationType, params json.RawMessage, info *InstantiatedVnfInfo, deployment *Deployment) (before, after string, err error) {
	var asked struct{ FlavourID, NewFlavourID string }
	if err := json.Unmarshal(params, &asked); err != nil {
		return "", "", &InvalidRequest{Detail: "the body does not fit the operation: " + err.Error()}
	}
	switch {
	case kind == OpInstantiate:
		before = asked.FlavourID
	case info != nil:
		before = info.FlavourID
	case deployment != nil: // left by an instantiation that was given up
		before = deployment.Request.FlavourID
	}
	if kind == OpChangeFlavour {
		return before, asked.NewFlavourID, nil
	}
	return before, before, nil
}

// visit is a hook of a flavour in an operation.
type visit struct {
	hook    mgmtdriver.Hook
	flavour *vnfpkg.Flavour // nil: none, so that no driver is named
	under   string          // of a hook that undoes another one: what the names of its stored steps begin with
	sight   func(*Run) (*sight, error)
}

func (v *visit) driver() string {
	if v.flavour == nil {
		return ""
	}
	return v.flavour.Hooks[string(v.hook)]
}

// weave adds the hooks of an operation to its plan:
//
//	prepare, vnfcs_before, [instantiate_start], instantiate_start/a, …, steps, vnfcs_after, [instantiate_end], instantiate_end/a, …, last
//
// The step that has the name of a hook does nothing; it is there to be undone, by the opposite hook.
func (h *hooks) weave(ctx context.Context, run *Run, p plan) (plan, error) {
	kind := run.Operation.Type
	pair, err := hooksFor(kind, run.Request)
	if err != nil {
		return plan{}, err
	}
	before, after, err := flavourIDs(kind, run.Request, formerInfo(run), run.Deployment)
	if err != nil {
		return plan{}, err
	}
	pkg, err := h.packages.Package(ctx, run.Instance.VnfPkgID)
	if err != nil {
		return plan{}, fmt.Errorf("read VNF package %s: %w", run.Instance.VnfPkgID, err)
	}
	flavours := pkg.Description.Vnfd.Flavours

	startVisit := visit{hook: pair.start, flavour: flavours[before], sight: seenBefore}
	undoStart := visit{hook: opposite[pair.start], flavour: flavours[before], under: string(pair.start) + "/", sight: seenAgain(pair.start)}
	endVisit := visit{hook: pair.end, flavour: flavours[after], sight: seenAfter}
	undoEnd := visit{hook: opposite[pair.end], flavour: flavours[after], under: string(pair.end) + "/", sight: seenBack}
	readAfter := []Step{{Name: stepVnfcsAfter, Do: h.readAfter}}
	afterUndo, afterSteps := readAfter, readAfter
	if kind == OpInstantiate { // undone, it leaves nothing that could be read
		undoStart.sight, afterUndo = seenGone, nil
	}
	if kind == OpTerminate {
		endVisit.sight, afterSteps = seenGone, nil
	}
	start := slices.Concat(undoneBy(pair.start, lead(afterUndo, h.steps(undoStart))), h.steps(startVisit))
	end := lead(afterSteps, slices.Concat(undoneBy(pair.end, h.steps(undoEnd)), h.steps(endVisit)))
	if len(start)+len(end) == 0 {
		return p, nil
	}
	p.prepare = slices.Concat(p.prepare, []Step{{Name: stepVnfcsBefore, Do: h.readBefore}}, start)
	p.steps = slices.Concat(p.steps, end)
	return p, nil
}

// lead puts steps before others, if there are others.
func lead(first, others []Step) []Step {
	if len(others) == 0 {
		return nil
	}
	return slices.Concat(first, others)
}

// undoneBy is the step that is there to be undone, if there is anything to do for that.
func undoneBy(hook mgmtdriver.Hook, undo []Step) []Step {
	if len(undo) == 0 {
		return nil
	}
	nothing := func(context.Context, *Run) (Result, error) { return Done(nil), nil }
	return []Step{{Name: string(hook), Do: nothing, Undo: undo}}
}

// steps are those of the driver that the VNFD names for a hook.
func (h *hooks) steps(v visit) []Step {
	name := v.driver()
	if name == "" {
		return nil
	}
	driver, err := h.drivers.Find(name)
	if err != nil {
		unknown := &Failure{Title: "Unknown management driver", Status: http.StatusInternalServerError, Detail: err.Error()}
		return []Step{{Name: string(v.hook) + "/driver", Do: func(context.Context, *Run) (Result, error) { return Result{}, unknown }}}
	}
	var steps []Step
	for _, step := range driver.Steps(v.hook) {
		steps = append(steps, Step{Name: string(v.hook) + "/" + step.Name, Do: h.do(v, step)})
	}
	return steps
}

// do calls a step of a driver.
func (h *hooks) do(v visit, step mgmtdriver.Step) action {
	return func(ctx context.Context, run *Run) (Result, error) {
		seen, err := v.sight(run)
		if err != nil || seen.idle(v.hook) {
			return Done(nil), err
		}
		call, err := h.callOf(run, v)
		if err != nil {
			return Result{}, err
		}
		seen.show(call, v.flavour)
		call.Log = call.Log.With("step", step.Name)
		files := &packageFiles{source: h.packages, id: run.Instance.VnfPkgID}
		defer files.close()
		call.Package = files
		call.HostKeys = &hostKeys{store: h.keys, run: run}
		call.NodeLogs = &run.nodeLogs
		result, err := step.Do(ctx, call)
		if err != nil {
			return Result{}, driverError(v.driver(), err)
		}
		if result.Again {
			return Result{again: true, after: result.After, detail: Legible(result.Detail), state: result.State}, nil
		}
		return Done(result.Output), nil
	}
}

// check lets the drivers of an operation look at its request, before anything is recorded.
func (h *hooks) check(ctx context.Context, instance *VnfInstance, operation *Operation, params json.RawMessage) error {
	pair, err := hooksFor(operation.Type, params)
	if err != nil {
		return err
	}
	before, after, err := flavourIDs(operation.Type, params, instance.InstantiatedVnfInfo, nil)
	if err != nil {
		return err
	}
	pkg, err := h.packages.Package(ctx, instance.VnfPkgID)
	if err != nil {
		return fmt.Errorf("read VNF package %s: %w", instance.VnfPkgID, err)
	}
	flavours := pkg.Description.Vnfd.Flavours
	run := &Run{Operation: operation, Instance: instance, Request: params}
	for _, v := range []visit{{hook: pair.start, flavour: flavours[before]}, {hook: pair.end, flavour: flavours[after]}} {
		if v.driver() == "" {
			continue
		}
		if err := h.checkVisit(ctx, run, v); err != nil {
			return err
		}
	}
	return nil
}

func (h *hooks) checkVisit(ctx context.Context, run *Run, v visit) error {
	driver, err := h.drivers.Find(v.driver())
	if err != nil {
		return &Unprocessable{Detail: err.Error()}
	}
	call, err := h.callOf(run, v)
	if err != nil {
		return err
	}
	going, err := goingVnfcs(run)
	if err != nil {
		return err
	}
	known := &vnfcs{Vnfcs: described(run.Instance.InstantiatedVnfInfo), Going: going}
	known.before().show(call, v.flavour)
	files := &packageFiles{source: h.packages, id: run.Instance.VnfPkgID}
	defer files.close()
	call.Package = files
	if call.PortNames, err = portNames(ctx, v.flavour, files); err != nil {
		return err
	}
	return checkError(v.driver(), driver.Check(ctx, call))
}

// CheckDrivers returns a check of packages that are being onboarded: every driver that the VNFD names has to be one of drivers.
func CheckDrivers(drivers mgmtdriver.Drivers) func(*vnfpkg.Description) error {
	return func(description *vnfpkg.Description) error {
		for _, flavour := range description.Vnfd.Flavours {
			for hook, name := range flavour.Hooks {
				if _, err := drivers.Find(name); err != nil {
					return &vnfpkg.Invalid{Reason: fmt.Sprintf("flavour %s, %s: %v", flavour.ID, hook, err)}
				}
			}
		}
		return nil
	}
}
