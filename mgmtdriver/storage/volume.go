package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// Limits bound how long [Server.PrepareVolumes] waits.
type Limits struct {
	Appear time.Duration // for a volume to appear on the host
	Format time.Duration // for file systems to be made
}

// volume is one that is to be mounted.
type volume struct {
	mgmtdriver.Volume
	dir    string
	device string // on the host
}

func (v *volume) String() string { return fmt.Sprintf("volume %s (%s)", v.Name, v.ID) }

// preparing is what the step keeps.
type preparing struct {
	Since  time.Time `json:"since"`           // the volumes are looked for
	Format time.Time `json:"format,omitzero"` // file systems are made
}

// PrepareVolumes is a step: the volumes of the storage server get ext4 unless they have it, come into /etc/fstab and are mounted. It fails with
// *[mgmtdriver.Failure] if the server lacks a volume, or if there is something else on one.
func (s *Server) PrepareVolumes(ctx context.Context, call *mgmtdriver.Call, host *ssh.Host, attached []mgmtdriver.Volume, limits Limits) (mgmtdriver.Result, error) {
	volumes, err := s.volumes(host, attached)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	state := preparing{}
	if json.Unmarshal(call.State, &state) != nil || state.Since.IsZero() {
		state.Since = time.Now()
	}
	for _, v := range volumes {
		if err := v.find(ctx, call, host, time.Since(state.Since) > limits.Appear/10); err != nil {
			return mgmtdriver.Result{}, err
		}
		if v.device != "" {
			continue
		}
		if time.Since(state.Since) > limits.Appear {
			return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Volume is missing", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
				"Failed to get device information for Cinder volume. volume_resource_id: %s: within %s, %s has shown none of %s",
				v.Name, limits.Appear, host, strings.Join(v.links(), ", "))}
		}
		return mgmtdriver.Wait(fmt.Sprintf("%s: %s has yet to appear", host, v)).With(state), nil
	}
	running, err := format(ctx, call, host, volumes)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	if len(running) > 0 {
		return wait(ctx, call, host, running, state, limits)
	}
	for _, v := range volumes {
		if err := v.mount(ctx, host); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	return mgmtdriver.Done(nil), nil
}

// volumes are those that are to be mounted, a directory before those in it.
func (s *Server) volumes(host *ssh.Host, attached []mgmtdriver.Volume) ([]*volume, error) {
	var found []*volume
	for _, mount := range s.Mounts {
		i := slices.IndexFunc(attached, func(v mgmtdriver.Volume) bool { return v.Name == mount.Volume && v.ID != "" })
		if i < 0 {
			return nil, &mgmtdriver.Failure{Title: "Volume is missing", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf(
				"Failed to get device information for Cinder volume. volume_resource_id: %s: %s has no volume of that name", mount.Volume, host)}
		}
		found = append(found, &volume{Volume: attached[i], dir: mount.Dir})
	}
	slices.SortStableFunc(found, func(a, b *volume) int { return len(a.dir) - len(b.dir) })
	return found, nil
}

// wait waits for file systems to be made, and not for ever.
func wait(ctx context.Context, call *mgmtdriver.Call, host *ssh.Host, running []*volume, state preparing, limits Limits) (mgmtdriver.Result, error) {
	if state.Format.IsZero() {
		state.Format = time.Now()
	}
	if time.Since(state.Format) <= limits.Format {
		return mgmtdriver.Wait(fmt.Sprintf("%s: ext4 is made on %s", host, running[0].device)).With(state), nil
	}
	for _, v := range running {
		if err := host.Abandon(ctx, v.formatting(call)); err != nil {
			return mgmtdriver.Result{}, err
		}
	}
	return mgmtdriver.Result{}, &mgmtdriver.Failure{Title: "Volume cannot be formatted", Status: http.StatusGatewayTimeout, Detail: fmt.Sprintf(
		"%s: mkfs.ext4 on %s has taken longer than %s", host, running[0].device, limits.Format)}
}

// links are the names that udev gives a disk by its serial number, which is the id of the volume: hypervisors shorten it, and it depends on the bus.
func (v *volume) links() []string {
	const byID, shown = "/dev/disk/by-id/", 20
	short := v.ID[:min(len(v.ID), shown)]
	return []string{byID + "virtio-" + short, byID + "virtio-" + v.ID, byID + "scsi-0QEMU_QEMU_HARDDISK_" + short, byID + "scsi-0QEMU_QEMU_HARDDISK_" + v.ID,
		byID + "scsi-SQEMU_QEMU_HARDDISK_" + v.ID, byID + "wwn-0x" + strings.ReplaceAll(v.ID, "-", "")}
}

// find finds the device of the volume: by its serial number or else, once that has had its time to appear, where the VIM says that it is.
func (v *volume) find(ctx context.Context, call *mgmtdriver.Call, host *ssh.Host, late bool) error {
	// It tells of those that exist, and ends with 1 since others do not.
	output, err := host.Run(ctx, ssh.Command{Argv: append([]string{"readlink", "-e", "--"}, v.links()...), Quiet: true})
	if err != nil && !errors.As(err, new(*ssh.ExitError)) {
		return err
	}
	v.device, _, _ = strings.Cut(output.Stdout, "\n")
	if v.device != "" || !late || !plainPath.MatchString(v.Device) {
		return nil
	}
	disk, err := diskAt(ctx, host, v.Device)
	if errors.As(err, new(*ssh.ExitError)) {
		return nil // there is none
	}
	if err != nil || disk.Type != "disk" || !strings.HasPrefix(v.ID, disk.Serial) {
		return err
	}
	v.device = disk.Name
	if disk.Serial != "" {
		return nil
	}
	harmless, err := v.harmless(ctx, call, host)
	if err == nil && !harmless {
		err = &mgmtdriver.Failure{Title: "Volume cannot be told", Status: http.StatusConflict, Detail: fmt.Sprintf(
			"%s: %s, where %s should be, has no serial number and is not empty: it may be another volume", host, v.device, v)}
	}
	return err
}

// harmless reports whether nothing of somebody else's can be on a device that may be another volume: it is empty, or we have begun to format it,
// or have done so and mounted it. *[mgmtdriver.Failure] if there is something else than ext4.
func (v *volume) harmless(ctx context.Context, call *mgmtdriver.Call, host *ssh.Host) (bool, error) {
	progress, err := host.Poll(ctx, v.formatting(call))
	if err != nil || progress.Phase != ssh.JobAbsent {
		return err == nil, err
	}
	blank, err := v.blank(ctx, host)
	if err != nil || blank {
		return blank, err
	}
	uuid, err := uuidOf(ctx, host, v.device)
	if err != nil {
		return false, err
	}
	fstab, err := host.Read(ctx, "/etc/fstab", false, 1<<20)
	return slices.Contains(strings.Split(string(fstab), "\n"), fstabLine(uuid, v.dir)), err
}

// disk is what lsblk tells.
type disk struct {
	Name     string // its device
	Type     string // such as disk
	Serial   string // "" = it has none
	Children []disk // partitions, or what else uses it
}

func diskAt(ctx context.Context, host *ssh.Host, device string) (*disk, error) {
	output, err := host.Run(ctx, ssh.Command{Argv: []string{"lsblk", "-J", "-p", "-o", "NAME,TYPE,SERIAL", device}, Quiet: true})
	if err != nil {
		return nil, err
	}
	var answer struct{ Blockdevices []disk }
	if err := json.Unmarshal([]byte(output.Stdout), &answer); err != nil {
		return nil, fmt.Errorf("%s: read what lsblk tells of %s: %w", host, device, err)
	}
	if len(answer.Blockdevices) != 1 {
		return nil, fmt.Errorf("%s: lsblk tells of %s: %q", host, device, output.Stdout)
	}
	return &answer.Blockdevices[0], nil
}

// Statuses of blkid.
const (
	blkidNothing   = 2
	blkidAmbiguous = 8
)

// zerosScript ends with 0 if a device has only zeros in its first 4 MiB and its last one, where all kinds of content have their marks; with 1 if
// it has something else; with more if it cannot be read. A device may be smaller.
const zerosScript = `size=$(blockdev --getsize64 "$1") && [ "$size" -gt 0 ] || exit 2
first=$((4 << 20)) last=$((1 << 20))
[ "$size" -ge "$first" ] || first=$size
[ "$size" -ge "$last" ] || last=$size
cmp -s -n "$first" "$1" /dev/zero && cmp -s -n "$last" -i "$((size - last)):0" "$1" /dev/zero`

// zeros reports whether there is nothing on the volume where blkid finds nothing. blkid also finds nothing on what it does not know, such as
// encrypted data, and on what it cannot read.
func (v *volume) zeros(ctx context.Context, host *ssh.Host) (bool, error) {
	_, err := host.Run(ctx, ssh.Command{Argv: []string{"sh", "-c", zerosScript, "look-for-content", v.device}, Root: true, Quiet: true})
	exit := (*ssh.ExitError)(nil)
	switch {
	case errors.As(err, &exit) && exit.Status == 1:
		return false, nil
	case errors.As(err, &exit):
		return false, fmt.Errorf("%s: %s cannot be read: %s", host, v.device, exit.Stderr)
	}
	return err == nil, err
}

// blank reports whether there is nothing on the volume. *[mgmtdriver.Failure] if there is something else than ext4.
func (v *volume) blank(ctx context.Context, host *ssh.Host) (bool, error) {
	refuse := func(format string, args ...any) error {
		return &mgmtdriver.Failure{Title: "Volume is not empty", Status: http.StatusConflict, Detail: fmt.Sprintf(
			"%s: %s of %s has %s; it must be empty, or have ext4", host, v.device, v, fmt.Sprintf(format, args...))}
	}
	known, err := diskAt(ctx, host, v.device)
	if err != nil {
		return false, err
	}
	if len(known.Children) > 0 {
		return false, refuse("%s on it", known.Children[0].Name)
	}
	// -p looks at the disk itself; what udev knows may be old.
	output, err := host.Run(ctx, ssh.Command{Argv: []string{"blkid", "-p", "-o", "export", v.device}, Root: true, Quiet: true})
	exit := (*ssh.ExitError)(nil)
	switch {
	case errors.As(err, &exit) && exit.Status == blkidNothing:
		zeros, err := v.zeros(ctx, host)
		if err == nil && !zeros {
			err = refuse("content that blkid does not know")
		}
		return err == nil, err
	case errors.As(err, &exit) && exit.Status == blkidAmbiguous:
		return false, refuse("signatures of several kinds of content")
	case err != nil:
		return false, err
	}
	has := map[string]string{}
	for line := range strings.Lines(output.Stdout) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		has[name] = value
	}
	switch {
	case has["PTTYPE"] != "":
		return false, refuse("a partition table (%s)", has["PTTYPE"])
	case has["TYPE"] != "ext4":
		return false, refuse("content of the type %q", has["TYPE"])
	}
	return false, nil
}

// formatScript makes a file system on a device. Until that has ended there is a marker, also when the host is restarted meanwhile. Without a
// terminal, mkfs.ext4 does not ask whether it may overwrite what it finds; it refuses a device that is mounted.
const formatScript = `set -e
touch "$1"
sync -f "$1"
mkfs.ext4 -q "$2"
rm -f "$1"
sync -f "${1%/*}"`

// formatting is the job that makes the file system.
func (v *volume) formatting(call *mgmtdriver.Call) ssh.Job {
	return ssh.Job{ID: ssh.JobID(call, "format-"+v.ID), Argv: []string{"sh", "-c", formatScript, "make-ext4", v.marker(), v.device}, Root: true}
}

// marker is the file that is there from the time that a file system is begun until it is made.
func (v *volume) marker() string { return "/var/lib/vnfm/formatting-" + v.ID }

// unformatted reports whether there is nothing on the volume, or what has been left of a formatting that was killed, which looks like ext4. Its
// errors are those of blank.
func (v *volume) unformatted(ctx context.Context, host *ssh.Host) (bool, error) {
	_, err := host.Run(ctx, ssh.Command{Argv: []string{"test", "-e", v.marker()}, Root: true, Quiet: true})
	if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) && exit.Status == 1 {
		return v.blank(ctx, host)
	}
	return err == nil, err
}

// format makes file systems on volumes that are empty, and returns those where that has not ended yet.
func format(ctx context.Context, call *mgmtdriver.Call, host *ssh.Host, volumes []*volume) (running []*volume, err error) {
	for _, v := range volumes {
		job := v.formatting(call)
		progress, err := host.Poll(ctx, job)
		if err != nil {
			return nil, err
		}
		if progress.Phase == ssh.JobAbsent {
			// Not sooner: what mkfs.ext4 has begun looks like ext4.
			needed, err := v.unformatted(ctx, host)
			if err != nil {
				return nil, err
			}
			if !needed {
				continue
			}
		}
		if progress, err = host.Drive(ctx, job); err != nil {
			return nil, err
		}
		if progress.Phase != ssh.JobEnded {
			running = append(running, v)
		}
	}
	return running, nil
}
