package heat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/lcm/hot"
	"vnfm/lcm/userdata"
	"vnfm/vnfpkg"
)

// Plan implements [lcm.InfraDriver]: from the package's BaseHOT of the flavour, or, where it has none, from the topology of the VNFD.
func (d *Driver) Plan(ctx context.Context, request lcm.PlanRequest) (*lcm.Deployment, error) {
	base, err := request.Package.BaseHOT(request.Flavour.ID)
	var deployment *lcm.Deployment
	switch {
	case err == nil:
		deployment, err = d.planBaseHOT(ctx, base, request)
	case errors.Is(err, vnfpkg.ErrNoBaseHOT):
		deployment, err = planTopology(request)
	}
	if err != nil {
		return nil, err
	}
	deployment.StackName = "vnf-" + request.InstanceID.String()
	return deployment, nil
}

// planBaseHOT takes the templates of the package as they are but for the capacity of scaling groups. The parameters come from the user
// data that the request names, or the standard one.
func (d *Driver) planBaseHOT(ctx context.Context, base *vnfpkg.BaseHOT, request lcm.PlanRequest) (*lcm.Deployment, error) {
	choice, err := userdata.Choose(request.Package, request.Request.AdditionalParams)
	if err != nil {
		return nil, err
	}
	top, err := parse(base.TopName, base.Top)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string, len(base.Files))
	templates := map[string]*yaml.Node{base.TopName: top}
	var nested []*yaml.Node
	for _, name := range slices.Sorted(maps.Keys(base.Files)) {
		files[name] = string(base.Files[name])
		node, err := parse(name, base.Files[name])
		if err != nil {
			return nil, err
		}
		nested, templates[name] = append(nested, node), node
	}
	var parameters map[string]any
	switch {
	case choice.Native():
		parameters, err = userdata.Compute(userdata.Request{Top: top, Nested: nested, Flavour: request.Flavour, Instantiate: request.Request})
	case request.CheckOnly:
		parameters = map[string]any{} // the script runs when the operation does
	default:
		parameters, err = d.scripts.Compute(ctx, choice, base, request)
	}
	if err != nil {
		return nil, err
	}
	resized, err := setCapacities(top, parameters, request)
	if err != nil {
		return nil, err
	}
	changed := setAssets(templates, parameters, request.Assets)
	if resized {
		changed[base.TopName] = true
	}
	template := string(base.Top)
	for name := range changed {
		text, err := encode(templates[name])
		if err != nil {
			return nil, fmt.Errorf("write template %s: %w", name, err)
		}
		if name == base.TopName {
			template = string(text)
		} else {
			files[name] = string(text)
		}
	}
	return &lcm.Deployment{Template: template, Files: files, Parameters: parameters}, nil
}

// planTopology translates the VNFD. Images and flavors that the assets do not name are taken from the VIM by the names in the VNFD.
func planTopology(request lcm.PlanRequest) (*lcm.Deployment, error) {
	if _, class, err := userdata.Named(request.Request.AdditionalParams); err != nil || class != "" {
		if err == nil {
			err = &lcm.InvalidRequest{Attribute: "/additionalParams/" + userdata.FileAttribute,
				Detail: fmt.Sprintf("user data goes with a BaseHOT, and the VNF package has none for flavour %s", request.Flavour.ID)}
		}
		return nil, err
	}
	template, err := hot.Translate(hot.Request{
		Flavour: request.Flavour, Instantiate: request.Request, LevelID: request.Request.InstantiationLevelID,
		ScaleLevels: request.ScaleLevels,
		Images:      request.Assets.Images, Flavors: request.Assets.Flavors, Zones: request.Assets.Zones,
	})
	var untranslatable *hot.Untranslatable
	if errors.As(err, &untranslatable) {
		return nil, &lcm.Unprocessable{Attribute: "/flavourId", Detail: "the VNF package has no BaseHOT for flavour " + request.Flavour.ID +
			" and its VNFD cannot be translated: " + err.Error()}
	}
	if err != nil {
		return nil, err
	}
	return &lcm.Deployment{Template: template.Top, Files: template.Files, Parameters: template.Parameters}, nil
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
// packages hold literal capacities, those of the default instantiation level. A size that the templates cannot have is an
// *[lcm.InvalidRequest]: the VNF would be of another size than it says.
func setCapacities(top *yaml.Node, parameters map[string]any, request lcm.PlanRequest) (changed bool, err error) {
	declared := userdata.Parameters(top)
	for _, aspect := range request.Flavour.Aspects {
		size, usual, ok := groupSize(request, aspect.Name)
		if !ok {
			continue
		}
		if name := aspect.Name + "_desired_capacity"; slices.Contains(declared, name) {
			parameters[name] = size
			continue
		}
		group := userdata.Child(userdata.Child(top, "resources"), aspect.Name)
		if group == nil && size != usual {
			return false, wrongSize("the templates of flavour %s have no scaling group %s, whose size is to be %d and not the usual %d",
				request.Flavour.ID, aspect.Name, size, usual)
		}
		if least, most := limits(group); size < least || size > most {
			return false, wrongSize("the scaling group %s of flavour %s is to have %d members, but its template allows %d to %d",
				aspect.Name, request.Flavour.ID, size, least, most)
		}
		if setCapacity(group, size) {
			changed = true
		}
	}
	return changed, nil
}

func wrongSize(format string, args ...any) error {
	return &lcm.InvalidRequest{Attribute: "/instantiationLevelId", Detail: fmt.Sprintf(format, args...)}
}

// limits returns how many members a scaling group may have, as far as its template says so in numbers.
func limits(group *yaml.Node) (least, most int) {
	properties := userdata.Child(group, "properties")
	number := func(key string, otherwise int) int {
		if limit := userdata.Child(properties, key); limit != nil && limit.Kind == yaml.ScalarNode {
			if value, err := strconv.Atoi(limit.Value); err == nil {
				return value
			}
		}
		return otherwise
	}
	return number("min_size", 0), number("max_size", math.MaxInt)
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
		capacity.Value, capacity.Tag, capacity.Style = value.Value, value.Tag, 0
	}
	return true
}

// groupSize is the number of members of an aspect's group: now, and usually, that is at the default instantiation level.
func groupSize(request lcm.PlanRequest, aspect string) (size, usual int, ok bool) {
	usual, ok = request.Flavour.GroupSize(aspect, nil, "")
	size, _ = request.Flavour.GroupSize(aspect, request.ScaleLevels, request.Request.InstantiationLevelID)
	return size, usual, ok
}
