package kube

import (
	"encoding/json"
	"fmt"

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
