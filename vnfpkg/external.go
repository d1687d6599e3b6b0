package vnfpkg

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
)

// OpenExternal fetches an artifact that the package does not contain but names by its URL. Reading ends with *[DownloadError], and not
// with [io.EOF], if it is not what the package's hash is of. Close must be called.
func (r *Registry) OpenExternal(ctx context.Context, artifact Artifact) (io.ReadCloser, error) {
	hasher, _ := NewHash(artifact.Checksum.Algorithm)
	if hasher == nil {
		return nil, fmt.Errorf("artifact %s: unknown hash algorithm %s", artifact.Path, artifact.Checksum.Algorithm)
	}
	content, err := newDownload(ctx, r.downloads, &Source{URL: artifact.Path}, r.limits.ArchiveBytes)
	if err != nil {
		return nil, err
	}
	return &hashed{content, hasher, artifact.Checksum.Hash}, nil
}

// hashed is a download whose hash is known beforehand.
type hashed struct {
	*download
	hasher hash.Hash
	want   string
}

// Read implements [io.Reader].
func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.download.Read(p)
	h.hasher.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := hex.EncodeToString(h.hasher.Sum(nil)); got != h.want {
			return n, h.failure(http.StatusBadGateway, false, "the content has the hash %s, not %s", got, h.want)
		}
	}
	return n, err
}
