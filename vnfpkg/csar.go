package vnfpkg

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// CSAR is an open VNF package archive (SOL004 4). Its methods may be called concurrently. It needs no closing, what it
// reads from does.
type CSAR struct {
	limits Limits
	files  map[string]*zip.File // by cleaned name, without directories
	names  []string             // sorted
}

// openZip is [OpenCSAR] of what is not in a signed zip file.
func openZip(r io.ReaderAt, size int64, limits Limits) (*CSAR, error) {
	archive, end, err := openArchive(r, size, limits)
	if err != nil {
		return nil, err
	}
	c := &CSAR{limits: limits, files: make(map[string]*zip.File, len(archive.File))}
	if err := c.index(archive.File); err != nil {
		return nil, err
	}
	if err := checkSizes(archive.File, size, limits); err != nil {
		return nil, err
	}
	if err := checkOverlap(archive.File, end.start); err != nil {
		return nil, err
	}
	return c, nil
}

// index checks the names and kinds of all entries and fills the table of files.
func (c *CSAR) index(entries []*zip.File) error {
	seen := make(map[string]string, len(entries)) // name in lower case → name
	directories := map[string]bool{}
	for _, entry := range entries {
		name, err := entryName(entry.Name, c.limits)
		if err != nil {
			return err
		}
		if err := checkKind(name, entry); err != nil {
			return err
		}
		if name == "." {
			continue
		}
		if other, ok := seen[strings.ToLower(name)]; ok {
			return &Invalid{File: name, Reason: fmt.Sprintf("the archive has this name twice (%s)", other)}
		}
		seen[strings.ToLower(name)] = name
		for parent := path.Dir(name); parent != "." && !directories[parent]; parent = path.Dir(parent) {
			directories[parent] = true
		}
		if !strings.HasSuffix(entry.Name, "/") {
			c.files[name] = entry
			c.names = append(c.names, name)
		}
	}
	slices.Sort(c.names)
	for _, name := range c.names {
		if directories[name] {
			return &Invalid{File: name, Reason: "the archive has this name as a file and as a directory"}
		}
	}
	return nil
}

const maxNameBytes = 1024

// entryName checks the name of an entry and cleans it.
func entryName(name string, limits Limits) (string, error) {
	refused := func(reason string) (string, error) {
		return "", &Invalid{File: fmt.Sprintf("%.200q", name), Reason: reason}
	}
	switch {
	case name == "":
		return refused("an entry without a name")
	case len(name) > maxNameBytes:
		return refused(fmt.Sprintf("the name has more than %d bytes", maxNameBytes))
	case !utf8.ValidString(name):
		return refused("the name is not UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refused("the name has control characters")
	case strings.Contains(name, `\`):
		return refused("the name has a backslash")
	case strings.HasPrefix(name, "/") || (len(name) > 1 && name[1] == ':'):
		return refused("an absolute path")
	}
	elements := strings.Split(strings.TrimSuffix(name, "/"), "/")
	if len(elements) > limits.PathDepth {
		return refused(fmt.Sprintf("nested deeper than %d directories", limits.PathDepth))
	}
	for _, element := range elements {
		if element == ".." {
			return refused("the path leads out of the archive")
		}
		if element == "" {
			return refused("the path has an empty element")
		}
	}
	return path.Clean(name), nil
}

// General purpose bits of encryption, APPNOTE 4.4.4.
const encrypted = 1<<0 | 1<<6 | 1<<13

func checkKind(name string, entry *zip.File) error {
	directory := strings.HasSuffix(entry.Name, "/")
	kind := entry.Mode() & fs.ModeType
	switch {
	case kind&fs.ModeSymlink != 0:
		return &Invalid{File: name, Reason: "a symbolic link"}
	case kind != 0 && kind != fs.ModeDir:
		return &Invalid{File: name, Reason: "not an ordinary file"}
	case directory != (kind == fs.ModeDir), name == "." && !directory:
		return &Invalid{File: name, Reason: "both a file and a directory"}
	case directory && entry.UncompressedSize64 != 0:
		return &Invalid{File: name, Reason: "a directory with content"}
	case entry.Flags&encrypted != 0:
		return &Invalid{File: name, Reason: "encrypted"}
	case entry.Method != zip.Store && entry.Method != zip.Deflate:
		return refuse(name, zip.ErrAlgorithm)
	}
	return nil
}

// freeBytes is what may be decompressed whatever the ratio, so that small archives of much repetition pass.
const freeBytes = 64 << 20

// checkSizes compares the sizes that the directory claims with the limits and with each other. Reading an entry ends with an
// error where it exceeds its claim, so that these bounds hold.
func checkSizes(entries []*zip.File, archiveBytes int64, limits Limits) error {
	var total uint64
	for _, entry := range entries {
		content, compressed := entry.UncompressedSize64, entry.CompressedSize64
		impossible := compressed > uint64(archiveBytes) || (entry.Method == zip.Store && content != compressed)
		if impossible {
			return &Invalid{File: path.Clean(entry.Name), Reason: fmt.Sprintf(
				"broken zip file: %d bytes that take %d of the archive's %d", content, compressed, archiveBytes)}
		}
		if content > uint64(limits.ContentBytes) {
			return tooLarge(entry.Name, limits)
		}
		if content > freeBytes && content/uint64(limits.Ratio) > compressed {
			return &Invalid{File: path.Clean(entry.Name), Reason: fmt.Sprintf(
				"decompresses to more than %d times its size", limits.Ratio)}
		}
		if total += content; total > uint64(limits.ContentBytes) {
			return tooLarge(entry.Name, limits)
		}
	}
	if total > freeBytes && total/uint64(limits.Ratio) > uint64(archiveBytes) {
		return &Invalid{Reason: fmt.Sprintf("the archive decompresses to more than %d times its size", limits.Ratio)}
	}
	return nil
}

func tooLarge(name string, limits Limits) error {
	return &Invalid{File: path.Clean(name), Reason: fmt.Sprintf("the archive has more than %d bytes of content", limits.ContentBytes)}
}

// checkOverlap refuses entries that share bytes of the archive, with which a small archive can claim any amount of content.
func checkOverlap(entries []*zip.File, directoryStart int64) error {
	type span struct {
		name       string
		start, end int64
	}
	spans := make([]span, 0, len(entries))
	for _, entry := range entries {
		data, err := entry.DataOffset()
		if err != nil {
			return refuse(path.Clean(entry.Name), err)
		}
		const localHeaderBytes = 30
		s := span{path.Clean(entry.Name), data - localHeaderBytes - int64(len(entry.Name)), data + int64(entry.CompressedSize64)}
		if s.end > directoryStart {
			return &Invalid{File: s.name, Reason: "broken zip file: the entry lies outside of the archive's data"}
		}
		spans = append(spans, s)
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(spans); i++ {
		if spans[i].start < spans[i-1].end {
			return &Invalid{File: spans[i].name, Reason: fmt.Sprintf("broken zip file: the entry overlaps with %s", spans[i-1].name)}
		}
	}
	return nil
}

// Names returns the names of all files, sorted. Directories are not listed.
func (c *CSAR) Names() []string { return slices.Clone(c.names) }

// Stat describes a file. [ErrNotFound] if there is none of that name.
func (c *CSAR) Stat(name string) (fs.FileInfo, error) {
	entry, err := c.file(name)
	if err != nil {
		return nil, err
	}
	return entry.FileInfo(), nil
}

// Open opens a file for reading, never more than the size that Stat tells. [ErrNotFound] if there is none of that name. Errors
// of reading are *[Invalid] where the archive is to blame. Close must be called.
func (c *CSAR) Open(name string) (io.ReadCloser, error) {
	entry, err := c.file(name)
	if err != nil {
		return nil, err
	}
	content, err := entry.Open()
	if err != nil {
		return nil, refuse(path.Clean(name), err)
	}
	return &entryReader{content, path.Clean(name)}, nil
}

// ReadFile reads a whole file of at most maxBytes bytes; *[Invalid] if it is larger. Otherwise like Open.
func (c *CSAR) ReadFile(name string, maxBytes int64) ([]byte, error) {
	info, err := c.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, &Invalid{File: path.Clean(name), Reason: fmt.Sprintf("has %d bytes, more than %d", info.Size(), maxBytes)}
	}
	content, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(content)
	if closeErr := content.Close(); err == nil {
		err = closeErr
	}
	return data, err
}

// file finds a file by its name as it is used in requests and in TOSCA.meta.
func (c *CSAR) file(name string) (*zip.File, error) {
	if entry, ok := c.files[path.Clean(name)]; ok {
		return entry, nil
	}
	return nil, fmt.Errorf("file %q of the VNF package: %w", name, ErrNotFound)
}

func (c *CSAR) has(name string) bool {
	_, ok := c.files[path.Clean(name)]
	return ok
}

// entryReader reads a file and says of errors whose they are.
type entryReader struct {
	io.ReadCloser
	name string
}

func (r *entryReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader returns io.EOF itself
		err = refuse(r.name, err)
	}
	return n, err
}
