package lcm_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/kube"
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
		mgmtdriver.Drivers{kubernetes.Name: kubernetes.New(pool, kube.Config{SSHPort: sshtest.DefaultPort})})
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

// asSpecified is the sample package with its flavour storage under the name that the specification of persistent volumes has for it.
func asSpecified(t *testing.T) fs.FS {
	t.Helper()
	tree := fstest.MapFS{}
	for name, file := range files(t, samples.Kubernetes()) {
		content := string(file.Data)
		switch {
		case strings.HasPrefix(name, "BaseHOT/simple/") || name == "Definitions/kubernetes_df_simple.yaml":
			continue
		case name == "Definitions/kubernetes_top.vnfd.yaml":
			content = strings.Replace(content, "  - kubernetes_df_storage.yaml\n", "", 1)
		case name == "Definitions/kubernetes_df_storage.yaml":
			name, content = "Definitions/kubernetes_df_simple.yaml", strings.Replace(content, "flavour_id: storage", "flavour_id: simple", 1)
		}
		tree[strings.Replace(name, "BaseHOT/storage/", "BaseHOT/simple/", 1)] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

// storageCluster is a VNF that is going to be a cluster with a storage server, by the request of the specification.
type storageCluster struct {
	*bench
	world    *kubetest.World
	instance *lcm.VnfInstance
	request  string
}

func newStorageCluster(t *testing.T, tree fs.FS) *storageCluster {
	t.Helper()
	pool := ssh.NewPool(ssh.Config{})
	t.Cleanup(func() { _ = pool.Close() })
	c := &storageCluster{world: kubetest.New(kubetest.Options{})}
	c.bench = setupWith(t, heattest.Options{VMs: &heattest.SSHVMs{User: "ubuntu", Password: "ubuntu",
		Handler: func(m heattest.Machine) sshtest.Handler { return c.world.Boot(m.Addresses...) }}},
		mgmtdriver.Drivers{kubernetes.Name: kubernetes.New(pool, kube.Config{SSHPort: sshtest.DefaultPort})})
	c.instance = c.create(c.onboard(tree).Description.VnfdID)
	content, err := os.ReadFile("testdata/kubernetes_storage_request.json")
	if err != nil {
		t.Fatal(err)
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(content), "NETWORK_ID", c.cloud.NetworkID("net0"))), &request); err != nil {
		t.Fatal(err)
	}
	delete(request, "vimConnectionInfo")
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	c.request = string(body)
	t.Cleanup(func() {
		if found := c.world.Surprises(); len(found) > 0 {
			t.Errorf("surprises: %q", found)
		}
	})
	return c
}

// server is the id of the VNFC that is the storage server.
func (c *storageCluster) server() string {
	vnfcs := c.read(c.instance).InstantiatedVnfInfo.VnfcResourceInfo
	return vnfcs[slices.IndexFunc(vnfcs, func(vnfc lcm.VnfcResourceInfo) bool { return vnfc.VduID == "storage_server" })].ID
}

// The request of the specification makes a cluster with persistent volumes, and its storage server is healed, by processes of which each dies
// before its second commit.
func TestStorageServerWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	c := newStorageCluster(t, asSpecified(t))
	b, world, instance := c.bench, c.world, c.instance
	b.expect(b.mortal(b.manager.Instantiate(t.Context(), instance.ID, json.RawMessage(c.request))), lcm.StateCompleted)
	volume := expectVolumes(t, b, instance, world)

	heal := json.RawMessage(`{"vnfcInstanceId": ["` + c.server() + `"]}`)
	available := world.View().Volumes["nfs-pv2"]
	bound := available
	bound.Phase, bound.Claim = "Bound", "default/data"
	world.Change("nfs-pv2", bound, true)
	operation := b.mortal(b.manager.Heal(t.Context(), instance.ID, heal))
	b.expect(operation, lcm.StateFailedTemp)
	if !strings.Contains(operation.Error.Detail, "nfs-pv2 Persistent volume is in use") || !strings.Contains(operation.Error.Detail, "default/data") {
		t.Errorf("the heal fails with %q", operation.Error.Detail)
	}
	if same := expectVolumes(t, b, instance, world, "nfs-pv2"); same != volume {
		t.Error("the volume has been replaced")
	}
	world.Change("nfs-pv2", available, false)
	b.expect(b.mortal(b.manager.Retry(t.Context(), operation.ID)), lcm.StateCompleted)
	if fresh := expectVolumes(t, b, instance, world); fresh == volume {
		t.Error("the volume has not been replaced")
	}
	b.expect(b.mortal(b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))), lcm.StateCompleted)
	b.leaveNothing()
}

// expectVolumes checks that the volume of the storage server has ext4 and is mounted, and that all PersistentVolumes but some are available on it.
// It returns the id of the volume.
func expectVolumes(t *testing.T, b *bench, instance *lcm.VnfInstance, world *kubetest.World, but ...string) string {
	t.Helper()
	info := b.read(instance).InstantiatedVnfInfo
	if len(info.VirtualStorageResourceInfo) != 1 {
		t.Fatalf("volumes %+v", info.VirtualStorageResourceInfo)
	}
	volume := info.VirtualStorageResourceInfo[0].StorageResource.ResourceID
	view := world.View()
	if disk := world.Disk(volume); disk.Content != "ext4" || len(view.Mounts) != 1 || len(view.Exports) != 1 || len(view.Nodes) != 3 {
		t.Errorf("on the volume is %q; mounts %v, exports %v, nodes %v", disk.Content, view.Mounts, view.Exports, view.Nodes)
	}
	for _, name := range []string{"nfs-pv1", "nfs-pv2", "nfs-pv3"} {
		v := view.Volumes[name]
		if v.Phase != "Available" && !slices.Contains(but, name) || view.Mounts[v.Server] == nil {
			t.Errorf("%s is %+v; mounts %v", name, v, view.Mounts)
		}
	}
	return volume
}

// A volume that is attached by a resource of its own can be kept while its server is replaced.
func TestHealOfTheStorageServerThatKeepsItsVolume(t *testing.T) {
	t.Parallel()
	tree := asSpecified(t).(fstest.MapFS)
	const top = "BaseHOT/simple/storage_top.yaml"
	before, rest, _ := strings.Cut(string(tree[top].Data), "      block_device_mapping_v2:\n")
	_, after, _ := strings.Cut(rest, "          boot_index: -1\n")
	tree[top] = &fstest.MapFile{Data: []byte(before + after + `
  storage_server_attachment:
    type: OS::Cinder::VolumeAttachment
    properties:
      instance_uuid: { get_resource: storage_server }
      volume_id: { get_resource: storage_server_volume }
`)}
	c := newStorageCluster(t, tree)
	b, instance := c.bench, c.instance
	b.expect(b.run(instance, b.manager.Instantiate, c.request, -1), lcm.StateCompleted)
	volume := expectVolumes(t, b, instance, c.world)
	heal := `{"vnfcInstanceId": ["` + c.server() + `"], "additionalParams": {"tacker_extension_heal_include_block_storage": false}}`
	b.expect(b.run(instance, b.manager.Heal, heal, -1), lcm.StateCompleted)
	if kept := expectVolumes(t, b, instance, c.world); kept != volume {
		t.Error("the volume has been replaced")
	}
}
