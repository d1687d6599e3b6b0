package kubetest

import (
	"cmp"
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

// applyVolume plays kubectl apply of a PersistentVolume. The lock is held.
func (m *machine) applyVolume(s *sshtest.Session) int {
	var manifest struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			NFS struct{ Server, Path string } `yaml:"nfs"`
		}
	}
	text, err := io.ReadAll(s.Stdin)
	if err == nil {
		err = yaml.Unmarshal(text, &manifest)
	}
	if err != nil || manifest.Kind != "PersistentVolume" || manifest.Spec.NFS.Path == "" {
		_, _ = fmt.Fprintf(s.Stderr, "error: unable to decode %q: %v\n", text, err)
		return 1
	}
	name, nfs := manifest.Metadata.Name, manifest.Spec.NFS
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
