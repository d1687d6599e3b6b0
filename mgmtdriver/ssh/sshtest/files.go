package sshtest

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/pkg/sftp"
)

// How a file is opened, as SFTP numbers it (draft-ietf-secsh-filexfer-02, 6.3).
const (
	openRead     = 0x01
	openWrite    = 0x02
	openCreate   = 0x08
	openTruncate = 0x10
)

// newFiles returns the files of a machine, in memory. A file outlives the connection that it was opened by, as on a disk: those of package
// sftp answer every later call with the error that the connection ended with.
func newFiles() sftp.Handlers {
	files := sftp.InMemHandler()
	files.FileGet, files.FilePut = lastingReader{files.FileGet}, lastingWriter{files.FilePut}
	return files
}

// lastingReader opens files that know nothing of [sftp.TransferError].
type lastingReader struct{ sftp.FileReader }

// Fileread implements [sftp.FileReader].
func (r lastingReader) Fileread(request *sftp.Request) (io.ReaderAt, error) {
	file, err := r.FileReader.Fileread(request)
	if err != nil {
		return nil, err
	}
	return struct{ io.ReaderAt }{file}, nil
}

// lastingWriter opens files that know nothing of [sftp.TransferError].
type lastingWriter struct{ sftp.FileWriter }

// Filewrite implements [sftp.FileWriter].
func (w lastingWriter) Filewrite(request *sftp.Request) (io.WriterAt, error) {
	file, err := w.FileWriter.Filewrite(request)
	if err != nil {
		return nil, err
	}
	return struct{ io.WriterAt }{file}, nil
}

// makeDirectories gives the machine the directories that every Linux has.
func (s *Server) makeDirectories() error {
	directories := []string{"/etc", "/home", "/opt", "/root", "/tmp", "/usr", "/usr/local", "/usr/local/bin", "/var", "/var/lib", "/var/tmp"}
	if s.opts.User != "" && s.opts.User != "root" {
		directories = append(directories, "/home/"+s.opts.User)
	}
	for _, d := range directories {
		if err := s.files.FileCmd.Filecmd(sftp.NewRequest("Mkdir", d)); err != nil {
			return fmt.Errorf("make directory %s: %w", d, err)
		}
	}
	return nil
}

// ReadFile reads a file of the machine. The error wraps os.ErrNotExist when there is none.
func (s *Server) ReadFile(path string) ([]byte, error) {
	request := sftp.NewRequest("Get", path)
	request.Flags = openRead
	r, err := s.files.FileGet.Fileread(request)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	content, err := io.ReadAll(io.NewSectionReader(r, 0, math.MaxInt64))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return content, nil
}

// WriteFile makes or replaces a file of the machine; its directory must exist.
func (s *Server) WriteFile(path string, content []byte) error {
	request := sftp.NewRequest("Put", path)
	request.Flags = openWrite | openCreate | openTruncate
	w, err := s.files.FilePut.Filewrite(request)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if _, err := io.Copy(io.NewOffsetWriter(w, 0), bytes.NewReader(content)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
