package sshtest

import (
	"errors"
	"fmt"
	"os"
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
