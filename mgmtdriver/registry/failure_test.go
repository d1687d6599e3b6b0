package registry_test

import (
	"testing"
	"time"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/registry/registrytest"
)

// Every failure names the host and the reason, and a retry goes on as soon as the reason is gone.
func TestFailures(t *testing.T) {
	t.Parallel()
	pulled := func(p map[string]any) { delete(p, "image_path") }
	for _, row := range []struct {
		name    string
		setting setting
		fault   registrytest.Fault
		step    string
		says    []string
		retry   bool
	}{
		{"an old system", setting{world: registrytest.Options{System: "ubuntu 18.04"}}, registrytest.Fault{}, "examine",
			[]string{"PrivateRegistryVDU (127.", "Your OS does not support at present", "ubuntu 18.04 on x86_64"}, false},
		{"another system", setting{world: registrytest.Options{System: "fedora 43"}}, registrytest.Fault{}, "examine", []string{"fedora 43"}, false},
		{"a system without a version", setting{world: registrytest.Options{System: "debian"}}, registrytest.Fault{}, "examine", []string{"debian"}, false},
		{"another architecture", setting{world: registrytest.Options{Architecture: "riscv64"}}, registrytest.Fault{}, "examine",
			[]string{"ubuntu 22.04 on riscv64"}, false},
		{"a port that is in use", setting{world: registrytest.Options{Listener: "nginx"}}, registrytest.Fault{}, "examine",
			[]string{"PrivateRegistryVDU (127.", "port 5000 is in use by process nginx"}, false},
		{"Docker cannot be installed", setting{}, registrytest.Fault{Command: "install-docker.sh", Times: 1, Stderr: "E: Unable to locate package docker.io"},
			"docker", []string{"PrivateRegistryVDU (127.", "E: Unable to locate package docker.io"}, true},
		{"Docker does not start", setting{}, registrytest.Fault{Command: "install-docker.sh", Times: 1, Late: true, Stderr: "Docker service is not running"},
			"docker", []string{"Docker service is not running"}, true},
		{"installing takes too long", setting{world: registrytest.Options{JobTime: time.Hour}, config: registry.Config{JobTime: 20 * time.Millisecond}},
			registrytest.Fault{}, "docker", []string{"install Docker has taken longer than 20ms; the last it said was: begun"}, false},
		{"Docker Hub is out of reach", setting{world: registrytest.Options{Offline: true}, change: pulled}, registrytest.Fault{}, "image",
			[]string{"Failed to pull or load the Docker image named registry", "no such host", "image_path"}, false},
		{"pulling fails once", setting{change: pulled}, registrytest.Fault{Command: "docker pull", Times: 1, Stderr: "toomanyrequests"}, "image",
			[]string{"toomanyrequests"}, true},
		{"the image cannot be loaded", setting{}, registrytest.Fault{Command: "docker load", Times: 1, Stderr: "no space left on device"}, "image",
			[]string{imagePath, "no space left on device"}, true},
		{"the container cannot be run", setting{}, registrytest.Fault{Command: "docker run", Times: 1, Stderr: "Error response from daemon: cgroups"}, "run",
			[]string{"PrivateRegistryVDU (127.", "cgroups"}, true},
		{"Docker does not tell of containers", setting{}, registrytest.Fault{Command: "docker ps", Times: 1, Stderr: "permission denied"}, "run",
			[]string{"permission denied"}, true},
		{"the registry does not answer", setting{world: registrytest.Options{Mute: true}}, registrytest.Fault{}, "answer",
			[]string{"PrivateRegistryVDU (127.", "container private_registry is running, and nobody answers at port 5000", "configuration error"}, false},
		{"something else answers", setting{world: registrytest.Options{Mute: true}},
			registrytest.Fault{Command: "timeout 10 bash", Stderr: "bash: connect: Connection refused"}, "answer", []string{"nobody answers"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, row.setting)
			if row.fault.Command != "" {
				b.world.Fail(row.fault)
			}
			b.boot("INSTANTIATE")
			done := b.fails(mgmtdriver.InstantiateEnd, row.step, row.says...)
			if !row.retry {
				return
			}
			if step, err := b.run(mgmtdriver.InstantiateEnd, done); err != nil {
				t.Fatalf("the retry fails at %s: %v", step, err)
			}
			if got := b.world.View(b.address); got.Runs != 1 || got.Container == nil || got.Installed != 1 {
				t.Errorf("the machine is %+v", got)
			}
		})
	}
}

// What Docker loads counts, also where the archive looked as it should.
func TestImageOfAnotherName(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{})
	b.boot("INSTANTIATE")
	b.swap = registrytest.Archive(otherImage)
	b.fails(mgmtdriver.InstantiateEnd, "image", "there is no registry:latest", `"`+otherImage+`"`)
}

func TestVnfOfSeveralMachines(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{})
	b.boot("INSTANTIATE")
	b.further = []mgmtdriver.Vnfc{b.vnfc}
	b.fails(mgmtdriver.InstantiateEnd, "await", "the connection point CP1 belongs to several")
}

func TestVnfWithoutTheConnectionPoint(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{change: func(p map[string]any) { p["ssh_cp_name"] = "CP9" }})
	b.boot("INSTANTIATE")
	b.fails(mgmtdriver.InstantiateEnd, "await", "Failed to get IP address for Private registry VM", "CP9")
}

func TestMachineThatDoesNotStart(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{config: registry.Config{BootTime: time.Millisecond}})
	b.boot("INSTANTIATE")
	_ = b.vm.Close()
	b.fails(mgmtdriver.InstantiateEnd, "await", "no login for", b.address.String())
}

func TestPasswordOfTheProxyIsNotTold(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{change: func(p map[string]any) { p["proxy"] = map[string]any{"http_proxy": proxyURL} }})
	b.world.Fail(registrytest.Fault{Command: "install-docker.sh", Stderr: "cannot connect to " + proxyURL})
	b.boot("INSTANTIATE")
	b.fails(mgmtdriver.InstantiateEnd, "docker", "cannot connect to http://user:***@proxy:3128")
}
