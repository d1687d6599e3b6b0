package vnfpkg

import (
	"slices"
	"strings"
)

// The types of SOL001 that the model is made from.
const (
	typeVNF          = "tosca.nodes.nfv.VNF"
	typeVduCompute   = "tosca.nodes.nfv.Vdu.Compute"
	typeBlockStorage = "tosca.nodes.nfv.Vdu.VirtualBlockStorage"
	typeVduCp        = "tosca.nodes.nfv.VduCp"
	typeVnfExtCp     = "tosca.nodes.nfv.VnfExtCp"
	typeVirtualLink  = "tosca.nodes.nfv.VnfVirtualLink"
	typeSwImage      = "tosca.artifacts.nfv.SwImage"

	typeScalingAspects    = "tosca.policies.nfv.ScalingAspects"
	typeInitialDelta      = "tosca.policies.nfv.VduInitialDelta"
	typeAspectDeltas      = "tosca.policies.nfv.VduScalingAspectDeltas"
	typeLevels            = "tosca.policies.nfv.InstantiationLevels"
	typeVduLevels         = "tosca.policies.nfv.VduInstantiationLevels"
	typeVirtualLinkLevels = "tosca.policies.nfv.VirtualLinkInstantiationLevels"
	typeAffinityRule      = "tosca.policies.nfv.AffinityRule"
	typeAntiAffinityRule  = "tosca.policies.nfv.AntiAffinityRule"
	normativeTypesPrefix  = "tosca."
	maxDerivations        = 20
)

// types are the definitions of node, artifact, policy and group types by name. Names are unique over all kinds in practice.
// A definition is read once, and what is inherited is not copied, so that the work stays in proportion to the VNFD's size.
type types struct {
	definitions map[string]value
	read        map[string]*typeDefinition
}

// typeDefinition is what a definition says itself, without what it inherits.
type typeDefinition struct {
	base       string // derived_from
	properties map[string]value
	required   []string // properties without a default that must be given
}

func newTypes() types {
	return types{definitions: map[string]value{}, read: map[string]*typeDefinition{}}
}

// add takes the definitions of a file. The first definition of a name counts.
func (t types) add(root value) {
	for _, section := range []string{"node_types", "artifact_types", "policy_types", "group_types"} {
		for _, f := range root.at(section).fields() {
			if _, ok := t.definitions[f.name]; !ok {
				t.definitions[f.name] = f.value
			}
		}
	}
}

// definition returns the definition of a type, an empty one if there is none.
func (t types) definition(name string) *typeDefinition {
	if d, ok := t.read[name]; ok {
		return d
	}
	d := &typeDefinition{base: t.definitions[name].at("derived_from").text(), properties: map[string]value{}}
	for _, f := range t.definitions[name].at("properties").fields() {
		d.properties[f.name] = f.value
		if f.at("required").text() != "false" && !f.at("default").given() {
			d.required = append(d.required, f.name)
		}
	}
	t.read[name] = d
	return d
}

// chain returns the definitions of a type and of those that it is derived from, the nearest first. It ends at the types of the
// standards if these are not in the package, and after some in any case.
func (t types) chain(name string) []*typeDefinition {
	var chain []*typeDefinition
	for ; name != "" && len(chain) < maxDerivations; name = chain[len(chain)-1].base {
		chain = append(chain, t.definition(name))
	}
	return chain
}

// is tells whether a type is the base type or derived from it.
func (t types) is(name, base string) bool {
	return name == base || slices.ContainsFunc(t.chain(name), func(d *typeDefinition) bool { return d.base == base })
}

// known tells whether a type is defined, in the package or by the standards.
func (t types) known(name string) bool {
	_, ok := t.definitions[name]
	return ok || strings.HasPrefix(name, normativeTypesPrefix)
}

// property returns the definition of a property of a type: the nearest one.
func (t types) property(name, property string) value {
	for _, d := range t.chain(name) {
		if v, ok := d.properties[property]; ok {
			return v
		}
	}
	return value{}
}

// missing calls yield for each property that a node of a type must have and is not among those given, until it returns false.
func (t types) missing(name string, given map[string]value, yield func(property string) bool) {
	chain := t.chain(name)
	for i, d := range chain {
		for _, property := range d.required {
			redefined := slices.ContainsFunc(chain[:i], func(nearer *typeDefinition) bool {
				_, ok := nearer.properties[property]
				return ok
			})
			if !given[property].given() && !redefined && !yield(property) {
				return
			}
		}
	}
}
