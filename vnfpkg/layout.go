package vnfpkg

import (
	"crypto/x509"
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

	certificate string // the file with the certificate of the signer, "" if there is none
	signed      []byte // what the signature in the manifest is of
	signature   *signature
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
	return found, c.readManifest(&found)
}

// readManifest reads the blocks and the signature of the manifest.
func (c *CSAR) readManifest(found *layout) error {
	data, err := c.ReadFile(found.manifest, c.limits.DocumentBytes)
	if err != nil {
		return err
	}
	content, cms, line, err := cutSignature(found.manifest, data)
	if err != nil {
		return err
	}
	blocks, err := parseBlocks(found.manifest, content)
	if err != nil {
		return err
	}
	found.blocks = append(found.blocks, blocks...)
	if cms == nil {
		return nil
	}
	found.signed, found.signature = content, &signature{file: found.manifest, line: line, data: cms}
	if found.certificate != "" {
		found.signature.certificates, err = c.readCertificates(found.certificate)
	}
	return err
}

func (c *CSAR) readCertificates(name string) ([]*x509.Certificate, error) {
	data, err := c.ReadFile(name, maxSignatureBytes)
	if err != nil {
		return nil, err
	}
	return parseCertificates(name, data)
}

func (c *CSAR) metaLayout(p *problems) (layout, error) {
	data, err := c.ReadFile(metaFile, c.limits.DocumentBytes)
	if err != nil {
		return layout{}, err
	}
	blocks, err := parseBlocks(metaFile, data)
	if err != nil {
		return layout{}, err
	}
	if len(blocks) == 0 {
		return layout{}, &Invalid{File: metaFile, Reason: "the file is empty"}
	}
	head := blocks[0]
	const entryKey = "Entry-Definitions"
	entry := head.first(entryKey)
	switch {
	case entry == "":
		return layout{}, head.invalid(entryKey + " is missing")
	case !isYAML(entry):
		return layout{}, head.invalidField([]string{entryKey}, entryKey+" %q is not a .yaml or .yml file", entry)
	case !c.has(entry):
		return layout{}, head.invalidField([]string{entryKey}, entryKey+": the package has no file %q", entry)
	}
	for _, key := range []string{"TOSCA-Meta-File-Version", "CSAR-Version"} {
		if version := head.first(key); version != "" && !strings.HasPrefix(version, "1.") {
			p.add(head.invalidField([]string{key}, "%s is %q, not a version 1", key, version))
		}
	}
	for _, key := range []string{"Tests", "Licenses", "Change-Log", "Certificate"} {
		keys := entryKeys(key)
		if name := head.first(keys...); name != "" && !c.hasAny(name) {
			p.add(head.invalidField(keys, "ETSI-Entry-%s: the package has no file %q", key, name))
		}
	}
	manifestKeys := entryKeys("Manifest")
	manifest := head.first(manifestKeys...)
	switch {
	case manifest == "":
	case !strings.HasSuffix(manifest, ".mf"):
		return layout{}, head.invalidField(manifestKeys, "ETSI-Entry-Manifest %q does not end in .mf", manifest)
	case !c.has(manifest):
		return layout{}, head.invalidField(manifestKeys, "ETSI-Entry-Manifest: the package has no file %q", manifest)
	default:
		manifest = path.Clean(manifest)
	}
	found := layout{entry: path.Clean(entry), meta: metaFile, manifest: manifest, blocks: blocks[1:]}
	if name := head.first(entryKeys("Certificate")...); c.has(name) {
		found.certificate = path.Clean(name)
	}
	return found, nil
}

// entryKeys are the keys of TOSCA.meta for a file of that kind, in SOL004 and before it.
func entryKeys(kind string) []string { return []string{"ETSI-Entry-" + kind, "Entry-" + kind} }

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
		base := strings.TrimSuffix(found.entry, path.Ext(found.entry))
		if name != base+".mf" {
			return layout{}, &Invalid{File: name, Reason: fmt.Sprintf("the manifest of %s is named %s", found.entry, base+".mf")}
		}
		found.manifest = name
		if c.has(base + ".cert") {
			found.certificate = base + ".cert"
		}
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
