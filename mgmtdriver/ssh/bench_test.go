package ssh_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"vnfm/mgmtdriver/ssh"
)

// BenchmarkTransfer compares Put with OpenSSH's own sftp to the same server, for a file of 1 GiB that cannot be
// compressed. They take turns, since a machine is not always equally fast.
func BenchmarkTransfer(b *testing.B) {
	const size = 1 << 30
	server := startSSHD(b)
	host := server.host(newCall())
	source := filepath.Join(b.TempDir(), "image.tar")
	writeNoise(b, source, size)
	content := func(context.Context) (io.ReadCloser, error) { return os.Open(source) }
	target := filepath.Join(b.TempDir(), "there.tar")
	var ours, theirs time.Duration
	var peak uint64
	for b.Loop() {
		began := time.Now()
		server.sftp(b, source, target)
		theirs += time.Since(began)
		remove(b, target)

		heap := watchHeap()
		began = time.Now()
		if err := host.Put(b.Context(), ssh.File{Path: target, Content: content, Time: time.Hour}); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(began)
		peak = max(peak, heap())
		remove(b, target)
	}
	b.ReportMetric(float64(b.N)*size/1e6/ours.Seconds(), "MB/s")
	b.ReportMetric(float64(b.N)*size/1e6/theirs.Seconds(), "MB/s-sftp")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-sftp")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-heap")
}

// sftp copies a file with the program of that name.
func (s *sshd) sftp(b *testing.B, from, to string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), find(b, "sftp", "openssh-client"), "-q", "-b", "-", "-P", fmt.Sprint(s.address.Port()),
		"-i", filepath.Join(s.dir, "user"), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-F", "none",
		s.user+"@"+s.address.Addr().String())
	input, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	_, _ = fmt.Fprintf(input, "put %s %s\n", from, to)
	_ = input.Close()
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("sftp: %v: %s", err, out)
	}
}

func remove(b *testing.B, path string) {
	b.Helper()
	if err := os.Remove(path); err != nil {
		b.Fatal(err)
	}
}

func writeNoise(b *testing.B, path string, size int64) {
	b.Helper()
	file, err := os.Create(path)
	if err == nil {
		_, err = io.CopyN(file, rand.Reader, size)
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}

// watchHeap returns what tells by how many bytes the heap was larger in the meantime than at the beginning, at the most.
func watchHeap() func() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	base := stats.HeapAlloc
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for ticker := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
				runtime.ReadMemStats(&stats)
				most.Store(max(most.Load(), stats.HeapAlloc))
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return max(most.Load(), base) - base
	}
}
