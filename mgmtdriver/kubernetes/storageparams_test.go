package kubernetes_test

import (
	"encoding/json"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes"
	"vnfm/samples"
)

// storageGuide is the parameter of the specification of persistent volumes, as it stands there.
const storageGuide = `{
	"script_path": "Scripts/install_k8s_cluster.sh",
	"vim_name": "kubernetes_vim",
	"master_node": {
		"aspect_id": "master_instance", "ssh_cp_name": "masterNode_CP1", "nic_cp_name": "masterNode_CP1", "username": "ubuntu", "password": "ubuntu",
		"pod_cidr": "192.168.3.0/16", "cluster_cidr": "10.199.187.0/24", "cluster_cp_name": "masterNode_CP1"
	},
	"worker_node": {
		"aspect_id": "worker_instance", "ssh_cp_name": "workerNode_CP2", "nic_cp_name": "workerNode_CP2", "username": "ubuntu", "password": "ubuntu"
	},
	"proxy": {
		"http_proxy": "http://user1:password1@host1:port1", "https_proxy": "https://user2:password2@host2:port2",
		"no_proxy": "192.168.246.0/24,10.0.0.1", "k8s_node_cidr": "10.10.0.0/24"
	},
	"storage_server": {
		"ssh_cp_name": "storage_server_CP", "username": "ubuntu", "password": "ubuntu",
		"cinder_volume_setup_params": [{"volume_resource_id": "storage_server_volume", "mount_to": "/volume"}],
		"nfs_server_setup_params": [
			{"export_dir": "/volume/nfs/pv1", "export_to": "10.10.0.0/24"},
			{"export_dir": "/volume/nfs/pv2", "export_to": "10.10.0.0/24"},
			{"export_dir": "/volume/nfs/pv3", "export_to": "10.10.0.0/24"}
		]
	},
	"pv_registration_params": [
		{"pv_manifest_file_path": "Files/kubernetes/nfs-pv1.yaml", "nfs_server_cp": "storage_server_CP"},
		{"pv_manifest_file_path": "Files/kubernetes/nfs-pv2.yaml", "nfs_server_cp": "storage_server_CP"},
		{"pv_manifest_file_path": "Files/kubernetes/nfs-pv3.yaml", "nfs_server_cp": "storage_server_CP"}
	]
}`

// set puts a value at a path of objects and indices; nil removes it.
func set(path string, value any) func(map[string]any) {
	return func(p map[string]any) {
		names := strings.Split(path, "/")
		var at any = p
		for _, name := range names[:len(names)-1] {
			switch inner := at.(type) {
			case map[string]any:
				at = inner[name]
			case []any:
				i, _ := strconv.Atoi(name)
				at = inner[i]
			}
		}
		if object, name := at.(map[string]any), names[len(names)-1]; value == nil {
			delete(object, name)
		} else {
			object[name] = value
		}
	}
}

func TestStorageRequestsAreChecked(t *testing.T) {
	t.Parallel()
	const (
		volume   = "storage_server/cinder_volume_setup_params/0/"
		export   = "storage_server/nfs_server_setup_params/1/"
		manifest = "/pv_registration_params/0/pv_manifest_file_path"
	)
	for _, row := range []struct {
		name      string
		change    func(map[string]any)
		manifest  string // in place of that of the first PersistentVolume
		attribute string // "" = the request is right
		says      string
	}{
		{"as it stands", func(map[string]any) {}, "", "", ""},
		{"without PersistentVolumes", set("pv_registration_params", nil), "", "", ""},
		{"an address as client", set(export+"export_to", "10.10.0.7"), "", "", ""},
		{"known by another connection point", func(p map[string]any) {
			set("storage_server/nic_cp_name", "storage_server_CP")(p)
			set("storage_server/ssh_cp_name", "storage_server_FIP")(p)
		}, "", "", ""},
		{"an export beside the volume", func(p map[string]any) {
			set(export+"export_dir", "/srv/nfs")(p)
			set("pv_registration_params", []any{})(p)
		}, "", "", ""},
		{"a manifest that is JSON, and has no server yet", func(map[string]any) {},
			`{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "a"}, "spec": {"nfs": {"path": "/volume/nfs/pv1/sub"}}}`, "", ""},
		{"PersistentVolumes without a server", set("storage_server", nil), "", "/pv_registration_params", "there is no storage_server"},
		{"no object", set("storage_server", "x"), "", "/storage_server", "must be an object"},
		{"no port", set("storage_server/ssh_cp_name", nil), "", "/storage_server/ssh_cp_name", "does not exist"},
		{"a port that the VNFD lacks", set("storage_server/ssh_cp_name", "CP9"), "", "/storage_server/ssh_cp_name", "no VDU of the flavour has the connection point CP9"},
		{"the port of a worker", set("storage_server/nic_cp_name", "workerNode_CP2"), "", "/storage_server/nic_cp_name", "scaled by worker_instance"},
		{"a floating IP that the package lacks", func(p map[string]any) {
			set("storage_server/nic_cp_name", "storage_server_CP")(p)
			set("storage_server/ssh_cp_name", "CP9")(p)
		}, "", "/storage_server/ssh_cp_name", "neither a connection point nor"},
		{"a key that is none", set("storage_server/private_key", "x"), "", "/storage_server/private_key", "no private key"},
		{"no user", set("storage_server/username", nil), "", "/storage_server/username", "does not exist"},
		{"no password", set("storage_server/password", nil), "", "/storage_server/password", "does not exist"},
		{"no volumes", set("storage_server/cinder_volume_setup_params", nil), "", "/storage_server/cinder_volume_setup_params", "does not exist"},
		{"an empty list of exports", set("storage_server/nfs_server_setup_params", []any{}), "", "/storage_server/nfs_server_setup_params", "does not exist"},
		{"a volume without a name", set(volume+"volume_resource_id", nil), "", "/" + volume + "volume_resource_id", "does not exist"},
		{"a volume that the VNFD lacks", set(volume+"volume_resource_id", "other"), "", "/" + volume + "volume_resource_id", "not a virtual storage of storage_server"},
		{"a directory that is relative", set(volume+"mount_to", "volume"), "", "/" + volume + "mount_to", "absolute path"},
		{"a directory that climbs", set(volume+"mount_to", "/volume/../etc"), "", "/" + volume + "mount_to", "absolute path"},
		{"the root", set(volume+"mount_to", "/"), "", "/" + volume + "mount_to", "not / itself"},
		{"a directory of the system", set(volume+"mount_to", "/var/lib"), "", "/" + volume + "mount_to", "of the operating system"},
		{"a directory within one of the system", set(volume+"mount_to", "/usr/local/data"), "", "/" + volume + "mount_to", "of the operating system"},
		{"all homes", set(export+"export_dir", "/home"), "", "/" + export + "export_dir", "of the operating system"},
		{"the home of who logs in", set(export+"export_dir", "/home/ubuntu"), "", "/" + export + "export_dir", "home of who logs in"},
		{"a directory in the home", func(p map[string]any) {
			set(export+"export_dir", "/home/ubuntu/nfs")(p)
			set("pv_registration_params", []any{})(p)
		}, "", "", ""},
		{"a name that begins as one of the system's", func(p map[string]any) {
			set(export+"export_dir", "/library")(p)
			set("pv_registration_params", []any{})(p)
		}, "", "", ""},
		{"a directory with a blank", set(export+"export_dir", "/a b"), "", "/" + export + "export_dir", "letters, digits"},
		{"a directory of two volumes", func(p map[string]any) {
			entry := map[string]any{"volume_resource_id": "second", "mount_to": "/volume"}
			p["storage_server"].(map[string]any)["cinder_volume_setup_params"] = []any{entry, map[string]any{"volume_resource_id": "first", "mount_to": "/volume"}}
		}, "", "/storage_server/cinder_volume_setup_params/1/mount_to", "two volumes are mounted at /volume"},
		{"a volume at two directories", func(p map[string]any) {
			entry := map[string]any{"volume_resource_id": "a", "mount_to": "/volume"}
			p["storage_server"].(map[string]any)["cinder_volume_setup_params"] = []any{entry, map[string]any{"volume_resource_id": "a", "mount_to": "/b"}}
		}, "", "/storage_server/cinder_volume_setup_params/1/volume_resource_id", "mounted twice"},
		{"an export twice", set(export+"export_dir", "/volume/nfs/pv1"), "", "/" + export + "export_dir", "twice"},
		{"clients that are no network", set(export+"export_to", "*(rw,no_root_squash)"), "", "/" + export + "export_to", "not a network"},
		{"no manifest", set("pv_registration_params/0/pv_manifest_file_path", nil), "", manifest, "does not exist"},
		{"no server of a PersistentVolume", set("pv_registration_params/0/nfs_server_cp", nil), "", "/pv_registration_params/0/nfs_server_cp", "does not exist"},
		{"a server that the package lacks", set("pv_registration_params/0/nfs_server_cp", "CP9"), "", "/pv_registration_params/0/nfs_server_cp", `"CP9"`},
		{"a manifest that the package lacks", set("pv_registration_params/0/pv_manifest_file_path", "Files/none.yaml"), "", manifest, `no file "Files/none.yaml"`},
		{"a manifest twice", set("pv_registration_params/1/pv_manifest_file_path", "Files/kubernetes/nfs-pv1.yaml"), "",
			"/pv_registration_params/1/pv_manifest_file_path", "same name, nfs-pv1"},
		{"a manifest of something else", func(map[string]any) {}, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", manifest, `"Pod" of "v1", not a PersistentVolume`},
		{"several documents", func(map[string]any) {}, "kind: PersistentVolume\n---\nkind: PersistentVolume\n", manifest, "several documents"},
		{"an empty manifest", func(map[string]any) {}, "---\n", manifest, "it is empty"},
		{"no YAML", func(map[string]any) {}, "a: [", manifest, "nfs-pv1.yaml: yaml:"},
		{"a PersistentVolume without a name", func(map[string]any) {}, "apiVersion: v1\nkind: PersistentVolume\nspec: {nfs: {path: /x}}\n", manifest,
			"Failed to get Kubernetes PersistentVolume name"},
		{"a name that is an option", func(map[string]any) {}, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: --all}\nspec: {nfs: {path: /x}}\n", manifest, "not a name"},
		{"a PersistentVolume elsewhere", func(map[string]any) {}, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {hostPath: {path: /x}}\n", manifest, "no spec.nfs"},
		{"a PersistentVolume without a path", func(map[string]any) {}, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {nfs: {}}\n", manifest, "spec.nfs.path"},
		{"a directory that is not exported", func(map[string]any) {}, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {nfs: {path: /volume/nfs/pv11}}\n",
			manifest, "does not export /volume/nfs/pv11"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			parameter := map[string]any{}
			if err := json.Unmarshal([]byte(storageGuide), &parameter); err != nil {
				t.Fatal(err)
			}
			row.change(parameter)
			tree := fstest.MapFS{}
			for _, name := range []string{"Scripts/install_k8s_cluster.sh", "Files/kubernetes/nfs-pv1.yaml", "Files/kubernetes/nfs-pv2.yaml",
				"Files/kubernetes/nfs-pv3.yaml"} {
				content, err := fs.ReadFile(samples.Kubernetes(), name)
				if err != nil {
					t.Fatal(err)
				}
				tree[name] = &fstest.MapFile{Data: content}
			}
			if row.manifest != "" {
				tree["Files/kubernetes/nfs-pv1.yaml"].Data = []byte(row.manifest)
			}
			driver := kubernetes.New(nil, kube.Config{})
			err := driver.Check(t.Context(), &mgmtdriver.Call{Hook: mgmtdriver.InstantiateEnd, Package: drivertest.Files{FS: tree}, Vdus: sampleVdus,
				PortNames: []string{"masterNode_CP1", "workerNode_CP2", "storage_server_CP", "storage_server_FIP"},
				Operation: mgmtdriver.Operation{Type: "INSTANTIATE"}, Vims: &drivertest.Vims{},
				Instance: mgmtdriver.Instance{AdditionalParams: map[string]any{kubernetes.Parameter: parameter}}})
			expectInvalid(t, err, row.attribute, row.says)
		})
	}
}
