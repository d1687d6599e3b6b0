//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
)

// images are those that the VNF manager has made, by id.
func (c *cloud) images(t *testing.T) map[string]images.Image {
	t.Helper()
	pages, err := images.List(c.glance, images.ListOpts{Tags: []string{"vnfm"}}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := images.ExtractImages(pages)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]images.Image{}
	for _, image := range found {
		byID[image.ID] = image
	}
	return byID
}

// TestLifeOfAVnfWithoutTemplates walks a VNF whose package has no Heat templates, but a software image, from its instantiation to its
// termination.
func TestLifeOfAVnfWithoutTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	c := openCloud(t)
	registerVim(t)
	csar := filepath.Join(t.TempDir(), "topology.csar")
	build := exec.Command(filepath.Join(os.Getenv("E2E_DIR"), "vnfm"), "package", "build", "../samples/topology", "-o", csar)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("vnfm package build: %v\n%s", err, out)
	}
	pkg := onboard(t, csar)
	id := createInstance(t, pkg.VnfdID)
	before := c.images(t)

	network, subnet := c.network(t, "net0")
	address := map[string]any{"type": "IPV4", "fixedAddresses": []string{"10.10.0.143"}, "subnetId": subnet}
	completed(t, operate(t, id, "instantiate", map[string]any{
		"flavourId": "simple",
		"extVirtualLinks": []any{map[string]any{"id": "service", "resourceId": network, "extCps": []any{map[string]any{
			"cpdId": "frontend_CP1", "cpConfig": []any{map[string]any{"cpProtocolData": []any{map[string]any{
				"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{"ipAddresses": []any{address}},
			}}}},
		}}}},
	}))
	var uploaded images.Image
	for imageID, image := range c.images(t) {
		if _, known := before[imageID]; !known {
			uploaded = image
		}
	}
	if uploaded.Status != images.ImageStatusActive || uploaded.Visibility != images.ImageVisibilityPrivate || uploaded.SizeBytes != 512 {
		t.Fatalf("the image of the package is %+v in Glance", uploaded)
	}
	expectWorkers(t, c, id, 1, uploaded.ID)

	completed(t, operate(t, id, "scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"}))
	expectWorkers(t, c, id, 2, uploaded.ID)
	for _, vnfc := range read[vnfInstance](t, instancePath(id)).InstantiatedVnfInfo.VnfcResourceInfo {
		if vnfc.VduID == "frontend" {
			completed(t, operate(t, id, "heal", map[string]any{"vnfcInstanceId": []string{vnfc.ID}}))
		}
	}
	expectWorkers(t, c, id, 2, uploaded.ID)
	completed(t, operate(t, id, "heal", map[string]any{}))
	expectWorkers(t, c, id, 2, uploaded.ID)

	resources := c.resources(t, id, c.onlyStack(t, id, "CREATE_COMPLETE"))
	completed(t, operate(t, id, "terminate", map[string]any{"terminationType": "FORCEFUL"}))
	c.gone(t, id, resources)
	if _, left := c.images(t)[uploaded.ID]; left {
		t.Error("the image is left in Glance")
	}
}

// expectWorkers checks how many workers the VNF has, and from which image and on which networks its servers are.
func expectWorkers(t *testing.T, c *cloud, id string, workers int, image string) {
	t.Helper()
	found := 0
	for _, vnfc := range read[vnfInstance](t, instancePath(id)).InstantiatedVnfInfo.VnfcResourceInfo {
		server, err := servers.Get(t.Context(), c.nova, vnfc.ComputeResource.ResourceID).Extract()
		if err != nil {
			t.Fatal(err)
		}
		if server.Status != "ACTIVE" || server.Image["id"] != image {
			t.Errorf("server %s is %s and made from %v, want image %s", server.Name, server.Status, server.Image["id"], image)
		}
		if vnfc.VduID == "worker" {
			found++
			continue
		}
		if addresses, _ := server.Addresses["net0"].([]any); len(addresses) != 1 || addresses[0].(map[string]any)["addr"] != "10.10.0.143" {
			t.Errorf("the front end has the addresses %v", server.Addresses)
		}
	}
	if found != workers {
		t.Errorf("%d workers, want %d", found, workers)
	}
}
