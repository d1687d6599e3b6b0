package store

import (
	"errors"
	"log/slog"
	"os"
	"sync"
)

// Keyring holds the keys for secrets: the first seals, all open. One of a file follows the file, so that keys are replaced while servers
// run. It is safe for concurrent use.
type Keyring struct {
	name   string // of the file; "": there is none
	logger *slog.Logger

	mu     sync.Mutex
	keys   []Key
	seen   os.FileInfo // the file when it was read
	warned bool        // that it cannot be read any more
}

// NewKeyring returns a keyring without a file.
func NewKeyring(keys ...Key) *Keyring { return &Keyring{keys: keys} }

// OpenKeyring returns the keyring of a file, which is made with one key if it does not exist, for its owner alone. A file that others can
// read is refused. The logger hears of a file that cannot be read later; the keys that it had are used on then.
func OpenKeyring(name string, logger *slog.Logger) (*Keyring, error) {
	k := &Keyring{name: name, logger: logger}
	err := k.read()
	if errors.Is(err, os.ErrNotExist) {
		if err = createKeyFile(name); err == nil {
			err = k.read()
		}
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

// read takes the keys of the file.
func (k *Keyring) read() error {
	file, info, err := readKeyFile(k.name)
	if err != nil {
		return err
	}
	keys, err := file.keys()
	if err != nil {
		return err
	}
	k.keys, k.seen, k.warned = keys, info, false
	return nil
}

// first is the key that seals. It looks at the file each time: once a key is replaced, nothing more is sealed with the former one.
func (k *Keyring) first() Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.changed() {
		if err := k.read(); err != nil && !k.warned {
			k.warned = true
			k.logger.Error("the key file cannot be read any more; the keys that it had are used on", "error", err)
		}
	}
	return k.keys[0]
}

// changed reports whether the file is another one than that which was read.
func (k *Keyring) changed() bool {
	if k.name == "" {
		return false
	}
	now, err := os.Stat(k.name)
	return err != nil || !os.SameFile(now, k.seen) || !now.ModTime().Equal(k.seen.ModTime()) || now.Size() != k.seen.Size()
}

var errOtherKey = errors.New("it was sealed with another key")

// of returns the key that has sealed a value. One that is not known may have come into the file meanwhile.
func (k *Keyring) of(value []byte) (Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key := k.find(value); key != nil {
		return *key, nil
	}
	if k.changed() { // what comes from outside may name any key, and reads no file by it
		if err := k.read(); err != nil {
			return Key{}, errors.Join(errOtherKey, err)
		}
		if key := k.find(value); key != nil {
			return *key, nil
		}
	}
	return Key{}, errOtherKey
}

func (k *Keyring) find(value []byte) *Key {
	for i := range k.keys {
		if k.keys[i].sealed(value) {
			return &k.keys[i]
		}
	}
	return nil
}
