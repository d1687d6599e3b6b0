//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vimConfig is the file that `openstack vim register --config-file` takes. cert_verify has to be a string.
const vimConfig = `auth_url: ` + authURL + `
username: ` + username + `
password: ` + password + `
project_name: ` + project + `
project_domain_name: Default
user_domain_name: Default
cert_verify: 'False'
`

// TestLifeOfAVnf is the main job, command by command: VIM, package, instance, instantiation, termination, and everything removed again.
func TestLifeOfAVnf(t *testing.T) {
	c := openCloud(t)
	csar := buildPackage(t)

	vim := openstackJSON[map[string]any](t, "vim", "register", "--config-file", writeFile(t, "vim.yaml", vimConfig), "--is-default", "life")
	vimID := vim["id"].(string)
	t.Cleanup(func() { openstack(t, "vim", "delete", vimID) })
	if vim["status"] != "ACTIVE" {
		t.Errorf("the registered VIM is %v", vim["status"])
	}

	made := openstackJSON[map[string]any](t, "vnf", "package", "create")
	pkgID := made["ID"].(string)
	t.Cleanup(func() { removePackage(t, pkgID) })
	if out := openstack(t, "vnf", "package", "upload", "--path", csar, pkgID); !strings.Contains(out, "has been accepted") {
		t.Errorf("upload printed %q", out)
	}
	onboarded(t, pkgID)
	pkg := openstackJSON[map[string]any](t, "vnf", "package", "show", pkgID)
	if pkg["Onboarding State"] != "ONBOARDED" || pkg["Operational State"] != "ENABLED" || pkg["Usage State"] != "NOT_IN_USE" {
		t.Errorf("the package is shown as %v", pkg)
	}

	instance := openstackJSON[map[string]any](t, "vnflcm", "create", "--name", "life", pkg["VNFD ID"].(string))
	id := instance["ID"].(string)
	t.Cleanup(func() { removeInstance(t, id) })
	if instance["Instantiation State"] != "NOT_INSTANTIATED" {
		t.Errorf("the new instance is %v", instance["Instantiation State"])
	}
	if usage := openstackJSON[map[string]any](t, "vnf", "package", "show", pkgID)["Usage State"]; usage != "IN_USE" {
		t.Errorf("the package of an instance is %v", usage)
	}

	request, err := json.Marshal(instantiation(t, c))
	if err != nil {
		t.Fatal(err)
	}
	out := openstack(t, "vnflcm", "instantiate", id, writeFile(t, "instantiate.json", string(request)))
	if want := "Instantiate request for VNF Instance " + id + " has been accepted."; !strings.Contains(out, want) {
		t.Errorf("instantiate printed %q", out)
	}
	completed(t, onlyOperation(t, id, "INSTANTIATE"))
	resources := instantiated(t, c, id)

	out = openstack(t, "vnflcm", "terminate", "--termination-type", "GRACEFUL", "--graceful-termination-timeout", "1", id)
	if !strings.Contains(out, "has been accepted") {
		t.Errorf("terminate printed %q", out)
	}
	completed(t, onlyOperation(t, id, "TERMINATE"))
	c.gone(t, id, resources)
	if state := openstackJSON[map[string]any](t, "vnflcm", "show", id)["Instantiation State"]; state != "NOT_INSTANTIATED" {
		t.Errorf("the terminated instance is %v", state)
	}

	if out := openstack(t, "vnflcm", "delete", id); !strings.Contains(out, "Vnf instance '"+id+"' is deleted successfully") {
		t.Errorf("delete printed %q", out)
	}
	refused(t, "vnflcm", "show", id)
	openstack(t, "vnf", "package", "update", "--operational-state", "DISABLED", pkgID)
	openstack(t, "vnf", "package", "delete", pkgID)
	refused(t, "vnf", "package", "show", pkgID)
}

// onlyOperation finds the instance's operation of a type in the list that a user sees, and checks that it is shown too.
func onlyOperation(t *testing.T, instanceID, kind string) string {
	t.Helper()
	var ids []string
	for _, row := range openstackJSON[[]map[string]any](t, "vnflcm", "op", "list") {
		if row["VNF Instance ID"] == instanceID && row["Operation"] == kind {
			ids = append(ids, row["ID"].(string))
		}
	}
	if len(ids) != 1 {
		t.Fatalf("the instance has %d operations %s", len(ids), kind)
	}
	shown := openstackJSON[map[string]any](t, "vnflcm", "op", "show", ids[0])
	if shown["Operation"] != kind || shown["VNF Instance ID"] != instanceID {
		t.Errorf("the operation is shown as %v", shown)
	}
	return ids[0]
}

// instantiated checks what is shown of a VNF against what Heat has made for it, and returns the stack's resources.
func instantiated(t *testing.T, c *cloud, id string) []resource {
	t.Helper()
	resources := c.resources(t, id, c.onlyStack(t, id, "CREATE_COMPLETE"))
	if bad := complete(resources); len(bad) > 0 {
		t.Errorf("the stack is complete, but not its resources %v", bad)
	}

	shown := openstackJSON[map[string]any](t, "vnflcm", "show", id)
	if shown["Instantiation State"] != "INSTANTIATED" || empty(shown["Instantiated Vnf Info"]) || empty(shown["VIM Connection Info"]) {
		t.Errorf("the instance is shown as %v", shown)
	}
	if text, _ := json.Marshal(shown); strings.Contains(string(text), password) {
		t.Error("the VIM's password is shown")
	}
	listed := openstackJSON[[]map[string]any](t, "vnflcm", "list")
	if !slices.ContainsFunc(listed, func(row map[string]any) bool { return row["ID"] == id && row["Instantiation State"] == "INSTANTIATED" }) {
		t.Errorf("the instance is listed as %v", listed)
	}

	info := read[vnfInstance](t, instancePath(id)).InstantiatedVnfInfo
	var servers, volumes, ports []string
	for _, vnfc := range info.VnfcResourceInfo {
		servers = append(servers, vnfc.ComputeResource.ResourceID)
	}
	for _, storage := range info.VirtualStorageResourceInfo {
		volumes = append(volumes, storage.StorageResource.ResourceID)
	}
	for _, link := range info.VnfVirtualLinkResourceInfo {
		for _, port := range link.VnfLinkPorts {
			ports = append(ports, port.ResourceHandle.ResourceID)
		}
	}
	for kind, have := range map[string][]string{"OS::Nova::Server": servers, "OS::Cinder::Volume": volumes, "OS::Neutron::Port": ports} {
		slices.Sort(have)
		want := idsOf(resources, kind)
		if len(want) == 0 {
			t.Errorf("the stack has no %s", kind)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s in Heat (-) and in instantiatedVnfInfo (+):\n%s", kind, diff)
		}
	}
	if info.FlavourID == "" || len(info.ScaleStatus) == 0 || len(info.ExtCpInfo) == 0 {
		t.Errorf("instantiatedVnfInfo is incomplete: %+v", info)
	}
	return resources
}

// TestInstantiationLevels instantiates at levels that differ from the capacity which the package's template holds.
func TestInstantiationLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	for _, c := range []struct {
		flavour, level      string
		workers, scaleLevel int
	}{
		{"simple", "instantiation_level_3", 3, 2},
		{"large", "instantiation_level_2", 4, 2},
	} {
		t.Run(c.flavour+" "+c.level, func(t *testing.T) {
			f := setup(t)
			f.request["flavourId"], f.request["instantiationLevelId"] = c.flavour, c.level
			completed(t, operate(t, f.instanceID, "instantiate", f.request))
			resources := instantiated(t, f.cloud, f.instanceID)

			info := read[vnfInstance](t, instancePath(f.instanceID)).InstantiatedVnfInfo
			workers := 0
			for _, vnfc := range info.VnfcResourceInfo {
				if vnfc.VduID == "worker" {
					workers++
				}
			}
			if workers != c.workers {
				t.Errorf("there are %d workers, not %d", workers, c.workers)
			}
			if len(info.ScaleStatus) != 1 || info.ScaleStatus[0].ScaleLevel != c.scaleLevel {
				t.Errorf("scaleStatus is %v, not level %d", info.ScaleStatus, c.scaleLevel)
			}
			completed(t, operate(t, f.instanceID, "terminate", map[string]any{"terminationType": "FORCEFUL"}))
			f.cloud.gone(t, f.instanceID, resources)
		})
	}
}

// TestVersions checks what `openstack vnflcm versions` shows.
func TestVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	// With --major-version the client asks /vnflcm/v1/api_versions, without it /vnflcm/api_versions, and both times with the header
	// Version: 2.0.0.
	for _, args := range [][]string{{"vnflcm", "versions"}, {"vnflcm", "versions", "--major-version", "1"}} {
		shown := openstackJSON[map[string]any](t, args...)
		if prefix, _ := shown["uriPrefix"].(string); !strings.Contains(prefix, "/vnflcm") || shown["apiVersions"] == nil {
			t.Errorf("%q shows %v", args, shown)
		}
	}
}
