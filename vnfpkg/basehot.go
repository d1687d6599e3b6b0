package vnfpkg

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// ErrNoBaseHOT says that the package has no HOT for a flavour: the VNFD's topology is all there is.
var ErrNoBaseHOT = errors.New("no BaseHOT for the flavour")

// BaseHOT is the set of Heat templates that a package brings for a flavour: BaseHOT/<flavour id>/*.yaml, which is one file,
// and the nested templates BaseHOT/<flavour id>/nested/*.yaml.
type BaseHOT struct {
	TopName string            // file name of the top template, without directories
	Top     []byte            // the top template, verbatim
	Files   map[string][]byte // nested templates, verbatim, by the file names that `type:` uses
}

// BaseHOT reads the Heat templates of a flavour. It returns [ErrNoBaseHOT] if there are none, *[Invalid] if there is more
// than one top template or a template is too large.
func (c *CSAR) BaseHOT(flavourID string) (*BaseHOT, error) {
	root := "BaseHOT/" + flavourID
	hot := &BaseHOT{Files: map[string][]byte{}}
	for _, name := range c.names {
		inside := path.Dir(name)
		if !isYAML(name) || (inside != root && inside != root+"/nested") {
			continue
		}
		if len(hot.Files) >= c.limits.Documents {
			return nil, &Invalid{File: root, Reason: fmt.Sprintf("more than %d templates", c.limits.Documents)}
		}
		content, err := c.ReadFile(name, c.limits.DocumentBytes)
		if err != nil {
			return nil, err
		}
		switch {
		case inside != root:
			hot.Files[path.Base(name)] = content
		case hot.TopName != "":
			return nil, &Invalid{File: name, Reason: fmt.Sprintf(
				"a second top template beside %s: a flavour has one, the others belong into %s/nested", hot.TopName, root)}
		default:
			hot.TopName, hot.Top = path.Base(name), content
		}
	}
	if hot.TopName == "" {
		if len(hot.Files) > 0 {
			return nil, &Invalid{File: root, Reason: "nested templates but no top template"}
		}
		return nil, fmt.Errorf("flavour %s: %w", strings.TrimSpace(flavourID), ErrNoBaseHOT)
	}
	return hot, nil
}

// TemplateResources returns the names of the resources of some types, such as OS::Neutron::Port, in the Heat templates of a flavour, sorted;
// none if it has no templates.
func (c *CSAR) TemplateResources(flavourID string, types ...string) ([]string, error) {
	hot, err := c.BaseHOT(flavourID)
	if errors.Is(err, ErrNoBaseHOT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	budget := &yamlBudget{nodes: c.limits.DocumentNodes, depth: c.limits.DocumentDepth}
	found := map[string]bool{}
	add := func(name string, data []byte) error {
		parsed, err := parseYAML(name, data, budget)
		for _, resource := range parsed.at("resources").fields() {
			if slices.Contains(types, resource.at("type").text()) {
				found[resource.name] = true
			}
		}
		return err
	}
	err = add(hot.TopName, hot.Top)
	for name, data := range hot.Files {
		err = errors.Join(err, add(name, data))
	}
	return slices.Sorted(maps.Keys(found)), err
}
