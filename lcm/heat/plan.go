package heat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/lcm/userdata"
	"vnfm/vnfpkg"
)

// Plan implements [lcm.InfraDriver]: the templates are the package's BaseHOT of the flavour, as they are but for the capacity of
// scaling groups, and the parameters come from the user data that the request names, or the standard one.
func (d *Driver) Plan(_ context.Context, request lcm.PlanRequest) (*lcm.Deployment, error) {
	class, err := userdata.ClassOf(request.Request.AdditionalParams)
	if err != nil {
		return nil, err
	}
	hot, err := request.Package.BaseHOT(request.Flavour.ID)
	if errors.Is(err, vnfpkg.ErrNoBaseHOT) {
		return nil, &lcm.InvalidRequest{Attribute: "/flavourId",
			Detail: fmt.Sprintf("the VNF package has no BaseHOT for flavour %s", request.Flavour.ID)}
	}
	if err != nil {
		return nil, err
	}
	top, err := parse(hot.TopName, hot.Top)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(hot.Files))
	var nested []*yaml.Node
	for _, name := range slices.Sorted(maps.Keys(hot.Files)) {
		files[name] = string(hot.Files[name])
		node, err := parse(name, hot.Files[name])
		if err != nil {
			return nil, err
		}
		nested = append(nested, node)
	}
	parameters, err := userdata.Compute(class, userdata.Request{
		Top: top, Nested: nested, Flavour: request.Flavour, Instantiate: request.Request,
	})
	if err != nil {
		return nil, err
	}
	template := hot.Top
	if setCapacities(top, parameters, request) {
		if template, err = encode(top); err != nil {
			return nil, fmt.Errorf("write template %s: %w", hot.TopName, err)
		}
	}
	return &lcm.Deployment{
		StackName:  "vnf-" + request.InstanceID.String(),
		Template:   string(template),
		Files:      files,
		Parameters: parameters,
	}, nil
}

func parse(name string, content []byte) (*yaml.Node, error) {
	node := &yaml.Node{}
	if err := yaml.Unmarshal(content, node); err != nil {
		return nil, &lcm.InvalidRequest{Attribute: "/flavourId",
			Detail: fmt.Sprintf("template %s of the VNF package is not YAML: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	return node, nil
}

func encode(node *yaml.Node) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := yaml.NewEncoder(&encoded)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return encoded.Bytes(), encoder.Close()
}

// setCapacities gives every scaling group the size that the scale levels mean, and reports whether the template has changed. Existing
// packages hold literal capacities, those of the default instantiation level.
func setCapacities(top *yaml.Node, parameters map[string]any, request lcm.PlanRequest) (changed bool) {
	declared := userdata.Parameters(top)
	for _, aspect := range request.Flavour.Aspects {
		size, ok := groupSize(request, aspect.Name)
		if !ok {
			continue
		}
		if name := aspect.Name + "_desired_capacity"; slices.Contains(declared, name) {
			parameters[name] = size
			continue
		}
		if setCapacity(userdata.Child(userdata.Child(top, "resources"), aspect.Name), size) {
			changed = true
		}
	}
	return changed
}

// capacityKeys are the properties with the number of members, by the type of the scaling group.
var capacityKeys = map[string]string{"OS::Heat::AutoScalingGroup": "desired_capacity", "OS::Heat::ResourceGroup": "count"}

// setCapacity gives a scaling group a size, unless the size is computed by the template, and reports whether it had another.
func setCapacity(group *yaml.Node, size int) bool {
	kind, properties := userdata.Child(group, "type"), userdata.Child(group, "properties")
	if kind == nil || capacityKeys[kind.Value] == "" || properties == nil || properties.Kind != yaml.MappingNode {
		return false
	}
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(size)}
	capacity := userdata.Child(properties, capacityKeys[kind.Value])
	switch {
	case capacity == nil:
		properties.Content = append(properties.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: capacityKeys[kind.Value]}, value)
	case capacity.Kind != yaml.ScalarNode, capacity.Value == value.Value:
		return false
	default:
		*capacity = *value
	}
	return true
}

// groupSize is the number of members of an aspect's group: as many as there are instances of a VDU that the aspect scales.
func groupSize(request lcm.PlanRequest, aspect string) (int, bool) {
	for _, deltas := range request.Flavour.AspectDeltas {
		if deltas.Aspect == aspect {
			return request.Flavour.VduCount(deltas.Vdu, request.ScaleLevels, request.Request.InstantiationLevelID), true
		}
	}
	return 0, false
}
