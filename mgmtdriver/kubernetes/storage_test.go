package kubernetes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/kube"
	"vnfm/mgmtdriver/kubernetes/kubetest"
)

// volume is a new one.
func (b *bed) volume() mgmtdriver.Volume {
	b.volumes++
	return mgmtdriver.Volume{Name: "storage_server_volume", ID: fmt.Sprintf("%08d-63ae-4c0e-8d7f-0123456789ab", b.volumes)}
}

// sampleVdus are those of the sample package.
var sampleVdus = []mgmtdriver.Vdu{
	{ID: "masterNode", AspectID: "master_instance", Cps: []string{"masterNode_CP1"}},
	{ID: "workerNode", AspectID: "worker_instance", Cps: []string{"workerNode_CP2"}},
	{ID: "storage_server", Cps: []string{"storage_server_CP"}, Storages: []string{"storage_server_volume"}},
}

// expectStorage checks the storage of a cluster: the storage server has what the sample asks for, and nobody else has it; all nodes can mount it.
func (b *bed) expectStorage(nodes ...string) {
	b.T.Helper()
	view, server := b.world.View(), b.Network+"91"
	delete(view.Volumes, "other") // the user's
	want := kubetest.View{Mounts: map[string][]string{server: {"/volume"}}, Exports: map[string][]string{server: {}},
		Packages: map[string][]string{server: {"nfs-kernel-server"}}, Volumes: map[string]kubetest.Volume{}}
	for i := range 3 {
		path := fmt.Sprintf("/volume/nfs/pv%d", i+1)
		want.Exports[server] = append(want.Exports[server], path+" 10.10.0.0/24")
		want.Volumes[fmt.Sprintf("nfs-pv%d", i+1)] = kubetest.Volume{Phase: "Available", Server: server, Path: path}
	}
	for _, node := range nodes {
		want.Packages[b.Network+node] = []string{"nfs-common"}
	}
	got := kubetest.View{Mounts: view.Mounts, Exports: view.Exports, Packages: view.Packages, Volumes: view.Volumes}
	if diff := cmp.Diff(want, got); diff != "" {
		b.T.Errorf("storage (-want +got):\n%s", diff)
	}
	fstab := b.file("91", "/etc/fstab")
	if !strings.HasPrefix(fstab, "LABEL=cloudimg-rootfs / ext4 defaults 0 1\nUUID=") || !strings.HasSuffix(fstab, " /volume ext4 defaults,nofail 0 2\n") ||
		strings.Count(fstab, "\n") != 2 {
		b.T.Errorf("/etc/fstab is\n%s", fstab)
	}
	if strings.Contains(b.Nodes(), "91") {
		b.T.Errorf("nodes %s", b.Nodes())
	}
}

func TestStorageServer(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 2, storage: true})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.expectStorage("11", "51", "52")
	if got := b.commands("11", "apply -f -"); len(got) != 1 {
		t.Errorf("PersistentVolumes were made with %q", got)
	}

	b.ScaleOut("53")
	b.Must(mgmtdriver.ScaleEnd)
	b.expectStorage("11", "51", "52", "53")
	b.ScaleIn("51")
	b.Must(mgmtdriver.ScaleStart)
	b.Gone()
	b.Healed("52")
	b.expectStorage("11", "52", "53")
	if got := b.commands("91", "mkfs.ext4"); len(got) != 1 {
		t.Errorf("file systems were made with %q", got)
	}

	b.Healed()
	b.expectStorage("11", "52", "53")
	b.Begin("TERMINATE", `{}`)
	b.Before, b.Removed, b.After = b.Vnfcs, b.Vnfcs, nil
	b.Must(mgmtdriver.TerminateEnd)
}

func TestHealOfTheStorageServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		prepare func(*bed)
		heal    []string
	}{
		{"alone", func(*bed) {}, []string{"91"}},
		{"dead", func(b *bed) { b.Kill("91") }, []string{"91"}},
		{"dead, and its address is not known", func(b *bed) {
			b.Kill("91")
			b.Vnfcs[len(b.Vnfcs)-1].Ports = nil
		}, []string{"91"}},
		{"with a node", func(*bed) {}, []string{"51", "91"}},
		{"claims have been given back", func(b *bed) {
			b.world.Change("nfs-pv2", kubetest.Volume{Phase: "Released", Claim: "default/data", Server: b.Network + "91", Path: "/volume/nfs/pv2"}, false)
		}, []string{"91"}},
		{"a volume of somebody else is in use", func(b *bed) {
			b.world.Change("other", kubetest.Volume{Phase: "Bound", Claim: "default/x", Server: "192.0.2.1", Path: "/x"}, false)
		}, []string{"91"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 2, storage: true})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			ports := b.Vnfcs[3].Ports
			row.prepare(b)
			b.Heal(row.heal...)
			b.Must(mgmtdriver.HealStart)
			for name := range b.world.View().Volumes {
				if strings.HasPrefix(name, "nfs-pv") {
					t.Errorf("%s is left", name)
				}
			}
			b.Vnfcs[3].Ports = ports
			b.Replaced()
			b.Must(mgmtdriver.HealEnd)
			b.expectStorage("11", "51", "52")
			if b.Vims.Made != 1 {
				t.Errorf("VIM %v", b.Vims.Shown())
			}
		})
	}
}

// A heal may leave the volume as it is.
func TestVolumeThatIsKept(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, storage: true})
	b.keepVolumes = true
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.Healed("91")
	b.expectStorage("11", "51")
	if got := b.commands("91", "mkfs.ext4"); len(got) != 0 {
		t.Errorf("the volume was formatted with %q", got)
	}
}

func TestHealWhileVolumesAreInUse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, volume string }{{"one of ours", "nfs-pv2"}, {"one that the user has made", "mine"}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{masters: 1, workers: 2, storage: true})
			b.Instantiate()
			b.Must(mgmtdriver.InstantiateEnd)
			b.world.Change(row.volume, kubetest.Volume{Phase: "Bound", Claim: "shop/data", Server: b.Network + "91", Path: "/volume/nfs/pv2"}, true)
			before := b.state()
			b.Heal("51", "91")
			b.fails(mgmtdriver.HealStart, "heal_start failed("+row.volume+" Persistent volume is in use)", "claim shop/data")
			if diff := cmp.Diff(before, b.state()); diff != "" {
				t.Errorf("something has changed:\n%s", diff)
			}
		})
	}
}

func TestStorageThatFails(t *testing.T) {
	t.Parallel()
	const volume = "00000001-63ae-4c0e-8d7f-0123456789ab"
	quick := kube.Config{VolumeTime: 20 * time.Millisecond}
	for _, row := range []struct {
		name  string
		of    setting
		spoil func(*bed)
		says  []string
		mend  func(*bed)
	}{
		{"a disk with another file system", setting{}, func(b *bed) { b.world.Plug(volume, kubetest.Disk{Content: "xfs"}) },
			[]string{"storage_server (", "/dev/vdb of volume storage_server_volume", `content of the type "xfs"`},
			func(b *bed) { b.world.Plug(volume, kubetest.Disk{}) }},
		{"a disk with a partition table", setting{}, func(b *bed) { b.world.Plug(volume, kubetest.Disk{Content: "pt:gpt"}) },
			[]string{"/dev/vdb", "a partition table (gpt)"}, nil},
		{"a disk with a partition", setting{}, func(b *bed) { b.world.Plug(volume, kubetest.Disk{Parts: []string{"/dev/vdb1"}}) },
			[]string{"/dev/vdb", "/dev/vdb1 on it"}, nil},
		{"a disk with signatures of several kinds", setting{}, func(b *bed) { b.world.Plug(volume, kubetest.Disk{Content: "ambiguous"}) },
			[]string{"/dev/vdb", "several kinds"}, nil},
		{"a disk with content that nobody knows", setting{}, func(b *bed) { b.world.Plug(volume, kubetest.Disk{Content: "unknown"}) },
			[]string{"/dev/vdb", "content that blkid does not know"}, nil},
		{"a disk that may be another volume", setting{config: kube.Config{BootTime: 2 * time.Second}}, func(b *bed) {
			b.Vnfcs[2].Volumes[0].Device = "/dev/vdc"
			b.world.Plug(volume, kubetest.Disk{Absent: true, Device: "/dev/vdc", Content: "ext4"})
		}, []string{"/dev/vdc, where volume storage_server_volume (" + volume + ") should be, has no serial number and is not empty"},
			func(b *bed) { b.world.Plug(volume, kubetest.Disk{Absent: true, Device: "/dev/vdc"}) }},
		{"a volume without a device", setting{config: kube.Config{BootTime: 500 * time.Millisecond}}, func(b *bed) {
			b.world.Plug(volume, kubetest.Disk{Absent: true})
		}, []string{"Failed to get device information for Cinder volume. volume_resource_id: storage_server_volume", "/dev/disk/by-id/virtio-" + volume[:20]},
			func(b *bed) { b.world.Plug(volume, kubetest.Disk{}) }},
		{"a server without the volume", setting{}, func(b *bed) { b.Vnfcs[2].Volumes = nil },
			[]string{"volume_resource_id: storage_server_volume", "no volume of that name"}, nil},
		{"no file system can be made", setting{}, func(b *bed) {
			b.world.Fail(kubetest.Fault{Command: "mkfs.ext4", Times: 1, Stderr: "mkfs.ext4: Device size reported to be zero."})
		}, []string{"storage_server (", "Device size reported to be zero"}, func(*bed) {}},
		{"apt fails", setting{}, func(b *bed) {
			b.world.Fail(kubetest.Fault{Command: "install-package nfs-kernel-server", Times: 1, Stderr: "E: Unable to locate package"})
		}, []string{"storage_server (", "E: Unable to locate package"}, func(*bed) {}},
		{"apt fails on a node", setting{}, func(b *bed) {
			b.world.Fail(kubetest.Fault{Command: "install-package nfs-common", Address: b.Address("51"), Times: 1, Stderr: "E: Unable to locate package"})
		}, []string{"worker51 (", "E: Unable to locate package"}, func(*bed) {}},
		{"an export is refused", setting{}, func(b *bed) {
			b.world.Fail(kubetest.Fault{Command: "exportfs -ra", Times: 1, Stderr: "exportfs: /volume/nfs/pv1 does not support NFS export"})
		}, []string{"Failed to setup NFS export", "storage_server (", "/volume/nfs/pv1 does not support NFS export"}, func(*bed) {}},
		{"a PersistentVolume that does not become available", setting{config: quick, world: kubetest.Options{VolumePhase: "Pending"}}, func(*bed) {},
			[]string{"Failed to register Persistent volume", `nfs-pv1 is "Pending"`}, nil},
		{"two storage servers", setting{}, func(b *bed) { b.addStorage("92") },
			[]string{"2 VNFCs have the connection point storage_server_CP"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.of.masters, row.of.workers, row.of.storage = 1, 1, true
			b := newBed(t, row.of)
			row.spoil(b)
			b.Instantiate()
			b.fails(mgmtdriver.InstantiateEnd, row.says...)
			if b.Vims.Vim != nil || len(b.world.View().Volumes) > 0 {
				t.Errorf("VIM %v, PersistentVolumes %v", b.Vims.Shown(), b.world.View().Volumes)
			}
			if row.mend != nil {
				row.mend(b)
				b.Must(mgmtdriver.InstantiateEnd)
				b.expectStorage("11", "51")
			}
		})
	}
}

func TestPersistentVolumeThatDoesNotGo(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, storage: true, config: kube.Config{VolumeTime: 20 * time.Millisecond}})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.world.Change("nfs-pv3", kubetest.Volume{Phase: "Available"}, true)
	b.Heal("91")
	b.fails(mgmtdriver.HealStart, "heal_start failed(Persistent volume deletion timeout)", "nfs-pv3")
}

// Where hypervisors tell no serial numbers, the VIM says where it has attached a volume.
func TestVolumeWithoutASerialNumber(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, storage: true, config: kube.Config{BootTime: 2 * time.Second}})
	volume := &b.Vnfcs[2].Volumes[0]
	volume.Device = "/dev/vdc"
	b.world.Plug(volume.ID, kubetest.Disk{Absent: true, Device: "/dev/vdc"})
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.expectStorage("11", "51")
}

func TestLoginThroughAFloatingAddress(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{masters: 1, workers: 1, storage: true, change: func(p map[string]any) {
		server := p["storage_server"].(map[string]any)
		server["ssh_cp_name"], server["nic_cp_name"] = "storage_FIP", "storage_server_CP"
	}})
	b.Ports = []mgmtdriver.Port{{Name: "storage_FIP", Floating: true, Addresses: b.Vnfcs[2].Ports[0].Addresses}}
	b.Instantiate()
	b.Must(mgmtdriver.InstantiateEnd)
	b.expectStorage("11", "51")
}

func TestProxyOfApt(t *testing.T) {
	t.Parallel()
	const address = "http://user:geheim@proxy:8080"
	b := newBed(t, setting{masters: 1, workers: 1, storage: true, change: func(p map[string]any) {
		p["proxy"] = map[string]any{"http_proxy": address, "https_proxy": address}
	}})
	b.Instantiate()
	b.world.Fail(kubetest.Fault{Command: "install-package", Late: true, Stderr: "cannot connect to " + address})
	b.fails(mgmtdriver.InstantiateEnd, "cannot connect to http://user:***@proxy:8080")
	if env := b.world.Apt(b.Address("91")); env["http_proxy"] != address || env["https_proxy"] != address {
		t.Errorf("apt has the environment %q", env)
	}
}

func TestConformanceWithStorage(t *testing.T) {
	t.Parallel()
	hooks := []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.ScaleEnd, mgmtdriver.HealStart, mgmtdriver.HealEnd}
	drivertest.Run(t, drivertest.Suite{Hooks: hooks, New: func(t *testing.T) drivertest.World {
		t.Helper()
		b := newBed(t, setting{masters: 1, workers: 1, storage: true})
		b.Instantiate()
		current := mgmtdriver.InstantiateEnd
		return drivertest.World{Driver: b.Driver, State: b.state, Call: func(hook mgmtdriver.Hook) *mgmtdriver.Call {
			if hook != current {
				current = hook
				switch hook {
				case mgmtdriver.InstantiateEnd:
					b.Instantiate()
				case mgmtdriver.ScaleEnd:
					b.ScaleOut("58")
				case mgmtdriver.HealStart:
					b.Heal("51", "91")
				default:
					b.Replaced()
				}
			}
			return b.Call(hook)
		}}
	}})
}
