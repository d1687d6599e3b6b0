package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"vnfm/vnfpkg"
)

// entry is one of a hand-made archive.
type entry struct {
	name    string
	content string
	mode    fs.FileMode
	method  uint16
	flags   uint16
	header  func(*zip.FileHeader) // changes the header that is written beside the content as it is
}

func handMade(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: e.method, Flags: e.flags}
		if e.mode != 0 {
			header.SetMode(e.mode)
		}
		create := w.CreateHeader
		if e.header != nil {
			header.CompressedSize64, header.UncompressedSize64 = uint64(len(e.content)), uint64(len(e.content))
			e.header(header)
			create = w.CreateRaw
		}
		f, err := create(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tight() vnfpkg.Limits {
	limits := vnfpkg.DefaultLimits()
	limits.ArchiveBytes = 1 << 20
	limits.ContentBytes = 200 << 20
	limits.Entries = 20
	limits.PathDepth = 4
	return limits
}

func TestOpenCSARRefusesHostileArchives(t *testing.T) {
	t.Parallel()
	many := make([]entry, 21)
	for i := range many {
		many[i].name = strings.Repeat("x", i+1)
	}
	zeros := strings.Repeat("\x00", 65<<20)
	tests := []struct {
		name    string
		data    []byte
		reason  string
		inName  string
		content bool // found only when the file is read
	}{
		{name: "nothing", data: nil, reason: "not a valid zip"},
		{name: "text", data: []byte("hello, I am a package"), reason: "not a valid zip"},
		{name: "path that leads out", data: handMade(t, entry{name: "a/../../x"}), reason: "leads out"},
		{name: "path of dots alone", data: handMade(t, entry{name: ".."}), reason: "leads out"},
		{name: "absolute path", data: handMade(t, entry{name: "/etc/passwd"}), reason: "absolute"},
		{name: "drive letter", data: handMade(t, entry{name: "C:/windows"}), reason: "absolute"},
		{name: "backslash", data: handMade(t, entry{name: `a\..\b`}), reason: "backslash"},
		{name: "empty name", data: handMade(t, entry{name: ""}), reason: "without a name"},
		{name: "empty element", data: handMade(t, entry{name: "a//b"}), reason: "empty element"},
		{name: "control character", data: handMade(t, entry{name: "a\nb"}), reason: "control characters"},
		{name: "NUL in name", data: handMade(t, entry{name: "a\x00b"}), reason: "control characters"},
		{name: "name that is not UTF-8", data: handMade(t, entry{name: "a\xff"}), reason: "not UTF-8"},
		{name: "very long name", data: handMade(t, entry{name: strings.Repeat("n", 2000)}), reason: "more than 1024 bytes"},
		{name: "deep nesting", data: handMade(t, entry{name: "a/b/c/d/e"}), reason: "deeper than 4"},
		{name: "symbolic link", data: handMade(t, entry{name: "link", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), reason: "symbolic link"},
		{name: "device", data: handMade(t, entry{name: "null", mode: fs.ModeDevice | 0o666}), reason: "not an ordinary file"},
		{name: "pipe", data: handMade(t, entry{name: "pipe", mode: fs.ModeNamedPipe | 0o666}), reason: "not an ordinary file"},
		{name: "directory named as a file", data: handMade(t, entry{name: "dir", mode: fs.ModeDir | 0o755}), reason: "both a file and a directory"},
		{name: "same name twice", data: handMade(t, entry{name: "a"}, entry{name: "a"}), reason: "twice"},
		{name: "same name in other case", data: handMade(t, entry{name: "dir/A"}, entry{name: "DIR/a"}), reason: "twice"},
		{name: "same name with ./", data: handMade(t, entry{name: "a"}, entry{name: "./a"}), reason: "twice"},
		{name: "file that is a directory too", data: handMade(t, entry{name: "a"}, entry{name: "a/b"}), reason: "as a file and as a directory"},
		{name: "encrypted", data: handMade(t, entry{name: "a", header: func(h *zip.FileHeader) { h.Flags |= 1 }}), reason: "encrypted"},
		{name: "unknown compression", data: handMade(t, entry{name: "a", header: func(h *zip.FileHeader) { h.Method = 12 }}), reason: "method other"},
		{name: "too many entries", data: handMade(t, many...), reason: "more than 20 entries"},
		{name: "ratio of a bomb", data: handMade(t, entry{name: "bomb", content: zeros, method: zip.Deflate}), reason: "more than 200 times"},
		{name: "claims more than it can have", data: handMade(t, entry{name: "a", header: func(h *zip.FileHeader) {
			h.Method, h.UncompressedSize64 = zip.Deflate, 1<<62
		}}), reason: "bytes of content"},
		{name: "content beyond the limit", data: handMade(t,
			entry{name: "a", header: func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 60<<20 }},
			entry{name: "b", header: func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 60<<20 }},
			entry{name: "c", header: func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 60<<20 }},
			entry{name: "d", header: func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Deflate, 60<<20 }},
		), reason: "bytes of content"},
		{name: "stored with two sizes", data: handMade(t, entry{name: "a", content: "abc", header: func(h *zip.FileHeader) { h.UncompressedSize64 = 30 }}), reason: "broken zip"},
		{name: "entry beyond the archive", data: handMade(t, entry{name: "a", header: func(h *zip.FileHeader) {
			h.CompressedSize64, h.UncompressedSize64 = 1<<40, 1<<40
		}}), reason: "broken zip"},
		{name: "entry into the directory", data: handMade(t, entry{name: "a", header: func(h *zip.FileHeader) {
			h.CompressedSize64, h.UncompressedSize64 = 20, 20
		}}), reason: "outside of the archive's data"},
		{name: "overlapping entries", data: overlapping(t), reason: "overlaps"},
		{name: "cut off", data: handMade(t, entry{name: "a", content: "abc"})[:60], reason: "not a valid zip"},
		{name: "claims a billion entries", data: claimEntries(t, 0xfffe), reason: "more than 20 entries"},
		{name: "claims another number of entries", data: claimEntries(t, 3), reason: "broken zip"},
		{name: "larger than it is deflated", data: handMade(t, entry{name: "a", content: "\x03\x00", header: func(h *zip.FileHeader) {
			h.Method, h.UncompressedSize64 = zip.Deflate, 10
		}}), reason: "ends too early", content: true},
		{name: "more than it claims", data: understated(t), reason: "not a valid zip", content: true},
		{name: "wrong checksum", data: handMade(t, entry{name: "a", content: "abc", header: func(h *zip.FileHeader) { h.CRC32 = 1 }}), reason: "CRC-32", content: true},
		{name: "garbage as compressed data", data: handMade(t, entry{name: "a", content: "\xff\xff\xff", header: func(h *zip.FileHeader) {
			h.Method = zip.Deflate
		}}), reason: "corrupt", content: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			csar, err := vnfpkg.OpenCSAR(bytes.NewReader(test.data), int64(len(test.data)), tight())
			if err == nil && test.content {
				_, err = csar.ReadFile("a", 1<<20)
			}
			var invalid *vnfpkg.Invalid
			if !errors.As(err, &invalid) || !strings.Contains(invalid.Error(), test.reason) {
				t.Errorf("got %v, want *Invalid with %q", err, test.reason)
			}
		})
	}
}

// overlapping makes the second entry of an archive point to the first one's data.
func overlapping(t *testing.T) []byte {
	t.Helper()
	data := handMade(t, entry{name: "a", content: strings.Repeat("x", 100)}, entry{name: "b", content: strings.Repeat("x", 100)})
	second := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[second+42:], 0)
	return data
}

// claimEntries changes the number of entries at the end of an archive of one.
func claimEntries(t *testing.T, number uint16) []byte {
	t.Helper()
	data := handMade(t, entry{name: "a"})
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint16(data[end+10:], number)
	return data
}

// understated makes an archive whose file is longer than the directory says.
func understated(t *testing.T) []byte {
	t.Helper()
	data := handMade(t, entry{name: "a", content: strings.Repeat("x", 100_000), method: zip.Deflate})
	directory := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[directory+24:], 10)
	return data
}

func TestOpenCSARRefusesZip64Lies(t *testing.T) {
	t.Parallel()
	many := make([]entry, 70_000)
	for i := range many {
		many[i].name = "f" + strconv.Itoa(i)
	}
	data := handMade(t, many...) // more than 65535 entries: zip64
	end64 := bytes.LastIndex(data, []byte("PK\x06\x06"))
	limits := vnfpkg.DefaultLimits()
	limits.Entries = 100_000
	if _, err := vnfpkg.OpenCSAR(bytes.NewReader(data), int64(len(data)), limits); err != nil {
		t.Fatalf("zip64 as it should be: %v", err)
	}
	for name, lie := range map[string]uint64{"more": 1 << 60, "fewer": 70_000 - 65_536} {
		lying := bytes.Clone(data)
		binary.LittleEndian.PutUint64(lying[end64+32:], lie)
		_, err := vnfpkg.OpenCSAR(bytes.NewReader(lying), int64(len(lying)), limits)
		var invalid *vnfpkg.Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s entries than there are: got %v", name, err)
		}
	}
	// A directory that is larger than the number of entries allows is not read into memory, whatever it claims.
	limits.Entries = 100
	lying := bytes.Clone(data)
	binary.LittleEndian.PutUint64(lying[end64+32:], 100)
	_, err := vnfpkg.OpenCSAR(bytes.NewReader(lying), int64(len(lying)), limits)
	wantInvalid(t, err, "", 0, "too large")
}

func TestCSARReadsFiles(t *testing.T) {
	t.Parallel()
	csar := open(t, handMade(t, entry{name: "dir/", mode: fs.ModeDir | 0o755}, entry{name: "./dir/b", content: "bee"}, entry{name: "a", content: "ay"}))
	if got := strings.Join(csar.Names(), " "); got != "a dir/b" {
		t.Errorf("names: %q", got)
	}
	for _, name := range []string{"dir/b", "./dir/b", "dir/../dir/b"} {
		if data, err := csar.ReadFile(name, 3); err != nil || string(data) != "bee" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := csar.ReadFile("dir/b", 2); err == nil {
		t.Error("read more than asked for")
	}
	for _, name := range []string{"none", "dir", "../a", "/a", "A", ""} {
		if _, err := csar.Open(name); !errors.Is(err, vnfpkg.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if info, err := csar.Stat("a"); err != nil || info.Size() != 2 || info.Name() != "a" {
		t.Errorf("stat: %v, %v", info, err)
	}
}

// failing is a storage that breaks down after some bytes.
type failing struct {
	io.ReaderAt
	left int
}

var errStorage = errors.New("connection lost")

func (f *failing) ReadAt(p []byte, offset int64) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errStorage
	}
	return f.ReaderAt.ReadAt(p, offset)
}

func TestStorageErrorsAreNotThePackagesFault(t *testing.T) {
	t.Parallel()
	data := build(t, twoVdu(t))
	failures := 0
	for left := 0; ; left += 1000 {
		csar, err := vnfpkg.OpenCSAR(&failing{bytes.NewReader(data), left}, int64(len(data)), vnfpkg.DefaultLimits())
		if err == nil {
			_, err = csar.Describe(t.Context())
		}
		if err == nil {
			break
		}
		failures++
		var invalid *vnfpkg.Invalid
		if !errors.Is(err, errStorage) || errors.As(err, &invalid) {
			t.Fatalf("after %d bytes: %v", left, err)
		}
	}
	if failures < 10 {
		t.Errorf("only %d failures", failures)
	}
}

// pattern is an archive of one stored file of any size that is not kept anywhere.
type pattern struct {
	head, tail []byte
	size       int64
}

var content = bytes.Repeat([]byte("x"), 1<<16)

func (p *pattern) ReadAt(b []byte, offset int64) (int, error) {
	n := 0
	for n < len(b) {
		at := offset + int64(n)
		tail := at - int64(len(p.head)) - p.size
		switch {
		case at < int64(len(p.head)):
			n += copy(b[n:], p.head[at:])
		case tail < 0:
			n += copy(b[n:], content[:min(-tail, int64(len(content)))])
		case tail < int64(len(p.tail)):
			n += copy(b[n:], p.tail[tail:])
		default:
			return n, io.EOF
		}
	}
	return n, nil
}

func TestReadingTakesConstantMemory(t *testing.T) {
	const size = 64 << 20
	// The headers of an archive of that size, without its content.
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "image.raw", CompressedSize64: size, UncompressedSize64: size}
	if _, err := w.CreateRaw(header); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	head := bytes.Clone(out.Bytes())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tail := bytes.Clone(out.Bytes()[len(head):])
	end := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint32(tail[end+16:], uint32(len(head)+size))
	source := &pattern{head, tail, size}

	csar, err := vnfpkg.OpenCSAR(source, int64(len(head)+len(tail))+size, vnfpkg.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	image, err := csar.Open("image.raw")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, image)
	if err != nil || n != size {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	image.Close()
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("allocated %d bytes in all for a file of %d", allocated, size)
	}
}
