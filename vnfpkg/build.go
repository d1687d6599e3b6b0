package vnfpkg

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Build writes the CSAR of a source tree on disk to w, see [BuildFS].
func Build(ctx context.Context, dir string, w io.Writer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open source tree: %w", err)
	}
	defer root.Close()
	return BuildFS(ctx, root.FS(), w)
}

// BuildFS writes the CSAR of a source tree to w. The tree has either layout of SOL004 4.1; the hash of every file goes into the
// manifest, if there is one, or into TOSCA.meta, or into a new manifest where the layout has no TOSCA.meta. The tree itself is
// not changed, and the same tree gives the same bytes. Left out are hidden files and what Python leaves behind. *[Invalid] if
// the tree has links or special files, or is no package at all.
func BuildFS(ctx context.Context, root fs.FS, w io.Writer) error {
	b := &builder{root: root}
	var err error
	if b.names, err = sourceFiles(b.root); err != nil {
		return err
	}
	listName, list, err := b.hashList(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(b.names, listName) {
		b.names = append(b.names, listName)
	}
	// TOSCA.meta comes first, as SOL004 4.1.2 recommends for archives that are read as streams.
	slices.Sort(b.names)
	if i, ok := slices.BinarySearch(b.names, metaFile); ok {
		b.names = slices.Insert(slices.Delete(b.names, i, i+1), 0, metaFile)
	}
	archive := zip.NewWriter(w)
	for _, name := range b.names {
		if err := b.write(ctx, archive, name, listName, list); err != nil {
			return fmt.Errorf("write %s into the package: %w", name, err)
		}
	}
	return archive.Close()
}

type builder struct {
	root  fs.FS
	names []string
}

// sourceFiles lists the files of a source tree, sorted.
func sourceFiles(root fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return fmt.Errorf("read source tree: %w", err)
		case name == ".":
			return nil
		case strings.HasPrefix(base, "."), base == "__pycache__", strings.HasSuffix(base, ".pyc"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return &Invalid{File: name, Reason: "not an ordinary file"}
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

func (b *builder) write(ctx context.Context, archive *zip.Writer, name, listName string, list []byte) error {
	if name == listName {
		return writeEntry(ctx, archive, name, zip.Deflate, bytes.NewReader(list))
	}
	content, err := b.root.Open(name)
	if err != nil {
		return err
	}
	defer content.Close()
	method := zip.Deflate
	if isImage(name) {
		method = zip.Store // compressed already, or not worth the time
	}
	return writeEntry(ctx, archive, name, method, content)
}

// hashList makes the file that lists the hashes: its name and its new content.
func (b *builder) hashList(ctx context.Context) (string, []byte, error) {
	name, err := b.listName()
	if err != nil {
		return "", nil, err
	}
	head, artifacts, err := b.listHead(name)
	if err != nil {
		return "", nil, err
	}
	key := "Source"
	if name == metaFile {
		key = "Name"
	}
	list := bytes.NewBufferString(head)
	for _, file := range b.names {
		if file == name {
			continue
		}
		sum, err := b.hash(ctx, file)
		if err != nil {
			return "", nil, err
		}
		writeArtifact(list, key, file, artifacts[file].first("Content-Type"), "SHA-256", sum)
	}
	for _, url := range slices.Sorted(maps.Keys(artifacts)) {
		if external := artifacts[url]; isURL(url) {
			writeArtifact(list, key, url, external.first("Content-Type"), external.first("Algorithm"), external.first("Hash"))
		}
	}
	return name, list.Bytes(), nil
}

func writeArtifact(list *bytes.Buffer, key, name, contentType, algorithm, sum string) {
	if list.Len() > 0 {
		list.WriteString("\n")
	}
	fmt.Fprintf(list, "%s: %s\n", key, name)
	if contentType != "" {
		fmt.Fprintf(list, "Content-Type: %s\n", contentType)
	}
	if algorithm != "" {
		fmt.Fprintf(list, "Algorithm: %s\nHash: %s\n", algorithm, sum)
	}
}

// listName chooses between TOSCA.meta and the manifest.
func (b *builder) listName() (string, error) {
	if !slices.Contains(b.names, metaFile) {
		for _, name := range b.names {
			if isYAML(name) && !strings.Contains(name, "/") {
				return strings.TrimSuffix(name, path.Ext(name)) + ".mf", nil
			}
		}
		return "", &Invalid{Reason: fmt.Sprintf("the source tree has neither %s nor a YAML file in the root", metaFile)}
	}
	blocks, err := b.blocks(metaFile)
	if err != nil {
		return "", err
	}
	if len(blocks) == 0 {
		return "", &Invalid{File: metaFile, Reason: "the file is empty"}
	}
	if manifest := blocks[0].first(entryKeys("Manifest")...); manifest != "" {
		return path.Clean(manifest), nil
	}
	return metaFile, nil
}

func (b *builder) blocks(name string) ([]block, error) {
	data, err := fs.ReadFile(b.root, name)
	if err != nil {
		return nil, fmt.Errorf("read source tree: %w", err)
	}
	return parseBlocks(name, data)
}

// listHead returns the lines before the first artifact, and the artifacts by their names.
func (b *builder) listHead(name string) (string, map[string]block, error) {
	data, err := fs.ReadFile(b.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("read source tree: %w", err)
	}
	if _, _, line, _ := cutSignature(name, data); line != 0 {
		return "", nil, &Invalid{File: name, Reason: "the manifest is signed: sign it after the package was built"}
	}
	blocks, err := parseBlocks(name, data)
	if err != nil {
		return "", nil, err
	}
	headLines := bytes.Count(data, []byte("\n")) + 1
	artifacts := map[string]block{}
	for _, artifact := range blocks {
		file := artifact.first("Source", "Name")
		if file == "" {
			continue
		}
		headLines = min(headLines, artifact.line-1)
		artifacts[artifactPath(file)] = artifact
	}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	head := strings.TrimRight(strings.Join(lines[:min(headLines, len(lines))], "\n"), "\n")
	if head != "" {
		head += "\n"
	}
	return head, artifacts, nil
}

func (b *builder) hash(ctx context.Context, name string) (string, error) {
	content, err := b.root.Open(name)
	if err != nil {
		return "", fmt.Errorf("read source tree: %w", err)
	}
	defer content.Close()
	hasher, _ := NewHash("SHA-256")
	if _, err := io.Copy(hasher, &contextReader{ctx, content}); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return hex.EncodeToString(hasher.Sum(nil)), nil
}

// Validate checks a package file, or the CSAR that [Build] makes of a source tree, as onboarding does.
func Validate(ctx context.Context, name string, trust Trust) (*Description, error) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return validateFile(ctx, file, trust)
	}
	csar, err := newScratch(func(w io.Writer) error { return Build(ctx, name, w) })
	if err != nil {
		return nil, err
	}
	defer csar.Close()
	return validateFile(ctx, csar, trust)
}

func validateFile(ctx context.Context, file *os.File, trust Trust) (*Description, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var unpacked *os.File
	defer func() {
		if unpacked != nil {
			unpacked.Close()
		}
	}()
	return Inspect(ctx, file, info.Size(), DefaultLimits(), trust, func(csar io.Reader) (_ io.ReaderAt, size int64, err error) {
		unpacked, err = newScratch(func(w io.Writer) error {
			size, err = io.Copy(w, csar)
			return err
		})
		return unpacked, size, err
	})
}

// newScratch returns a file without a name that write has filled.
func newScratch(write func(io.Writer) error) (*os.File, error) {
	file, err := os.CreateTemp("", "vnfm-*.csar")
	if err != nil {
		return nil, fmt.Errorf("create temporary package: %w", err)
	}
	if err := errors.Join(os.Remove(file.Name()), write(file)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// BuildFile is [Build] into a file, which appears under its name only when it is complete.
func BuildFile(ctx context.Context, dir, name string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), ".csar-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = Build(ctx, dir, file)
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
