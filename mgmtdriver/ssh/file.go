package ssh

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"vnfm/mgmtdriver"
)

// File is a file to put on a host.
type File struct {
	Path    string // absolute, or in the home of the user that logs in
	Content Content
	Mode    fs.FileMode // 0 = 0600
	Root    bool        // write it as root; the owner then is root
	Owner   string      // of a file that is written as root, as user:group; "" = root:root
	// Digest is that of the content if it is known, such as from an *[Incomplete]; else the content is read once more to compute it.
	Digest Digest
	Time   time.Duration // in which the call has to end; 0 = [Config.CommandTime]
}

// Content opens what a file is to contain; each time from the beginning.
type Content func(ctx context.Context) (io.ReadCloser, error)

// Bytes is a content in memory.
func Bytes(content []byte) Content {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}

// PackageFile is a file of a VNF package.
func PackageFile(pkg mgmtdriver.Package, path string) Content {
	return func(ctx context.Context) (io.ReadCloser, error) { return pkg.Open(ctx, path) }
}

// Digest identifies a content.
type Digest struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hexadecimal
}

// DigestOf reads a content and computes its digest.
func DigestOf(ctx context.Context, content Content) (Digest, error) {
	r, err := content(ctx)
	if err != nil {
		return Digest{}, err
	}
	defer r.Close()
	hash := sha256.New()
	const chunk = 256 << 10 // large files have many
	size, err := io.CopyBuffer(hash, contextReader{ctx, r}, make([]byte, chunk))
	return Digest{Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// Incomplete says that the time was over before a file was there. What has been sent stays; the next [Host.Put] of the same content goes on.
type Incomplete struct {
	Host   string
	Path   string
	Sent   int64 // bytes
	Digest Digest
}

func (e *Incomplete) Error() string {
	return fmt.Sprintf("%s: %d of %d bytes of %s are there", e.Host, e.Sent, e.Digest.Size, e.Path)
}

// Put puts a file on a host: it appears with its whole content or not at all. A host that has it already, which its SHA-256 tells, is sent nothing.
// It fails with *[Incomplete] if the time is over, *[mgmtdriver.Failure] if the disk is full, *[ExitError], *[mgmtdriver.Unavailable] and
// with what [Host.Ping] fails with; what has been sent by then is not sent again.
func (h *Host) Put(ctx context.Context, file File) error {
	began, limit := time.Now(), cmp.Or(file.Time, h.pool.config.CommandTime)
	if file.Digest == (Digest{}) {
		var err error
		if file.Digest, err = DigestOf(ctx, file.Content); err != nil {
			return fmt.Errorf("read what is to be %s: %w", file.Path, err)
		}
	}
	file.Mode = cmp.Or(file.Mode.Perm(), 0o600)
	file.Owner = cmp.Or(file.Owner, "root:root")
	var sent int64
	// However long the content has taken to read, there is to be progress.
	err := h.on(ctx, actionPut, max(limit-time.Since(began), limit/4), func(ctx context.Context, c *connection) error {
		t := &transfer{host: h, conn: c, file: file, root: file.Root && h.target.User != "root"}
		err := t.put(ctx)
		sent = t.sent
		return err
	})
	attributes := []any{"path", file.Path, "bytes", file.Digest.Size, "sent", sent, "duration", time.Since(began)}
	if err != nil {
		attributes = append(attributes, "error", h.secrets.Redact(err.Error()))
	}
	h.log.InfoContext(ctx, "put file", attributes...)
	return err
}

// readScript writes a file, or ends with 44 if there is none.
const readScript = `[ -e "$1" ] || exit 44
exec head -c "$2" -- "$1"`

const noSuchFile = 44

// Read reads a file of at most limit bytes, as root if that is wanted. The error wraps [fs.ErrNotExist] if there is none.
func (h *Host) Read(ctx context.Context, path string, root bool, limit int) ([]byte, error) {
	output, err := h.Run(ctx, Command{
		Argv: []string{"sh", "-c", readScript, "vnfm-read", path, strconv.Itoa(limit + 1)},
		Root: root, Limit: 2*limit + 2, Quiet: true, label: "read " + path,
	})
	var exit *ExitError
	switch {
	case errors.As(err, &exit) && exit.Status == noSuchFile:
		return nil, &fs.PathError{Op: "read", Path: h.String() + ":" + path, Err: fs.ErrNotExist}
	case err != nil:
		return nil, err
	case len(output.Stdout) > limit:
		return nil, fmt.Errorf("%s: %s is longer than %d bytes", h, path, limit)
	}
	return []byte(output.Stdout), nil
}

// Edit changes a file of root that everybody can read, if change returns another content. Its errors are those of [Host.Read] and [Host.Put].
func (h *Host) Edit(ctx context.Context, path string, change func(content string) string) error {
	content, err := h.Read(ctx, path, true, 1<<20)
	if err != nil {
		return err
	}
	changed := change(string(content))
	if changed == string(content) {
		return nil
	}
	return h.Put(ctx, File{Path: path, Content: Bytes([]byte(changed)), Mode: 0o644, Root: true})
}
