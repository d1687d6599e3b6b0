package lcm_test

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
)

const (
	topologyVnfd = "Definitions/topology_df_simple.yaml"
	topologyFile = "Files/images/halt.img"
	forceful     = `{"terminationType": "FORCEFUL"}`
)

// files is a copy of a source tree.
func files(t *testing.T, tree fs.FS) fstest.MapFS {
	t.Helper()
	copied := fstest.MapFS{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		copied[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// topology is the package without BaseHOT, with texts of its VNFD replaced.
func topology(t *testing.T, replacements ...string) fstest.MapFS {
	t.Helper()
	files := files(t, samples.Topology())
	vnfd := string(files[topologyVnfd].Data)
	for pair := range slices.Chunk(replacements, 2) {
		if !strings.Contains(vnfd, pair[0]) {
			t.Fatalf("the VNFD has no %q", pair[0])
		}
		vnfd = strings.ReplaceAll(vnfd, pair[0], pair[1])
	}
	files[topologyVnfd].Data = []byte(vnfd)
	return files
}

func sha512Of(content []byte) string {
	sum := sha512.Sum512(content)
	return hex.EncodeToString(sum[:])
}

// twoFlavours is the package with a second flavour, whose image is another one.
func twoFlavours(t *testing.T) fstest.MapFS {
	t.Helper()
	files := topology(t)
	content := []byte("another image")
	large := strings.NewReplacer("simple", "large", "halt", "other", sha512Of(files[topologyFile].Data), sha512Of(content)).
		Replace(string(files[topologyVnfd].Data))
	large = strings.Replace(large, "tosca_large_yaml", "tosca_simple_yaml", 1)
	files["Definitions/topology_df_large.yaml"] = &fstest.MapFile{Data: []byte(large)}
	files["Files/images/other.img"] = &fstest.MapFile{Data: content}
	for name, pair := range map[string][2]string{
		"Definitions/topology_types.yaml":    {"[ simple ]", "[ simple, large ]"},
		"Definitions/topology_top.vnfd.yaml": {"  - topology_df_simple.yaml", "  - topology_df_simple.yaml\n  - topology_df_large.yaml"},
	} {
		files[name].Data = []byte(strings.Replace(string(files[name].Data), pair[0], pair[1], 1))
	}
	return files
}

// instanceOf onboards the package of a source tree and creates an instance of it.
func (b *bench) instanceOf(tree fs.FS) *lcm.VnfInstance {
	b.t.Helper()
	return b.create(b.onboard(tree).Description.VnfdID)
}

// toService is a request for the package without BaseHOT.
func (b *bench) toService(more ...string) string {
	return fmt.Sprintf(`{"flavourId": "simple", "extVirtualLinks": [{"id": "service", "resourceId": %q,
		"extCps": [{"cpdId": "frontend_CP1", "cpConfig": []}]}]%s}`, b.cloud.NetworkID("net0"), strings.Join(more, ""))
}

// made are the things of a kind in the cloud that were not there at the beginning.
func (b *bench) made(kind string) []heattest.Item {
	return slices.DeleteFunc(b.cloud.Leaks(), func(item heattest.Item) bool { return item.Kind != kind })
}

// image is the only image that was made, which has to be complete.
func (b *bench) image() string {
	b.t.Helper()
	images := b.made("image")
	if len(images) != 1 || images[0].Status != "active" {
		b.t.Fatalf("images %+v, want one that is active", images)
	}
	return images[0].ID
}

func TestLifeOfAVnfWithoutBaseHOTWithDeathBeforeEveryCommit(t *testing.T) {
	t.Parallel()
	tree := topology(t)
	for kill := -1; kill < 17; kill++ {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instanceOf(tree)
			b.expect(b.run(instance, b.manager.Instantiate, b.toService(), kill), lcm.StateCompleted)
			image := b.image()

			b.expect(b.run(instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`, -1), lcm.StateCompleted)
			before := servers(b.read(instance), "worker")
			if len(before) != 2 {
				t.Fatalf("%d workers after scaling out, want 2", len(before))
			}
			for id := range servers(b.read(instance), "frontend") {
				b.expect(b.run(instance, b.manager.Heal, `{"vnfcInstanceId": "`+id+`"}`, -1), lcm.StateCompleted)
			}
			if after := servers(b.read(instance), "worker"); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("healing the front end has changed the workers from %v to %v", before, after)
			}
			b.expect(b.run(instance, b.manager.Heal, `{}`, kill), lcm.StateCompleted)
			if now := len(servers(b.read(instance), "worker")); now != 2 {
				t.Errorf("%d workers after healing, want 2", now)
			}
			if again := b.image(); again != image {
				t.Errorf("healing has replaced the image %s by %s", image, again)
			}
			b.expect(b.run(instance, b.manager.Terminate, forceful, kill), lcm.StateCompleted)
			b.leaveNothing()
			if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestImageIsMadeOnceWhateverGlanceDoes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		fault heattest.Fault
	}{
		{"the image is made, the answer is lost", heattest.Fault{Method: "POST", Path: `/images$`, LoseReply: true}},
		{"the content has arrived, the answer is lost", heattest.Fault{Method: "PUT", Path: `/file$`, LoseReply: true}},
		{"the connection is cut", heattest.Fault{Method: "PUT", Path: `/file$`}},
		{"Glance is overloaded", heattest.Fault{Method: "PUT", Path: `/file$`, Status: http.StatusServiceUnavailable}},
		{"the token has expired", heattest.Fault{Method: "PUT", Path: `/file$`, Status: http.StatusUnauthorized}},
		{"the result cannot be looked at", heattest.Fault{Method: "GET", Path: `/images/`, Status: http.StatusBadGateway}},
		{"the image is deleted, the answer is lost", heattest.Fault{Method: "DELETE", Path: `/images/`, LoseReply: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instanceOf(topology(t))
			row.fault.Times = 1
			if err := b.cloud.Inject(row.fault); err != nil {
				t.Fatal(err)
			}
			b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
			b.image()
			b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

// TestUploadOfADeadProcessIsBegunAgain has a process that dies in the middle of an upload, without the time to clean up.
func TestUploadOfADeadProcessIsBegunAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, json.RawMessage(b.toService()))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cloud.Inject(heattest.Fault{Method: "PUT", Path: `/file$`, Times: 1, Hang: true}); err != nil {
		t.Fatal(err)
	}
	const untilUpload = 4 // commits
	_, _ = b.engine(&dying{b.db, untilUpload}).Run(t.Context(), operation.ID)
	if half := b.made("image"); len(half) != 1 || half[0].Status != "queued" {
		t.Fatalf("the dead process has left %+v, want half an image", half)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	b.image()
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

// slow is an engine whose runs are shorter than an upload.
func (b *bench) slow() *lcm.Engine {
	config := quick
	config.RunLimit = 100 * time.Millisecond
	return lcm.NewEngine(b.db, b.packages, b.vims, b.driver, b.drivers, config)
}

func TestUploadMayTakeLongerThanARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	if err := b.cloud.Inject(heattest.Fault{Method: "PUT", Path: `/file$`, Times: 1, Delay: 5 * quick.Lease}); err != nil {
		t.Fatal(err)
	}
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, json.RawMessage(b.toService()))
	if err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.slow(), operation.ID), lcm.StateCompleted)
	if uploads := b.cloud.Calls()["PUT /image/v2/images/{id}/file"]; uploads != 1 {
		t.Errorf("%d uploads, want one that was left alone", uploads)
	}
	b.image()
}

// TestUploadEndsWithItsProcess stops a process in the middle of an upload; another one begins it again.
func TestUploadEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	b, operation, stop := uploadUnderWay(t)
	stop()
	b.leaveNothing()
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	b.image()
}

func TestUploadCanBeCancelled(t *testing.T) {
	t.Parallel()
	b, operation, stop := uploadUnderWay(t)
	if _, err := b.manager.Cancel(t.Context(), operation.ID, json.RawMessage(`{"cancelMode": "FORCEFUL"}`)); err != nil {
		t.Fatal(err)
	}
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateFailedTemp)
	stop()
	b.leaveNothing()
	b.expect(b.rollBack(operation), lcm.StateRolledBack)
}

// uploadUnderWay is an instantiation in the middle of an upload, in a process that stop ends.
func uploadUnderWay(t *testing.T) (b *bench, operation *lcm.Operation, stop func()) {
	t.Helper()
	b = setup(t)
	instance := b.instanceOf(topology(t))
	operation, err := b.manager.Instantiate(t.Context(), instance.ID, json.RawMessage(b.toService()))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cloud.Inject(heattest.Fault{Method: "PUT", Path: `/file$`, Hang: true}); err != nil {
		t.Fatal(err)
	}
	working, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		config := quick
		config.Lease = 10 * time.Second // so that on a slow machine too what is half there is still this run's to remove
		_, _ = lcm.NewEngine(b.db, b.packages, b.vims, b.driver, b.drivers, config).Run(working, operation.ID)
	}()
	for deadline := time.Now().Add(time.Minute); len(b.made("image")) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no image is being uploaded")
		}
	}
	return b, operation, func() {
		end()
		<-ended
		b.cloud.ClearFaults()
	}
}

func TestInstancesOfAPackageShareItsImage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.instanceOf(topology(t))
	instances := []*lcm.VnfInstance{first, b.create(first.VnfdID), b.create(first.VnfdID)}
	together := func(start operate, request string) {
		t.Helper()
		operations := make(chan *lcm.Operation)
		for _, instance := range instances {
			go func() { operations <- b.run(instance, start, request, -1) }()
		}
		for range instances {
			b.expect(<-operations, lcm.StateCompleted)
		}
	}
	together(b.manager.Instantiate, b.toService())
	if uploads := b.cloud.Calls()["PUT /image/v2/images/{id}/file"]; uploads != 1 {
		t.Errorf("%d uploads of the image", uploads)
	}
	image := b.image()
	b.expect(b.run(first, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	if left := b.image(); left != image {
		t.Errorf("the image %s became %s", image, left)
	}
	instances = instances[1:]
	together(b.manager.Terminate, forceful)
	b.leaveNothing()
}

func TestWhatIsLeftOfAFailedInstantiationGoes(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"rollback", "fail"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instanceOf(topology(t))
			b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Reason: "No valid host was found."})
			failed := b.run(instance, b.manager.Instantiate, b.toService(), -1)
			b.expect(failed, lcm.StateFailedTemp)
			b.image()
			if way == "rollback" {
				b.expect(b.rollBack(failed), lcm.StateRolledBack)
			} else {
				if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
					t.Fatal(err)
				}
				b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
			}
			b.leaveNothing()
			if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNothingOfOthersIsDeleted gives up an operation that has failed before it had a stack: there is no name to look for.
func TestNothingOfOthersIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.instantiated()
	instance := b.instanceOf(topology(t, "hash: c", "hash: d"))
	failed := b.run(instance, b.manager.Instantiate, b.toService(), -1)
	b.expect(failed, lcm.StateFailedTemp)
	if !strings.Contains(failed.Error.Detail, `image "halt" of the VNF package: its SHA-512 is c`) {
		t.Errorf("error %q does not name the checksum", failed.Error.Detail)
	}
	if images := b.made("image"); len(images) > 0 {
		t.Errorf("the wrong image was left: %+v", images)
	}
	if _, err := b.manager.Fail(t.Context(), failed.ID); err != nil {
		t.Fatal(err)
	}
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	if len(serversIn(b)) != 2 {
		t.Errorf("the servers of another VNF are %+v", serversIn(b))
	}
	b.expect(b.run(other, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

func TestImageDeletedBehindOurBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	image := b.image()
	b.cloud.DeleteImage(image)
	b.expect(b.run(instance, b.manager.Heal, `{}`, -1), lcm.StateCompleted)
	if b.image() == image {
		t.Error("Glance gives an id twice")
	}
	b.cloud.DeleteImage(b.image())
	b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
	b.leaveNothing()
}

func TestNewFlavourHasItsOwnImages(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"change", "rollback"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			instance := b.instanceOf(twoFlavours(t))
			b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
			image := b.image()
			if way == "rollback" {
				b.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Times: 1, Reason: "no"})
			}
			changed := b.run(instance, b.manager.ChangeFlavour, `{"newFlavourId": "large"}`, -1)
			if way == "rollback" {
				b.expect(changed, lcm.StateFailedTemp)
				b.expect(b.rollBack(changed), lcm.StateRolledBack)
			} else {
				b.expect(changed, lcm.StateCompleted)
			}
			if same := b.image() == image; same != (way == "rollback") {
				t.Errorf("the image is the former one: %t", same)
			}
			b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}

func TestImageFromAURL(t *testing.T) {
	t.Parallel()
	files := samples.Topology()
	content, err := fs.ReadFile(files, topologyFile)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/halt.img" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(server.Close)
	for _, row := range []struct {
		name    string
		change  []string
		methods []string
		refusal string // "" = it works
	}{
		{name: "fetched by Glance"},
		{name: "other content", change: []string{"hash: c", "hash: d"}, refusal: "of what Glance has fetched is"},
		{name: "no web-download", methods: []string{"glance-direct"}, refusal: "does not import images from URLs"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setupWith(t, heattest.Options{ImportMethods: row.methods}, nil)
			instance := b.instanceOf(topology(t, append(row.change, "../Files/images/halt.img", server.URL+"/halt.img")...))
			operation := b.run(instance, b.manager.Instantiate, b.toService(), -1)
			if row.refusal == "" {
				b.expect(operation, lcm.StateCompleted)
				b.image()
				b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
				b.leaveNothing()
				return
			}
			b.expect(operation, lcm.StateFailedTemp)
			if !strings.Contains(operation.Error.Detail, row.refusal) {
				t.Errorf("error %q, want %q", operation.Error.Detail, row.refusal)
			}
			b.leaveNothing()
		})
	}
}

func TestProtectedImageKeepsTheTermination(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance := b.instanceOf(topology(t))
	b.expect(b.run(instance, b.manager.Instantiate, b.toService(), -1), lcm.StateCompleted)
	b.cloud.SetImageProtected(b.image(), true)
	operation, err := b.manager.Terminate(t.Context(), instance.ID, json.RawMessage(forceful))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = b.engine(b.db).Run(ctx, operation.ID) }()
	for b.cloud.Calls()["DELETE /image/v2/images/{id}"] < 2 { // it is asked for again
		time.Sleep(10 * time.Millisecond)
	}
	b.cloud.SetImageProtected(b.image(), false)
	b.expect(b.follow(b.engine(b.db), operation.ID), lcm.StateCompleted)
	b.leaveNothing()
}

func TestFlavors(t *testing.T) {
	t.Parallel()
	small := []heattest.Flavor{{Name: "small", VCPUs: 1, RAMMiB: 128, DiskGiB: 1}}
	for _, row := range []struct {
		name    string
		cloud   heattest.Options
		change  []string
		made    int    // flavors that the template makes
		refusal string // "" = it works
	}{
		{name: "the smallest that fit"},
		{name: "made where none fits", cloud: heattest.Options{Flavors: small}, made: 2},
		{name: "not allowed to make them", cloud: heattest.Options{Flavors: small, Account: heattest.Account{Roles: []string{"member"}}},
			refusal: "no flavor has the virtual resources of VDU frontend, worker, and user nfv_user may not make flavors"},
		{name: "by name, which there is not", change: []string{"            virtual_memory:", "            requested_additional_capabilities:\n" +
			"              properties: { requested_additional_capability_name: gpu, support_mandatory: true }\n            virtual_memory:"},
			refusal: `there is no flavor "gpu", which VDU frontend asks for`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setupWith(t, row.cloud, nil)
			instance := b.instanceOf(topology(t, row.change...))
			operation := b.run(instance, b.manager.Instantiate, b.toService(), -1)
			if row.refusal != "" {
				b.expect(operation, lcm.StateFailedTemp)
				if !strings.Contains(operation.Error.Detail, row.refusal) {
					t.Errorf("error %q, want %q", operation.Error.Detail, row.refusal)
				}
				return
			}
			b.expect(operation, lcm.StateCompleted)
			if made := b.made("flavor"); len(made) != row.made {
				t.Errorf("flavors %+v were made, want %d", made, row.made)
			}
			b.expect(b.run(instance, b.manager.Terminate, forceful, -1), lcm.StateCompleted)
			b.leaveNothing()
		})
	}
}
