package granttest

import (
	"errors"
	"fmt"
	"slices"

	"vnfm/lcm"
)

// Check tells what is wrong with a grant request by SOL003 9.5.2.2.
func Check(request *lcm.GrantRequest) error {
	for name, value := range map[string]string{
		"vnfInstanceId": request.VnfInstanceID, "vnfLcmOpOccId": request.VnfLcmOpOccID, "vnfdId": request.VnfdID,
		"operation": string(request.Operation), "_links.vnfLcmOpOcc": request.Links.VnfLcmOpOcc.Href,
		"_links.vnfInstance": request.Links.VnfInstance.Href,
	} {
		if value == "" {
			return errors.New(name + " is missing")
		}
	}
	if request.InstantiationLevelID != "" && request.Operation != lcm.OpInstantiate {
		return errors.New("instantiationLevelId goes with INSTANTIATE only")
	}
	if request.FlavourID == "" && (request.Operation == lcm.OpInstantiate || request.Operation == lcm.OpChangeFlavour) {
		return errors.New("flavourId is missing")
	}
	ids := map[string]bool{}
	for _, list := range []struct {
		name        string
		definitions []lcm.ResourceDefinition
		exist       bool
	}{
		{"addResources", request.AddResources, false},
		{"removeResources", request.RemoveResources, true},
		{"updateResources", request.UpdateResources, true},
	} {
		for _, definition := range list.definitions {
			if err := checkDefinition(definition, list.exist); err != nil {
				return fmt.Errorf("%s %s: %w", list.name, definition.ID, err)
			}
			if ids[definition.ID] {
				return fmt.Errorf("%s: the id %s is there twice", list.name, definition.ID)
			}
			ids[definition.ID] = true
		}
	}
	for _, constraint := range request.PlacementConstraints {
		if err := checkConstraint(constraint, ids); err != nil {
			return fmt.Errorf("placementConstraints: %w", err)
		}
	}
	return nil
}

func checkDefinition(definition lcm.ResourceDefinition, exists bool) error {
	types := []lcm.ResourceType{lcm.ResourceCompute, lcm.ResourceVL, lcm.ResourceStorage, lcm.ResourceLinkPort}
	switch {
	case definition.ID == "":
		return errors.New("no id")
	case !slices.Contains(types, definition.Type):
		return fmt.Errorf("no such type: %q", definition.Type)
	case (definition.VduID == "") != (definition.Type == lcm.ResourceVL):
		return fmt.Errorf("vduId %q of a %s", definition.VduID, definition.Type)
	case !exists && definition.ResourceTemplateID == "":
		return errors.New("no resourceTemplateId")
	case exists != (definition.Resource != nil):
		return errors.New("resource is for what exists, and only for that")
	case exists && (definition.Resource.ResourceID == "" || definition.Resource.VimConnectionID == ""):
		return fmt.Errorf("incomplete resource %+v", *definition.Resource)
	}
	return nil
}

func checkConstraint(constraint lcm.PlacementConstraint, ids map[string]bool) error {
	if !slices.Contains([]string{"AFFINITY", "ANTI_AFFINITY"}, constraint.AffinityOrAntiAffinity) {
		return fmt.Errorf("affinityOrAntiAffinity %q", constraint.AffinityOrAntiAffinity)
	}
	if !slices.Contains([]string{"NFVI_POP", "ZONE", "ZONE_GROUP", "NFVI_NODE"}, constraint.Scope) {
		return fmt.Errorf("scope %q", constraint.Scope)
	}
	if len(constraint.Resource) < 2 {
		return errors.New("fewer than two resources")
	}
	for _, reference := range constraint.Resource {
		known := reference.IDType == "GRANT" && ids[reference.ResourceID] || reference.IDType == "RES_MGMT" && reference.ResourceID != ""
		if !known {
			return fmt.Errorf("unknown resource %+v", reference)
		}
	}
	return nil
}
