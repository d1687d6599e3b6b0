package sshtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pkg/sftp"
)

// MkdirAll makes a directory of the machine with those above it.
func (s *Server) MkdirAll(path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		err := s.files.FileCmd.Filecmd(sftp.NewRequest("Mkdir", strings.TrimRight(path[:i], "/")))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make directory %s: %w", path[:i], err)
		}
	}
	return nil
}

// Remove removes a file of the machine; it is no error if there is none.
func (s *Server) Remove(path string) error {
	err := s.files.FileCmd.Filecmd(sftp.NewRequest("Remove", path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// Closed reports whether the machine has been switched off.
func (s *Server) Closed() bool { return s.life.Err() != nil }

// List returns the names of the files and directories in a directory of the machine, sorted; nil if there is no such directory.
func (s *Server) List(path string) []string {
	lister, err := s.files.FileList.Filelist(sftp.NewRequest("List", path))
	if err != nil {
		return nil
	}
	entries := make([]os.FileInfo, 1000)
	n, _ := lister.ListAt(entries, 0)
	names := make([]string, n)
	for i, entry := range entries[:n] {
		names[i] = entry.Name()
	}
	slices.Sort(names)
	return names
}
