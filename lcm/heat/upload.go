package heat

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"vnfm/lcm"
	"vnfm/vnfpkg"
)

const (
	// uploadStall is how long Glance may take no content, or not answer after all of it, before an upload is taken for dead.
	uploadStall = 2 * time.Minute
	// cleanTime bounds the attempt to remove what a failed upload leaves.
	cleanTime = 10 * time.Second
)

// send makes an image of the content that comes with the package.
func (d *Driver) send(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource, sum *imageHash) (lcm.ImageState, error) {
	content, err := source.Open()
	if err != nil {
		return "", err
	}
	defer content.Close()
	made, err := d.create(ctx, vim, source)
	if err != nil {
		d.clean(ctx, vim, source) // the answer may have been lost
	}
	if err != nil || !made {
		return lcm.ImageUnusable, err
	}
	if err := d.upload(ctx, vim, source, io.TeeReader(content, sum)); err != nil {
		return "", err
	}
	if err := sum.fits(source.Checksum); err != nil {
		return "", d.refuse(ctx, vim, source, err)
	}
	found, err := d.image(ctx, vim, source.ID)
	switch {
	case err != nil:
		return "", err
	case found == nil:
		return lcm.ImageUnusable, nil
	}
	if err := sum.arrived(found); err != nil {
		return "", errors.Join(d.RemoveImage(ctx, vim, source.ID), &lcm.Unavailable{Peer: glanceService.peer(vim), Err: err})
	}
	return lcm.ImageComplete, nil
}

// clean removes what a failed upload leaves, unless another run has taken over: then it may be that run's already. What cannot be removed
// now is when the next run finds it.
func (d *Driver) clean(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource) {
	if errors.Is(context.Cause(ctx), lcm.ErrSuperseded) {
		return
	}
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	if err := d.RemoveImage(cleaning, vim, source.ID); err != nil {
		lcm.Logger(ctx, d.config.Logger).WarnContext(ctx, "half of an image is left in the VIM for now", "image", source.ID, "error", err)
	}
}

// upload sends the content of an image, however long that takes while it gets on.
func (d *Driver) upload(ctx context.Context, vim lcm.VimAccess, source lcm.ImageSource, content io.Reader) error {
	client, err := d.sessions.client(ctx, vim, glanceService)
	if err != nil {
		return err
	}
	sending, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(uploadStall, func() { cancel(errStalled) })
	defer stall.Stop()
	body := &uploadBody{content: content, progress: func() { stall.Reset(uploadStall) }}
	if err := lcm.Held(ctx); err != nil {
		return err
	}
	observed, end := d.config.Observe(sending, glanceService.name, http.MethodPut)
	err = imagedata.Upload(observed, client, source.ID.String(), body).ExtractErr()
	if err == nil {
		end(nil)
		return nil
	}
	err = d.uploadFailure(ctx, sending, vim, source, body, err)
	end(err)
	return err
}

// uploadFailure says why an upload has failed, and removes what it leaves.
func (d *Driver) uploadFailure(ctx, sending context.Context, vim lcm.VimAccess, source lcm.ImageSource, body *uploadBody, err error) error {
	d.clean(ctx, vim, source)
	var broken *vnfpkg.Invalid
	switch {
	case errors.As(body.failure(), &broken):
		return d.rejected(vim, source, broken)
	case errors.Is(body.failure(), vnfpkg.ErrNotFound):
		return d.rejected(vim, source, body.failure())
	case errors.Is(context.Cause(sending), errStalled):
		return &lcm.Unavailable{Peer: glanceService.peer(vim), Err: errStalled}
	case body.failure() != nil:
		return body.failure()
	}
	return d.failure(vim, glanceService, err)
}

var (
	errStalled = fmt.Errorf("it has taken nothing of an image for %s", uploadStall)
	errExpired = errors.New("the token has expired just before the upload of an image")
)

// uploadBody is the body of an upload, which can be sent once.
type uploadBody struct {
	content  io.Reader
	progress func()
	err      atomic.Pointer[error] // what reading the content ended with; the transport may still read when the call is over
}

func (b *uploadBody) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.progress()
	if err != nil && err != io.EOF {
		b.err.Store(&err)
	}
	return n, err
}

// Seek implements [io.Seeker] for gophercloud, which after a new login would else send what is left of the content.
func (b *uploadBody) Seek(int64, int) (int64, error) { return 0, errExpired }

func (b *uploadBody) failure() error {
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

// imageHash computes of a content what it is compared by: the size, the checksum of the VNFD, and those that Glance may have.
type imageHash struct {
	io.Writer
	bytes  int64
	hashes map[string]hash.Hash // by the algorithm's usual name
}

func newImageHash(expected vnfpkg.Checksum) (*imageHash, error) {
	h := &imageHash{hashes: map[string]hash.Hash{"SHA-256": sha256.New(), "SHA-512": sha512.New()}}
	if expected.Hash != "" {
		hasher, name := vnfpkg.NewHash(expected.Algorithm)
		if hasher == nil {
			return nil, fmt.Errorf("the algorithm %q of its checksum is not SHA-224, SHA-256, SHA-384 or SHA-512", expected.Algorithm)
		}
		h.hashes[name] = hasher
	}
	writers := []io.Writer{}
	for _, hasher := range h.hashes {
		writers = append(writers, hasher)
	}
	h.Writer = io.MultiWriter(writers...)
	return h, nil
}

func (h *imageHash) Write(p []byte) (int, error) {
	h.bytes += int64(len(p))
	return h.Writer.Write(p)
}

func (h *imageHash) sum(algorithm string) string {
	return hex.EncodeToString(h.hashes[algorithm].Sum(nil))
}

// fits compares the content with the checksum in the VNFD, if there is one.
func (h *imageHash) fits(expected vnfpkg.Checksum) error {
	if expected.Hash == "" {
		return nil
	}
	_, name := vnfpkg.NewHash(expected.Algorithm)
	if got := h.sum(name); !strings.EqualFold(got, expected.Hash) {
		return fmt.Errorf("its %s is %s, not %s as in the VNFD", name, got, expected.Hash)
	}
	return nil
}

// arrived compares the content with what Glance has of it. Before Rocky it tells no hash but MD5; the size has to do then.
func (h *imageHash) arrived(found *images.Image) error {
	algorithm, hash := hashOf(found)
	same := found.SizeBytes == h.bytes
	if _, known := h.hashes[algorithm]; known {
		same = same && strings.EqualFold(h.sum(algorithm), hash)
	}
	if !same {
		return fmt.Errorf("image %s is not what was sent: %d bytes, %s %s", found.ID, found.SizeBytes, algorithm, hash)
	}
	return nil
}
