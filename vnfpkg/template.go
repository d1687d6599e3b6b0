package vnfpkg

import (
	"context"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is a TOSCA service template with everything that it imports.
type template struct {
	documents []value // roots of the files: the entry definition, then the imports in the order of their first mention
	types     types
}

// loader reads a service template.
type loader struct {
	csar     *CSAR
	budget   *yamlBudget
	problems *problems
	loaded   map[string]bool
	template template
}

// load reads the entry definition and what it imports, however deep. What is wrong with single files goes to the problems; it returns nil
// if one of them cannot be read at all.
func (c *CSAR) load(ctx context.Context, entry string, p *problems) (*template, error) {
	l := loader{
		csar:     c,
		budget:   &yamlBudget{nodes: c.limits.DocumentNodes, depth: c.limits.DocumentDepth},
		problems: p,
		loaded:   map[string]bool{},
		template: template{types: newTypes()},
	}
	// A queue instead of a recursion: cycles of imports end by themselves, and the order is that of the files' mention.
	queue, broken := []string{entry}, false
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if l.loaded[name] {
			continue
		}
		l.loaded[name] = true
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		imports, err := l.read(name)
		if !p.accepts(err) {
			return nil, err
		}
		broken = broken || err != nil
		queue = append(queue, imports...)
	}
	if broken {
		// What the files that can be read lack may be in the others.
		return nil, nil
	}
	return &l.template, nil
}

// read reads one file and returns the names of those that it imports.
func (l *loader) read(name string) ([]string, error) {
	if len(l.template.documents) >= l.csar.limits.Documents {
		return nil, &Invalid{File: name, Reason: "the VNFD has too many files"}
	}
	data, err := l.csar.ReadFile(name, l.csar.limits.DocumentBytes)
	if err != nil {
		return nil, err
	}
	root, err := parseYAML(name, data, l.budget)
	if err != nil {
		return nil, err
	}
	if !root.is(yaml.MappingNode) {
		return nil, &Invalid{File: name, Reason: "not a TOSCA service template"}
	}
	if version := root.at("tosca_definitions_version"); !strings.HasPrefix(version.text(), "tosca_simple_") {
		l.problems.addf(orRoot(version, root), "tosca_definitions_version is %q, not one of TOSCA Simple Profile in YAML", version.text())
	}
	l.template.documents = append(l.template.documents, root)
	l.template.types.add(root)
	return l.imports(name, root), nil
}

// orRoot returns something with a line where the value has none.
func orRoot(v, root value) value {
	if v.node == nil {
		return root
	}
	return v
}

// imports resolves the import definitions of a file (TOSCA 1.2 3.6.8), which come in several notations.
func (l *loader) imports(from string, root value) []string {
	var names []string
	for _, item := range root.at("imports").items() {
		switch file := item.at("file"); {
		case item.is(yaml.ScalarNode):
			names = l.resolve(names, from, item)
		case file.given():
			names = l.resolve(names, from, file)
		default:
			for _, f := range item.fields() {
				if f.is(yaml.ScalarNode) {
					names = l.resolve(names, from, f.value)
				} else {
					names = l.resolve(names, from, orRoot(f.at("file"), f.value))
				}
			}
		}
	}
	return names
}

// wellKnown are the type definitions of the standards, which are not fetched: what is needed of them is built in.
var wellKnown = regexp.MustCompile(
	`^https?://((forge|www|docs|docbox)\.etsi\.org|docs\.oasis-open\.org)/|/etsi_nfv_sol001_[a-z0-9_.-]*types[a-z0-9_.-]*\.ya?ml$`)

func (l *loader) resolve(names []string, from string, file value) []string {
	name := file.text()
	switch {
	case name == "":
		l.problems.addf(file, "an import without a file")
	case strings.Contains(name, "://"):
		if !isURL(name) || !wellKnown.MatchString(name) {
			l.problems.addf(file, "the import %q is not in the package: put the file into it", name)
		}
	case strings.HasPrefix(name, "/"):
		l.problems.addf(file, "the import %q is an absolute path", name)
	default:
		resolved := path.Join(path.Dir(from), name)
		switch {
		case resolved == "..", strings.HasPrefix(resolved, "../"):
			l.problems.addf(file, "the import %q leads out of the package", name)
		case !l.csar.has(resolved):
			l.problems.addf(file, "the import %q is missing: the package has no file %s", name, resolved)
		default:
			names = append(names, resolved)
		}
	}
	return names
}

// names returns the names of the files.
func (t *template) names() []string {
	names := make([]string, len(t.documents))
	for i, document := range t.documents {
		names[i] = document.file
	}
	return names
}
