package vnfpkg

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// source is what an archive is read from. It tells errors of reading from errors of the archive, never reads outside of it,
// and bounds what the directory may take while it is being read into memory.
type source struct {
	r      io.ReaderAt
	size   int64
	budget int64 // bytes that may still be read; negative = no bound
}

// readFailure is an error of the storage below an archive. The archive may be fine.
type readFailure struct{ err error }

func (e *readFailure) Error() string { return "read archive: " + e.err.Error() }
func (e *readFailure) Unwrap() error { return e.err }

var errDirectoryTooLarge = errors.New("directory of the zip file is too large")

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset >= s.size {
		return 0, io.EOF
	}
	if s.budget >= 0 {
		if s.budget -= int64(len(p)); s.budget < 0 {
			s.budget = 0
			return 0, errDirectoryTooLarge
		}
	}
	n, err := s.r.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &readFailure{err}
	}
	return n, err
}

// refuse turns an error of reading the archive into *[Invalid], unless it is one of the storage.
func refuse(file string, err error) error {
	var failure *readFailure
	var invalid *Invalid
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &failure), errors.As(err, &invalid):
		return err
	case errors.Is(err, errDirectoryTooLarge):
		return &Invalid{File: file, Reason: errDirectoryTooLarge.Error()}
	case errors.Is(err, zip.ErrChecksum):
		return &Invalid{File: file, Reason: "broken zip file: the content does not match its CRC-32"}
	case errors.Is(err, zip.ErrAlgorithm):
		return &Invalid{File: file, Reason: "compressed with a method other than store and deflate"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &Invalid{File: file, Reason: "broken zip file: it ends too early"}
	case errors.As(err, &corrupt):
		return &Invalid{File: file, Reason: "broken zip file: corrupt compressed data"}
	default:
		return &Invalid{File: file, Reason: "not a valid zip file"}
	}
}

// Fields of the end of the central directory, APPNOTE 4.3.14 to 4.3.16.
const (
	endSignature     = "PK\x05\x06"
	endLength        = 22
	end64Signature   = "PK\x06\x06"
	end64Length      = 56
	locatorSignature = "PK\x06\x07"
	locatorLength    = 20
)

// directoryEnd is what the end of an archive says of its directory.
type directoryEnd struct {
	entries uint64
	start   int64 // offset of the directory
}

// readDirectoryEnd reads how many entries the archive claims to have. archive/zip allocates memory for as many before it reads them.
func readDirectoryEnd(s *source) (directoryEnd, error) {
	tail := make([]byte, min(s.size, 65*1024))
	if n, err := s.ReadAt(tail, s.size-int64(len(tail))); n < len(tail) {
		return directoryEnd{}, err
	}
	at := bytes.LastIndex(tail[:max(len(tail)-endLength+len(endSignature), 0)], []byte(endSignature))
	if at < 0 {
		return directoryEnd{}, zip.ErrFormat
	}
	record := tail[at:]
	end := directoryEnd{entries: uint64(binary.LittleEndian.Uint16(record[10:]))}
	length := uint64(binary.LittleEndian.Uint32(record[12:]))
	offset := binary.LittleEndian.Uint32(record[16:])
	position := s.size - int64(len(tail)) + int64(at)
	if end.entries == 0xffff || length == 0xffff || offset == 0xffffffff {
		at64, record64, err := readDirectoryEnd64(s, position)
		if err != nil {
			return directoryEnd{}, err
		}
		if record64 != nil {
			position = at64
			end.entries = binary.LittleEndian.Uint64(record64[32:])
			length = binary.LittleEndian.Uint64(record64[40:])
		}
	}
	if length > uint64(position) {
		return directoryEnd{}, zip.ErrFormat
	}
	end.start = position - int64(length)
	return end, nil
}

// readDirectoryEnd64 reads the zip64 record that belongs to the end record at a position; nil if there is none.
func readDirectoryEnd64(s *source, position int64) (int64, []byte, error) {
	locator := make([]byte, locatorLength)
	if n, err := s.ReadAt(locator, position-locatorLength); n < locatorLength {
		return 0, nil, err
	}
	if !bytes.HasPrefix(locator, []byte(locatorSignature)) {
		return 0, nil, nil
	}
	at := binary.LittleEndian.Uint64(locator[8:])
	if at > uint64(s.size) {
		return 0, nil, zip.ErrFormat
	}
	record := make([]byte, end64Length)
	if n, err := s.ReadAt(record, int64(at)); n < end64Length {
		return 0, nil, err
	}
	if !bytes.HasPrefix(record, []byte(end64Signature)) {
		return 0, nil, zip.ErrFormat
	}
	return int64(at), record, nil
}

// Room for each entry in the directory: names and extra fields are seldom longer.
const directoryBytesPerEntry = 512

// openArchive reads the directory of a zip file after having checked that it will fit into memory.
func openArchive(r io.ReaderAt, size int64, limits Limits) (*zip.Reader, directoryEnd, error) {
	if size > limits.ArchiveBytes {
		return nil, directoryEnd{}, &Invalid{Reason: fmt.Sprintf("the archive has %d bytes, more than %d", size, limits.ArchiveBytes)}
	}
	s := &source{r: r, size: size, budget: -1}
	end, err := readDirectoryEnd(s)
	if err != nil {
		return nil, directoryEnd{}, refuse("", err)
	}
	if end.entries > uint64(limits.Entries) {
		return nil, directoryEnd{}, tooManyEntries(limits)
	}
	s.budget = 256<<10 + int64(limits.Entries)*directoryBytesPerEntry
	archive, err := zip.NewReader(s, size)
	s.budget = -1
	// ErrInsecurePath depends on GODEBUG; names are checked by us in any case.
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, directoryEnd{}, refuse("", err)
	}
	if len(archive.File) > limits.Entries {
		return nil, directoryEnd{}, tooManyEntries(limits)
	}
	if uint64(len(archive.File)) != end.entries {
		return nil, directoryEnd{}, &Invalid{Reason: fmt.Sprintf(
			"broken zip file: it claims %d entries and has %d", end.entries, len(archive.File))}
	}
	return archive, end, nil
}

func tooManyEntries(limits Limits) error {
	return &Invalid{Reason: fmt.Sprintf("the archive has more than %d entries", limits.Entries)}
}
