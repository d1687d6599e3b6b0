package registry

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"vnfm/mgmtdriver"
)

// image is what Docker calls the image of the registry.
const image = "registry:latest"

const (
	// examinedBytes is how much of an archive is read, unpacked, to find out what is in it while the client waits: an image of the registry
	// is much smaller. What is in the rest is seen when Docker loads it.
	examinedBytes = 256 << 20
	listBytes     = 1 << 20 // of a list of images
)

// checkArchive refuses a file of the package that Docker cannot load the image of the registry from. It is not trusted: as little as
// possible of it is read.
func checkArchive(ctx context.Context, pkg mgmtdriver.Package, name string) error {
	if name == "" {
		return nil
	}
	file, err := pkg.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return badArchive("the VNF package has no file %q.", name)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	source := &source{ctx: ctx, file: file, left: examinedBytes}
	tags, err := imagesIn(source)
	switch {
	case source.err != nil:
		return source.err // the package cannot be read
	case source.left == 0 || slices.Contains(tags, image):
		return nil
	case err != nil:
		return badArchive(`%s is no archive of images such as "docker save" makes: %v.`, name, err)
	case len(tags) == 0:
		return badArchive("the images in %s have no name: save the image as %s.", name, image)
	}
	return badArchive("%s has %s in it, not %s: name the image so before it is saved.", name, shown(tags), image)
}

func badArchive(format string, args ...any) error {
	return &mgmtdriver.Invalid{Attribute: pointer + "/image_path",
		Detail: "The image_path in the additionalParams is invalid: " + fmt.Sprintf(format, args...)}
}

// shown are tags for people, who do not want to read all that an archive can hold.
func shown(tags []string) string {
	const most, longest = 5, 100
	var texts []string
	for _, tag := range tags[:min(most, len(tags))] {
		texts = append(texts, fmt.Sprintf("%.*q", longest, tag))
	}
	if len(tags) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// source is the file in the package. It tells its own errors from those of what is in it.
type source struct {
	ctx  context.Context
	file io.Reader
	left int64
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err = s.ctx.Err(); s.err != nil {
		return 0, s.err
	}
	n, err := s.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// unpacked counts what is read, so that little that unpacks to much is not read for long.
type unpacked struct {
	io.Reader
	of *source
}

var errLong = errors.New("it is too long to be examined")

func (u unpacked) Read(p []byte) (int, error) {
	if u.of.left == 0 {
		return 0, errLong
	}
	n, err := u.Reader.Read(p[:min(int64(len(p)), u.of.left)])
	u.of.left -= int64(n)
	return n, err
}

// imagesIn are the names of the images in an archive, as Docker calls them.
func imagesIn(s *source) ([]string, error) {
	content := bufio.NewReaderSize(s, 64<<10)
	var unzipped io.Reader = content
	if magic, _ := content.Peek(2); string(magic) == "\x1f\x8b" {
		zipped, err := gzip.NewReader(content)
		if err != nil {
			return nil, err
		}
		unzipped = zipped
	}
	var index []string
	indexed := false
	for archive := tar.NewReader(unpacked{unzipped, s}); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			if indexed {
				return index, nil
			}
			return nil, errors.New("it has neither a manifest.json nor an index.json")
		}
		if err != nil {
			return nil, err
		}
		switch path.Clean(header.Name) {
		case "manifest.json": // of "docker save", which Docker prefers if it finds both
			return manifestTags(archive)
		case "index.json": // of an OCI image layout
			if index, err = indexTags(archive); err != nil {
				return nil, err
			}
			indexed = true
		}
	}
}

func manifestTags(r io.Reader) ([]string, error) {
	var images []struct{ RepoTags []string }
	if err := readList(r, &images); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	var tags []string
	for _, i := range images {
		for _, tag := range i.RepoTags {
			tags = append(tags, familiar(tag))
		}
	}
	return tags, nil
}

func indexTags(r io.Reader) ([]string, error) {
	var index struct {
		Manifests []struct{ Annotations map[string]string }
	}
	if err := readList(r, &index); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	var tags []string
	for _, m := range index.Manifests {
		if name := m.Annotations["io.containerd.image.name"]; name != "" {
			tags = append(tags, familiar(name))
		}
	}
	return tags, nil
}

func readList(r io.Reader, into any) error {
	content, err := io.ReadAll(io.LimitReader(r, listBytes+1))
	if err == nil && len(content) > listBytes {
		err = fmt.Errorf("it has more than %d bytes", listBytes)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// familiar is the name of an image as Docker shows it.
func familiar(name string) string {
	for _, prefix := range []string{"docker.io/", "index.docker.io/", "library/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}
