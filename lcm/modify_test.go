package lcm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/vnfpkg"
)

func (b *bench) modify(instance *lcm.VnfInstance, request string, kill int) *lcm.Operation {
	b.t.Helper()
	operation, err := b.manager.Modify(b.t.Context(), instance.ID, json.RawMessage(request), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if operation.State != lcm.StateProcessing {
		b.t.Errorf("a modification begins in %s", operation.State)
	}
	if kill >= 0 {
		_, _ = b.engine(&dying{b.db, kill}).Run(b.t.Context(), operation.ID)
	}
	return b.follow(b.engine(b.db), operation.ID)
}

func TestModificationIsAMergePatch(t *testing.T) {
	t.Parallel()
	for kill := -1; kill < 4; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instance()
			b.expect(b.modify(instance, `{"vnfInstanceName": "one", "metadata": {"a": {"b": 1, "c": 2}, "d": 3}}`, kill), lcm.StateCompleted)
			changed := b.modify(instance, `{"vnfInstanceName": null, "vnfInstanceDescription": "two",
				"metadata": {"a": {"b": null, "e": 4}, "d": null}, "extensions": {"x": "y"}, "vnfConfigurableProperties": {"password": "geheim"}}`, kill)
			b.expect(changed, lcm.StateCompleted)
			now := b.read(instance)
			want := map[string]any{"a": map[string]any{"c": 2.0, "e": 4.0}}
			if now.Name != "vnf-"+instance.ID.String() || now.Description != "two" || !cmp.Equal(now.Metadata, want) || now.Extensions["x"] != "y" {
				t.Errorf("name %q, description %q, metadata %v, extensions %v", now.Name, now.Description, now.Metadata, now.Extensions)
			}
			if changed.ChangedInfo["vnfInstanceName"] != now.Name || changed.ChangedInfo["vnfdId"] != nil ||
				strings.Contains(fmt.Sprint(changed.ChangedInfo), "geheim") {
				t.Errorf("changed info %v", changed.ChangedInfo)
			}
		})
	}
}

func TestModificationOfVimConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instantiated()
	first := instance.VimConnectionInfo[0].ID
	b.expect(b.modify(instance, `{"vimConnectionInfo": [{"id": "k8s", "vimType": "kubernetes", "accessInfo": {"bearer_token": "geheim"}},
		{"id": "`+first+`", "extra": {"note": "kept"}}]}`, -1), lcm.StateCompleted)
	// What was read can be sent back: the mask does not become the secret.
	b.expect(b.modify(instance, `{"vimConnectionInfo": [{"id": "k8s", "accessInfo": {"bearer_token": "***", "region": "r"}}]}`, -1), lcm.StateCompleted)
	now := b.read(instance)
	if len(now.VimConnectionInfo) != 2 || now.VimConnectionInfo[0].ID != first || now.VimConnectionInfo[1].AccessInfo["region"] != "r" {
		t.Errorf("connections %+v", now.VimConnectionInfo)
	}
	operation, err := b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.db.AcquireRun(t.Context(), operation.ID, 1)
	if err != nil || run.Deployment.VimConnectionInfo[1].AccessInfo["bearer_token"] != "geheim" {
		t.Fatalf("the sealed connections: %+v, %v", run.Deployment.VimConnectionInfo, err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
}

// updated is the sample package under another VNFD id, in another version.
func updated(t *testing.T, vnfdID string) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(samples.TwoVdu(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(samples.TwoVdu(), name)
		content = bytes.ReplaceAll(content, []byte(vnfdID), []byte(otherVnfd))
		files[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const otherVnfd = "00000000-0000-4000-8000-00000000beef"

func TestModificationOfTheVnfd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	pkg := b.onboard(updated(t, instance.VnfdID))
	changed := b.modify(instance, `{"vnfdId": "`+otherVnfd+`"}`, -1)
	b.expect(changed, lcm.StateCompleted)
	now := b.read(instance)
	if now.VnfdID != otherVnfd || now.VnfPkgID != pkg.ID || changed.ChangedInfo["vnfdId"] != otherVnfd {
		t.Errorf("VNFD %s of package %s, changed info %v", now.VnfdID, now.VnfPkgID, changed.ChangedInfo)
	}
	if err := b.packages.Delete(t.Context(), pkg.ID); !errors.As(err, new(*vnfpkg.Conflict)) {
		t.Errorf("deletion of the package in use: %v", err)
	}
	if _, err := b.packages.Modify(t.Context(), instance.VnfPkgID, vnfpkg.Modification{OperationalState: vnfpkg.Disabled}); err != nil {
		t.Fatal(err)
	}
	if err := b.packages.Delete(t.Context(), instance.VnfPkgID); err != nil {
		t.Errorf("deletion of the package that is not in use any more: %v", err)
	}
}

func TestNewCredentialsForAnInstantiationThatWasGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	account := b.cloud.Account()
	var request map[string]any
	if err := json.Unmarshal(b.request(), &request); err != nil {
		t.Fatal(err)
	}
	request["vimConnectionInfo"] = []any{map[string]any{
		"id": "inline", "vimType": "openstack", "interfaceInfo": map[string]any{"endpoint": b.cloud.AuthURL()},
		"accessInfo": map[string]any{"username": account.User, "password": account.Password, "project": account.Project},
	}}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Reason: "No valid host was found."})
	failed := b.run(instance, b.manager.Instantiate, string(body), -1)
	b.expect(failed, lcm.StateFailedTemp)
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	changed := b.modify(instance, `{"vimConnectionInfo": [{"id": "inline", "accessInfo": {"password": "another"}}]}`, -1)
	b.expect(changed, lcm.StateCompleted)
	if strings.Contains(fmt.Sprint(changed.ChangedInfo), "another") || b.read(instance).VimConnectionInfo != nil {
		t.Errorf("changed info %v, connections %v", changed.ChangedInfo, b.read(instance).VimConnectionInfo)
	}
	b.expect(b.modify(instance, `{"vimConnectionInfo": [{"id": "inline", "accessInfo": {"password": "`+account.Password+`"}}]}`, -1), lcm.StateCompleted)
	b.expect(b.run(instance, b.manager.Terminate, `{"terminationType": "FORCEFUL"}`, -1), lcm.StateCompleted)
	b.leaveNothing()
}

func TestModificationOfAnInstanceThatHasChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instance()
	b.expect(b.modify(instance, `{"metadata": {"a": 1}}`, -1), lcm.StateCompleted)
	_, err := b.manager.Modify(t.Context(), instance.ID, json.RawMessage(`{"metadata": {"a": 2}}`), []int64{instance.Version})
	if !errors.As(err, new(*lcm.PreconditionFailed)) {
		t.Errorf("with the tag of the former state: %v", err)
	}
	_, err = b.manager.Modify(t.Context(), instance.ID, json.RawMessage(`{"metadata": {"a": 3}}`), []int64{7, b.read(instance).Version})
	if err != nil {
		t.Errorf("with a list that holds the present state: %v", err)
	}
}

func TestModificationsThatCannotBeRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fresh := b.instance()
	running := b.create(fresh.VnfdID)
	operation, err := b.manager.Instantiate(t.Context(), running.ID, b.request())
	if err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	running = b.read(running)
	first := running.VimConnectionInfo[0].ID
	for _, row := range []struct {
		instance           *lcm.VnfInstance
		request, attribute string
	}{
		{fresh, `{"vnfdId": "` + uuid.NewString() + `"}`, "/vnfdId"},
		{fresh, `{"vnfPkgId": "none"}`, "/vnfPkgId"},
		{fresh, `{"vimConnectionInfo": [{"id": "a", "vimType": "openstack"}]}`, "/vimConnectionInfo"},
		{running, `{"vimConnectionInfo": [{"id": "a"}]}`, "/vimConnectionInfo/0/vimType"},
		{running, `{"vimConnectionInfo": [{"id": "` + first + `", "vimId": "none"}]}`, "/vimConnectionInfo/0/vimId"},
		{running, `{"vimConnectionInfoDeleteIds": ["` + first + `"]}`, "/vimConnectionInfoDeleteIds/0"},
		{running, `{"vimConnectionInfoDeleteIds": ["none"]}`, "/vimConnectionInfoDeleteIds/0"},
	} {
		_, err := b.manager.Modify(t.Context(), row.instance.ID, json.RawMessage(row.request), nil)
		if err == nil || !strings.HasPrefix(err.Error(), row.attribute+":") {
			t.Errorf("%s: got %v, want a refusal of %s", row.request, err, row.attribute)
		}
	}
}
