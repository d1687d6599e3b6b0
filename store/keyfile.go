package store

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// keyFile is the content of a key file: a line of 32 bytes in base64 for each key, and "next:" before one that is to come.
type keyFile struct {
	secrets [][]byte // the first seals, all open
	next    []byte   // opens, and is to seal after the next rotation; nil: none
}

const nextPrefix = "next:"

// maxKeyFileBytes bounds what is read of a file that may not be one of keys.
const maxKeyFileBytes = 64 << 10

// readKeyFile reads a key file that nobody but its owner can read.
func readKeyFile(name string) (*keyFile, os.FileInfo, error) {
	file, err := os.Open(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, nil, fmt.Errorf("read key: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("read key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, nil, fmt.Errorf("key file %s can be read by others (mode %#o): make it 0600", name, info.Mode().Perm())
	}
	content := &keyFile{}
	lines := bufio.NewScanner(io.LimitReader(file, maxKeyFileBytes))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		encoded, next := strings.CutPrefix(line, nextPrefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("key file %s is not base64", name)
		case len(secret) != keyBytes:
			return nil, nil, fmt.Errorf("key file %s: a key has %d bytes, not %d", name, len(secret), keyBytes)
		case next:
			content.next = secret
		default:
			content.secrets = append(content.secrets, secret)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("read key: %w", err)
	}
	if len(content.secrets) == 0 {
		return nil, nil, fmt.Errorf("key file %s holds no key", name)
	}
	return content, info, nil
}

// keys are those that the file holds, the one that seals first.
func (f *keyFile) keys() ([]Key, error) {
	secrets := f.secrets
	if f.next != nil {
		secrets = append(secrets[:len(secrets):len(secrets)], f.next)
	}
	keys := make([]Key, len(secrets))
	for i, secret := range secrets {
		var err error
		if keys[i], err = NewKey(secret); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func (f *keyFile) encode() []byte {
	var content bytes.Buffer
	for _, secret := range f.secrets {
		content.WriteString(base64.StdEncoding.EncodeToString(secret) + "\n")
	}
	if f.next != nil {
		content.WriteString(nextPrefix + base64.StdEncoding.EncodeToString(f.next) + "\n")
	}
	return content.Bytes()
}

// promote makes the key that is to come the one that seals, or a new one if there is none.
func (f *keyFile) promote() {
	if f.next == nil {
		f.next = newSecret()
	}
	f.secrets, f.next = append([][]byte{f.next}, f.secrets...), nil
}

func newSecret() []byte {
	secret := make([]byte, keyBytes)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// createKeyFile makes a key file with one key. If another process makes it at the same time, that one's file stays.
func createKeyFile(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	// Written aside and linked into place, so that nobody ever reads half a key.
	file, err := os.CreateTemp(filepath.Dir(name), ".key-*")
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	defer os.Remove(file.Name())
	err = fill(file, &keyFile{secrets: [][]byte{newSecret()}})
	if err == nil {
		err = os.Link(file.Name(), name)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make key: %w", err)
	}
	return syncDir(name)
}

// replaceKeyFile puts another content into the place of a key file: after a crash there is either the one or the other. Nobody else may do
// so at the same time.
func replaceKeyFile(name string, content *keyFile) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fmt.Errorf("replace the key file: %w", err)
	}
	// What a crash has left of an earlier attempt is overwritten.
	aside := name + ".new"
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the key file: %w", err)
	}
	file, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // beside the file that the operator names
	if err != nil {
		return fmt.Errorf("replace the key file: %w", err)
	}
	defer os.Remove(aside)
	if err := keepOwner(file, name); err != nil {
		return errors.Join(fmt.Errorf("replace the key file: %w", err), file.Close())
	}
	if err := fill(file, content); err != nil {
		return fmt.Errorf("replace the key file: %w", err)
	}
	if err := os.Rename(aside, name); err != nil {
		return fmt.Errorf("replace the key file: %w", err)
	}
	return syncDir(name)
}

// keepOwner gives a new file the owner of the one that it replaces: the servers have to read it.
func keepOwner(file *os.File, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return file.Chown(int(owner.Uid), int(owner.Gid))
}

// fill writes the content of a new key file to the disk and closes it.
func fill(file *os.File, content *keyFile) error {
	_, err := file.Write(content.encode())
	return errors.Join(err, file.Sync(), file.Close())
}

// syncDir brings the name of a file to the disk.
func syncDir(name string) error {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
