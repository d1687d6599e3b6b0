package vnfpkg

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
)

// NewHash returns the hash function of an algorithm's name (SOL004 4.3.2) and its name in the usual spelling; nil if unknown.
func NewHash(algorithm string) (hash.Hash, string) {
	switch strings.ReplaceAll(strings.ToUpper(algorithm), "-", "") {
	case "SHA224":
		return sha256.New224(), "SHA-224"
	case "SHA256":
		return sha256.New(), "SHA-256"
	case "SHA384":
		return sha512.New384(), "SHA-384"
	case "SHA512":
		return sha512.New(), "SHA-512"
	default:
		return nil, ""
	}
}

// Files with these extensions are virtual machine images, whatever the VNFD says of them.
var imageExtensions = []string{
	".raw", ".vhd", ".vhdx", ".vmdk", ".vdi", ".iso", ".ploop", ".qcow2", ".aki", ".ari", ".ami", ".img",
}

func isImage(name string) bool {
	return slices.Contains(imageExtensions, strings.ToLower(path.Ext(name)))
}

// verify compares the files that the blocks list with their hashes and returns the artifacts among them, in the order of the
// blocks. Blocks with neither Algorithm nor Hash are no concern of it.
func (c *CSAR) verify(ctx context.Context, blocks []block, p *problems) ([]Artifact, error) {
	var artifacts []Artifact
	for _, b := range blocks {
		name, algorithm, sum := b.first("Source", "Name"), b.first("Algorithm"), strings.ToLower(b.first("Hash"))
		if algorithm == "" && sum == "" {
			continue
		}
		if name == "" || algorithm == "" || sum == "" {
			p.add(b.invalid("an artifact needs all of Source (or Name), Algorithm and Hash"))
			continue
		}
		hasher, algorithm := NewHash(algorithm)
		if hasher == nil {
			p.add(b.invalidField([]string{"Algorithm"}, "the algorithm %q of %s is not SHA-224, SHA-256, SHA-384 or SHA-512", b.first("Algorithm"), name))
			continue
		}
		artifact := Artifact{Path: artifactPath(name), Checksum: Checksum{algorithm, sum}, Unchecked: isURL(name)}
		if !artifact.Unchecked {
			if err := c.verifyFile(ctx, b, artifact, hasher); !p.accepts(err) {
				return nil, err
			}
		}
		if !slices.ContainsFunc(artifacts, func(a Artifact) bool { return a.Path == artifact.Path }) {
			artifacts = append(artifacts, artifact)
		}
	}
	return artifacts, nil
}

func (c *CSAR) verifyFile(ctx context.Context, b block, artifact Artifact, hasher hash.Hash) error {
	if !c.has(artifact.Path) {
		return b.invalid("the package has no file %q", artifact.Path)
	}
	content, err := c.Open(artifact.Path)
	if err != nil {
		return err
	}
	_, err = io.Copy(hasher, &contextReader{ctx, content})
	if closeErr := content.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hasher.Sum(nil)); got != artifact.Checksum.Hash {
		return b.invalidField([]string{"Hash"}, "the %s of %s is %s, not %s", artifact.Checksum.Algorithm, artifact.Path, got, artifact.Checksum.Hash)
	}
	return nil
}

// isURL tells whether the name of an artifact is one that has to be fetched from elsewhere.
func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// artifactPath is the name of an artifact as it is looked up: cleaned, if it is that of a file.
func artifactPath(name string) string {
	if isURL(name) {
		return name
	}
	return path.Clean(name)
}

// contextReader ends with the context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("read VNF package: %w", err)
	}
	return r.r.Read(p)
}
