package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// mount mounts the volume at its directory, now and whenever the host starts.
func (v *volume) mount(ctx context.Context, host *ssh.Host) error {
	uuid, err := uuidOf(ctx, host, v.device)
	if err != nil {
		return err
	}
	if _, err := host.Run(ctx, ssh.Command{Argv: []string{"mkdir", "-p", "--", v.dir}, Root: true}); err != nil {
		return err
	}
	if err := host.Edit(ctx, "/etc/fstab", func(content string) string { return withMount(content, uuid, v.dir) }); err != nil {
		return err
	}
	there, err := mountedAt(ctx, host, v.dir)
	if err != nil {
		return err
	}
	if there == "" {
		if _, err := host.Run(ctx, ssh.Command{Argv: []string{"mount", v.dir}, Root: true}); err != nil {
			return err
		}
		if there, err = mountedAt(ctx, host, v.dir); err != nil {
			return err
		}
	}
	if there != v.device {
		return &mgmtdriver.Failure{Title: "Volume is not mounted", Status: http.StatusConflict, Detail: fmt.Sprintf(
			"Failed to setup Cinder volume device on Storage Server VM(device:%s). %s: mounted at %s is %q", v.device, host, v.dir, there)}
	}
	return nil
}

// uuidOf is the UUID of the file system on a device.
func uuidOf(ctx context.Context, host *ssh.Host, device string) (string, error) {
	output, err := host.Run(ctx, ssh.Command{Argv: []string{"blkid", "-p", "-o", "value", "-s", "UUID", device}, Root: true, Quiet: true})
	if err != nil {
		return "", err
	}
	uuid := strings.TrimSpace(output.Stdout)
	if uuid == "" || strings.ContainsAny(uuid, " \t\n") {
		return "", fmt.Errorf("%s: the file system on %s has the UUID %q", host, device, uuid)
	}
	return uuid, nil
}

// mountedAt is the device that is mounted at a directory; "" if there is none.
func mountedAt(ctx context.Context, host *ssh.Host, dir string) (string, error) {
	output, err := host.Run(ctx, ssh.Command{Argv: []string{"findmnt", "-n", "-o", "SOURCE", "--mountpoint", dir}, Quiet: true})
	if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) && exit.Status == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	lines := strings.Fields(output.Stdout)
	if len(lines) == 0 {
		return "", nil
	}
	return lines[len(lines)-1], nil // the last covers the others
}

// withMount is an /etc/fstab that has the file system at the directory and nothing else there. The host starts also without it.
func withMount(content, uuid, dir string) string {
	var lines []string
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") || fields[1] != dir {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(append(lines, fstabLine(uuid, dir)), "\n") + "\n"
}

func fstabLine(uuid, dir string) string {
	return "UUID=" + uuid + " " + dir + " ext4 defaults,nofail 0 2"
}
