package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/param"
)

// The attributes of a cluster that this package reads.
const (
	ServerParameter  = "storage_server"
	VolumesParameter = "pv_registration_params"
)

// Params say what storage a cluster has.
type Params struct {
	Server  Server
	Volumes []Registration
}

// Server is the VM that has the volumes.
type Server struct {
	SSHCp   string // the port, or floating IP, by which it is logged in to
	NicCp   string // the connection point by which the VM is known
	Login   param.Login
	Mounts  []Mount
	Exports []Export
}

// Mount is where a volume is mounted.
type Mount struct {
	Volume string // its name
	Dir    string
}

// Export is a directory and who may mount it.
type Export struct {
	Dir string
	To  string // a network
}

// Registration is a PersistentVolume that the cluster is to have.
type Registration struct {
	Path     string // of its manifest in the package
	ServerCp string // the connection point whose address is that of the NFS server
}

// Read reads the parameters of a cluster; nil if it has no storage server. The reader notes what is wrong.
func Read(r *param.Reader) *Params {
	if !r.Has(ServerParameter) {
		if len(r.Objects(VolumesParameter)) > 0 {
			r.Refuse(VolumesParameter, "there is no %s that could have the volumes.", ServerParameter)
		}
		return nil
	}
	s := r.Object(ServerParameter)
	p := &Params{Server: Server{SSHCp: s.Required("ssh_cp_name"), NicCp: s.Optional("nic_cp_name"), Login: s.Login("")}}
	home := "/home/" + p.Server.Login.Username
	p.Server.Mounts, p.Server.Exports = readMounts(s, home), readExports(s, home)
	if p.Server.NicCp == "" {
		p.Server.NicCp = p.Server.SSHCp
	}
	for _, entry := range r.Objects(VolumesParameter) {
		p.Volumes = append(p.Volumes, Registration{Path: entry.File("pv_manifest_file_path", true), ServerCp: entry.Required("nfs_server_cp")})
	}
	return p
}

func readMounts(s *param.Reader, home string) []Mount {
	var found []Mount
	for _, entry := range list(s, "cinder_volume_setup_params") {
		mount := Mount{Volume: entry.Required("volume_resource_id"), Dir: directory(entry, "mount_to", home)}
		if slices.ContainsFunc(found, func(m Mount) bool { return m.Volume == mount.Volume }) {
			entry.Invalid("volume_resource_id", "%s is mounted twice.", mount.Volume)
		}
		if slices.ContainsFunc(found, func(m Mount) bool { return m.Dir == mount.Dir }) {
			entry.Invalid("mount_to", "two volumes are mounted at %s.", mount.Dir)
		}
		found = append(found, mount)
	}
	return found
}

func readExports(s *param.Reader, home string) []Export {
	var found []Export
	for _, entry := range list(s, "nfs_server_setup_params") {
		export := Export{Dir: directory(entry, "export_dir", home), To: clients(entry, "export_to")}
		if slices.Contains(found, export) {
			entry.Invalid("export_dir", "%s is exported to %s twice.", export.Dir, export.To)
		}
		found = append(found, export)
	}
	return found
}

// list reads a list that has to have an element.
func list(r *param.Reader, name string) []*param.Reader {
	entries := r.Objects(name)
	if len(entries) == 0 {
		r.Missing(name)
	}
	return entries
}

// plainPath are paths that need no quotes in /etc/fstab, /etc/exports and the answers of exportfs.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_.+@-]+)+$`)

// A machine whose directories are covered by a volume, or given to nobody, does not let one in any more, or does not start.
var (
	systemDirs  = []string{"/home", "/opt", "/root", "/tmp", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool", "/var/tmp"}
	systemTrees = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr",
		"/var/lib/vnfm", "/var/lock", "/var/run"}
)

// directory reads an absolute path, of none of the system's directories and not of the home of who logs in.
func directory(r *param.Reader, name, home string) string {
	dir := r.Required(name)
	switch {
	case !path.IsAbs(dir) || dir != path.Clean(dir) || dir == "/":
		r.Invalid(name, "it must be an absolute path without /./, /../ and / at its end, and not / itself.")
	case !plainPath.MatchString(dir):
		r.Invalid(name, "it may have letters, digits, and _ . + @ - in its names.")
	case slices.Contains(systemDirs, dir), slices.ContainsFunc(systemTrees, func(tree string) bool { return within(dir, tree) }):
		r.Invalid(name, "%s is a directory of the operating system.", dir)
	case dir == home:
		r.Invalid(name, "%s is the home of who logs in.", dir)
	}
	return dir
}

// clients reads a network, or a single address. That becomes a network, too: exportfs would look for the names of a host.
func clients(r *param.Reader, name string) string {
	text := r.Required(name)
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()).String()
	}
	return r.Network(name, "").String()
}

// Check refuses parameters that do not fit the package, with *[mgmtdriver.Invalid]. pointer is that of the parameters of the cluster.
func (p *Params) Check(ctx context.Context, call *mgmtdriver.Call, pointer string) error {
	if p == nil {
		return nil
	}
	at := pointer + "/" + ServerParameter
	if err := cmp.Or(p.Server.checkVdu(call.Vdus, at), call.CheckPort(at+"/ssh_cp_name", p.Server.SSHCp)); err != nil {
		return err
	}
	paths := map[string]string{} // by name
	for i, registration := range p.Volumes {
		at := fmt.Sprintf("%s/%s/%d", pointer, VolumesParameter, i)
		if err := call.CheckPort(at+"/nfs_server_cp", registration.ServerCp); err != nil {
			return err
		}
		attribute := at + "/pv_manifest_file_path"
		m, err := registration.manifest(ctx, call.Package)
		if failure := (*mgmtdriver.Failure)(nil); errors.As(err, &failure) {
			return &mgmtdriver.Invalid{Attribute: attribute, Detail: failure.Detail}
		} else if err != nil {
			return err
		}
		if other, known := paths[m.Name]; known {
			return &mgmtdriver.Invalid{Attribute: attribute, Detail: fmt.Sprintf("%s and %s are PersistentVolumes of the same name, %s", other, registration.Path, m.Name)}
		}
		paths[m.Name] = registration.Path
		if p.Server.owns(call.Vdus, registration.ServerCp) && !p.Server.exports(m.Dir) {
			return &mgmtdriver.Invalid{Attribute: attribute, Detail: fmt.Sprintf(
				"%s: the storage server does not export %s: it is neither an export_dir nor below one", registration.Path, m.Dir)}
		}
	}
	return nil
}

// VduID is the VDU that the storage server is of, as far as the VNFD tells; "" if it does not.
func (s *Server) VduID(vdus []mgmtdriver.Vdu) string {
	for _, vdu := range vdus {
		if slices.Contains(vdu.Cps, s.NicCp) {
			return vdu.ID
		}
	}
	return ""
}

// owns reports whether a connection point is one of the storage server's, as far as the VNFD tells.
func (s *Server) owns(vdus []mgmtdriver.Vdu, cp string) bool {
	own := s.VduID(vdus)
	return slices.ContainsFunc(vdus, func(vdu mgmtdriver.Vdu) bool { return vdu.ID == own && slices.Contains(vdu.Cps, cp) })
}

// exports reports whether a directory is exported, or within one that is.
func (s *Server) exports(dir string) bool {
	return slices.ContainsFunc(s.Exports, func(e Export) bool { return within(dir, e.Dir) })
}

// within reports whether a directory is another one or below it.
func within(dir, other string) bool {
	return dir == other || len(dir) > len(other) && dir[:len(other)] == other && dir[len(other)] == '/'
}

// checkVdu compares the parameters with what the VNFD says of the VDU.
func (s *Server) checkVdu(vdus []mgmtdriver.Vdu, pointer string) error {
	if len(vdus) == 0 {
		return nil
	}
	i := slices.IndexFunc(vdus, func(vdu mgmtdriver.Vdu) bool { return slices.Contains(vdu.Cps, s.NicCp) })
	if i < 0 {
		return &mgmtdriver.Invalid{Attribute: pointer + "/" + s.knownBy(), Detail: fmt.Sprintf("no VDU of the flavour has the connection point %s", s.NicCp)}
	}
	vdu := vdus[i]
	if vdu.AspectID != "" {
		return &mgmtdriver.Invalid{Attribute: pointer + "/" + s.knownBy(), Detail: fmt.Sprintf(
			"a cluster has one storage server, but %s is the connection point of %s, which is scaled by %s", s.NicCp, vdu.ID, vdu.AspectID)}
	}
	for i, mount := range s.Mounts {
		// The templates may call a volume otherwise than the VNFD, which then names none.
		if len(vdu.Storages) > 0 && !slices.Contains(vdu.Storages, mount.Volume) {
			return &mgmtdriver.Invalid{Attribute: fmt.Sprintf("%s/cinder_volume_setup_params/%d/volume_resource_id", pointer, i), Detail: fmt.Sprintf(
				"%s is not a virtual storage of %s", mount.Volume, vdu.ID)}
		}
	}
	return nil
}

// knownBy is the attribute by which the VM is known.
func (s *Server) knownBy() string {
	if s.NicCp == s.SSHCp {
		return "ssh_cp_name"
	}
	return "nic_cp_name"
}
