package userdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"

	"vnfm/lcm"
	"vnfm/lcm/userdata/python"
	"vnfm/vnfpkg"
)

// Scripts runs the user data classes that packages bring. Its methods may be called concurrently.
type Scripts struct{ runner *python.Runner }

// NewScripts returns scripts that a runner runs.
func NewScripts(runner *python.Runner) *Scripts { return &Scripts{runner} }

// Compute returns the parameters for the top HOT: what the method instantiate returns for a VNF that is made from nothing. For one that
// exists they are those that it has, with the connection points moved that the request moves, and then given to the method scale or heal
// of the class for what is scaled or healed, if the class has it. A VNF that is healed as a whole is no exception, so that it comes back
// as it was scaled.
//
// What is wrong with the script is an *[lcm.Failure] with its own message, without the secrets of the request.
func (s *Scripts) Compute(ctx context.Context, choice Choice, base *vnfpkg.BaseHOT, plan lcm.PlanRequest) (map[string]any, error) {
	call, err := callFor(base, plan)
	if err != nil {
		return nil, err
	}
	if call == nil {
		return movedParameters(plan)
	}
	script := python.Script{Package: plan.Package, File: choice.File, Class: choice.Class}
	parameters, err := s.runner.Run(ctx, script, *call)
	var failed *python.Failed
	var unable *python.Unable
	switch {
	case errors.As(err, &failed):
		return nil, &lcm.Failure{Title: "LCM-operation user data failed", Status: http.StatusInternalServerError,
			Detail: lcm.Redact(fmt.Sprintf("%s.%s of %s: %s", choice.Class, call.Method, choice.File, err), any(plan.Request.AdditionalParams))}
	case errors.As(err, &unable):
		return nil, &lcm.Failure{Title: "LCM-operation user data cannot be run", Status: http.StatusInternalServerError, Detail: err.Error()}
	case errors.Is(err, python.ErrBusy):
		return nil, &lcm.Unavailable{Peer: "user data script " + choice.File, Err: err}
	}
	return parameters, err
}

// callFor tells what of the class is called for an operation; nil: nothing.
func callFor(base *vnfpkg.BaseHOT, plan lcm.PlanRequest) (*python.Call, error) {
	templates, err := baseHOTDict(base)
	if err != nil {
		return nil, err
	}
	vnfd := map[string]any{"tosca_definitions_version": "tosca_simple_yaml_1_2", "topology_template": plan.Flavour.Raw}
	common := []python.Argument{{Value: templates}, {Value: vnfd}}
	if plan.Existing == nil {
		return &python.Call{Method: "instantiate", Arguments: [][]python.Argument{append(common,
			python.Argument{Kind: "InstantiateVnfRequest", Value: masked(plan.Request)},
			python.Argument{Kind: map[string]any{"*": []any{"VnfResource"}}, Value: images(plan)},
		)}}, nil
	}
	method, requests := "scale", scalings(plan)
	if plan.Existing.Heal != nil {
		method, requests = "heal", []hookRequest{healing(plan)}
	}
	if len(requests) == 0 {
		return nil, nil
	}
	parameters, err := movedParameters(plan)
	if err != nil {
		return nil, err
	}
	call := &python.Call{Method: method, Optional: true, Parameters: parameters}
	for _, request := range requests {
		info := infoOf(plan, request.levels)
		call.Arguments = append(call.Arguments, append(common[:2:2],
			request.request,
			python.Argument{Kind: "VnfInstance", Value: instanceOf(plan, info)},
			python.Argument{Kind: "InstantiatedVnfInfo", Value: info},
			python.Argument{Kind: python.Parameters},
			request.last,
		))
	}
	return call, nil
}

// hookRequest is what a hook gets for one request: the request, the scale levels before it, and the last argument, which is the number
// of members that a group is to have, or the VNFCs to be healed.
type hookRequest struct {
	request, last python.Argument
	levels        map[string]int
}

func scalings(plan lcm.PlanRequest) []hookRequest {
	levels := map[string]int{}
	for _, scale := range plan.Existing.Instance.InstantiatedVnfInfo.ScaleStatus {
		levels[scale.AspectID] = scale.ScaleLevel
	}
	var requests []hookRequest
	for _, scale := range plan.Existing.Scale {
		before := maps.Clone(levels)
		levels[scale.AspectID] = plan.ScaleLevels[scale.AspectID]
		size, _ := plan.Flavour.GroupSize(scale.AspectID, levels, plan.Request.InstantiationLevelID)
		requests = append(requests, hookRequest{
			request: python.Argument{Kind: "ScaleVnfRequest", Value: scale}, levels: before, last: python.Argument{Value: size},
		})
	}
	return requests
}

func healing(plan lcm.PlanRequest) hookRequest {
	heal := plan.Existing.Heal
	var vnfcs []lcm.VnfcResourceInfo
	for _, vnfc := range plan.Existing.Instance.InstantiatedVnfInfo.VnfcResourceInfo {
		if heal.Includes(vnfc.ID) {
			vnfcs = append(vnfcs, vnfc)
		}
	}
	return hookRequest{
		request: python.Argument{Kind: "HealVnfRequest", Value: heal},
		last:    python.Argument{Kind: []any{"VnfcResourceInfo"}, Value: vnfcs},
	}
}

// movedParameters are the parameters that the VNF has, with the connection points where the request has them now: they are expected at
// nfv.CP, where all user data in use puts them.
func movedParameters(plan lcm.PlanRequest) (map[string]any, error) {
	parameters := copied[map[string]any](plan.Existing.Deployment.Parameters)
	nfv, _ := parameters["nfv"].(map[string]any)
	cps, _ := nfv["CP"].(map[string]any)
	for _, link := range plan.Request.ExtVirtualLinks {
		for _, data := range link.ExtCps {
			now := cpValues(plan.Request, data.CpdID)
			if reflect.DeepEqual(now, cpValues(plan.Existing.Deployment.Request, data.CpdID)) {
				continue
			}
			cp, ok := cps[data.CpdID].(map[string]any)
			if !ok {
				return nil, &lcm.Failure{Title: "Connectivity cannot be changed", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
					"the user data class of the VNF has made no parameter nfv.CP.%s that could be changed", data.CpdID)}
			}
			cp["network"], cp["fixed_ips"] = now["network"], now["fixed_ips"]
		}
	}
	return parameters, nil
}

// copied is a deep copy of a value, or its plain form as T, by way of JSON.
func copied[T any](value any) T {
	var fresh T
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, &fresh)
	}
	if err != nil {
		panic(fmt.Sprintf("copy %T: %v", value, err)) // it was read from JSON
	}
	return fresh
}
