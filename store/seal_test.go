package store_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store"
	"vnfm/store/storetest"
)

// with opens a store on a database with certain keys.
func with(t *testing.T, url string, keys ...store.Key) *store.Store {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{URL: url, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestKeyCanBeReplaced(t *testing.T) {
	t.Parallel()
	url := storetest.NewURL(t)
	old, err := store.NewKey(bytes.Repeat([]byte("o"), 32))
	if err != nil {
		t.Fatal(err)
	}
	next, err := store.LoadOrCreateKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	vim := &lcm.Vim{ID: uuid.New(), Name: "one", Type: "openstack", AuthCred: map[string]any{"password": "geheim"}}
	if err := with(t, url, old).CreateVim(t.Context(), vim); err != nil {
		t.Fatal(err)
	}
	if _, err := with(t, url, next).Vim(t.Context(), vim.ID); err == nil || !strings.Contains(err.Error(), "sealed with another key") {
		t.Errorf("opened with another key: %v", err)
	}
	both := with(t, url, next, old)
	if _, err := both.UpdateVim(t.Context(), vim.ID, func(*lcm.Vim) error { return nil }); err != nil {
		t.Fatal(err)
	}
	read, err := with(t, url, next).Vim(t.Context(), vim.ID)
	if err != nil || read.AuthCred["password"] != "geheim" {
		t.Errorf("after it was written with the new key: %v, %v", read, err)
	}
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
		key, err := store.LoadOrCreateKey(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := use(with(t, url, key)); err != nil {
			t.Error(err)
		}
	}
}
