package userdata_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/lcm/userdata"
	"vnfm/vnfpkg"
)

func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	node := &yaml.Node{}
	if err := yaml.Unmarshal([]byte(text), node); err != nil {
		t.Fatal(err)
	}
	return node
}

func read(t *testing.T, name string) *yaml.Node {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(content))
}

func flavour() *vnfpkg.Flavour {
	return &vnfpkg.Flavour{
		ID: "cluster",
		Vdus: []vnfpkg.Vdu{
			{Name: "masterNode", Flavor: "m1.medium", Image: &vnfpkg.Image{Name: "Image for masterNode"}},
			{Name: "workerNode", Flavor: "m1.small", Image: &vnfpkg.Image{Name: "Image for workerNode"}},
			{Name: "storage_server", Flavor: "m1.tiny"},
		},
		Storages: []vnfpkg.Storage{{Name: "storage_server_volume", Image: &vnfpkg.Image{Name: "Image for storage"}}},
	}
}

// cp connects a connection point with addresses.
func cp(name string, addresses ...lcm.IPAddressData) lcm.VnfExtCpData {
	return lcm.VnfExtCpData{CpdID: name, CpConfig: []lcm.VnfExtCpConfig{{CpProtocolData: []lcm.CpProtocolData{{
		LayerProtocol: "IP_OVER_ETHERNET", IPOverEthernet: &lcm.IPOverEthernetData{IPAddresses: addresses},
	}}}}}
}

func request() *lcm.InstantiateRequest {
	return &lcm.InstantiateRequest{
		FlavourID: "cluster",
		ExtVirtualLinks: []lcm.ExtVirtualLinkData{
			{ID: "one", ResourceID: "net-1", ExtCps: []lcm.VnfExtCpData{
				cp("masterNode_CP1"), cp("workerNode_CP2", lcm.IPAddressData{Type: "IPV4", SubnetID: "sub-1", NumDynamicAddresses: 1}),
			}},
			{ID: "two", ResourceID: "net-2", ExtCps: []lcm.VnfExtCpData{cp("storage_server_CP",
				lcm.IPAddressData{Type: "IPV4", SubnetID: "sub-2", FixedAddresses: []string{"10.0.0.7", "10.0.0.8"}},
				lcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{"10.0.1.9"}},
				lcm.IPAddressData{Type: "IPV6", NumDynamicAddresses: 1},
			)}},
		},
		AdditionalParams: map[string]any{
			"lcm-operation-user-data":       "./UserData/user_data.py",
			"lcm-operation-user-data-class": "KubernetesClusterUserData",
			"server_group":                  "together",
			"nfv":                           "is computed",
			"unknown_to_the_template":       1,
		},
	}
}

func TestKnownClassesComputeWhatTheTemplatesRead(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"server_group": "together",
		"nfv": map[string]any{
			"VDU": map[string]any{
				"masterNode":            map[string]any{"flavor": "m1.medium", "image": "Image for masterNode"},
				"workerNode":            map[string]any{"flavor": "m1.small", "image": "Image for workerNode"},
				"storage_server":        map[string]any{"flavor": "m1.tiny"},
				"storage_server_volume": map[string]any{"image": "Image for storage"},
			},
			"CP": map[string]any{
				"masterNode_CP1": map[string]any{"network": "net-1", "fixed_ips": []any{}},
				"workerNode_CP2": map[string]any{"network": "net-1", "fixed_ips": []any{map[string]any{"subnet": "sub-1"}}},
				"storage_server_CP": map[string]any{"network": "net-2", "fixed_ips": []any{
					map[string]any{"subnet": "sub-2", "ip_address": "10.0.0.7"},
					map[string]any{"subnet": "sub-2", "ip_address": "10.0.0.8"},
					map[string]any{"ip_address": "10.0.1.9"},
				}},
			},
		},
	}
	got, err := userdata.Compute(userdata.Request{
		Top: read(t, "cluster_top.yaml"), Nested: []*yaml.Node{read(t, "cluster_nested_worker.yaml")},
		Flavour: flavour(), Instantiate: request(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTemplatesThatReadOtherThings(t *testing.T) {
	t.Parallel()
	const head = "parameters: {nfv: {type: json}, size: {type: number}}\n"
	for _, row := range []struct {
		name, top string
		params    map[string]any
		want      map[string]any
		wrong     string // attribute of the refusal
	}{
		{"no parameter nfv", "parameters: {size: {type: number}}\nresources: {}\n", map[string]any{"size": 3}, map[string]any{"size": 3}, ""},
		{"no parameters at all", "resources: {}\n", map[string]any{"size": 3}, map[string]any{}, ""},
		{"nothing in it", "", nil, map[string]any{}, ""},
		{"a list instead of a mapping", "- 1\n", nil, map[string]any{}, ""},
		{"paths that are longer, shorter or somebody else's", head + "resources:\n  a: [{get_param: [nfv, VDU, masterNode]}," +
			" {get_param: [nfv, VDU, masterNode, flavor, more]}, {get_param: [other, VDU, masterNode, flavor]}, {get_param: nfv}]\n",
			nil, map[string]any{"nfv": map[string]any{"VDU": map[string]any{}, "CP": map[string]any{}}}, ""},
		{"a VDU that the VNFD lacks", head + "resources: {a: {get_param: [nfv, VDU, none, flavor]}}\n", nil, nil, "/flavourId"},
		{"a connection point without a network", head + "resources: {a: {get_param: [nfv, CP, vip_CP, network]}}\n", nil, nil, "/extVirtualLinks"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := userdata.Compute(userdata.Request{Top: parse(t, row.top), Flavour: flavour(),
				Instantiate: &lcm.InstantiateRequest{AdditionalParams: row.params}})
			var invalid *lcm.InvalidRequest
			if row.wrong != "" && (!errors.As(err, &invalid) || invalid.Attribute != row.wrong) {
				t.Fatalf("error %v, want one of %s", err, row.wrong)
			}
			if row.wrong == "" && err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAliasesAreNotMultiplied(t *testing.T) {
	t.Parallel()
	bomb := strings.Builder{}
	bomb.WriteString("parameters: {nfv: {type: json}}\nresources:\n  a0: &a0 {get_param: [nfv, VDU, masterNode, flavor]}\n")
	names := "0123456789abcdefghijklmnopqrstuvwxyz"
	for i := 1; i < len(names); i++ {
		last := "*a" + names[i-1:i]
		bomb.WriteString("  a" + names[i:i+1] + ": &a" + names[i:i+1] + " [" + strings.Repeat(last+", ", 9) + last + "]\n")
	}
	bomb.WriteString("  self: &self [*self]\n")
	got, err := userdata.Compute(userdata.Request{Top: parse(t, bomb.String()), Flavour: flavour(), Instantiate: &lcm.InstantiateRequest{}})
	if err != nil {
		t.Fatal(err)
	}
	vdus := map[string]any{"masterNode": map[string]any{"flavor": "m1.medium", "image": "Image for masterNode"}}
	if diff := cmp.Diff(map[string]any{"nfv": map[string]any{"VDU": vdus, "CP": map[string]any{}}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
