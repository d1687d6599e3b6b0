package lcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
)

// cluster is a driver of a VNF that is a Kubernetes cluster.
type cluster struct{}

func (cluster) Check(ctx context.Context, call *mgmtdriver.Call) error {
	if taken, err := call.Vims.Taken(ctx, "cluster"); err != nil || taken {
		return errors.Join(err, &mgmtdriver.Invalid{Attribute: "/additionalParams/name", Detail: "is taken"})
	}
	return nil
}

func (cluster) Steps(hook mgmtdriver.Hook) []mgmtdriver.Step {
	register := func(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
		return mgmtdriver.Done(nil), call.Vims.Register(ctx, mgmtdriver.Vim{
			Name: "cluster", Type: "kubernetes", URL: "https://10.0.0.1:6443", BearerToken: "geheim-" + call.Operation.Type, CACertificate: "PEM",
		})
	}
	remove := func(ctx context.Context, call *mgmtdriver.Call) (mgmtdriver.Result, error) {
		return mgmtdriver.Done(nil), call.Vims.Remove(ctx)
	}
	switch hook {
	case mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd:
		return []mgmtdriver.Step{{Name: "register", Do: register}}
	case mgmtdriver.HealStart, mgmtdriver.TerminateEnd:
		return []mgmtdriver.Step{{Name: "remove", Do: remove}}
	default:
		return nil
	}
}

// user is a VNF of another VNFD, without a driver, that uses a VIM beside the one that it is made in.
func (b *bench) user(vnfdID string, vim *lcm.Vim) *lcm.VnfInstance {
	b.t.Helper()
	files := hooked(b.t, mgmtdriver.NoopName, mgmtdriver.InstantiateEnd).(fstest.MapFS)
	other := uuid.NewString()
	for _, file := range files {
		file.Data = bytes.ReplaceAll(file.Data, []byte(vnfdID), []byte(other))
	}
	instance := b.create(b.onboard(files).Description.VnfdID)
	connections, err := b.vims.Choose(b.t.Context(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	var request map[string]any
	if err := json.Unmarshal(b.request(), &request); err != nil {
		b.t.Fatal(err)
	}
	request["vimConnectionInfo"] = append(connections, lcm.VimConnectionInfo{ID: "used", VimID: vim.ID.String(), VimType: vim.Type})
	encoded, err := json.Marshal(request)
	if err != nil {
		b.t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Instantiate, string(encoded), 0), lcm.StateCompleted)
	return instance
}

func TestVnfThatIsAVim(t *testing.T) {
	t.Parallel()
	b := setupWith(t, heattest.Options{}, mgmtdriver.Drivers{"cluster": cluster{}})
	pkg := b.onboard(hooked(t, "cluster", mgmtdriver.InstantiateEnd, mgmtdriver.HealStart, mgmtdriver.HealEnd, mgmtdriver.TerminateEnd))
	instance := b.create(pkg.Description.VnfdID)
	registered := func() *lcm.Vim {
		t.Helper()
		vims, err := b.vims.Vims(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(vims, func(vim *lcm.Vim) bool { return vim.Name == "cluster" })
		if i < 0 {
			return nil
		}
		return vims[i]
	}
	connected := func(token string) {
		t.Helper()
		vim, connections := registered(), b.read(instance).VimConnectionInfo
		if vim == nil || len(connections) != 2 {
			t.Fatalf("VIM %+v, connections %+v", vim, connections)
		}
		own := connections[1]
		if own.VimID != vim.ID.String() || own.VimType != "kubernetes" || own.AccessInfo["authUrl"] != "https://10.0.0.1:6443" ||
			vim.AuthCred["bearer_token"] != token || vim.InstanceID != instance.ID {
			t.Errorf("VIM %+v is shown as %+v", vim, own)
		}
	}
	b.expect(b.mortal(b.manager.Instantiate(t.Context(), instance.ID, b.request())), lcm.StateCompleted)
	connected("geheim-INSTANTIATE")
	first := registered()

	other := b.create(pkg.Description.VnfdID)
	var invalid *lcm.InvalidRequest
	if _, err := b.manager.Instantiate(t.Context(), other.ID, b.request()); !errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/name" {
		t.Errorf("instantiation with the name of another VIM: %v", err)
	}
	for what, err := range map[string]error{
		"deletion": b.vims.Delete(t.Context(), first.ID),
		"a default VIM": func() error {
			_, err := b.vims.Update(t.Context(), first.ID, lcm.VimChange{IsDefault: new(true)})
			return err
		}(),
		"a VNF in it": func() error {
			_, err := b.vims.Access(t.Context(), []lcm.VimConnectionInfo{{VimID: first.ID.String(), VimType: "openstack"}})
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s is not refused", what)
		}
	}

	user := b.user(pkg.Description.VnfdID, first)
	forceful := json.RawMessage(`{"terminationType": "FORCEFUL"}`)
	for what, refused := range map[string]func() (*lcm.Operation, error){
		"termination":       func() (*lcm.Operation, error) { return b.manager.Terminate(t.Context(), instance.ID, forceful) },
		"heal of the whole": func() (*lcm.Operation, error) { return b.manager.Heal(t.Context(), instance.ID, json.RawMessage(`{}`)) },
	} {
		if _, err := refused(); !errors.As(err, new(*lcm.Conflict)) {
			t.Errorf("%s of a VIM that another VNF uses: %v", what, err)
		}
	}
	b.expect(b.run(user, b.manager.Terminate, string(forceful), 0), lcm.StateCompleted)

	b.expect(b.mortal(b.manager.Heal(t.Context(), instance.ID, json.RawMessage(`{}`))), lcm.StateCompleted)
	connected("geheim-HEAL")
	if registered().ID == first.ID {
		t.Error("another cluster has the id of the former one")
	}
	b.expect(b.mortal(b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))), lcm.StateCompleted)
	if vim := registered(); vim != nil {
		t.Errorf("left registered: %+v", vim)
	}
	if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
		t.Error(err)
	}
	b.leaveNothing()
}
