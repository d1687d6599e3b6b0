package lcm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/registry/registrytest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// registryRequest is the example of the specification of the driver, but for what is of another cloud.
const registryRequest = `{
  "flavourId": "simple",
  "extVirtualLinks": [
    {
      "id": "net0",
      "resourceId": "NETWORK_ID",
      "extCps": [
        {
          "cpdId": "CP1",
          "cpConfig": [
            {
              "cpProtocolData": [
                {
                  "layerProtocol": "IP_OVER_ETHERNET"
                }
              ]
            }
          ]
        }
      ]
    }
  ],
  "additionalParams": {
    "private_registry_installation_param": {
      "ssh_cp_name": "CP1",
      "ssh_username": "ubuntu",
      "ssh_password": "ubuntu",
      "image_path": "Files/images/private_registry.tar"
    }
  },
  "vimConnectionInfo": [
    {
      "id": "8a3adb69-0784-43c7-833e-aab0b6ab4470",
      "vimId": "VIM_ID",
      "vimType": "openstack"
    }
  ]
}`

// registryBench is a cloud whose servers can become registries.
type registryBench struct {
	*bench
	world   *registrytest.World
	request json.RawMessage
}

func newRegistryBench(t *testing.T, world registrytest.Options, config registry.Config) *registryBench {
	t.Helper()
	pool := ssh.NewPool(ssh.Config{})
	t.Cleanup(func() { _ = pool.Close() })
	r := &registryBench{world: registrytest.New(world)}
	config.SSHPort = sshtest.DefaultPort
	r.bench = setupWith(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return r.world.Boot(m.Addresses...) }}},
		mgmtdriver.Drivers{registry.Name: registry.New(pool, config)})
	vims, err := r.vims.Choose(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.request = json.RawMessage(strings.NewReplacer("NETWORK_ID", r.cloud.NetworkID("net0"), "VIM_ID", vims[0].VimID).Replace(registryRequest))
	t.Cleanup(func() {
		if found := r.world.Surprises(); len(found) > 0 {
			t.Errorf("surprises: %q", found)
		}
	})
	return r
}

// registryPackage is the sample package with the archive of an image.
func registryPackage(t *testing.T, archive []byte) fstest.MapFS {
	t.Helper()
	tree := files(t, samples.PrivateRegistry())
	tree["Files/images/private_registry.tar"] = &fstest.MapFile{Data: archive}
	return tree
}

// A registry is made and healed by processes of which each dies before its second commit: nothing is done twice on its machines.
func TestPrivateRegistryWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	r := newRegistryBench(t, registrytest.Options{JobTime: 100 * time.Millisecond}, registry.Config{})
	instance := r.create(r.onboard(registryPackage(t, registrytest.Archive("registry:latest"))).Description.VnfdID)
	r.expect(r.mortal(r.manager.Instantiate(t.Context(), instance.ID, r.request)), lcm.StateCompleted)
	for id := range servers(r.read(instance), "PrivateRegistryVDU") {
		heal := json.RawMessage(`{"vnfcInstanceId": ["` + id + `"]}`)
		r.expect(r.mortal(r.manager.Heal(t.Context(), instance.ID, heal)), lcm.StateCompleted)
	}
	r.expect(r.mortal(r.manager.Heal(t.Context(), instance.ID, json.RawMessage(`{}`))), lcm.StateCompleted)
	views := r.world.Views()
	if len(views) != 3 {
		t.Fatalf("%d machines", len(views))
	}
	for i, view := range views {
		if view.Container == nil || view.Container.Status != "running" {
			t.Errorf("machine %d has the container %+v", i, view.Container)
		}
		view.Container, view.Env = nil, nil
		if diff := cmp.Diff(registrytest.View{Installed: 1, Loaded: 1, Runs: 1, Images: []string{"registry:latest"}}, view); diff != "" {
			t.Errorf("machine %d (-want +got):\n%s", i, diff)
		}
	}
	r.expect(r.mortal(r.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))), lcm.StateCompleted)
	r.leaveNothing()
}

// What is wrong with the image is answered at once, before there is a machine.
func TestRegistryRequestThatIsRefused(t *testing.T) {
	t.Parallel()
	r := newRegistryBench(t, registrytest.Options{}, registry.Config{})
	instance := r.create(r.onboard(registryPackage(t, registrytest.Archive("registry:2"))).Description.VnfdID)
	for _, row := range []struct{ request, says string }{
		{string(r.request), `has "registry:2" in it`},
		{strings.Replace(string(r.request), "private_registry.tar", "none.tar", 1), "has no file"},
	} {
		_, err := r.manager.Instantiate(t.Context(), instance.ID, json.RawMessage(row.request))
		var invalid *lcm.InvalidRequest
		if !errors.As(err, &invalid) || invalid.Attribute != "/additionalParams/private_registry_installation_param/image_path" ||
			!strings.Contains(invalid.Detail, row.says) {
			t.Errorf("got %v, want %q", err, row.says)
		}
	}
	if views := r.world.Views(); len(views) > 0 {
		t.Errorf("there are machines: %+v", views)
	}
}
