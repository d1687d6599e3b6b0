package lcm

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/vnfpkg"
)

// cluster is a flavour with a controller that has a volume, and a group of workers; both are on the network control, and the
// workers are on the VNF's own network too.
func cluster() *vnfpkg.Flavour {
	return &vnfpkg.Flavour{
		ID: "simple",
		Vdus: []vnfpkg.Vdu{
			{Name: "controller", MinInstances: 1, Storages: []string{"controller_volume"}},
			{Name: "worker", MinInstances: 5},
		},
		Cps: []vnfpkg.Cp{
			{Name: "controller_CP1", Vdu: "controller", External: true},
			{Name: "worker_CP2", Vdu: "worker", VirtualLink: "internal", Order: 1},
			{Name: "worker_CP1", Vdu: "worker", External: true},
		},
		VirtualLinks: []vnfpkg.VirtualLink{{Name: "internal"}, {Name: "managed"}, {Name: "unused"}},
		Storages:     []vnfpkg.Storage{{Name: "controller_volume"}},
		Aspects:      []vnfpkg.ScalingAspect{{Name: "worker_group", MaxLevel: 3}},
	}
}

func clusterRequest() *InstantiateRequest {
	return &InstantiateRequest{
		FlavourID: "simple", InstantiationLevelID: "two", LocalizationLanguage: "en",
		ExtVirtualLinks: []ExtVirtualLinkData{{
			ID: "control", ResourceID: "net-control",
			ExtCps: []VnfExtCpData{
				{CpdID: "controller_CP1", CpConfig: []VnfExtCpConfig{{LinkPortID: "link-port", CpProtocolData: []CpProtocolData{{
					LayerProtocol: "IP_OVER_ETHERNET",
					IPOverEthernet: &IPOverEthernetData{IPAddresses: []IPAddressData{
						{Type: "IPV4", SubnetID: "subnet-control", FixedAddresses: []string{"10.10.0.5"}},
					}},
				}}}}},
				{CpdID: "worker_CP1", CpConfig: []VnfExtCpConfig{{CpProtocolData: []CpProtocolData{{
					LayerProtocol: "IP_OVER_ETHERNET",
					IPOverEthernet: &IPOverEthernetData{IPAddresses: []IPAddressData{
						{Type: "IPV4", SubnetID: "subnet-control", NumDynamicAddresses: 1},
					}},
				}}}}},
			},
			ExtLinkPorts: []ExtLinkPortData{{ID: "link-port", ResourceHandle: ResourceHandle{ResourceID: "port-of-others"}}},
		}},
		ExtManagedVirtualLinks: []ExtManagedVirtualLinkData{{ID: "managed-1", VirtualLinkDescID: "managed", ResourceID: "net-managed"}},
		AdditionalParams:       map[string]any{"size": 3, "node": map[string]any{"username": "ubuntu", "password": "geheim"}},
	}
}

// clusterResources is what Heat lists for a controller in the top stack and workers in stacks of their own.
func clusterResources(workers ...string) []Resource {
	born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	found := []Resource{
		{Name: "worker_group", Type: "OS::Heat::AutoScalingGroup", PhysicalID: "stack-group", StackID: "stack-top", StackName: "vnf"},
		{Name: "controller", Type: typeServer, PhysicalID: "server-controller", StackID: "stack-top", StackName: "vnf", CreatedAt: born},
		{Name: "controller_CP1", Type: typePort, PhysicalID: "port-controller", StackID: "stack-top", StackName: "vnf"},
		{Name: "controller_volume", Type: typeVolume, PhysicalID: "volume-controller", StackID: "stack-top", StackName: "vnf"},
		{Name: "internal", Type: typeNetwork, PhysicalID: "net-internal", StackID: "stack-top", StackName: "vnf"},
	}
	for i, worker := range workers {
		stack, name := "stack-"+worker, "vnf-group-"+worker
		found = append(found,
			Resource{Name: worker, Type: "worker.yaml", PhysicalID: stack, StackID: "stack-group", StackName: "vnf-group"},
			Resource{Name: "worker", Type: typeServer, PhysicalID: "server-" + worker, StackID: stack, StackName: name,
				CreatedAt: born.Add(time.Duration(i) * time.Second)},
			Resource{Name: "worker_CP1", Type: typePort, PhysicalID: "port1-" + worker, StackID: stack, StackName: name},
			Resource{Name: "worker_CP2", Type: typePort, PhysicalID: "port2-" + worker, StackID: stack, StackName: name},
		)
	}
	return found
}

func clusterInfo(previous *InstantiatedVnfInfo, resources []Resource) *InstantiatedVnfInfo {
	return buildInfo(infoSource{
		VimID: "vim", Flavour: cluster(), Request: clusterRequest(), ScaleLevels: map[string]int{"worker_group": 1},
		Previous: previous, Resources: resources,
	})
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// document is a value as JSON, with its UUIDs numbered in the order in which they appear.
func document(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	seen := []string{}
	return uuids.ReplaceAllStringFunc(string(text), func(id string) string {
		if !slices.Contains(seen, id) {
			seen = append(seen, id)
		}
		return fmt.Sprintf("id-%d", slices.Index(seen, id)+1)
	}) + "\n"
}

func TestInfoDescribesWhatThereIs(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/instantiated_vnf_info.json")
	if err != nil {
		t.Fatal(err)
	}
	got := document(t, clusterInfo(nil, clusterResources("a", "b")))
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInfoDoesNotDependOnTheOrderOfTheListing(t *testing.T) {
	t.Parallel()
	resources := clusterResources("a", "b", "c")
	want := clusterInfo(nil, resources)
	slices.Reverse(resources)
	if diff := cmp.Diff(want, clusterInfo(want, resources)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestInfoHoldsOnlyWhatExists(t *testing.T) {
	t.Parallel()
	resources := clusterResources("a", "b")
	for i := range resources {
		switch resources[i].PhysicalID {
		case "server-b": // Heat knows it and could not make it
			resources[i].PhysicalID = ""
		case "volume-controller": // of the same name, but somebody else's
			resources[i].StackID = "stack-other"
		case "port1-a":
			resources[i].Type = "OS::Heat::None"
		}
	}
	info := clusterInfo(nil, resources)
	servers := []string{}
	for _, vnfc := range info.VnfcResourceInfo {
		servers = append(servers, vnfc.ComputeResource.ResourceID)
	}
	if diff := cmp.Diff([]string{"server-controller", "server-a"}, servers); diff != "" {
		t.Errorf("servers, -want +got:\n%s", diff)
	}
	if len(info.VirtualStorageResourceInfo) != 0 || len(info.VnfcResourceInfo[0].StorageResourceIDs) != 0 {
		t.Errorf("volumes %+v", info.VirtualStorageResourceInfo)
	}
	if cp := info.VnfcResourceInfo[1].VnfcCpInfo[0]; cp.CpdID != "worker_CP1" || cp.VnfLinkPortID != "" {
		t.Errorf("connection point without a port: %+v", cp)
	}
}
