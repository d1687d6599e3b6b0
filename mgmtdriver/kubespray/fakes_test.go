package kubespray_test

import (
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"vnfm/mgmtdriver"
)

// files is a VNF package in a file system.
type files struct{ fs.FS }

func (f files) Names(context.Context) ([]string, error) {
	var names []string
	err := fs.WalkDir(f.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

func (f files) Open(_ context.Context, path string) (io.ReadCloser, error) { return f.FS.Open(path) }

// vims is a registry of one VIM.
type vims struct {
	mu    sync.Mutex
	vim   *mgmtdriver.Vim
	names []string // that are taken
	made  int
	inUse bool
}

func (v *vims) Taken(_ context.Context, name string) (bool, error) {
	return slices.Contains(v.names, name), nil
}

func (v *vims) Register(_ context.Context, vim mgmtdriver.Vim) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.vim == nil {
		v.made++
	}
	v.vim = &vim
	return nil
}

func (v *vims) Remove(context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inUse {
		return &mgmtdriver.Failure{Title: "VIM cannot be removed", Status: 409, Detail: "VIM is in use"}
	}
	v.vim = nil
	return nil
}

// journal is a log that many write to.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (v *vims) shown() map[string]any {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.vim == nil {
		return map[string]any{"made": v.made}
	}
	return map[string]any{"name": v.vim.Name, "url": v.vim.URL, "type": v.vim.Type, "made": v.made, "token": strings.HasPrefix(v.vim.BearerToken, "bearer-"),
		"ca": strings.HasPrefix(v.vim.CACertificate, "-----BEGIN CERTIFICATE-----")}
}
