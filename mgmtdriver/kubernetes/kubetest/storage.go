package kubetest

import (
	"fmt"
	"slices"
	"strings"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// Disk is a volume as machines see it. It outlives them.
type Disk struct {
	Absent  bool     // no machine sees it by its serial number
	Device  string   // where it is on every machine; "" = anywhere
	Content string   // type of what is on it, such as ext4; "" = nothing, "unknown" = what blkid does not know. One that begins with "pt:" is a partition table
	Parts   []string // devices on it
	uuid    string
}

// Plug says what the volume with that id is like. Those that nobody has said anything of are empty, and there as soon as somebody looks for them.
func (w *World) Plug(volume string, disk Disk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if disk.Content != "" {
		disk.uuid = random(32)
	}
	w.disks[volume[:min(len(volume), 20)]] = &disk
}

// Disk is what the volume with that id is like now.
func (w *World) Disk(volume string) Disk {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.disks[volume[:min(len(volume), 20)]]; d != nil {
		return *d
	}
	return Disk{}
}

// device is where the machine has a disk; "" if it does not see it. The lock is held.
func (m *machine) device(volume string) string {
	d := m.world.disks[volume]
	if d == nil {
		d = &Disk{}
		m.world.disks[volume] = d
	}
	if d.Absent {
		return ""
	}
	for device, known := range m.devices {
		if known == d {
			return device
		}
	}
	device := "/dev/vd" + string(rune('b'+len(m.devices)))
	m.devices[device] = d
	return device
}

// storage plays what looks at disks and mounts them. The lock is held.
func (m *machine) storage(s *sshtest.Session, args []string) int {
	last := args[len(args)-1]
	disk := m.devices[last]
	for _, d := range m.world.disks {
		if d.Device != "" && d.Device == last {
			disk, m.devices[last] = d, d
		}
	}
	command := s.Argv[0] + " " + strings.Join(args[:len(args)-1], " ")
	switch {
	case strings.HasPrefix(command, "readlink -e -- "):
		const link = "/dev/disk/by-id/virtio-"
		for _, arg := range args[2:] {
			if id, ok := strings.CutPrefix(arg, link); ok && len(id) <= 20 {
				if device := m.device(id); device != "" {
					_, _ = fmt.Fprintln(s.Stdout, device)
				}
			}
		}
		return 1 // there is no disk that has all names
	case command == "lsblk -J -p -o NAME,TYPE,SERIAL" && disk == nil:
		_, _ = fmt.Fprintf(s.Stderr, "lsblk: %s: not a block device\n", last)
		return 32
	case command == "lsblk -J -p -o NAME,TYPE,SERIAL":
		parts := []any{}
		for _, part := range disk.Parts {
			parts = append(parts, map[string]any{"name": part, "type": "part", "serial": nil})
		}
		return answer(s, map[string]any{"blockdevices": []any{map[string]any{"name": last, "type": "disk", "serial": nil, "children": parts}}})
	case command == "blkid -p -o export" && s.Root, command == "blkid -p -o value -s UUID" && s.Root:
		return blkid(s, disk, strings.HasSuffix(command, "UUID"))
	case s.Argv[0] == "sh" && len(args) == 4 && args[2] == "look-for-content" && s.Root && disk != nil:
		return map[bool]int{true: 0, false: 1}[disk.Content == ""]
	case strings.HasPrefix(command, "test -e") && s.Root:
		return 1 // no formatting is killed
	case s.Argv[0] == "sh" && len(args) == 5 && args[2] == "make-ext4" && strings.Contains(args[1], "mkfs.ext4") && s.Root && disk != nil:
		if disk.Content != "" {
			m.world.surprise("%s: %s is formatted, which has %s", m.addresses[0], last, disk.Content)
		}
		disk.Content, disk.uuid = "ext4", random(32)
		m.tell("makes ext4 on %s", last)
		return 0
	case strings.HasPrefix(command, "mkdir -p --") && s.Root:
		m.dirs = append(m.dirs, args[2:]...)
		return 0
	case command == "findmnt -n -o SOURCE --mountpoint":
		if m.mounts[last] == "" {
			return 1
		}
		_, _ = fmt.Fprintln(s.Stdout, m.mounts[last])
		return 0
	case command == "mount " && s.Root && len(args) == 1:
		return m.mount(s, last)
	}
	return m.unknown(s)
}

func blkid(s *sshtest.Session, disk *Disk, uuid bool) int {
	kind, value := "TYPE", ""
	if disk != nil {
		value = disk.Content
	}
	if table, ok := strings.CutPrefix(value, "pt:"); ok {
		kind, value = "PTTYPE", table
	}
	switch {
	case value == "", value == "unknown":
		return 2
	case value == "ambiguous":
		return 8
	case uuid:
		_, _ = fmt.Fprintln(s.Stdout, disk.uuid)
	default:
		_, _ = fmt.Fprintf(s.Stdout, "DEVNAME=/dev/x\nUUID=%s\n%s=%s\n", disk.uuid, kind, value)
	}
	return 0
}

// mount mounts what /etc/fstab says.
func (m *machine) mount(s *sshtest.Session, dir string) int {
	for line := range strings.Lines(m.read("/etc/fstab")) {
		fields := strings.Fields(line)
		if len(fields) != 6 || fields[1] != dir {
			continue
		}
		for device, disk := range m.devices {
			if disk.Content == fields[2] && "UUID="+disk.uuid == fields[0] && strings.Contains(fields[3], "nofail") && slices.Contains(m.dirs, dir) {
				m.mounts[dir] = device
				m.tell("mounts %s at %s", device, dir)
				return 0
			}
		}
	}
	_, _ = fmt.Fprintf(s.Stderr, "mount: %s: can't find in /etc/fstab.\n", dir)
	return 1
}

const exportsFile = "/etc/exports.d/kubernetes.exports"

// nfs plays apt and the NFS server. The lock is held.
func (m *machine) nfs(s *sshtest.Session) int {
	switch command := strings.Join(s.Argv, " "); {
	case !s.Root:
	case s.Argv[0] == "sh" && len(s.Argv) == 5 && s.Argv[3] == "install-package" && s.Env["DEBIAN_FRONTEND"] == "noninteractive":
		m.apt = s.Env
		if !slices.Contains(m.packages, s.Argv[4]) {
			m.packages = append(m.packages, s.Argv[4])
			m.tell("installs %s", s.Argv[4])
		}
		return 0
	case strings.HasPrefix(command, "chown nobody:nogroup -- "):
		return 0
	case s.Argv[0] != "systemctl" && s.Argv[0] != "exportfs":
	case !slices.Contains(m.packages, "nfs-kernel-server"):
		_, _ = fmt.Fprintf(s.Stderr, "%s: command not found\n", s.Argv[0])
		return 127
	case command == "systemctl enable --now nfs-server":
		return 0
	case command == "exportfs -ra":
		return m.reexport(s)
	case command == "exportfs":
		for _, pair := range m.exported {
			_, _ = fmt.Fprintln(s.Stdout, strings.Replace(pair, " ", "\n\t\t", 1))
		}
		return 0
	}
	return m.unknown(s)
}

func (m *machine) reexport(s *sshtest.Session) int {
	m.exported = nil
	for line := range strings.Lines(m.read(exportsFile)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if !slices.Contains(m.dirs, fields[0]) {
			_, _ = fmt.Fprintf(s.Stderr, "exportfs: Failed to stat %s: No such file or directory\n", fields[0])
			return 1
		}
		for _, client := range fields[1:] {
			to, options, _ := strings.Cut(client, "(")
			if options != "rw,sync,no_subtree_check,insecure,all_squash)" {
				m.world.surprise("%s: %s is exported with (%s", m.addresses[0], fields[0], options)
			}
			m.exported = append(m.exported, fields[0]+" "+to)
		}
	}
	return 0
}

// viewStorage adds what the machine has of storage.
func (m *machine) viewStorage(v *View, key string) {
	for dir := range m.mounts {
		v.Mounts[key] = append(v.Mounts[key], dir)
	}
	slices.Sort(v.Mounts[key])
	if len(m.exported) > 0 {
		v.Exports[key] = m.exported
	}
	if len(m.packages) > 0 {
		v.Packages[key] = m.packages
	}
}
