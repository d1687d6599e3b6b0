package heat

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/lcm/userdata"
)

// setAssets has a VNF made with the flavors and images, and in the zones, that are not left to the package, and returns the names of the
// templates that it has changed. Where the templates read a value from the parameter nfv, it is given there. Where they do not, as is
// usual with zones, it is written into the servers and volumes themselves: that works alike for groups of every kind, for templates nested
// without a group, and for packages without the parameter nfv.
func setAssets(templates map[string]*yaml.Node, parameters map[string]any, assets lcm.Assets) (changed map[string]bool) {
	nfv, _ := parameters["nfv"].(map[string]any)
	vdus, _ := nfv["VDU"].(map[string]any)
	all := slices.Collect(maps.Values(templates))
	changed = map[string]bool{}
	for _, asset := range []struct {
		parameter, property string
		values              map[string]string
		added               bool // also to a server that does not have the property
	}{
		{"flavor", "flavor", assets.Flavors, false},
		{"image", "image", assets.Images, false},
		{"zone", "availability_zone", assets.Zones, true},
	} {
		for node, value := range asset.values {
			if values, ok := vdus[node].(map[string]any); ok {
				values[asset.parameter] = value
				if userdata.Reads(all, node, asset.parameter) {
					continue
				}
			}
			for name, template := range templates {
				if setProperty(template, node, asset.property, value, asset.added) {
					changed[name] = true
				}
			}
		}
	}
	return changed
}

// setProperty gives a server or volume of a template a property, if it is there, and reports whether it is.
func setProperty(template *yaml.Node, name, key, value string, added bool) bool {
	resource := userdata.Child(userdata.Child(template, "resources"), name)
	kind, properties := userdata.Child(resource, "type"), userdata.Child(resource, "properties")
	if kind == nil || properties == nil || properties.Kind != yaml.MappingNode {
		return false
	}
	isServer := kind.Value == "OS::Nova::Server"
	if !isServer && (kind.Value != "OS::Cinder::Volume" || key != "image") {
		return false
	}
	written := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	for i := 0; i+1 < len(properties.Content); i += 2 {
		if properties.Content[i].Value == key {
			properties.Content[i+1] = written
			return true
		}
	}
	if added {
		properties.Content = append(properties.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, written)
	}
	return added
}
