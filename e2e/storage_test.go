//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStorage makes a cluster whose storage server has a volume of the real Cinder: on its host it is a loop device that really gets ext4 and is
// mounted. NFS is played: a kernel for tests has none.
func TestStorage(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	startHosts(t)
	k := newKubernetes(t, "storage", 1)
	openstack(t, "vnflcm", "instantiate", k.instanceID, writeFile(t, "instantiate.json", k.request))
	k.completed("INSTANTIATE")
	k.check(2)
	first, vim := k.checkStorage(), k.vim()["id"]
	k.ran(first.node, "apt-get -q -o DPkg::Lock::Timeout=300 -y --no-install-recommends install nfs-kernel-server", 1)

	openstack(t, "vnflcm", "scale", "--type", "SCALE_OUT", "--aspect-id", "worker_instance", "--number-of-steps", "1", k.instanceID)
	k.completed("SCALE")
	k.check(3)
	if same := k.checkStorage(); same != first {
		t.Errorf("the storage server %+v has become %+v", first, same)
	}

	healed := k.healStorage(first)
	if k.vim()["id"] != vim {
		t.Error("the cluster has become another VIM")
	}
	openstack(t, "vnflcm", "heal", k.instanceID)
	k.completed("HEAL")
	k.check(3)
	if again := k.checkStorage(); again.volume == healed.volume || again.node.server == healed.node.server {
		t.Errorf("the storage server %+v has become %+v", healed, again)
	}

	openstack(t, "vnflcm", "terminate", k.instanceID)
	k.completed("TERMINATE")
	if left := k.cloud.stacks(t, k.instanceID); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
	refused(t, "volume", "show", first.volume)
	k.noSecretsAreTold()
}

// storage is the storage server with its volume.
type storage struct {
	id     string // of the VNFC
	node   node
	volume string // in Cinder
}

func (k *kubernetes) storage() storage {
	k.t.Helper()
	volumes := read[vnfInstance](k.t, instancePath(k.instanceID)).InstantiatedVnfInfo.VirtualStorageResourceInfo
	servers := k.nodes(storageServer)
	if len(servers) != 1 || len(volumes) != 1 {
		k.t.Fatalf("storage servers %v with volumes %v", servers, volumes)
	}
	for id, server := range servers {
		return storage{id, server, volumes[0].StorageResource.ResourceID}
	}
	return storage{}
}

// run runs a command on a host.
func (n node) run(t *testing.T, argv ...string) string {
	t.Helper()
	pid, _, _ := strings.Cut(string(readFile(t, hostsDir()+"/fs/vms/"+n.server+"/pid")), " ")
	enter := []string{"--target", pid, "--mount", "--pid=/proc/" + pid + "/ns/pid_for_children", "--"}
	out, err := exec.CommandContext(t.Context(), "nsenter", append(enter, argv...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %q: %v: %s", n.name, argv, err, out)
	}
	return string(out)
}

// checkStorage checks the storage server, its clients and the PersistentVolumes.
func (k *kubernetes) checkStorage() storage {
	k.t.Helper()
	s := k.storage()
	if shown := openstackJSON[map[string]any](k.t, "volume", "show", s.volume); shown["status"] != "in-use" ||
		!strings.Contains(fmt.Sprint(shown["attachments"]), s.node.server) {
		k.t.Errorf("the volume is %v", shown)
	}
	fields := strings.Fields(s.node.run(k.t, "findmnt", "-n", "-o", "SOURCE,FSTYPE,UUID", "--mountpoint", "/volume"))
	device := strings.TrimSpace(s.node.run(k.t, "readlink", "-e", "/dev/disk/by-id/virtio-"+s.volume[:20]))
	if len(fields) != 3 || fields[0] != device || fields[1] != "ext4" {
		k.t.Fatalf("mounted is %q, not %s", fields, device)
	}
	if fstab := s.node.file(k.t, "/etc/fstab"); strings.Count(fstab, " /volume ") != 1 || !strings.Contains(fstab, "UUID="+fields[2]+" /volume ext4 defaults,nofail 0 2\n") {
		k.t.Errorf("/etc/fstab is\n%s", fstab)
	}
	var exports []string
	want := map[string]string{}
	for i := range 3 {
		path := fmt.Sprintf("/volume/nfs/pv%d", i+1)
		exports = append(exports, path+" 10.10.0.0/24")
		want[fmt.Sprintf("nfs-pv%d", i+1)] = "Available " + s.node.address + ":" + path
		if owner := s.node.run(k.t, "stat", "-c", "%U:%G", path); owner != "nobody:nogroup\n" {
			k.t.Errorf("%s belongs to %s", path, owner)
		}
	}
	if diff := sameLines(exports, s.node.file(k.t, "/var/lib/nfs/etab")); diff != "" {
		k.t.Errorf("exports:\n%s", diff)
	}
	if diff := cmp.Diff(want, k.volumes()); diff != "" {
		k.t.Errorf("PersistentVolumes (-want +got):\n%s", diff)
	}
	for _, n := range k.nodes("") {
		k.ran(n, "apt-get -q -o DPkg::Lock::Timeout=300 -y --no-install-recommends install nfs-common", 1)
	}
	return s
}

// volumes are the PersistentVolumes that the Kubernetes API tells: phase, address and directory by name.
func (k *kubernetes) volumes() map[string]string {
	k.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ NFS struct{ Server, Path string } }
			Status   struct{ Phase string }
		}
	}
	k.ask(http.MethodGet, "/api/v1/persistentvolumes", nil, &list)
	found := map[string]string{}
	for _, v := range list.Items {
		found[v.Metadata.Name] = v.Status.Phase + " " + v.Spec.NFS.Server + ":" + v.Spec.NFS.Path
	}
	return found
}

// healStorage heals the storage server, which is refused as long as somebody has a volume.
func (k *kubernetes) healStorage(ill storage) storage {
	k.t.Helper()
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	var answer any
	k.ask(http.MethodPost, claims, map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"volumeName": "nfs-pv2"}}, &answer)
	openstack(k.t, "vnflcm", "heal", "--cause", "ill", "--vnfc-instance", ill.id, "--", k.instanceID)
	heal := lastOperation(k.t, k.instanceID, "HEAL")
	if reason := failed(k.t, heal); !strings.Contains(reason, "nfs-pv2 Persistent volume is in use") || !strings.Contains(reason, "default/data") {
		k.t.Errorf("the heal fails with %q", reason)
	}
	if same := k.storage(); same != ill || len(k.volumes()) != 3 {
		k.t.Errorf("the storage server %+v has become %+v; PersistentVolumes %v", ill, same, k.volumes())
	}
	k.ask(http.MethodDelete, claims+"/data", nil, &answer)
	// It is dead, and nobody needs to ask it.
	openstack(k.t, "server", "stop", ill.node.server)
	eventually(k.t, "the storage server has stopped", func() bool {
		_, err := os.Stat(hostsDir() + "/fs/vms/" + ill.node.server + "/pid")
		return os.IsNotExist(err)
	})
	openstack(k.t, "vnflcm", "op", "retry", heal)
	k.completed("HEAL")
	k.check(3)
	healed := k.checkStorage()
	if healed.id != ill.id || healed.node.server == ill.node.server || healed.volume == ill.volume || healed.node.address != ill.node.address {
		k.t.Errorf("the storage server %+v has become %+v", ill, healed)
	}
	return healed
}
