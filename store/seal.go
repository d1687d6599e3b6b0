package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
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

// sealed reports whether the key has sealed a value.
func (k *Key) sealed(value []byte) bool {
	return len(value) >= keyIDBytes && bytes.Equal(value[:keyIDBytes], k.id[:])
}

// sealer seals values, each bound to the place that it is stored at: moved elsewhere, it does not open.
type sealer struct{ keys *Keyring }

// seal returns the sealed form of a value; nil of nil.
func (s *sealer) seal(place string, value []byte) []byte {
	if value == nil {
		return nil
	}
	key := s.keys.first()
	return key.aead.Seal(bytes.Clone(key.id[:]), nil, value, []byte(place))
}

// Seal returns the sealed form of what clients of this database's servers keep, such as a session. It opens in every process that has the key,
// for the same place, until the key is replaced.
func (s *Store) Seal(place string, value []byte) []byte {
	return s.sealer.seal("outside/"+place, value)
}

// OpenSealed returns the value that was given to Seal; an error if it was sealed for another place, with another key, or not at all.
func (s *Store) OpenSealed(place string, sealed []byte) ([]byte, error) {
	return s.sealer.open("outside/"+place, sealed)
}

// open returns the value of its sealed form; nil of nil.
func (s *sealer) open(place string, sealed []byte) ([]byte, error) {
	if sealed == nil {
		return nil, nil
	}
	key, err := s.keys.of(sealed)
	if err != nil {
		return nil, fmt.Errorf("open the secret at %s: %w", place, err)
	}
	value, err := key.aead.Open(nil, nil, sealed[keyIDBytes:], []byte(place))
	if err != nil {
		return nil, fmt.Errorf("open the secret at %s: it was changed, or belongs elsewhere", place)
	}
	return value, nil
}
