package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/registry/registrytest"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// A registry is made by servers of which one dies while Docker is installed, and healed, and neither loses nor repeats anything.
func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	world := registrytest.New(registrytest.Options{JobTime: time.Second})
	c := newCluster(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return world.Boot(m.Addresses...) }}})
	port := []string{"--node-ssh-port", fmt.Sprint(sshtest.DefaultPort)}
	p := c.serve(port...)
	c.registerVim(p)
	tree := copied(t, samples.PrivateRegistry())
	tree["Files/images/private_registry.tar"] = &fstest.MapFile{Data: registrytest.Archive("registry:latest")}
	instance := c.create(p, c.onboard(p, tree))
	params := strings.NewReplacer("NETWORK_ID", c.cloud.NetworkID("net0"), `"ssh_cp_name"`, `"image_path": "IMAGE", "ssh_cp_name"`).
		Replace(string(tree["params/private_registry_param_file.json"].Data))
	request := func(image string) map[string]any {
		t.Helper()
		var found map[string]any
		if err := json.Unmarshal([]byte(strings.Replace(params, "IMAGE", image, 1)), &found); err != nil {
			t.Fatal(err)
		}
		delete(found, "vimConnectionInfo") // the default VIM
		return found
	}
	var problem struct{ Detail string }
	p.expect(http.StatusBadRequest, http.MethodPost, instance+"/instantiate", request("README.md"), &problem)
	if !strings.Contains(problem.Detail, "README.md is no archive of images") {
		t.Errorf("refused with %q", problem.Detail)
	}

	location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", request("Files/images/private_registry.tar"), nil).Header.Get("Location")
	p.until("a job runs", func() bool { return world.Busy() > 0 })
	p.kill()
	p = c.serve(port...)
	p.await(location, "COMPLETED")
	for range 2 {
		p.await(p.expect(http.StatusAccepted, http.MethodPost, instance+"/heal", map[string]any{}, nil).Header.Get("Location"), "COMPLETED")
	}
	for i, view := range world.Views() {
		if view.Container == nil || view.Container.Status != "running" {
			t.Errorf("machine %d has the container %+v", i, view.Container)
		}
		view.Container, view.Env = nil, nil
		if diff := cmp.Diff(registrytest.View{Installed: 1, Loaded: 1, Runs: 1, Images: []string{"registry:latest"}}, view); diff != "" {
			t.Errorf("machine %d (-want +got):\n%s", i, diff)
		}
	}
	terminate := map[string]any{"terminationType": "FORCEFUL"}
	p.await(p.expect(http.StatusAccepted, http.MethodPost, instance+"/terminate", terminate, nil).Header.Get("Location"), "COMPLETED")
	c.leaveNothing()
	if found := world.Surprises(); len(found) > 0 {
		t.Errorf("surprises: %q", found)
	}
}
