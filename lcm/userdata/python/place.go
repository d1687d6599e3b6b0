package python

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed bootstrap all:modules
var ours embed.FS

// Package is what is needed of a VNF package; [vnfpkg.CSAR] is one.
type Package interface {
	Names() []string
	ReadFile(name string, maxBytes int64) ([]byte, error)
}

// Limits of what is taken out of a package.
const (
	maxFileBytes = 1 << 20
	maxTreeBytes = 16 << 20
	maxFiles     = 1000
)

// account is the user and group of scripts where the server is root: in the range that neither distributions nor systemd give to anybody.
const account = 65533

// place is where a script runs: a private directory with its part of the package and what is ours. The script can only read it.
type place struct {
	dir        string
	root       string // of the package
	bootstrap  string // our program
	ownAccount bool   // the script's own account can read it
}

// newPlace makes the place: the Python files of the package, and all of the folder in which the script is.
func newPlace(script Script) (*place, error) {
	dir, err := os.MkdirTemp("", "vnfm-user-data-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for a user data script: %w", err)
	}
	p := &place{dir: dir}
	if err := p.fill(script); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *place) fill(script Script) error {
	// Python tells the places of errors by real paths.
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		return err
	}
	p.dir = dir
	p.root, p.bootstrap = filepath.Join(dir, "package"), filepath.Join(dir, "bootstrap", "main.py")
	tree, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	err = fs.WalkDir(ours, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := ours.ReadFile(name)
		if err != nil {
			return err
		}
		return put(tree, name, content)
	})
	if err != nil {
		return err
	}
	if err := extract(tree, script); err != nil {
		return err
	}
	if os.Geteuid() == 0 && os.Chown(dir, -1, account) == nil {
		p.ownAccount = true
		return os.Chmod(dir, 0o750) //nolint:gosec // for the group of the account, which has no other member
	}
	return nil
}

// extract writes the script's part of the package.
func extract(tree *os.Root, script Script) error {
	folder := path.Dir(path.Clean(script.File)) + "/"
	if err := tree.Mkdir("package", 0o755); err != nil {
		return err
	}
	total, count := 0, 0
	for _, name := range script.Package.Names() {
		if !strings.HasSuffix(name, ".py") && !strings.HasPrefix(name, folder) {
			continue
		}
		content, err := script.Package.ReadFile(name, maxFileBytes)
		if err != nil {
			return &Failed{Message: err.Error()}
		}
		count++
		if total += len(content); total > maxTreeBytes || count > maxFiles {
			return &Failed{Message: fmt.Sprintf("the Python files of the VNF package, with all of the folder %s, are more than %d files or %d bytes",
				folder, maxFiles, maxTreeBytes)}
		}
		if err := put(tree, path.Join("package", name), content); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file; tree keeps whatever the name is from leading elsewhere.
func put(tree *os.Root, name string, content []byte) error {
	if err := tree.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return errors.Join(tree.WriteFile(name, content, 0o644), tree.Chmod(name, 0o444))
}

func (p *place) remove() { os.RemoveAll(p.dir) }
