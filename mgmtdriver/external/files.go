package external

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"vnfm/mgmtdriver"
)

// maxPackageBytes bounds the files of a package that a program sees.
const maxPackageBytes = 64 << 20

// packageDir copies the files of the package that the driver wants into a directory of their own, which remove takes away. It is ""
// for a driver that wants none.
func (d *driver) packageDir(ctx context.Context, files mgmtdriver.Package) (dir string, remove func(), err error) {
	if len(d.description.PackageFiles) == 0 {
		return "", func() {}, nil
	}
	names, err := files.Names(ctx)
	if err != nil {
		return "", nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(d.description.PackageFiles, func(pattern string) bool {
			matched, _ := path.Match(pattern, name)
			return matched
		})
	})
	dir, err = os.MkdirTemp("", "vnfm-driver-")
	if err != nil {
		return "", nil, fmt.Errorf("copy files of the VNF package: %w", err)
	}
	remove = func() { os.RemoveAll(dir) }
	if err := d.copyFiles(ctx, files, names, dir); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

func (d *driver) copyFiles(ctx context.Context, files mgmtdriver.Package, names []string, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("copy files of the VNF package: %w", err)
	}
	defer root.Close()
	left := int64(maxPackageBytes)
	for _, name := range names {
		if left, err = copyFile(ctx, files, name, root, left); err != nil {
			return fmt.Errorf("copy file %s of the VNF package: %w", name, err)
		}
		if left < 0 {
			return d.program.failure("wants more than %d bytes of the VNF package", maxPackageBytes)
		}
	}
	return nil
}

// copyFile copies a file, and returns how many of the bytes that are left it leaves; a negative number says that there are not enough.
func copyFile(ctx context.Context, files mgmtdriver.Package, name string, root *os.Root, left int64) (int64, error) {
	content, err := files.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, io.LimitReader(content, left+1))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return left - n, err
}
