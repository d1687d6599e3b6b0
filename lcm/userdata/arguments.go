package userdata

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// baseHOTDict is the argument base_hot_dict: the top template as heat_template, and the nested ones by their file names.
func baseHOTDict(base *vnfpkg.BaseHOT) (map[string]any, error) {
	templates := map[string]any{}
	for name, content := range base.Files {
		template, err := templateDict(name, content)
		if err != nil {
			return nil, err
		}
		templates[name] = template
	}
	top, err := templateDict(base.TopName, base.Top)
	templates["heat_template"] = top
	return templates, err
}

func templateDict(name string, content []byte) (any, error) {
	var node yaml.Node
	var template any
	err := yaml.Unmarshal(content, &node)
	if err == nil {
		asHeatReads(&node)
		err = node.Decode(&template)
	}
	if err != nil {
		return nil, &lcm.InvalidRequest{Attribute: "/flavourId",
			Detail: fmt.Sprintf("template %s of the VNF package is not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	return plainKeys(template), nil
}

// yamlBooleans are words that YAML 1.1, which Heat and Python read, takes for booleans, and YAML 1.2 does not.
var yamlBooleans = map[string]string{"yes": "true", "on": "true", "no": "false", "off": "false"}

// asHeatReads makes scalars what they are in Python's reading of YAML, but for dates (such as versions of templates), which stay text:
// JSON has none.
func asHeatReads(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		switch boolean := yamlBooleans[strings.ToLower(node.Value)]; {
		case node.ShortTag() == "!!timestamp":
			node.Tag = "!!str"
		case boolean != "" && node.Style == 0 && node.ShortTag() == "!!str":
			node.Tag, node.Value = "!!bool", boolean
		}
	}
	for _, child := range node.Content {
		asHeatReads(child)
	}
}

// plainKeys turns mappings with keys that are no strings into such that JSON can hold.
func plainKeys(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, element := range value {
			value[key] = plainKeys(element)
		}
	case map[any]any:
		plain := make(map[string]any, len(value))
		for key, element := range value {
			plain[fmt.Sprint(key)] = plainKeys(element)
		}
		return plain
	case []any:
		for i, element := range value {
			value[i] = plainKeys(element)
		}
	}
	return value
}

// masked is the request without the secrets of VIMs, which computing parameters does not need.
func masked(request *lcm.InstantiateRequest) *lcm.InstantiateRequest {
	shown := *request
	shown.VimConnectionInfo = lcm.MaskConnections(request.VimConnectionInfo)
	shown.ExtManagedVirtualLinks = slices.Clone(request.ExtManagedVirtualLinks)
	for i := range shown.ExtManagedVirtualLinks {
		shown.ExtManagedVirtualLinks[i].VnfVirtualLinkDescID = shown.ExtManagedVirtualLinks[i].DescID()
	}
	return &shown
}

// images is the argument grant_info: the image of each VDU and virtual storage that has one, as Heat finds it: by its id, or else by its
// name.
func images(plan lcm.PlanRequest) map[string]any {
	found := map[string]any{}
	add := func(name string, image *vnfpkg.Image) {
		if image == nil {
			return
		}
		identifier := plan.Assets.Images[name]
		if identifier == "" {
			identifier = image.Name
		}
		found[name] = []any{map[string]any{
			"vnfInstanceId": plan.InstanceID, "resourceName": image.Name, "resourceType": "image", "resourceIdentifier": identifier,
		}}
	}
	for _, vdu := range plan.Flavour.Vdus {
		add(vdu.Name, vdu.Image)
	}
	for _, storage := range plan.Flavour.Storages {
		add(storage.Name, storage.Image)
	}
	return found
}

// infoOf is the argument inst_vnf_info: what the VNF consists of before a change, at the given scale levels (nil: those that it has).
func infoOf(plan lcm.PlanRequest, levels map[string]int) map[string]any {
	known := *plan.Existing.Instance.InstantiatedVnfInfo
	known.ScaleStatus = slices.Clone(known.ScaleStatus)
	for i := range known.ScaleStatus {
		if level, ok := levels[known.ScaleStatus[i].AspectID]; ok {
			known.ScaleStatus[i].ScaleLevel = level
		}
	}
	known.AdditionalParams = plan.Existing.Deployment.Request.AdditionalParams // with secrets, as instantiate gets them
	info := copied[any](known).(map[string]any)
	info["vnfInstanceId"], info["instanceId"] = plan.InstanceID, plan.Existing.Deployment.StackID
	return info
}

// instanceOf is the argument vnf_instance.
func instanceOf(plan lcm.PlanRequest, info map[string]any) map[string]any {
	instance := plan.Existing.Instance
	return map[string]any{
		"id": instance.ID, "vnfInstanceName": instance.Name, "vnfInstanceDescription": instance.Description,
		"instantiationState": instance.InstantiationState, "vnfdId": instance.VnfdID, "vnfProvider": instance.Provider,
		"vnfProductName": instance.ProductName, "vnfSoftwareVersion": instance.SoftwareVersion, "vnfdVersion": instance.VnfdVersion,
		"vimConnectionInfo": instance.VimConnectionInfo, "vnfMetadata": instance.Metadata, "instantiatedVnfInfo": info,
	}
}
