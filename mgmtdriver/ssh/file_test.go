package ssh_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/ssh"
)

// noise is a content that cannot be compressed.
func noise(t *testing.T, size int) []byte {
	t.Helper()
	content := make([]byte, size)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	return content
}

// holds checks a file and that nothing is left beside it.
func holds(t *testing.T, path string, content []byte, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%s: %d bytes, %v", path, len(got), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	if beside, err := os.ReadDir(filepath.Dir(path)); err != nil || len(beside) != 1 {
		t.Errorf("beside it: %v, %v", beside, err)
	}
}

func TestFileIsSentOnce(t *testing.T) {
	t.Parallel()
	p, host := startSSHD(t).behind(newCall())
	path := filepath.Join(t.TempDir(), "dir", "it's a file")
	content := noise(t, 5<<20)
	for _, row := range []struct {
		name    string
		content []byte
		mode    fs.FileMode
		sent    bool
	}{
		{"a new file", content, 0o640, true},
		{"the same", content, 0o640, false},
		{"another mode", content, 0o600, false},
		{"another content of the same size", noise(t, 5<<20), 0o600, true},
		{"a shorter one", content[:3<<20], 0o755, true},
		{"an empty one", nil, 0o644, false},
	} {
		_, _, before := p.counts()
		if err := host.Put(t.Context(), ssh.File{Path: path, Content: ssh.Bytes(row.content), Mode: row.mode}); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		holds(t, path, row.content, row.mode)
		if _, _, after := p.counts(); (after-before > 1<<20) != row.sent {
			t.Errorf("%s: %d bytes were sent", row.name, after-before)
		}
	}
	if got, err := host.Read(t.Context(), path, false, 10); err != nil || len(got) != 0 {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := host.Read(t.Context(), "/proc/cpuinfo", false, 10); err == nil {
		t.Error("a file over the limit was read")
	}
}

func TestFileIsContinuedAfterACut(t *testing.T) {
	t.Parallel()
	const size = 13 << 20
	for _, row := range []struct {
		name  string
		spoil func(t *testing.T, part string) // between the two
		sent  int64                           // at most, the second time
	}{
		{"as it was left", func(*testing.T, string) {}, 12 << 20},
		{"after the host has lost some of it", func(t *testing.T, part string) {
			t.Helper()
			if err := os.WriteFile(part, make([]byte, 11<<20), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 2 * size},
		{"longer than it may be", func(t *testing.T, part string) {
			t.Helper()
			if err := os.Truncate(part, 2*size); err != nil {
				t.Fatal(err)
			}
		}, 2 * size},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, host := startSSHD(t).behind(newCall())
			path, content := filepath.Join(t.TempDir(), "image.tar"), noise(t, size)
			file := ssh.File{Path: path, Content: ssh.Bytes(content), Mode: 0o644}
			p.cutAfter(10 << 20)
			if err := host.Put(t.Context(), file); !errors.As(err, new(*mgmtdriver.Unavailable)) {
				t.Fatalf("got %v", err)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("half a file is there: %v", err)
			}
			parts, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".image.tar*"))
			if err != nil || len(parts) != 1 {
				t.Fatalf("left is %q, %v", parts, err)
			}
			row.spoil(t, parts[0])
			_, _, before := p.counts()
			if err := host.Put(t.Context(), file); err != nil {
				t.Fatal(err)
			}
			holds(t, path, content, 0o644)
			if _, _, after := p.counts(); after-before > row.sent {
				t.Errorf("%d bytes were sent again", after-before)
			}
		})
	}
}

// blocking is a content that ends the time when it comes to an end.
type blocking struct {
	io.Reader
	end func()
	ctx context.Context
}

func (b *blocking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n == 0 {
		b.end()
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	return n, err
}

func TestLargeFileTakesSeveralCalls(t *testing.T) {
	t.Parallel()
	p, host := startSSHD(t).behind(newCall())
	path, content := filepath.Join(t.TempDir(), "image.tar"), noise(t, 20<<20)
	ctx, end := context.WithCancelCause(t.Context())
	opened := 0
	file := ssh.File{Path: path, Content: func(ctx context.Context) (io.ReadCloser, error) {
		opened++
		if opened == 2 { // the first time the digest is computed
			part := &blocking{bytes.NewReader(content[:19<<20]), func() { end(context.DeadlineExceeded) }, ctx}
			return io.NopCloser(part), nil
		}
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
	err := host.Put(ctx, file)
	var incomplete *ssh.Incomplete
	digest := ssh.Digest{Size: 20 << 20, SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
	if !errors.As(err, &incomplete) || incomplete.Sent > 19<<20 || incomplete.Digest != digest {
		t.Fatalf("got %v", err)
	}
	file.Digest = incomplete.Digest
	_, _, before := p.counts()
	if err := host.Put(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	holds(t, path, content, 0o600)
	if _, _, after := p.counts(); after-before > 10<<20 || opened != 3 {
		t.Errorf("the content was opened %d times, %d bytes were sent again", opened, after-before)
	}
}

func TestFileThatCannotBePut(t *testing.T) {
	t.Parallel()
	host := startSSHD(t).host(newCall())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	content := []byte("content")
	broken := errors.New("the package is broken")
	for _, row := range []struct {
		name string
		file ssh.File
		text string
	}{
		{"where a file is a directory", ssh.File{Path: filepath.Join(dir, "file/x"), Content: ssh.Bytes(content)}, "node ("},
		{"with a digest that is not right", ssh.File{Path: filepath.Join(dir, "a"), Content: ssh.Bytes(content),
			Digest: ssh.Digest{Size: 9, SHA256: strings.Repeat("0", 64)}}, "it has changed meanwhile"},
		{"which grows", ssh.File{Path: filepath.Join(dir, "a"), Content: ssh.Bytes(content),
			Digest: ssh.Digest{Size: 3, SHA256: strings.Repeat("0", 64)}}, "it has changed meanwhile"},
		{"which cannot be read", ssh.File{Path: filepath.Join(dir, "a"), Content: func(context.Context) (io.ReadCloser, error) {
			return nil, broken
		}}, "the package is broken"},
	} {
		err := host.Put(t.Context(), row.file)
		if err == nil || !strings.Contains(err.Error(), row.text) || errors.As(err, new(*mgmtdriver.Unavailable)) {
			t.Errorf("%s: got %v", row.name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("a wrong file is there")
	}
}

func TestFileOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "4m")
	host := startSSHD(t).host(newCall())
	path := filepath.Join(dir, "x/image.tar")
	err := host.Put(t.Context(), ssh.File{Path: path, Content: ssh.Bytes(noise(t, 5<<20))})
	var failure *mgmtdriver.Failure
	if !errors.As(err, &failure) || failure.Status != 507 || !strings.Contains(failure.Detail, path+" needs 5242880 bytes more") {
		t.Errorf("got %v", err)
	}
	content := noise(t, 2<<20)
	for range 2 {
		if err := host.Put(t.Context(), ssh.File{Path: path, Content: ssh.Bytes(content)}); err != nil {
			t.Fatal(err)
		}
	}
}

// packageOf is a package in memory.
type packageOf fstest.MapFS

func (p packageOf) Names(context.Context) ([]string, error) { return nil, nil }

func (p packageOf) Open(_ context.Context, path string) (io.ReadCloser, error) {
	return fstest.MapFS(p).Open(path)
}

func TestFileOfAPackage(t *testing.T) {
	t.Parallel()
	host := startSSHD(t).host(newCall())
	pkg := packageOf{"Scripts/install.sh": {Data: []byte("#!/bin/sh\n")}}
	path := filepath.Join(t.TempDir(), "install.sh")
	if err := host.Put(t.Context(), ssh.File{Path: path, Content: ssh.PackageFile(pkg, "Scripts/install.sh"), Mode: 0o755, Root: true}); err != nil {
		t.Fatal(err)
	}
	holds(t, path, []byte("#!/bin/sh\n"), 0o755)
	if err := host.Put(t.Context(), ssh.File{Path: path, Content: ssh.PackageFile(pkg, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := host.Read(t.Context(), path+".none", false, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
