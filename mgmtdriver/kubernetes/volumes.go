package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/storage"
)

// persistentVolume is what is read of a PersistentVolume of Kubernetes.
type persistentVolume struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		ClaimRef struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"claimRef"`
		NFS struct {
			Server string `json:"server"`
		} `json:"nfs"`
	} `json:"spec"`
	Status struct {
		Phase   string `json:"phase"`
		Message string `json:"message"`
	} `json:"status"`
}

// Phases of a PersistentVolume.
const (
	phaseAvailable = "Available"
	phaseBound     = "Bound"
)

func (c *control) persistentVolumes(ctx context.Context) ([]persistentVolume, error) {
	var list struct{ Items []persistentVolume }
	err := c.JSON(ctx, &list, "get", "persistentvolumes", "-o", "json")
	return list.Items, err
}

func (c *control) removeVolumes(ctx context.Context, names []string) error {
	return c.Run(ctx, slices.Concat([]string{"delete", "persistentvolumes"}, names, []string{"--ignore-not-found", "--wait=false"})...)
}

// registerVolumes makes the PersistentVolumes that are on a new storage server.
func (s *site) registerVolumes(ctx context.Context) (mgmtdriver.Result, error) {
	server, err := s.newStorage()
	if err != nil || len(server) == 0 || len(s.storage.Volumes) == 0 {
		return mgmtdriver.Done(nil), err
	}
	manifests, err := s.storage.Manifests(ctx, s.Call.Package)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	c, err := s.control(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	since := s.Call.Since()
	if s.Call.State == nil {
		if err := s.apply(ctx, c, manifests, server[0].Vnfc); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	there, err := c.persistentVolumes(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	missing, why := unready(manifests, there)
	switch {
	case len(missing) == 0:
		return mgmtdriver.Done(nil), nil
	case time.Since(since) <= s.Config.VolumeTime:
		return mgmtdriver.Wait("not available yet: " + why).With(since), nil
	}
	if err := c.removeVolumes(ctx, missing); err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "PersistentVolume is not available", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
		"Failed to register Persistent volume(Status is not \"Available\" state): after %s %s", s.Config.VolumeTime, why)}
}

// apply makes the PersistentVolumes, or brings them up to date.
func (s *site) apply(ctx context.Context, c *control, manifests []*storage.Manifest, server *mgmtdriver.Vnfc) error {
	ports := slices.Concat(server.Ports, portsOf(s.Call.After), s.Call.Ports)
	// Nodes reach it in their own network.
	ports = slices.DeleteFunc(ports, func(port mgmtdriver.Port) bool { return port.Floating })
	var documents [][]byte
	for _, m := range manifests {
		address := addressOf(m.ServerCp, ports)
		if !address.IsValid() {
			return &mgmtdriver.Failure{Title: "NFS server has no address", Status: http.StatusUnprocessableEntity,
				Detail: fmt.Sprintf("Failed to get NFS server IP address(nfs_server_cp:%s)", m.ServerCp)}
		}
		text, err := m.For(address)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		documents = append(documents, text)
	}
	// All at once: kubectl needs seconds to begin.
	_, err := c.Host.Run(ctx, ssh.Command{Argv: []string{"kubectl", "--kubeconfig", kube.AdminConfig, "apply", "-f", "-"},
		Stdin: bytes.NewReader(bytes.Join(documents, []byte("---\n"))), Root: true})
	if err != nil {
		return fmt.Errorf("register PersistentVolumes: %w", err)
	}
	return nil
}

// unready are the names of the PersistentVolumes that nobody can claim yet and nobody has claimed, and what is said of them.
func unready(manifests []*storage.Manifest, there []persistentVolume) (names []string, why string) {
	var reasons []string
	for _, m := range manifests {
		i := slices.IndexFunc(there, func(v persistentVolume) bool { return v.Metadata.Name == m.Name })
		switch {
		case i < 0:
			reasons = append(reasons, m.Name+" does not exist")
		case there[i].Status.Phase == phaseAvailable, there[i].Status.Phase == phaseBound:
			continue
		default:
			reasons = append(reasons, strings.TrimSpace(fmt.Sprintf("%s is %q %s", m.Name, there[i].Status.Phase, there[i].Status.Message)))
		}
		names = append(names, m.Name)
	}
	return names, strings.Join(reasons, ", ")
}

// goingStorage reports whether the storage server goes and the cluster stays.
func (s *site) goingStorage() bool {
	return s.storage != nil && !s.Whole() && slices.ContainsFunc(s.Call.Removed, func(vnfc mgmtdriver.Vnfc) bool { return s.isStorage(&vnfc) })
}

// refuseVolumesInUse fails if somebody has data on the storage server that goes, before anything is changed. The storage server is not asked: it may
// be dead.
func (s *site) refuseVolumesInUse(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.goingStorage() {
		return mgmtdriver.Done(nil), nil
	}
	_, _, err := s.volumesToRemove(ctx)
	return mgmtdriver.Done(nil), err
}

// removeVolumes removes the PersistentVolumes of the storage server that goes, and waits until they are gone.
func (s *site) removeVolumes(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.goingStorage() {
		return mgmtdriver.Done(nil), nil
	}
	c, left, err := s.volumesToRemove(ctx)
	if err != nil || len(left) == 0 {
		return mgmtdriver.Done(nil), err
	}
	since := s.Call.Since()
	if time.Since(since) > s.Config.VolumeTime {
		return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "PersistentVolume is not removed", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
			"heal_start failed(Persistent volume deletion timeout): after %s there still is %s", s.Config.VolumeTime, strings.Join(left, ", "))}
	}
	if err := c.removeVolumes(ctx, left); err != nil {
		return mgmtdriver.Result{}, err
	}
	return mgmtdriver.Wait("the cluster removes " + strings.Join(left, ", ")).With(since), nil
}

// volumesToRemove are the names of our PersistentVolumes that there are, and the cluster that has them. *[mgmtdriver.Failure] if one of them is bound
// to a claim, or another one whose data is on the storage server.
func (s *site) volumesToRemove(ctx context.Context) (c *control, ours []string, err error) {
	manifests, err := s.storage.Manifests(ctx, s.Call.Package)
	if err != nil {
		return nil, nil, err
	}
	if c, err = s.control(ctx, s.Settled()); err != nil {
		return nil, nil, err
	}
	there, err := c.persistentVolumes(ctx)
	if err != nil {
		return nil, nil, err
	}
	var used []string
	for _, v := range there {
		isOurs := slices.ContainsFunc(manifests, func(m *storage.Manifest) bool { return m.Name == v.Metadata.Name })
		if isOurs {
			ours = append(ours, v.Metadata.Name)
		}
		if v.Status.Phase == phaseBound && (isOurs || s.isOnStorage(v.Spec.NFS.Server)) {
			used = append(used, fmt.Sprintf("heal_start failed(%s Persistent volume is in use): it is bound to the claim %s/%s",
				v.Metadata.Name, v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name))
		}
	}
	if len(used) > 0 {
		return nil, nil, &mgmtdriver.Failure{Title: "PersistentVolume is in use", Status: http.StatusConflict, Detail: strings.Join(used, "\n") +
			"\nremove the pods and their claims first: a PersistentVolume goes with its server, also where its data is kept"}
	}
	return c, ours, nil
}

// isOnStorage reports whether an address is one of the storage server's that goes.
func (s *site) isOnStorage(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && slices.ContainsFunc(s.Call.Removed, func(vnfc mgmtdriver.Vnfc) bool {
		return s.isStorage(&vnfc) && slices.ContainsFunc(vnfc.Ports, func(port mgmtdriver.Port) bool { return slices.Contains(port.Addresses, address) })
	})
}
