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
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/mgmtdriver/kubernetes/kubetest"
	"vnfm/mgmtdriver/ssh"
	"vnfm/mgmtdriver/ssh/sshtest"
	"vnfm/samples"
)

// A cluster is made and healed by processes of which each dies before its second commit: no script runs twice.
func TestKubernetesClusterWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	pool := ssh.NewPool(ssh.Config{})
	t.Cleanup(func() { _ = pool.Close() })
	world := kubetest.New(kubetest.Options{PrepareTime: 100 * time.Millisecond, JoinTime: 50 * time.Millisecond})
	b := setupWith(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return world.Boot(m.Addresses...) }}},
		mgmtdriver.Drivers{kubernetes.Name: kubernetes.New(pool, kubernetes.Config{SSHPort: sshtest.DefaultPort})})
	instance := b.create(b.onboard(samples.Kubernetes()).Description.VnfdID)
	params, err := fs.ReadFile(samples.Kubernetes(), "params/complex_kubernetes_param_file.json")
	if err != nil {
		t.Fatal(err)
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(params), "NETWORK_ID", b.cloud.NetworkID("net0"))), &request); err != nil {
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
		if ready != want || len(view.Nodes) != want || len(view.Members) != 3 {
			t.Errorf("nodes %v, members %v", view.Nodes, view.Members)
		}
	}
	b.expect(b.mortal(b.manager.Instantiate(t.Context(), instance.ID, body)), lcm.StateCompleted)
	nodes(5)
	for _, vnfc := range b.read(instance).InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == "masterNode" {
			heal := json.RawMessage(`{"vnfcInstanceId": ["` + vnfc.ID + `"]}`)
			b.expect(b.mortal(b.manager.Heal(t.Context(), instance.ID, heal)), lcm.StateCompleted)
			break
		}
	}
	nodes(5)
	if scripts := world.Scripts(); len(scripts) != 6 || slices.Max(scripts) > 2 {
		t.Errorf("a script was run %v times on the machines", scripts)
	}
	b.expect(b.mortal(b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))), lcm.StateCompleted)
	b.leaveNothing()
	if found := world.Surprises(); len(found) > 0 {
		t.Errorf("surprises: %q", found)
	}
}
