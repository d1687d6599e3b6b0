package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/store/storetest"
)

func TestVimOfAnInstance(t *testing.T) {
	t.Parallel()
	db := storetest.New(t)
	home := &lcm.Vim{ID: uuid.New(), TenantID: "nfv", Name: "home", Type: "openstack"}
	if err := db.CreateVim(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	run := acquired(t, db, created(t, db), time.Minute)
	connect := func(run *lcm.Run, vims ...uuid.UUID) {
		t.Helper()
		run.Deployment = &lcm.Deployment{}
		for _, vim := range vims {
			run.Deployment.VimConnectionInfo = append(run.Deployment.VimConnectionInfo, lcm.VimConnectionInfo{VimID: vim.String()})
		}
		run.Instance.VimConnectionInfo = run.Deployment.VimConnectionInfo
		if err := db.CommitRun(t.Context(), run, lcm.Commit{Deployment: true, Instance: true}); err != nil {
			t.Fatal(err)
		}
	}
	connect(run, home.ID)
	put := func(run *lcm.Run, name, url string) (*lcm.Vim, error) {
		vim := &lcm.Vim{ID: uuid.New(), Name: name, Type: "kubernetes", AuthURL: url, InstanceID: run.Instance.ID,
			AuthCred: map[string]any{"bearer_token": "geheim"}}
		return vim, db.PutOwnVim(t.Context(), run, vim)
	}
	first, err := put(run, "cluster", "https://10.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	second, err := put(run, "cluster", "https://10.0.0.2:6443")
	if err != nil || second.ID != first.ID {
		t.Fatalf("registered again as %s and not %s: %v", second.ID, first.ID, err)
	}
	read, err := db.Vim(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	second.TenantID = "nfv"
	if diff := cmp.Diff(second, read, cmpopts.IgnoreFields(lcm.Vim{}, "CreatedAt", "UpdatedAt")); diff != "" {
		t.Error(diff)
	}

	other := acquired(t, db, created(t, db), time.Minute)
	connect(other, home.ID, first.ID)
	if _, err := put(other, "cluster", "https://10.0.0.3:6443"); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("a second VIM of the same name: %v", err)
	}
	if err := db.RemoveOwnVim(t.Context(), other); err != nil {
		t.Errorf("removal of a VIM that there is not: %v", err)
	}
	if err := db.RemoveOwnVim(t.Context(), run); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("removal of a VIM that another instance uses: %v", err)
	}
	connect(other, home.ID)
	connect(run, home.ID, first.ID)
	if err := db.DeleteVim(t.Context(), first.ID); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion of a VIM that an instance is: %v", err)
	}
	if err := db.RemoveOwnVim(t.Context(), run); err != nil {
		t.Error(err)
	}
	if _, err := db.Vim(t.Context(), first.ID); !errors.As(err, new(*lcm.NotFound)) {
		t.Errorf("the removed VIM: %v", err)
	}
	left, err := put(run, "cluster", "https://10.0.0.5:6443")
	if err != nil {
		t.Fatal(err)
	}
	run.Operation.State, run.Deployment = lcm.StateCompleted, nil
	if err := db.CommitRun(t.Context(), run, lcm.Commit{Operation: true, Deployment: true}); err != nil {
		t.Fatal(err)
	}
	connect(other, home.ID, left.ID)
	if err := db.DeleteInstance(t.Context(), run.Instance.ID); !errors.As(err, new(*lcm.Conflict)) {
		t.Errorf("deletion of an instance that another one uses as a VIM: %v", err)
	}
	connect(other, home.ID)
	if err := db.DeleteInstance(t.Context(), run.Instance.ID); err != nil {
		t.Error(err)
	}
	if _, err := db.Vim(t.Context(), left.ID); !errors.As(err, new(*lcm.NotFound)) {
		t.Errorf("the VIM of a deleted instance: %v", err)
	}
	run.Number--
	if _, err := put(run, "cluster", "https://10.0.0.4:6443"); !errors.Is(err, lcm.ErrSuperseded) {
		t.Errorf("registration by a run that was replaced: %v", err)
	}
}
