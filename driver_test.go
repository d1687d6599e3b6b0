package main

import (
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/drivertest"
	"vnfm/samples"
)

// withDriver is the sample package with a driver for hooks of flavour simple.
func withDriver(t *testing.T, driver string, hooks ...string) fs.FS {
	t.Helper()
	const file, node = "Definitions/two_vdu_df_simple.yaml", "      type: vnfm.samples.TwoVdu\n"
	tree := fstest.MapFS{}
	source := samples.TwoVdu()
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		tree[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	added := node + "      interfaces:\n        Vnflcm:\n"
	for _, hook := range hooks {
		added += "          " + hook + ": { implementation: { primary: " + driver + " } }\n"
	}
	tree[file].Data = []byte(strings.Replace(string(tree[file].Data), node, added, 1))
	return tree
}

// inventoryDriver builds the example of a driver as a program; it returns the program with the directory that it writes to.
func inventoryDriver(t *testing.T) (program, dir string) {
	t.Helper()
	dir = t.TempDir()
	binary := filepath.Join(t.TempDir(), "inventory-driver")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./samples/inventory-driver").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	program = binary + ".sh"
	drivertest.Script(t, program, "#!/bin/sh\nexec "+binary+" -dir "+dir+"\n")
	return program, dir
}

func TestDriverThatIsAProgram(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	program, dir := inventoryDriver(t)
	p := c.serve("--mgmt-driver", "inventory="+program)
	c.registerVim(p)
	instance := c.create(p, c.onboard(p, withDriver(t, "inventory", "instantiate_end", "scale_start", "scale_end", "terminate_end")))
	file := filepath.Join(dir, filepath.Base(instance)+".ini")

	request := c.instantiation()
	request["additionalParams"] = map[string]any{"inventory_user": "not a name"}
	var problem struct{ Detail string }
	p.expect(http.StatusBadRequest, http.MethodPost, instance+"/instantiate", request, &problem)
	if problem.Detail != "/additionalParams/inventory_user: must be the name of an account" {
		t.Errorf("refused with %q", problem.Detail)
	}

	request["additionalParams"] = map[string]any{"inventory_user": "ubuntu"}
	do := func(operation string, body any) {
		t.Helper()
		location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/"+operation, body, nil).Header.Get("Location")
		p.await(location, "COMPLETED")
	}
	hosts := func(want int) {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(content), "ansible_host=10."); got != want || !strings.Contains(string(content), "ansible_user=ubuntu") {
			t.Errorf("the inventory has %d hosts with an address, want %d:\n%s", got, want, content)
		}
	}
	do("instantiate", request)
	hosts(2)
	do("scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"})
	hosts(3)
	do("scale", map[string]any{"type": "SCALE_IN", "aspectId": "worker_group"})
	hosts(2)
	do("terminate", map[string]any{"terminationType": "FORCEFUL"})
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the inventory of a VNF that is gone: %v", err)
	}
	c.leaveNothing()
}

func TestDriversThatTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve()
	refused := p.onboard(withDriver(t, "mgmt-drivers-nobody", "instantiate_end"))
	const want = `the driver "mgmt-drivers-nobody" specified in the VNFD is not one that this server has; known are mgmt-drivers-kubernetes, ` +
		`mgmt-drivers-kubespray, mgmt-drivers-private-registry, vnflcm_noop`
	if refused.OnboardingFailureDetails == nil || !strings.Contains(refused.OnboardingFailureDetails.Detail, want) {
		t.Errorf("onboarded as %+v", refused)
	}

	output, err := command(t, "serve", "--database-url", c.database, "--secret-key-file", c.key, "--mgmt-driver", "mine=/no/such/program").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "management driver mine (/no/such/program)") {
		t.Errorf("start with a program that there is not: %v, %s", err, output)
	}
}
