package drivertest

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"vnfm/mgmtdriver"
)

// Files is a VNF package in a file system.
type Files struct{ fs.FS }

// Names implements [mgmtdriver.Package].
func (f Files) Names(context.Context) ([]string, error) {
	var names []string
	err := fs.WalkDir(f.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Open implements [mgmtdriver.Package].
func (f Files) Open(_ context.Context, path string) (io.ReadCloser, error) {
	if !fs.ValidPath(path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return f.FS.Open(path)
}

// Vims is a registry of one VIM.
type Vims struct {
	Names []string // that are taken
	InUse bool     // whether another instance uses the VIM

	mu   sync.Mutex
	Vim  *mgmtdriver.Vim // nil if there is none
	Made int             // VIMs that have been registered where there was none
}

// Taken implements [mgmtdriver.Vims].
func (v *Vims) Taken(_ context.Context, name string) (bool, error) {
	return slices.Contains(v.Names, name), nil
}

// Register implements [mgmtdriver.Vims].
func (v *Vims) Register(_ context.Context, vim mgmtdriver.Vim) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.Vim == nil {
		v.Made++
	}
	v.Vim = &vim
	return nil
}

// Remove implements [mgmtdriver.Vims].
func (v *Vims) Remove(context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.InUse {
		return &mgmtdriver.Failure{Title: "VIM cannot be removed", Status: 409, Detail: "VIM is in use"}
	}
	v.Vim = nil
	return nil
}

// Shown is what can be compared of the VIM.
func (v *Vims) Shown() map[string]any {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.Vim == nil {
		return map[string]any{"made": v.Made}
	}
	return map[string]any{"name": v.Vim.Name, "url": v.Vim.URL, "type": v.Vim.Type, "made": v.Made, "token": strings.HasPrefix(v.Vim.BearerToken, "bearer-"),
		"ca": strings.HasPrefix(v.Vim.CACertificate, "-----BEGIN CERTIFICATE-----")}
}

// Journal is a log that many write to.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is what was written.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
