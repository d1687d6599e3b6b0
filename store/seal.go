package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Key seals secrets at rest with AES-256-GCM.
type Key struct {
	id   [keyIDBytes]byte // tells which key sealed a value
	aead cipher.AEAD
}

const (
	keyBytes   = 32
	keyIDBytes = 4
)

// NewKey returns the key made of 32 secret bytes.
func NewKey(secret []byte) (Key, error) {
	if len(secret) != keyBytes {
		return Key{}, fmt.Errorf("a key has %d bytes, not %d", keyBytes, len(secret))
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return Key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return Key{}, err
	}
	key := Key{aead: aead}
	digest := sha256.Sum256(append([]byte("vnfm key id:"), secret...))
	copy(key.id[:], digest[:])
	return key, nil
}

// LoadOrCreateKey reads a key file, 32 bytes in base64, or makes one that only its owner can read. A file that others can read
// is refused.
func LoadOrCreateKey(name string) (Key, error) {
	encoded, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(name)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read key: %w", err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return Key{}, fmt.Errorf("read key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Key{}, fmt.Errorf("key file %s can be read by others (mode %#o): make it 0600", name, info.Mode().Perm())
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(encoded)))
	if err != nil {
		return Key{}, fmt.Errorf("key file %s is not base64", name)
	}
	key, err := NewKey(secret)
	if err != nil {
		return Key{}, fmt.Errorf("key file %s: %w", name, err)
	}
	return key, nil
}

// createKey makes a key file. If another process makes it at the same time, that one's key is used.
func createKey(name string) (Key, error) {
	secret := make([]byte, keyBytes)
	if _, err := rand.Read(secret); err != nil {
		return Key{}, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	// Written aside and linked into place, so that nobody ever reads half a key.
	file, err := os.CreateTemp(filepath.Dir(name), ".key-*")
	if err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(secret) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	err = os.Link(file.Name(), name)
	if errors.Is(err, fs.ErrExist) {
		return LoadOrCreateKey(name)
	}
	if err != nil {
		return Key{}, fmt.Errorf("make key: %w", err)
	}
	return NewKey(secret)
}

// sealer seals values, each bound to the place that it is stored at: moved elsewhere, it does not open.
type sealer struct{ keys []Key }

// seal returns the sealed form of a value; nil of nil.
func (s *sealer) seal(place string, value []byte) []byte {
	if value == nil {
		return nil
	}
	key := s.keys[0]
	return key.aead.Seal(append([]byte{}, key.id[:]...), nil, value, []byte(place))
}

// open returns the value of its sealed form; nil of nil.
func (s *sealer) open(place string, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	for _, key := range s.keys {
		if len(sealed) < keyIDBytes || string(sealed[:keyIDBytes]) != string(key.id[:]) {
			continue
		}
		value, err := key.aead.Open(nil, nil, sealed[keyIDBytes:], []byte(place))
		if err != nil {
			return nil, fmt.Errorf("open the secret at %s: it was changed, or belongs elsewhere", place)
		}
		return value, nil
	}
	return nil, fmt.Errorf("open the secret at %s: it was sealed with another key", place)
}
