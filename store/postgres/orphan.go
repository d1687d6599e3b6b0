package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockDir makes a directory and locks it for this process. The lock ends with the process, whatever ends it; whoever has it
// knows that a server which still runs in the directory belongs to nobody.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // ours
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another process uses the PostgreSQL server of %s", dir)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// unlock gives a directory free. Closing alone would not as long as a child that is just being started has the file, too.
func unlock(lock *os.File) error {
	return errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN), lock.Close())
}

// Running returns where the server of a directory listens that another process has started; "" if there is none.
func Running(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	content, err := os.ReadFile(filepath.Join(data, "postmaster.pid")) //nolint:gosec // ours
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	// The process, the data, the start, the port, the directory of the socket.
	const socketLine = 4
	lines := strings.Split(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || len(lines) <= socketLine || !serves(pid, data) {
		return "", nil //nolint:nilerr // what is no process does not run
	}
	return urlOf(strings.TrimSpace(lines[socketLine])), nil
}

// stopOrphan ends a server of this data directory that a killed process has left behind, which is about to end by itself or
// was not told. The directory has to be locked.
func stopOrphan(ctx context.Context, data string) error {
	pidFile := filepath.Join(data, "postmaster.pid")
	content, err := os.ReadFile(pidFile) //nolint:gosec // ours
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 {
		return nil // the server itself tells what is wrong
	}
	if !serves(pid, data) {
		return removeStale(pidFile, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the PostgreSQL server that was left behind: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for serves(pid, data) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the PostgreSQL server that was left behind, process %d, does not stop", pid)
		case <-ticker.C:
		}
	}
	return nil
}

// removeStale removes the file of a server that is gone, if its number is now that of another process or of one that nobody has
// collected: the server would take either for its predecessor and not start. Should a part of the predecessor be left, then the
// server finds that out by its shared memory.
func removeStale(pidFile string, pid int) error {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return nil
	}
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the file that a PostgreSQL server has left behind: %w", err)
	}
	return nil
}

// serves reports whether a process is a living server of a data directory, in which such a process always works. The number
// alone says nothing: after a restart of the machine it may be that of any process, another PostgreSQL server included. A
// process that has ended has no working directory any more, even if nobody has collected it.
func serves(pid int, data string) bool {
	process := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(process, "comm")) //nolint:gosec // of the kernel
	if err != nil || strings.TrimSpace(string(name)) != "postgres" {
		return false
	}
	works, err := os.Stat(filepath.Join(process, "cwd"))
	if err != nil {
		return false
	}
	own, err := os.Stat(data)
	return err == nil && os.SameFile(works, own)
}
