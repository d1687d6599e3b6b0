package lcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

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
