package ssh_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// script is a job that a shell carries out.
func script(id, text string) ssh.Job { return ssh.Job{ID: id, Argv: []string{"sh", "-c", text}} }

// finish polls a job until it does not run any more.
func finish(t *testing.T, host *ssh.Host, job ssh.Job) ssh.Progress {
	t.Helper()
	var progress ssh.Progress
	until(t, "the job ends", func() bool {
		var err error
		if progress, err = host.Poll(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		return progress.Phase != ssh.JobRunning
	})
	return progress
}

func start(t *testing.T, host *ssh.Host, job ssh.Job) {
	t.Helper()
	if err := host.Start(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}

// What a job installs is for all users of the host, as if somebody had run it by hand.
func TestJobHasTheUsualUmask(t *testing.T) {
	t.Parallel()
	_, _, host := shellHost(t, t.TempDir())
	job := script("a", "umask")
	start(t, host, job)
	if progress := finish(t, host, job); progress.Phase != ssh.JobEnded || strings.TrimSpace(progress.Stdout) != "0022" {
		t.Errorf("got %+v", progress)
	}
}

// appears waits for a file.
func appears(t *testing.T, path string) {
	t.Helper()
	until(t, path+" is there", func() bool { _, err := os.Lstat(path); return err == nil })
}

// group is the process group of a job.
func group(t *testing.T, home, id string) int {
	t.Helper()
	text, err := os.Readlink(filepath.Join(home, ".vnfm/runs", id, "started"))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func TestJobGoesOnWithoutItsStarter(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	vm, _, host := shellHost(t, home)
	job := script("a", `read -r line; echo "got $line $A"; until [ -e go ]; do sleep 0.01; done; echo done; exit 3`)
	job.Env, job.Stdin = map[string]string{"A": "geheim-1"}, []byte("geheim-2\n")
	if progress, err := host.Poll(t.Context(), job); err != nil || progress.Phase != ssh.JobAbsent {
		t.Errorf("before: %+v, %v", progress, err)
	}
	start(t, host, job)
	vm.Kill()
	until(t, "it has said something", func() bool {
		progress, err := host.Poll(t.Context(), job)
		if err != nil || progress.Phase != ssh.JobRunning {
			t.Fatalf("while it runs: %+v, %v", progress, err)
		}
		return progress.Stdout == "got geheim-2 geheim-1\n"
	})
	dir := filepath.Join(home, ".vnfm/runs/a")
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		if !entry.Type().IsRegular() || entry.Name() == "stdout" {
			return nil
		}
		if content, err := os.ReadFile(path); err != nil || strings.Contains(string(content), "geheim") {
			t.Errorf("%s holds a secret, or %v", path, err)
		}
		return nil
	})
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	progress := finish(t, host, job)
	if progress.Phase != ssh.JobEnded || progress.Status != 3 || progress.Stdout != "got geheim-2 geheim-1\ndone\n" {
		t.Errorf("after: %+v", progress)
	}
}

func TestJobRunsOnceHoweverOftenItIsStarted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, _, host := shellHost(t, home)
	job := script("a", `echo run >> runs; until [ -e go ]; do sleep 0.01; done`)
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			if err := host.Start(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	finish(t, host, job)
	start(t, host, job)
	if runs, err := os.ReadFile(filepath.Join(home, "runs")); err != nil || string(runs) != "run\n" {
		t.Errorf("runs: %q, %v", runs, err)
	}
}

func TestFailedJobIsStartedAnewByTheNextAttempt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, _, host := shellHost(t, home)
	job := script("a", `echo run >> runs; echo "no package kubeadm" >&2; exit $(grep -c . runs)`)
	for attempt := 1; attempt <= 2; attempt++ {
		var err error
		until(t, "the job fails", func() bool {
			_, err = host.Drive(t.Context(), job)
			return err != nil
		})
		var exit *ssh.ExitError
		var failure *mgmtdriver.Failure
		if !errors.As(err, &exit) || exit.Status != attempt || !errors.As(err, &failure) ||
			!strings.HasSuffix(failure.Detail, fmt.Sprintf("ended with status %d: no package kubeadm", attempt)) {
			t.Errorf("attempt %d: %v", attempt, err)
		}
	}
}

func TestStartThatIsCutOffIsRepeated(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, p, host := shellHost(t, home)
	if err := host.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	job := script("a", "wc -c")
	job.Stdin = []byte(strings.Repeat("x", 4<<20))
	p.cutAfter(1 << 20)
	if err := host.Start(t.Context(), job); !errors.As(err, new(*mgmtdriver.Unavailable)) {
		t.Fatalf("got %v", err)
	}
	if progress, err := host.Poll(t.Context(), job); err != nil || progress.Phase != ssh.JobAbsent {
		t.Fatalf("after half a start: %+v, %v", progress, err)
	}
	start(t, host, job)
	if progress := finish(t, host, job); strings.TrimSpace(progress.Stdout) != fmt.Sprint(4<<20) {
		t.Errorf("got %+v", progress)
	}
}

func TestKilledJobIsLost(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, _, host := shellHost(t, home)
	job := script("a", `echo installing; touch here; exec sleep 1000`)
	start(t, host, job)
	appears(t, filepath.Join(home, "here"))
	// As the end of the machine does.
	if err := syscall.Kill(-group(t, home, "a"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if progress := finish(t, host, job); progress.Phase != ssh.JobLost || progress.Stdout != "installing\n" {
		t.Errorf("got %+v", progress)
	}
	_, err := host.Drive(t.Context(), job)
	if !errors.As(err, new(*ssh.LostError)) || !errors.As(err, new(*mgmtdriver.Failure)) {
		t.Errorf("got %v", err)
	}
	if progress, err := host.Poll(t.Context(), job); err != nil || progress.Phase != ssh.JobAbsent {
		t.Errorf("for the next attempt: %+v, %v", progress, err)
	}
}

func TestJobWhoseKeeperWasKilledStillRuns(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, _, host := shellHost(t, home)
	job := script("a", `touch here; until [ -e go ]; do sleep 0.01; done`)
	start(t, host, job)
	appears(t, filepath.Join(home, "here"))
	if err := syscall.Kill(group(t, home, "a"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if progress, err := host.Poll(t.Context(), job); err != nil || progress.Phase != ssh.JobRunning {
		t.Errorf("a part of it lives: %+v, %v", progress, err)
	}
	if err := host.Clean(t.Context(), job); err == nil {
		t.Error("it was cleaned away while it runs")
	}
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if progress := finish(t, host, job); progress.Phase != ssh.JobLost {
		t.Errorf("got %+v", progress)
	}
}

func TestCancelStopsEverything(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		grace      time.Duration
		statuses   []int
	}{
		{"a command that obeys", `trap 'echo stopping; exit 9' TERM; touch here; while :; do sleep 0.01; done`, time.Minute, []int{9}},
		{"a command that does not obey", `trap '' TERM; touch here; while :; do sleep 0.01; done`, time.Second, []int{137}},
		{"a child that does not obey", `(trap '' TERM; touch here; while :; do sleep 0.01; done) & wait`, time.Second, []int{137, 143}},
		{"a child in a session of its own", `setsid sh -c 'echo $$ >child; touch here; while :; do sleep 0.01; done' & wait $!`, time.Minute, []int{143}},
		{"a child of a child in a session of its own, which does not obey",
			`setsid sh -c 'sh -c "trap \"\" TERM; echo \$\$ >child; touch here; while :; do sleep 0.01; done" & wait' & while :; do sleep 0.01; done`, time.Second, []int{137, 143}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			_, _, host := shellHost(t, home)
			job := script("a", row.text)
			start(t, host, job)
			appears(t, filepath.Join(home, "here"))
			number := group(t, home, "a")
			for range 2 {
				if err := host.Cancel(t.Context(), job, row.grace); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "all of its group are gone", func() bool { return errors.Is(syscall.Kill(-number, 0), syscall.ESRCH) })
			if child, err := os.ReadFile(filepath.Join(home, "child")); err == nil {
				if _, err := os.Stat("/proc/" + strings.TrimSpace(string(child)) + "/exe"); err == nil {
					t.Error("a child lives")
				}
			}
			if progress := finish(t, host, job); progress.Phase != ssh.JobEnded || !slices.Contains(row.statuses, progress.Status) {
				t.Errorf("got %+v", progress)
			}
			if err := errors.Join(host.Clean(t.Context(), job), host.Clean(t.Context(), job), host.Cancel(t.Context(), job, 0)); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(filepath.Join(home, ".vnfm/runs")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestOutputOfAJobIsBounded(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, _, host := shellHost(t, home)
	job := script("a", `head -c 60000000 /dev/zero; echo end; head -c 30000000 /dev/zero >&2; echo trouble >&2`)
	start(t, host, job)
	progress := finish(t, host, job)
	if progress.Phase != ssh.JobEnded || progress.Status != 0 || !strings.HasSuffix(progress.Stdout, "\x00end\n") ||
		!strings.HasSuffix(progress.Stderr, "\x00trouble\n") || len(progress.Stdout) != 512<<10 {
		t.Errorf("%s %d, %d and %d bytes", progress.Phase, progress.Status, len(progress.Stdout), len(progress.Stderr))
	}
	var size int64
	err := filepath.WalkDir(filepath.Join(home, ".vnfm"), func(_ string, entry fs.DirEntry, err error) error {
		if info, infoErr := entry.Info(); err == nil && infoErr == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > 33<<20 {
		t.Errorf("%d bytes are kept, %v", size, err)
	}
}

func TestJobThatLeavesSomethingRunning(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, _, host := shellHost(t, home)
	job := script("a", `echo begin; (until [ -e go ]; do sleep 0.01; done; echo late; touch gone) & exit 0`)
	start(t, host, job)
	if progress := finish(t, host, job); progress.Phase != ssh.JobEnded || progress.Status != 0 || progress.Stdout != "begin\n" {
		t.Errorf("got %+v", progress)
	}
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	appears(t, filepath.Join(home, "gone")) // what it writes then harms nobody
}

// smallDisk is a file system with that much room.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestJobOnAFullDisk(t *testing.T) {
	t.Parallel()
	home := smallDisk(t, "1m")
	_, _, host := shellHost(t, home)
	job := script("a", `echo begin; head -c 4000000 /dev/zero; echo failed >&2; exit 5`)
	start(t, host, job)
	if progress := finish(t, host, job); progress.Phase != ssh.JobEnded || progress.Status != 5 {
		t.Errorf("got %s %d", progress.Phase, progress.Status)
	}
	big := script("b", "true")
	big.Stdin = make([]byte, 2<<20)
	var exit *ssh.ExitError
	if err := host.Start(t.Context(), big); !errors.As(err, &exit) || !strings.Contains(exit.Stderr, "100% "+home) {
		t.Errorf("got %v", err)
	}
}

func TestJobNeedsAnID(t *testing.T) {
	t.Parallel()
	_, _, host := shellHost(t, t.TempDir())
	for _, id := range []string{"", ".", "..", "a/b", "../a", "a b", "-\n", strings.Repeat("a", 300)} {
		if err := host.Start(t.Context(), script(id, "true")); err == nil {
			t.Errorf("%q was taken", id)
		}
	}
}
