package kubernetes

import (
	"context"
	"net/http"
	"net/netip"
	"slices"

	"fmt"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/storage"
)

// storing are the steps by which a new storage server gets its volumes, exports them, and the cluster has PersistentVolumes there. Each of them
// does nothing if it concerns nobody.
func (d *Driver) storing() []mgmtdriver.Step {
	return []mgmtdriver.Step{
		d.step("volumes", (*site).prepareVolumes),
		d.step("nfs_server", (*site).installServer),
		d.step("exports", (*site).export),
		d.step("nfs_clients", (*site).installClients),
		d.step("persistent_volumes", (*site).registerVolumes),
	}
}

// isStorage reports whether a VNFC is the storage server, which is no node.
func (p *params) isStorage(vnfc *mgmtdriver.Vnfc) bool {
	if p.storage == nil {
		return false
	}
	_, ok := vnfc.Port(p.storage.Server.NicCp)
	return ok || (p.storageVdu != "" && vnfc.VduID == p.storageVdu)
}

// newStorage is the storage server if it has yet to be set up, as something to work on.
func (s *site) newStorage() ([]*kube.Machine, error) {
	if s.storage == nil {
		return nil, nil
	}
	servers := slices.DeleteFunc(slices.Clone(s.Call.After), func(vnfc mgmtdriver.Vnfc) bool { return !s.isStorage(&vnfc) })
	if s.Whole() && len(servers) == 0 || len(servers) > 1 {
		return nil, &mgmtdriver.Failure{Title: "Cluster has no storage server", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"%d VNFCs have the connection point %s; the storage server is one", len(servers), s.storage.Server.NicCp)}
	}
	if len(servers) == 0 || !slices.ContainsFunc(s.Call.Added, func(vnfc mgmtdriver.Vnfc) bool { return vnfc.ServerID == servers[0].ServerID }) {
		return nil, nil
	}
	server := &s.storage.Server
	n := &kube.Machine{Vnfc: &servers[0], Name: servers[0].VduID, Login: server.Login}
	if n.SSH = addressOf(server.SSHCp, append(portsOf(servers), s.Call.Ports...)); !n.SSH.IsValid() {
		return nil, &mgmtdriver.Failure{Title: "VM has no address", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
			"Failed to get IP address for Storage server VM: there is no port or floating IP %s with an address", server.SSHCp)}
	}
	return []*kube.Machine{n}, nil
}

func portsOf(vnfcs []mgmtdriver.Vnfc) []mgmtdriver.Port {
	var ports []mgmtdriver.Port
	for _, vnfc := range vnfcs {
		ports = append(ports, vnfc.Ports...)
	}
	return ports
}

// addressOf is the address of the first port of that name that has one; the zero address if there is none.
func addressOf(name string, ports []mgmtdriver.Port) netip.Addr {
	for _, port := range ports {
		if port.Name == name && len(port.Addresses) > 0 {
			return port.Addresses[0]
		}
	}
	return netip.Addr{}
}

// prepareVolumes gives the volumes of the storage server a file system and mounts them.
func (s *site) prepareVolumes(ctx context.Context) (mgmtdriver.Result, error) {
	server, err := s.newStorage()
	if err != nil || len(server) == 0 {
		return mgmtdriver.Done(nil), err
	}
	limits := storage.Limits{Appear: s.Config.BootTime, Format: s.Config.InstallTime}
	return s.storage.Server.PrepareVolumes(ctx, s.Call, s.Host(server[0]), server[0].Vnfc.Volumes, limits)
}

// installServer installs the NFS server.
func (s *site) installServer(ctx context.Context) (mgmtdriver.Result, error) {
	server, err := s.newStorage()
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	return s.do(ctx, s.install(storage.ServerPackage), server)
}

// installClients lets the new nodes mount what the storage server exports.
func (s *site) installClients(ctx context.Context) (mgmtdriver.Result, error) {
	if s.storage == nil {
		return mgmtdriver.Done(nil), nil
	}
	return s.do(ctx, s.install(storage.ClientPackage), s.New())
}

func (s *site) install(name string) work {
	return work{name: name, root: true, job: func(context.Context, *kube.Machine, *ssh.Host) (*ssh.Job, error) {
		return storage.Install(name, s.proxyEnv()), nil
	}}
}

// export lets nodes mount the directories of the storage server.
func (s *site) export(ctx context.Context) (mgmtdriver.Result, error) {
	server, err := s.newStorage()
	if err != nil || len(server) == 0 {
		return mgmtdriver.Done(nil), err
	}
	if dirs := s.storage.Server.Unmounted(); len(dirs) > 0 {
		s.Call.Log.Warn("directories are exported that are on no volume", "directories", dirs)
	}
	return mgmtdriver.Done(nil), s.storage.Server.Export(ctx, s.Host(server[0]))
}
