package hot

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

// Translate makes the template of a flavour. The errors are *[lcm.InvalidRequest] for what the request asks for and
// *[Untranslatable] for what the VNFD does, all of them joined.
func Translate(r Request) (*Template, error) {
	t := newTranslation(r)
	t.examine()
	if len(t.errs) > 0 {
		return nil, errors.Join(t.errs...)
	}
	t.connect()
	t.virtualLinks()
	t.serverGroups()
	t.vdus()
	if len(t.errs) > 0 {
		return nil, errors.Join(t.errs...)
	}
	return t.template()
}

// Check tells what of a flavour cannot be translated, whatever a request says: *[Untranslatable], all of them joined. A VDU
// whose flavor has to be made is refused here although a grant might name a flavor for it.
func Check(f *vnfpkg.Flavour) error {
	t := newTranslation(Request{Flavour: f, Instantiate: &lcm.InstantiateRequest{}})
	t.examine()
	for _, vdu := range f.Vdus {
		if vdu.Flavor == "" {
			t.demand(vdu)
		}
	}
	if len(t.errs) == 0 {
		t.serverGroups()
		t.groups()
	}
	return errors.Join(t.errs...)
}

// translation is the making of a template.
type translation struct {
	Request
	topology topology
	levels   map[string]int // scale levels by aspect

	connections map[string][]connection // by external connection point
	managed     map[string]string       // network by externally managed virtual link

	top           *scope
	files         map[string]string
	subnets       map[string][]string // names of the subnet resources by virtual link
	groupOf       map[string]string   // name of the server group by VDU
	vduParameters map[string]map[string]any
	cpParameters  map[string]map[string]any

	notes []Note
	errs  []error
}

func newTranslation(r Request) *translation {
	if r.LevelID == "" {
		r.LevelID = r.Instantiate.InstantiationLevelID
	}
	levels := r.ScaleLevels
	if levels == nil {
		levels = r.Flavour.ScaleLevels(r.LevelID)
	}
	return &translation{
		Request:       r,
		topology:      readTopology(r.Flavour),
		levels:        maps.Clone(levels),
		connections:   map[string][]connection{},
		managed:       map[string]string{},
		top:           &scope{description: "deployment flavour " + r.Flavour.ID},
		files:         map[string]string{},
		subnets:       map[string][]string{},
		groupOf:       map[string]string{},
		vduParameters: map[string]map[string]any{},
		cpParameters:  map[string]map[string]any{},
	}
}

func (t *translation) refuse(node, format string, args ...any) {
	t.errs = append(t.errs, &Untranslatable{node, fmt.Sprintf(format, args...)})
}

func (t *translation) invalid(attribute, format string, args ...any) {
	t.errs = append(t.errs, &lcm.InvalidRequest{Attribute: attribute, Detail: fmt.Sprintf(format, args...)})
}

func (t *translation) note(node, detail string) {
	t.notes = append(t.notes, Note{node, detail})
}

// resourceName is what a name of the VNFD must be like to be that of a resource, a parameter and a file.
var resourceName = regexp.MustCompile(`^[\pL\pN_][\pL\pN_. -]{0,200}$`)

// define adds a resource to a template. Names that the translation makes up can be those of other node templates.
func (t *translation) define(s *scope, name string, r object) {
	switch {
	case !resourceName.MatchString(name):
		t.refuse(name, "the name of a resource has letters, digits, spaces, and . _ - only, and 200 characters at most")
	case s.resources.has(name):
		t.refuse(name, "another resource of the template has the same name")
	default:
		s.resources.add(name, r)
	}
}

// nest writes the template of the members of a group and returns the definition of a member. The properties come beside the
// parameters that the template needs.
func (t *translation) nest(s *scope, group string, properties object) object {
	name := group + ".hot.yaml"
	if _, twice := t.files[name]; twice {
		t.refuse(group, "another group of the template has the same name")
	}
	content, err := marshal(s.document())
	if err != nil {
		t.errs = append(t.errs, err)
	}
	t.files[name] = content
	return resource(name, nil, append(properties, s.arguments...))
}

func (t *translation) template() (*Template, error) {
	t.top.parameters = object{{"nfv", object{
		{"type", "json"},
		{"description", "what the request decides: VDU by name with flavor, image, zone; CP by name with network, fixed_ips, mac_address, port"},
	}}}
	top, err := marshal(t.top.document())
	if err != nil {
		return nil, err
	}
	nfv := map[string]any{"VDU": asAny(t.vduParameters), "CP": asAny(t.cpParameters)}
	slices.SortStableFunc(t.notes, compareNotes)
	return &Template{Top: top, Files: t.files, Parameters: map[string]any{"nfv": nfv}, Notes: slices.Compact(t.notes)}, nil
}

func asAny(parameters map[string]map[string]any) map[string]any {
	converted := make(map[string]any, len(parameters))
	for name, value := range parameters {
		converted[name] = value
	}
	return converted
}
