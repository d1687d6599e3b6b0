//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The sample package that most tests use, and the name in its VNFD of the flavour.
const (
	sample  = "../samples/two-vdu"
	flavour = "simple"
)

// buildPackage makes the sample's CSAR with the command that its users have.
func buildPackage(t *testing.T) string {
	t.Helper()
	return buildSample(t, sample)
}

// buildSample is buildPackage for another sample.
func buildSample(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(folder)+".csar")
	binary := filepath.Join(os.Getenv("E2E_DIR"), "vnfm")
	if out, err := exec.Command(binary, "package", "build", folder, "-o", path).CombinedOutput(); err != nil {
		t.Fatalf("vnfm package build: %v\n%s", err, out)
	}
	return path
}

// vnfPackage is a VnfPkgInfo (SOL003 10.5.2.2), as far as the tests read it.
type vnfPackage struct {
	ID                       string   `json:"id"`
	VnfdID                   string   `json:"vnfdId"`
	OnboardingState          string   `json:"onboardingState"`
	OperationalState         string   `json:"operationalState"`
	UsageState               string   `json:"usageState"`
	OnboardingFailureDetails *problem `json:"onboardingFailureDetails"`
}

func packagePath(id string) string { return "/vnfpkgm/v1/vnf_packages/" + id }

// onboard uploads a CSAR over the API and waits until it can be used. It is removed at the end of the test.
func onboard(t *testing.T, csar string) vnfPackage {
	t.Helper()
	var pkg vnfPackage
	a := expect(t, http.StatusCreated, http.MethodPost, "/vnfpkgm/v1/vnf_packages", map[string]any{})
	if err := json.Unmarshal(a.body, &pkg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removePackage(t, pkg.ID) })
	content, err := os.ReadFile(csar)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, http.StatusAccepted, http.MethodPut, packagePath(pkg.ID)+"/package_content", content)
	return onboarded(t, pkg.ID)
}

// onboarded waits until the package is ONBOARDED.
func onboarded(t *testing.T, id string) vnfPackage {
	t.Helper()
	var pkg vnfPackage
	eventually(t, "package "+id+" is ONBOARDED", func() bool {
		pkg = read[vnfPackage](t, packagePath(id))
		if pkg.OnboardingFailureDetails != nil {
			t.Fatalf("onboarding failed: %s", pkg.OnboardingFailureDetails.Detail)
		}
		return pkg.OnboardingState == "ONBOARDED"
	})
	return pkg
}

func removePackage(t *testing.T, id string) {
	t.Helper()
	if call(t, http.MethodGet, packagePath(id), nil).status == http.StatusNotFound {
		return
	}
	call(t, http.MethodPatch, packagePath(id), map[string]any{"operationalState": "DISABLED"})
	expect(t, http.StatusNoContent, http.MethodDelete, packagePath(id), nil)
}

// registerVim registers the real OpenStack as the default VIM. It is removed at the end of the test.
func registerVim(t *testing.T) string {
	t.Helper()
	var made struct{ Vim struct{ ID string } }
	a := expect(t, http.StatusCreated, http.MethodPost, "/v1.0/vims", map[string]any{"vim": map[string]any{
		"name": t.Name(), "type": "openstack", "auth_url": authURL, "is_default": true,
		"vim_project": map[string]any{"name": project, "project_domain_name": "Default"},
		"auth_cred":   map[string]any{"username": username, "password": password, "user_domain_name": "Default", "cert_verify": "False"},
	}})
	if err := json.Unmarshal(a.body, &made); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { expect(t, http.StatusNoContent, http.MethodDelete, "/v1.0/vims/"+made.Vim.ID, nil) })
	return made.Vim.ID
}

// vnfInstance is a VnfInstance (SOL003 5.5.2.2), as far as the tests read it.
type vnfInstance struct {
	ID                  string `json:"id"`
	InstantiationState  string `json:"instantiationState"`
	InstantiatedVnfInfo struct {
		FlavourID                  string `json:"flavourId"`
		VnfState                   string `json:"vnfState"`
		VnfcResourceInfo           []vnfc `json:"vnfcResourceInfo"`
		VirtualStorageResourceInfo []struct {
			StorageResource handle `json:"storageResource"`
		} `json:"virtualStorageResourceInfo"`
		VnfVirtualLinkResourceInfo []struct {
			VnfLinkPorts []struct {
				ResourceHandle handle `json:"resourceHandle"`
			} `json:"vnfLinkPorts"`
		} `json:"vnfVirtualLinkResourceInfo"`
		ExtCpInfo []struct {
			CpdID string `json:"cpdId"`
		} `json:"extCpInfo"`
		ScaleStatus []struct {
			AspectID   string `json:"aspectId"`
			ScaleLevel int    `json:"scaleLevel"`
		} `json:"scaleStatus"`
	} `json:"instantiatedVnfInfo"`
}

type vnfc struct {
	ID              string `json:"id"`
	VduID           string `json:"vduId"`
	ComputeResource handle `json:"computeResource"`
}

type handle struct {
	ResourceID string `json:"resourceId"`
}

func instancePath(id string) string { return "/vnflcm/v1/vnf_instances/" + id }

// createInstance makes an instance identifier. Whatever has become of the instance, nothing of it is left at the end of the test.
func createInstance(t *testing.T, vnfdID string) string {
	t.Helper()
	var instance vnfInstance
	a := expect(t, http.StatusCreated, http.MethodPost, "/vnflcm/v1/vnf_instances", map[string]any{"vnfdId": vnfdID, "vnfInstanceName": t.Name()})
	if err := json.Unmarshal(a.body, &instance); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeInstance(t, instance.ID) })
	return instance.ID
}

func removeInstance(t *testing.T, id string) {
	t.Helper()
	if call(t, http.MethodGet, instancePath(id), nil).status == http.StatusNotFound {
		return
	}
	for _, op := range operations(t, id) {
		op = settled(t, op.ID)
		if op.OperationState == "FAILED_TEMP" {
			rollBack(t, op)
		}
	}
	if read[vnfInstance](t, instancePath(id)).InstantiationState == "INSTANTIATED" {
		completed(t, operate(t, id, "terminate", map[string]any{"terminationType": "FORCEFUL"}))
	}
	expect(t, http.StatusNoContent, http.MethodDelete, instancePath(id), nil)
}

// rollBack undoes a failed instantiation; another failed operation is given up.
func rollBack(t *testing.T, op operation) {
	t.Helper()
	if op.Operation != "INSTANTIATE" {
		expect(t, http.StatusOK, http.MethodPost, operationPath(op.ID)+"/fail", nil)
		return
	}
	expect(t, http.StatusAccepted, http.MethodPost, operationPath(op.ID)+"/rollback", nil)
	if op := settled(t, op.ID); op.OperationState != "ROLLED_BACK" {
		t.Fatalf("after rollback the operation is %s: %v", op.OperationState, op.Error)
	}
}

// operation is a VnfLcmOpOcc (SOL003 5.5.2.13), as far as the tests read it.
type operation struct {
	ID             string   `json:"id"`
	OperationState string   `json:"operationState"`
	Operation      string   `json:"operation"`
	VnfInstanceID  string   `json:"vnfInstanceId"`
	Error          *problem `json:"error"`
}

func operationPath(id string) string { return "/vnflcm/v1/vnf_lcm_op_occs/" + id }

// operate starts an operation over the API and returns its id.
func operate(t *testing.T, instanceID, task string, body any) string {
	t.Helper()
	a := expect(t, http.StatusAccepted, http.MethodPost, instancePath(instanceID)+"/"+task, body)
	if len(a.body) > 0 {
		t.Errorf("the client takes a body of 202 for something to print: %s", a.body)
	}
	location := a.header.Get("Location")
	return location[strings.LastIndex(location, "/")+1:]
}

// operations are those of one instance.
func operations(t *testing.T, instanceID string) []operation {
	t.Helper()
	var own []operation
	for _, op := range read[[]operation](t, "/vnflcm/v1/vnf_lcm_op_occs") {
		if op.VnfInstanceID == instanceID {
			own = append(own, op)
		}
	}
	return own
}

// settled waits until an operation does not go on by itself.
func settled(t *testing.T, id string) operation {
	t.Helper()
	var op operation
	eventually(t, "operation "+id+" has come to rest", func() bool {
		op = read[operation](t, operationPath(id))
		switch op.OperationState {
		case "STARTING", "PROCESSING", "ROLLING_BACK":
			return false
		}
		return true
	})
	return op
}

// completed waits for an operation that has to succeed.
func completed(t *testing.T, id string) {
	t.Helper()
	if op := settled(t, id); op.OperationState != "COMPLETED" {
		t.Fatalf("operation %s is %s: %v", op.Operation, op.OperationState, op.Error)
	}
}

// failed waits for an operation that has to fail, and returns the reason it gives.
func failed(t *testing.T, id string) string {
	t.Helper()
	op := settled(t, id)
	if op.OperationState != "FAILED_TEMP" || op.Error == nil {
		t.Fatalf("operation %s is %s (%v), not FAILED_TEMP with a reason", op.Operation, op.OperationState, op.Error)
	}
	return op.Error.Detail
}

// instantiation is an InstantiateVnfRequest that connects the sample's external connection points to two networks.
func instantiation(t *testing.T, c *cloud) map[string]any {
	t.Helper()
	link := func(network string, cpds ...string) map[string]any {
		networkID, subnetID := c.network(t, network)
		cps := make([]any, len(cpds))
		for i, cpd := range cpds {
			address := map[string]any{"type": "IPV4", "numDynamicAddresses": 1, "subnetId": subnetID}
			cps[i] = map[string]any{"cpdId": cpd, "cpConfig": []any{map[string]any{"cpProtocolData": []any{map[string]any{
				"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{"ipAddresses": []any{address}},
			}}}}}
		}
		return map[string]any{"id": "external-" + network, "resourceId": networkID, "extCps": cps}
	}
	return map[string]any{
		"flavourId": flavour,
		"extVirtualLinks": []any{
			link("net0", "controller_CP1", "worker_CP1"), link("net1", "controller_CP2", "worker_CP2"),
		},
	}
}

// fixture is what a test of an operation starts from: a VIM, a package and an instance.
type fixture struct {
	cloud      *cloud
	instanceID string
	request    map[string]any // to instantiate it with
}

func setup(t *testing.T) *fixture {
	t.Helper()
	c := openCloud(t)
	registerVim(t)
	pkg := onboard(t, buildPackage(t))
	return &fixture{cloud: c, instanceID: createInstance(t, pkg.VnfdID), request: instantiation(t, c)}
}
