package lcm_test

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubespray"
	"vnfm/mgmtdriver/kubespray/spraytest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// A cluster is made, scaled and healed by processes of which each dies before its second commit: no playbook runs twice, nor two at a time.
func TestKubesprayClusterWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	pool := ssh.NewPool(ssh.Config{})
	t.Cleanup(func() { _ = pool.Close() })
	world := spraytest.New(spraytest.Options{PlayTimes: map[string]time.Duration{"cluster.yml": 100 * time.Millisecond, "scale.yml": 100 * time.Millisecond}})
	ansible := sshtest.Start(t, sshtest.Options{User: "ansible", Password: "ansible", Handler: world.Ansible()})
	b := setupWith(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return world.Boot(m.Addresses...) }}},
		mgmtdriver.Drivers{kubespray.Name: kubespray.New(pool, kube.Config{SSHPort: sshtest.DefaultPort})})
	instance := b.create(b.onboard(samples.Kubespray()).Description.VnfdID)
	params, err := fs.ReadFile(samples.Kubespray(), "params/instantiate.json")
	if err != nil {
		t.Fatal(err)
	}
	var request map[string]any
	replaced := strings.NewReplacer("NETWORK_ID", b.cloud.NetworkID("net0"), "EXTERNAL_ID", b.cloud.NetworkID("net1"),
		"ANSIBLE_ADDRESS", ansible.AddrPort().Addr().String()).Replace(string(params))
	if err := json.Unmarshal([]byte(replaced), &request); err != nil {
		t.Fatal(err)
	}
	delete(request, "vimConnectionInfo")
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	nodes := func(want int) {
		t.Helper()
		view := world.View()
		ready := 0
		for _, n := range view.Nodes {
			if n.Ready {
				ready++
			}
		}
		if ready != want || len(view.Nodes) != want || len(world.Routes()) != want {
			t.Errorf("nodes %v, routes %q", view.Nodes, world.Routes())
		}
		if playing := world.Playing(); playing > 0 {
			t.Errorf("%d playbooks still run", playing)
		}
	}
	b.expect(b.mortal(b.manager.Instantiate(t.Context(), instance.ID, body)), lcm.StateCompleted)
	nodes(3)
	b.expect(b.mortal(b.manager.Scale(t.Context(), instance.ID, json.RawMessage(`{"type": "SCALE_OUT", "aspectId": "worker_instance"}`))), lcm.StateCompleted)
	nodes(4)
	healed := map[string]string{}
	for _, vnfc := range b.read(instance).InstantiatedVnfInfo.VnfcResourceInfo {
		healed[vnfc.VduID] = vnfc.ID
	}
	heal := json.RawMessage(`{"vnfcInstanceId": ["` + healed["workerNode"] + `", "` + healed["externalLB"] + `"]}`)
	b.expect(b.mortal(b.manager.Heal(t.Context(), instance.ID, heal)), lcm.StateCompleted)
	nodes(4)
	var books []string
	for _, run := range world.Runs() {
		book, _, _ := strings.Cut(run, " ")
		books = append(books, book)
	}
	want := []string{"cluster.yml", "facts.yml", "scale.yml", "remove-node.yml", "facts.yml", "scale.yml"}
	if !slices.Equal(books, want) {
		t.Errorf("playbooks %q, want %q", books, want)
	}
	b.expect(b.mortal(b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))), lcm.StateCompleted)
	b.leaveNothing()
	if left := world.Directories(); len(left) > 0 {
		t.Errorf("left on the Ansible server: %v", left)
	}
	if found := world.Surprises(); len(found) > 0 {
		t.Errorf("surprises: %q", found)
	}
}
