package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"vnfm/mgmtdriver"
)

// CheckScale refuses a request to scale anything but the workers of a cluster, by one step or to a level: an instantiation level has masters,
// too.
func CheckScale(call *mgmtdriver.Call, workers string) error {
	var request struct {
		AspectID             string
		InstantiationLevelID string
		ScaleInfo            []struct{ AspectID string }
	}
	if err := json.Unmarshal(call.Operation.Request, &request); err != nil {
		return &mgmtdriver.Invalid{Detail: err.Error()}
	}
	if call.Hook == mgmtdriver.ScaleStart || call.Hook == mgmtdriver.ScaleEnd {
		return checkAspect("/aspectId", request.AspectID, workers)
	}
	if request.InstantiationLevelID != "" {
		return &mgmtdriver.Invalid{Attribute: "/instantiationLevelId",
			Detail: "a Kubernetes cluster is scaled by the aspect of its workers: give scaleInfo with that aspect alone"}
	}
	for i, info := range request.ScaleInfo {
		if err := checkAspect(fmt.Sprintf("/scaleInfo/%d/aspectId", i), info.AspectID, workers); err != nil {
			return err
		}
	}
	return nil
}

func checkAspect(attribute, aspect, workers string) error {
	if workers == "" || aspect != workers {
		return &mgmtdriver.Invalid{Attribute: attribute, Detail: fmt.Sprintf(
			"only the workers of a Kubernetes cluster can be scaled, and they are not of the aspect %q", aspect)}
	}
	return nil
}

// HealsAll reports whether a request to heal names no VNFC, so that all of the VNF is meant.
func HealsAll(call *mgmtdriver.Call) bool {
	var request struct{ VnfcInstanceID any }
	if json.Unmarshal(call.Operation.Request, &request) != nil {
		return false
	}
	list, isList := request.VnfcInstanceID.([]any)
	return request.VnfcInstanceID == nil || request.VnfcInstanceID == "" || isList && len(list) == 0
}

// RefuseHeal makes the reason why masters cannot be healed the failure of a step; nil if there is none.
func RefuseHeal(call *mgmtdriver.Call, reason error) error {
	if invalid := (*mgmtdriver.Invalid)(nil); call.Hook == mgmtdriver.HealStart && errors.As(reason, &invalid) {
		return &mgmtdriver.Failure{Title: "Masters cannot be healed", Status: http.StatusConflict, Detail: invalid.Detail}
	}
	return nil
}

// CheckVimName refuses the name of a VIM that another one has. at is the JSON pointer of what has vim_name.
func CheckVimName(ctx context.Context, call *mgmtdriver.Call, at, name string) error {
	taken, err := call.Vims.Taken(ctx, name)
	if err == nil && taken {
		return &mgmtdriver.Invalid{Attribute: at + "/vim_name", Detail: fmt.Sprintf("there is a VIM with the name %q already", name)}
	}
	return err
}

// VimName is the name of the VIM that a cluster is whose request gives it none.
func VimName(call *mgmtdriver.Call) string { return "kubernetes_vim_" + call.Instance.ID }
