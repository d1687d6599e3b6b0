package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/sync/errgroup"

	"vnfm/mgmtdriver"
)

// transfer is one call of Put.
type transfer struct {
	host *Host
	conn *connection
	file File
	root bool // what is sent has to be moved by root

	files *sftp.Client
	path  string // absolute
	part  string // what has been sent of the file
	sent  int64  // in this call
	local error  // of the content
	there int64  // that were sent before, and are right
}

// unsureBytes is how much is sent again after a cut. Of the end of what the host has, parts may be missing: it is written in packets that
// overtake each other.
const unsureBytes = 4 << 20

func (t *transfer) put(ctx context.Context) error {
	files, closeFiles, err := t.conn.files(ctx)
	if err != nil {
		return t.failed(ctx, err)
	}
	defer closeFiles()
	t.files = files
	if err := t.locate(); err != nil {
		return t.failed(ctx, err)
	}
	began, err := files.Stat(t.part)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t.failed(ctx, err)
	}
	if err != nil { // nothing has been sent yet
		same, err := t.unchanged(ctx)
		if err != nil {
			return err
		}
		if same {
			return t.setMode(ctx)
		}
		began = nil
	}
	if err := t.send(ctx, began); err != nil {
		return t.failed(ctx, err)
	}
	if t.root {
		return t.install(ctx)
	}
	return t.failed(ctx, t.rename())
}

// locate decides where the content goes first: beside its place or, if only root may write there, into a directory that nobody else enters.
func (t *transfer) locate() error {
	home, err := t.files.RealPath(".")
	if err != nil {
		return err
	}
	t.path = t.file.Path
	if !path.IsAbs(t.path) {
		t.path = path.Join(home, t.path)
	}
	mark := t.file.Digest.SHA256[:16]
	if t.root {
		dir := path.Join(home, ".vnfm")
		if err := t.files.MkdirAll(dir); err != nil {
			return err
		}
		_ = t.files.Chmod(dir, 0o700) // what is in it is closed to others anyway
		t.part = path.Join(dir, "put-"+mark)
		return nil
	}
	t.part = path.Join(path.Dir(t.path), "."+path.Base(t.path)+".vnfm-"+mark)
	return t.files.MkdirAll(path.Dir(t.path))
}

// unchanged reports whether the host has the file.
func (t *transfer) unchanged(ctx context.Context) (bool, error) {
	if !t.root {
		info, err := t.files.Stat(t.path)
		if err != nil || info.Size() != t.file.Digest.Size {
			return false, nil // what cannot be looked at is not the file
		}
	}
	looking := ctx
	if end, ok := ctx.Deadline(); ok {
		// A long look must not keep the rest from being done.
		var cancel context.CancelFunc
		looking, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	output, err := t.run(looking, Command{Argv: []string{"sha256sum", "--", t.path}, Root: t.root})
	if errors.As(err, new(*ExitError)) || (looking.Err() != nil && ctx.Err() == nil) {
		return false, nil // there is none, or it cannot be read
	}
	if err != nil {
		return false, err
	}
	return hashIn(output.Stdout) == t.file.Digest.SHA256, nil
}

// hashIn is what sha256sum has computed. A backslash at the beginning says that it has changed the name of the file.
func hashIn(output string) string {
	hash, _, _ := strings.Cut(strings.TrimPrefix(output, `\`), " ")
	return strings.TrimSpace(hash)
}

func (t *transfer) run(ctx context.Context, command Command) (*Output, error) {
	return t.host.run(ctx, t.conn, command)
}

func (t *transfer) setMode(ctx context.Context) error {
	if !t.root {
		return t.failed(ctx, t.files.Chmod(t.path, t.file.Mode))
	}
	if _, err := t.run(ctx, Command{Argv: []string{"chmod", "--", t.mode(), t.path}, Root: true}); err != nil {
		return err
	}
	_, err := t.run(ctx, Command{Argv: []string{"chown", "--", t.file.Owner, t.path}, Root: true})
	return err
}

func (t *transfer) mode() string { return "0" + strconv.FormatUint(uint64(t.file.Mode.Perm()), 8) }

// send sends what is missing.
func (t *transfer) send(ctx context.Context, began os.FileInfo) error {
	size := t.file.Digest.Size
	content, err := t.open(ctx, began)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	if err := t.enoughRoom(size - t.there); err != nil {
		return err
	}
	part, err := t.files.OpenFile(t.part, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }()
	if err := part.Chmod(0o600); err != nil {
		return err
	}
	if err := t.sendRest(part, content); err != nil {
		return err
	}
	if n, _ := content.Read(make([]byte, 1)); n > 0 {
		t.local = errChanged
	}
	if t.local != nil {
		return t.local
	}
	if info, err := part.Stat(); err != nil || info.Size() > size {
		if err := errors.Join(err, part.Truncate(size)); err != nil {
			return err
		}
	}
	if _, ok := t.files.HasExtension("fsync@openssh.com"); ok {
		if err := part.Sync(); err != nil {
			return err
		}
	}
	return part.Close()
}

// open opens the content where it is to be sent from: behind what the host has already, if that is right.
func (t *transfer) open(ctx context.Context, began os.FileInfo) (io.ReadCloser, error) {
	content, err := t.reopen(ctx)
	if err != nil || began == nil || began.Size() <= unsureBytes {
		return content, err
	}
	there := min(began.Size(), t.file.Digest.Size) - unsureBytes
	if there <= 0 {
		return content, nil
	}
	hash := sha256.New()
	var host string
	var both errgroup.Group
	both.Go(func() (err error) {
		host, err = t.hashOf(ctx, 0, there)
		return err
	})
	both.Go(func() error {
		_, err := io.CopyN(hash, contextReader{ctx, content}, there)
		return err
	})
	if err := both.Wait(); err != nil {
		return nil, errors.Join(err, content.Close())
	}
	if host == hex.EncodeToString(hash.Sum(nil)) {
		t.there = there
		return content, nil
	}
	if err := errors.Join(content.Close(), t.files.Remove(t.part)); err != nil {
		return nil, err
	}
	return t.reopen(ctx)
}

func (t *transfer) reopen(ctx context.Context) (io.ReadCloser, error) {
	content, err := t.file.Content(ctx)
	if err != nil {
		t.local = err
		return nil, err
	}
	return &localReader{content, t}, nil
}

// localReader remembers why a content cannot be read, which else would look like an error of the host.
type localReader struct {
	io.ReadCloser
	of *transfer
}

func (r *localReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.of.local = err
	}
	return n, err
}

// sendRest sends what is missing. What SSH carries and the host acknowledges has arrived as it was sent, so that only what an earlier call has
// left is ever compared.
func (t *transfer) sendRest(part *sftp.File, content io.Reader) error {
	if _, err := part.Seek(t.there, io.SeekStart); err != nil {
		return err
	}
	rest := t.file.Digest.Size - t.there
	n, err := part.ReadFrom(io.LimitReader(content, rest))
	t.sent = n
	if err == nil && n < rest {
		t.local = errChanged
		err = t.local
	}
	return err
}

// hashOf is the SHA-256 of a part of what the host has.
func (t *transfer) hashOf(ctx context.Context, offset, length int64) (string, error) {
	argv := []string{"sh", "-c", hashScript, "vnfm-hash", t.part, strconv.FormatInt(offset, 10), strconv.FormatInt(length, 10)}
	output, err := t.run(ctx, Command{Argv: argv, label: "hash of " + t.part})
	return hashIn(output.Stdout), err
}

var errChanged = errors.New("it has changed meanwhile")

// hashScript computes the hash of a part of a file, of which the offset and the length are given. OpenSSL, which most hosts have, is several
// times as fast as sha256sum.
const hashScript = `if command -v openssl >/dev/null; then sum="openssl dgst -sha256 -r"; else sum=sha256sum; fi
dd if="$1" bs=1M skip="$2" count="$3" iflag=skip_bytes,count_bytes status=none | $sum`

// enoughRoom checks that the disk can take so many bytes, if the host tells.
func (t *transfer) enoughRoom(bytes int64) error {
	if _, ok := t.files.HasExtension("statvfs@openssh.com"); !ok {
		return nil
	}
	disk, err := t.files.StatVFS(path.Dir(t.part))
	if err != nil {
		return nil //nolint:nilerr // it does not tell
	}
	if free := disk.Frsize * disk.Bavail; free < uint64(bytes) {
		return &mgmtdriver.Failure{Title: "Disk is full", Status: http.StatusInsufficientStorage, Detail: fmt.Sprintf(
			"%s: %s needs %d bytes more, but its file system has only %d left", t.host, t.path, bytes, free)}
	}
	return nil
}

// rename puts the file in its place.
func (t *transfer) rename() error {
	if err := t.files.Chmod(t.part, t.file.Mode); err != nil {
		return err
	}
	if _, ok := t.files.HasExtension("posix-rename@openssh.com"); ok {
		return t.files.PosixRename(t.part, t.path)
	}
	if err := t.files.Remove(t.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.files.Rename(t.part, t.path)
}

// installScript puts a file in its place as root.
const installScript = `set -e
mkdir -p -- "$(dirname -- "$2")"
trap 'rm -f -- "$2.vnfm-new"' EXIT
install -m "$3" -o "${4%%:*}" -g "${4#*:}" -T -- "$1" "$2.vnfm-new"
mv -fT -- "$2.vnfm-new" "$2"
rm -f -- "$1"`

func (t *transfer) install(ctx context.Context) error {
	argv := []string{"sh", "-c", installScript, "vnfm-install", t.part, t.path, t.mode(), t.file.Owner}
	_, err := t.run(ctx, Command{Argv: argv, Root: true, label: "install " + t.path})
	return err
}

// failed turns the end of a transfer into an error for the user.
func (t *transfer) failed(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case t.local != nil && cause == nil:
		return fmt.Errorf("read what is to be %s: %w", t.file.Path, t.local)
	case errors.As(cause, new(*timeoutError)), errors.Is(cause, context.DeadlineExceeded):
		return &Incomplete{Host: t.host.String(), Path: t.file.Path, Sent: t.there + t.sent, Digest: t.file.Digest}
	case cause != nil:
		return unavailable(&t.host.target, cause)
	case errors.As(err, new(*mgmtdriver.Failure)), errors.As(err, new(*mgmtdriver.Unavailable)), errors.As(err, new(*ExitError)),
		errors.Is(err, errNotBegun):
		return err
	case errors.Is(err, sftp.ErrSSHFxConnectionLost), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		return unavailable(&t.host.target, fmt.Errorf("put %s: %w", t.file.Path, err))
	}
	// SFTP has no word for a full disk.
	if full := t.enoughRoom(t.file.Digest.Size - t.there); full != nil {
		return full
	}
	return fmt.Errorf("%s: put %s: %w", t.host, t.file.Path, err)
}
