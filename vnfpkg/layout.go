package vnfpkg

import (
	"fmt"
	"path"
	"strings"
)

// metaFile is where the layout with a TOSCA-Metadata directory has its metadata (SOL004 4.1.2).
const (
	metaDirectory = "TOSCA-Metadata"
	metaFile      = metaDirectory + "/TOSCA.meta"
)

// layout is what an archive says about its own structure.
type layout struct {
	entry    string  // the entry definition
	meta     string  // TOSCA.meta, "" in the layout without it
	manifest string  // "" if there is none
	blocks   []block // all but the first of TOSCA.meta, and those of the manifest
}

// layout finds out which of the two layouts of SOL004 4.1 the archive has and reads its metadata.
func (c *CSAR) layout(p *problems) (layout, error) {
	var found layout
	var err error
	if c.has(metaFile) {
		found, err = c.metaLayout(p)
	} else {
		found, err = c.rootLayout()
	}
	if err != nil || found.manifest == "" {
		return found, err
	}
	blocks, err := c.readBlocks(found.manifest)
	found.blocks = append(found.blocks, blocks...)
	return found, err
}

func (c *CSAR) readBlocks(name string) ([]block, error) {
	data, err := c.ReadFile(name, c.limits.DocumentBytes)
	if err != nil {
		return nil, err
	}
	return parseBlocks(name, data)
}

func (c *CSAR) metaLayout(p *problems) (layout, error) {
	blocks, err := c.readBlocks(metaFile)
	if err != nil {
		return layout{}, err
	}
	if len(blocks) == 0 {
		return layout{}, &Invalid{File: metaFile, Reason: "the file is empty"}
	}
	head := blocks[0]
	entry := head.first("Entry-Definitions")
	switch {
	case entry == "":
		return layout{}, head.invalid("Entry-Definitions is missing")
	case !isYAML(entry):
		return layout{}, head.invalid("Entry-Definitions %q is not a .yaml or .yml file", entry)
	case !c.has(entry):
		return layout{}, head.invalid("Entry-Definitions: the package has no file %q", entry)
	}
	for _, key := range []string{"TOSCA-Meta-File-Version", "CSAR-Version"} {
		if version := head.first(key); version != "" && !strings.HasPrefix(version, "1.") {
			p.add(head.invalid("%s is %q, not a version 1", key, version))
		}
	}
	for _, key := range []string{"Tests", "Licenses", "Change-Log", "Certificate"} {
		if name := head.first("ETSI-Entry-"+key, "Entry-"+key); name != "" && !c.hasAny(name) {
			p.add(head.invalid("ETSI-Entry-%s: the package has no file %q", key, name))
		}
	}
	manifest := head.first("ETSI-Entry-Manifest", "Entry-Manifest")
	switch {
	case manifest == "":
	case !strings.HasSuffix(manifest, ".mf"):
		return layout{}, head.invalid("ETSI-Entry-Manifest %q does not end in .mf", manifest)
	case !c.has(manifest):
		return layout{}, head.invalid("ETSI-Entry-Manifest: the package has no file %q", manifest)
	default:
		manifest = path.Clean(manifest)
	}
	return layout{path.Clean(entry), metaFile, manifest, blocks[1:]}, nil
}

// rootLayout is the layout whose entry definition is the only YAML file in the root, with the manifest beside it.
func (c *CSAR) rootLayout() (layout, error) {
	var found layout
	var manifests []string
	for _, name := range c.names {
		switch {
		case strings.HasPrefix(name, metaDirectory+"/"):
			return layout{}, &Invalid{Reason: fmt.Sprintf("the package has a directory %s but no file %s", metaDirectory, metaFile)}
		case strings.Contains(name, "/"):
		case isYAML(name) && found.entry != "":
			return layout{}, &Invalid{File: name, Reason: fmt.Sprintf(
				"a second YAML file in the root, beside %s, and no %s that says which is the VNFD", found.entry, metaFile)}
		case isYAML(name):
			found.entry = name
		case strings.HasSuffix(name, ".mf"):
			manifests = append(manifests, name)
		}
	}
	if found.entry == "" {
		return layout{}, &Invalid{Reason: fmt.Sprintf("the package has neither %s nor a YAML file in the root", metaFile)}
	}
	for _, name := range manifests {
		if want := strings.TrimSuffix(found.entry, path.Ext(found.entry)) + ".mf"; name != want {
			return layout{}, &Invalid{File: name, Reason: fmt.Sprintf("the manifest of %s is named %s", found.entry, want)}
		}
		found.manifest = name
	}
	return found, nil
}

// hasAny tells whether there is a file of that name, or a directory with files.
func (c *CSAR) hasAny(name string) bool {
	name = path.Clean(name)
	for _, file := range c.names {
		if file == name || strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}
