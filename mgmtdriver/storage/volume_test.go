package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/mgmtdriver/storage"
)

// slow is a machine on which mkfs.ext4 takes its time. As soon as it has begun, the disk looks as if it had a file system.
type slow struct {
	begun   atomic.Bool
	stopped atomic.Bool // before it had ended
	mounted atomic.Bool
	end     chan struct{}
}

func (m *slow) run(ctx context.Context, s *sshtest.Session) int {
	status := func(ok bool, otherwise int) int {
		if ok {
			return 0
		}
		return otherwise
	}
	switch command := strings.Join(s.Argv, " "); {
	case strings.HasPrefix(command, "readlink -e -- /dev/disk/by-id/virtio-"):
		_, _ = fmt.Fprintln(s.Stdout, "/dev/vdb")
		return 1
	case command == "lsblk -J -p -o NAME,TYPE,SERIAL /dev/vdb":
		_, _ = fmt.Fprint(s.Stdout, `{"blockdevices": [{"name": "/dev/vdb", "type": "disk", "serial": null}]}`)
		return 0
	case command == "test -e /var/lib/vnfm/formatting-"+volumeID && s.Root:
		return status(m.begun.Load(), 1)
	case strings.HasSuffix(command, " make-ext4 /var/lib/vnfm/formatting-"+volumeID+" /dev/vdb") && s.Root:
		m.begun.Store(true)
		select {
		case <-m.end:
			return 0
		case <-ctx.Done():
			m.stopped.Store(true)
			return 143
		}
	case strings.HasPrefix(command, "blkid -p -o export"):
		if m.begun.Load() {
			_, _ = fmt.Fprintln(s.Stdout, "TYPE=ext4")
		}
		return status(m.begun.Load(), 2)
	case strings.HasSuffix(command, " look-for-content /dev/vdb") && s.Root:
		return 0
	case strings.HasPrefix(command, "blkid -p -o value -s UUID"):
		_, _ = fmt.Fprintln(s.Stdout, "11111111-2222")
		return 0
	case command == "mkdir -p -- /volume":
		return 0
	case command == "mount /volume":
		m.mounted.Store(true)
		return 0
	case strings.HasPrefix(command, "findmnt "):
		if m.mounted.Load() {
			_, _ = fmt.Fprintln(s.Stdout, "/dev/vdb")
		}
		return status(m.mounted.Load(), 1)
	}
	return sshtest.Unknown(ctx, s)
}

func TestFormattingIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		limit time.Duration
	}{{"it ends", 100 * 365 * 24 * time.Hour}, {"it does not end", time.Nanosecond}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m := &slow{end: make(chan struct{})}
			vm := sshtest.Start(t, sshtest.Options{User: "ubuntu", Password: "secret", Handler: sshtest.Linux(m.run)})
			if err := vm.WriteFile("/etc/fstab", nil); err != nil {
				t.Fatal(err)
			}
			pool := ssh.NewPool(ssh.Config{})
			t.Cleanup(func() { _ = pool.Close() })
			server := &storage.Server{Mounts: []storage.Mount{{Volume: "data", Dir: "/volume"}}}
			do := func() (mgmtdriver.Result, error) {
				// As after a crash: what the step has kept is lost, but for the limit.
				call := &mgmtdriver.Call{HostKeys: &sshtest.HostKeys{}, Operation: mgmtdriver.Operation{ID: "op"}, Hook: mgmtdriver.InstantiateEnd,
					State: []byte(`{"since": "2026-01-01T00:00:00Z", "format": "2026-01-01T00:00:00Z"}`)}
				host := pool.Host(call, ssh.Target{Name: "storage", Address: vm.AddrPort(), User: "ubuntu", Password: "secret"}, nil)
				return server.PrepareVolumes(t.Context(), call, host, []mgmtdriver.Volume{{Name: "data", ID: volumeID}},
					storage.Limits{Appear: time.Hour, Format: row.limit})
			}
			if row.limit == time.Nanosecond {
				_, err := do()
				var failure *mgmtdriver.Failure
				if !errors.As(err, &failure) || !strings.Contains(failure.Detail, "mkfs.ext4 on /dev/vdb has taken longer") || !m.stopped.Load() {
					t.Errorf("got %v, stopped: %t", err, m.stopped.Load())
				}
				return
			}
			for range 3 {
				if result, err := do(); err != nil || !result.Again {
					t.Fatalf("got %+v, %v", result, err)
				}
			}
			if m.mounted.Load() {
				t.Error("a file system was mounted that is being made")
			}
			close(m.end)
			for {
				result, err := do()
				if err != nil {
					t.Fatal(err)
				}
				if !result.Again {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if !m.mounted.Load() {
				t.Error("nothing is mounted")
			}
		})
	}
}
