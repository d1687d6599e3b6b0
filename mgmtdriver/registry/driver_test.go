package registry_test

import (
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/mgmtdriver"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/mgmtdriver/registry"
	"vnfm/mgmtdriver/registry/registrytest"
)

// container is the one that has to run on a machine.
func (b *bed) container(port string) *registrytest.Container {
	c := &registrytest.Container{Image: seenImage, Port: port, Volume: "/home/ubuntu/registry:/var/lib/registry", Restart: "always", Status: "running"}
	if found := b.world.View(b.address).Container; found != nil {
		c.ID = found.ID
	}
	return c
}

func (b *bed) check(want registrytest.View) {
	b.t.Helper()
	got := b.world.View(b.address)
	if diff := cmp.Diff(b.container("5000"), got.Container); want.Container == nil && diff != "" {
		b.t.Errorf("container (-want +got):\n%s", diff)
	}
	if want.Container == nil {
		got.Container = nil
	}
	got.Env = nil
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("machine (-want +got):\n%s", diff)
	}
}

func TestRegistryWithTheImageOfThePackage(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{})
	b.boot("INSTANTIATE")
	b.must(mgmtdriver.InstantiateEnd)
	want := registrytest.View{Installed: 1, Loaded: 1, Runs: 1, Images: []string{seenImage}}
	b.check(want)
	b.boot("HEAL") // another machine in its place
	b.must(mgmtdriver.HealEnd)
	b.check(want)
}

func TestRegistryWithTheImageOfDockerHub(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{change: func(p map[string]any) { delete(p, "image_path"); p["port_no"] = 5001.0 }})
	b.files = nil
	b.boot("INSTANTIATE")
	b.must(mgmtdriver.InstantiateEnd)
	b.check(registrytest.View{Installed: 1, Pulled: 1, Runs: 1, Images: []string{seenImage}, Container: b.container("5001")})
}

func TestMachineThatHasDocker(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{world: registrytest.Options{System: "debian 12", Architecture: "aarch64", Docker: true, Offline: true,
		Preloaded: []string{seenImage}}, change: func(p map[string]any) { delete(p, "image_path") }})
	b.boot("INSTANTIATE")
	b.must(mgmtdriver.InstantiateEnd)
	b.check(registrytest.View{Runs: 1, Images: []string{seenImage}})
}

// The drop-in may hold a password, and so may what apt is told.
func TestProxy(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{change: func(p map[string]any) {
		p["proxy"] = map[string]any{"http_proxy": proxyURL, "https_proxy": "http://proxy:3128", "no_proxy": `10.0.0.0/8,"50%"`}
	}})
	b.boot("INSTANTIATE")
	b.must(mgmtdriver.InstantiateEnd)
	view := b.world.View(b.address)
	want := "[Service]\nEnvironment=\"HTTP_PROXY=" + proxyURL + "\"\nEnvironment=\"HTTPS_PROXY=http://proxy:3128\"\n" +
		"Environment=\"NO_PROXY=10.0.0.0/8,\\\"50%%\\\"\"\n"
	if diff := cmp.Diff(want, view.Proxy); diff != "" || view.Restarted != 1 {
		t.Errorf("Docker was restarted %d times with (-want +got):\n%s", view.Restarted, diff)
	}
	if view.Env["http_proxy"] != proxyURL || view.Env["https_proxy"] != "http://proxy:3128" {
		t.Errorf("apt was told %v", view.Env)
	}
}

// A second run repairs what is not as it should be, and leaves alone what is.
func TestSecondRun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*registrytest.Container)
		runs   int
	}{
		{"nothing has changed", func(*registrytest.Container) {}, 1},
		{"the container is dead", func(c *registrytest.Container) { c.Status = "exited" }, 2},
		{"it was never started", func(c *registrytest.Container) { c.Status = "created" }, 2},
		{"it has another port", func(c *registrytest.Container) { c.Port = "5009" }, 2},
		{"it has another image", func(c *registrytest.Container) { c.ID = "sha256:former" }, 2},
		{"it has another volume", func(c *registrytest.Container) { c.Volume = "/private_registry:/var/lib/registry" }, 2},
		{"it does not come back by itself", func(c *registrytest.Container) { c.Restart = "no" }, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, setting{})
			b.boot("INSTANTIATE")
			b.must(mgmtdriver.InstantiateEnd)
			b.world.Change(b.address, row.change)
			b.opID++
			b.must(mgmtdriver.HealEnd)
			b.check(registrytest.View{Installed: 1, Loaded: 2, Runs: row.runs, Images: []string{seenImage}})
		})
	}
}

func TestAddressIsThatOfAFloatingIP(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{change: func(p map[string]any) { p["ssh_cp_name"] = "FIP1" }})
	b.boot("INSTANTIATE")
	b.ports = []mgmtdriver.Port{{Name: "FIP1", Floating: true, Addresses: []netip.Addr{b.address}}}
	b.vnfc.Ports[0].Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	b.must(mgmtdriver.InstantiateEnd)
}

func TestMachineThatBoots(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{config: registry.Config{BootTime: time.Minute}})
	b.boot("INSTANTIATE")
	_ = b.vm.Close()
	step := b.driver.Steps(mgmtdriver.InstantiateEnd)[0]
	if result, err := step.Do(t.Context(), b.call(mgmtdriver.InstantiateEnd)); err != nil || !result.Again {
		t.Fatalf("got %+v, %v", result, err)
	}
	b.boot("INSTANTIATE")
	b.must(mgmtdriver.InstantiateEnd)
}

// stalling is a package whose file comes to a halt when it is opened for the second time.
type stalling struct {
	mgmtdriver.Package
	opened int
}

func (s *stalling) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := s.Package.Open(ctx, path)
	if s.opened++; err != nil || s.opened != 2 {
		return file, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(file, 16<<20), halt{ctx}), file}, nil
}

// halt is a reader that waits for its context.
type halt struct{ ctx context.Context }

func (h halt) Read([]byte) (int, error) {
	<-h.ctx.Done()
	return 0, h.ctx.Err()
}

// A large image takes several calls, and the file in the package is read as a whole only in the first.
func TestTransferThatTakesSeveralCalls(t *testing.T) {
	t.Parallel()
	b := newBed(t, setting{config: registry.Config{PutTime: 4 * time.Second}})
	files := map[string]string{"manifest.json": `[{"RepoTags": ["registry:latest"]}]`, "layer": strings.Repeat("0123456789abcdef", 2<<20)}
	b.files[imagePath].Data = registrytest.Tar(files, "layer", "manifest.json")
	b.boot("INSTANTIATE")
	outputs := map[string]json.RawMessage{"instantiate_end/examine": json.RawMessage(`{"home": "/home/ubuntu"}`)}
	pkg := &stalling{Package: b.call(mgmtdriver.InstantiateEnd).Package}
	transfer := func(state any) mgmtdriver.Result {
		t.Helper()
		call := b.call(mgmtdriver.InstantiateEnd)
		call.Package, call.Outputs = pkg, outputs
		call.State, _ = json.Marshal(state)
		result, err := b.driver.Steps(mgmtdriver.InstantiateEnd)[3].Do(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	result := transfer(nil)
	if !result.Again || !strings.Contains(result.Detail, imagePath) || !strings.Contains(result.Detail, "of 33 MB") {
		t.Fatalf("got %+v", result)
	}
	calls := 1
	for result.Again { // more than once where the machine is busy
		result = transfer(result.State)
		calls++
	}
	if pkg.opened != calls+1 {
		t.Errorf("the file was opened %d times in %d calls", pkg.opened, calls)
	}
	if got := b.world.View(b.address).Files; len(got) != 1 {
		t.Errorf("the machine has %q", got)
	}
	b.must(mgmtdriver.InstantiateEnd)
}

// views are those of the machines on which something was done.
func (b *bed) views() []registrytest.View {
	return slices.DeleteFunc(b.world.Views(), func(v registrytest.View) bool { return v.Installed+v.Runs == 0 })
}

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Suite{
		Hooks: []mgmtdriver.Hook{mgmtdriver.InstantiateEnd, mgmtdriver.HealEnd},
		New: func(t *testing.T) drivertest.World {
			t.Helper()
			b := newBed(t, setting{world: registrytest.Options{JobTime: 20 * time.Millisecond}, config: registry.Config{AnswerTime: time.Minute}})
			b.boot("INSTANTIATE")
			current := mgmtdriver.InstantiateEnd
			return drivertest.World{Driver: b.driver, State: func() any { return b.views() }, Call: func(hook mgmtdriver.Hook) *mgmtdriver.Call {
				if hook != current {
					b.boot("HEAL")
					current = hook
				}
				return b.call(hook)
			}}
		},
		Refused: []drivertest.Refused{
			{Name: "no parameters", Hook: mgmtdriver.InstantiateEnd, Attribute: "/additionalParams/" + registry.Parameter,
				Change: func(c *mgmtdriver.Call) { c.Instance.AdditionalParams = nil }},
			{Name: "scaling", Hook: mgmtdriver.ScaleEnd, Change: func(*mgmtdriver.Call) {}},
		},
	})
}
