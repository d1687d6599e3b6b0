package store_test

import (
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store"
	"vnfm/store/storetest"
)

// with opens a store on a database with certain keys.
func with(t *testing.T, url string, keys *store.Keyring) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{URL: url, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// keyring is that of a file.
func keyring(t *testing.T, name string) *store.Keyring {
	t.Helper()
	keys, err := store.OpenKeyring(name, silent)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestKeyFileGivesTheSameKeyAgain(t *testing.T) {
	t.Parallel()
	url, name := storetest.NewURL(t), filepath.Join(t.TempDir(), "key")
	vim := &lcm.Vim{ID: uuid.New(), Name: "one", Type: "openstack"}
	for _, use := range []func(*store.Store) error{
		func(db *store.Store) error { return db.CreateVim(t.Context(), vim) },
		func(db *store.Store) error {
			_, err := db.Vim(t.Context(), vim.ID)
			return err
		},
	} {
		if err := use(with(t, url, keyring(t, name))); err != nil {
			t.Error(err)
		}
	}
}
