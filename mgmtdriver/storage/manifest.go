package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path"
	"regexp"

	"go.yaml.in/yaml/v3"

	"vnfm/mgmtdriver"
)

// Manifest is that of a PersistentVolume on an NFS server.
type Manifest struct {
	Path     string // in the package
	Name     string // of the PersistentVolume
	Dir      string // spec.nfs.path
	ServerCp string // whose address the server has

	document *yaml.Node
}

// Manifests reads the manifests of all PersistentVolumes. *[mgmtdriver.Failure] if one is not of the kind.
func (p *Params) Manifests(ctx context.Context, pkg mgmtdriver.Package) ([]*Manifest, error) {
	var found []*Manifest
	for _, registration := range p.Volumes {
		m, err := registration.manifest(ctx, pkg)
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

func (r *Registration) manifest(ctx context.Context, pkg mgmtdriver.Package) (*Manifest, error) {
	content, err := mgmtdriver.ReadFile(ctx, pkg, r.Path)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(content)
	if err != nil {
		return nil, &mgmtdriver.Failure{Title: "Manifest cannot be used", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("%s: %v", r.Path, err)}
	}
	m.Path, m.ServerCp = r.Path, r.ServerCp
	return m, nil
}

// volumeName is what Kubernetes takes for the name of a PersistentVolume: a DNS subdomain (RFC 1123).
var volumeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// parseManifest reads the manifest of one PersistentVolume.
func parseManifest(content []byte) (*Manifest, error) {
	document, err := onlyDocument(content)
	if err != nil {
		return nil, err
	}
	var head struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name string `yaml:"name"`
		} `yaml:"metadata"`
		Spec struct {
			NFS *struct {
				Path string `yaml:"path"`
			} `yaml:"nfs"`
		} `yaml:"spec"`
	}
	if err := document.Decode(&head); err != nil {
		return nil, err
	}
	switch {
	case head.APIVersion != "v1" || head.Kind != "PersistentVolume":
		return nil, fmt.Errorf("it is a %q of %q, not a PersistentVolume of v1", head.Kind, head.APIVersion)
	case head.Metadata.Name == "":
		return nil, errors.New("Failed to get Kubernetes PersistentVolume name: it has no metadata.name") //nolint:staticcheck // known words
	case !volumeName.MatchString(head.Metadata.Name) || len(head.Metadata.Name) > 253:
		return nil, fmt.Errorf("metadata.name: %q is not a name for a PersistentVolume", head.Metadata.Name)
	case head.Spec.NFS == nil || field(field(document, "spec"), "nfs") == nil:
		return nil, errors.New("it has no spec.nfs: the volume is not on an NFS server")
	case !path.IsAbs(head.Spec.NFS.Path):
		return nil, errors.New("spec.nfs.path is not an absolute path")
	}
	return &Manifest{Name: head.Metadata.Name, Dir: path.Clean(head.Spec.NFS.Path), document: document}, nil
}

// onlyDocument reads YAML that has one document beside empty ones.
func onlyDocument(content []byte) (*yaml.Node, error) {
	var found *yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		switch {
		case errors.Is(err, io.EOF) && found == nil:
			return nil, errors.New("it is empty")
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		}
		value := document.Content[0]
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" {
			continue
		}
		if found != nil {
			return nil, errors.New("it has several documents; a manifest is one PersistentVolume")
		}
		found = value
	}
}

// field returns the value of a field of a mapping; nil if it has none.
func field(n *yaml.Node, name string) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// For is the manifest with the address of the NFS server.
func (m *Manifest) For(server netip.Addr) ([]byte, error) {
	nfs := field(field(m.document, "spec"), "nfs")
	if nfs.Kind == yaml.AliasNode {
		nfs = nfs.Alias
	}
	address := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: server.String()}
	if old := field(nfs, "server"); old != nil {
		address.Anchor = old.Anchor
		*old = *address
	} else {
		nfs.Content = append(nfs.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "server"}, address)
	}
	return yaml.Marshal(m.document)
}
