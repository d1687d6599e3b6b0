package kubetest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// Volume is a PersistentVolume.
type Volume struct {
	Phase  string
	Claim  string // NAMESPACE/NAME that it is, or was, bound to
	Server string // of NFS
	Path   string
}

type persistentVolume struct {
	Volume
	protected bool // it does not go when it is deleted
}

// Change changes a PersistentVolume of the last cluster, as those do who use it. A protected one does not go when it is deleted.
func (w *World) Change(name string, volume Volume, protected bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[len(w.clusters)-1].volumes[name] = &persistentVolume{volume, protected}
}

// applyVolumes plays kubectl apply of PersistentVolumes. The lock is held.
func (m *machine) applyVolumes(s *sshtest.Session) int {
	for decoder := yaml.NewDecoder(s.Stdin); ; {
		var manifest manifest
		err := decoder.Decode(&manifest)
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil || manifest.Kind != "PersistentVolume" || manifest.Spec.NFS.Path == "" {
			_, _ = fmt.Fprintf(s.Stderr, "error: unable to decode %+v: %v\n", manifest, err)
			return 1
		}
		if status := m.applyVolume(s, &manifest); status != 0 {
			return status
		}
	}
}

// manifest is that of a PersistentVolume.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		NFS struct{ Server, Path string } `yaml:"nfs"`
	}
}

func (m *machine) applyVolume(s *sshtest.Session, of *manifest) int {
	name, nfs := of.Metadata.Name, of.Spec.NFS
	switch known := m.cluster.volumes[name]; {
	case known == nil:
		m.cluster.volumes[name] = &persistentVolume{Volume: Volume{Phase: cmp.Or(m.world.options.VolumePhase, "Available"), Server: nfs.Server, Path: nfs.Path}}
		m.tell("has the PersistentVolume %s", name)
	case known.Server != nfs.Server || known.Path != nfs.Path:
		_, _ = fmt.Fprintf(s.Stderr, "The PersistentVolume %q is invalid: spec.persistentvolumesource: Forbidden: is immutable after creation\n", name)
		return 1
	}
	return 0
}

func (c *cluster) volumeList() []any {
	list := []any{}
	for name, v := range c.volumes {
		spec := map[string]any{"nfs": map[string]any{"server": v.Server, "path": v.Path}}
		if namespace, claim, ok := strings.Cut(v.Claim, "/"); ok {
			spec["claimRef"] = map[string]any{"namespace": namespace, "name": claim}
		}
		list = append(list, map[string]any{"metadata": map[string]any{"name": name}, "spec": spec, "status": map[string]any{"phase": v.Phase}})
	}
	return list
}

func (c *cluster) removeVolumes(names []string) {
	for name, v := range c.volumes {
		if slices.Contains(names, name) && !v.protected && v.Phase != "Bound" {
			delete(c.volumes, name)
		}
	}
}
