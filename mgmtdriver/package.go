package mgmtdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
)

// Package is the VNF package of the instance.
type Package interface {
	// Names returns the paths of all files, sorted.
	Names(ctx context.Context) ([]string, error)
	// Open opens a file, an [io/fs.ErrNotExist] if there is none. Close must be called.
	Open(ctx context.Context, path string) (io.ReadCloser, error)
}

// maxFile bounds the files of a package that are read into memory.
const maxFile = 4 << 20

// ReadFile reads a small file of a package. *[Failure] if it has none with that path, or one of more than 4 MiB.
func ReadFile(ctx context.Context, pkg Package, path string) ([]byte, error) {
	file, err := pkg.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Failure{Title: "File is missing", Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("the VNF package has no file %q", path)}
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		return nil, &Failure{Title: "File is too large", Status: http.StatusUnprocessableEntity,
			Detail: fmt.Sprintf("%s of the VNF package has more than %d bytes", path, maxFile)}
	}
	return content, err
}
