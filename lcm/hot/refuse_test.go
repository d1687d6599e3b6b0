package hot_test

import (
	"errors"
	"strings"
	"testing"

	"vnfm/lcm"
	"vnfm/lcm/hot"
	"vnfm/vnfpkg"
)

// TestCheckRefuses changes a VNFD that can be translated into one that cannot.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	const cpu, boot = "virtual_cpu: { num_virtual_cpu: 1, cpu_architecture: x86_64", "description: boots from a volume"
	for _, row := range []struct {
		name, from, to string
		node, detail   string
	}{
		{"a node template of another type", "  groups:", "    files:\n      type: tosca.nodes.nfv.Vdu.VirtualFileStorage\n  groups:", "files", "VirtualFileStorage"},
		{"a trunk", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: {", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: { trunk_mode: true,", "worker_CP1", "trunk_mode"},
		{"a floating address", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: {", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: { protocol: [ { address_data: [ { l3_address_data: { floating_ip_activated: true } } ] } ],", "worker_CP1", "floating_ip"},
		{"a strange interface", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: {", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: { vnic_type: virtual,", "worker_CP1", "vnic_type"},
		{"a mandatory property of an interface", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: {", "worker_CP1:\n      type: tosca.nodes.nfv.VduCp\n      properties: { virtual_network_interface_requirements: [ { support_mandatory: true } ],", "worker_CP1", "virtual_network_interface_requirements"},
		{"an external connection point of a link", "  groups:", "    outside:\n      type: tosca.nodes.nfv.VnfExtCp\n      requirements: [ { internal_virtual_link: inner } ]\n  groups:", "outside", "bound to no VDU"},
		{"huge pages without a flavor", cpu, "logical_node: { pages: { logical_node_requirements: { hugepages: 2 } } }\n            " + cpu, "worker", "logical_node"},
		{"a processor feature without a flavor", cpu, cpu + ", vdu_cpu_requirements: { aes: true }", "worker", "vdu_cpu_requirements"},
		{"neither a flavor nor a processor", cpu + " }", "virtual_cpu: {}", "worker", "neither"},
		{"a constraint on the NFVI", boot, boot + "\n        nfvi_constraints: [ fast ]", "controller", "nfvi_constraints"},
		{"boot data in a file", "boot_data: |\n          #!/bin/sh\n          echo \"yes: {get_param: nfv}\" > /etc/motd", "boot_data: Files/boot.sh", "controller", "boot_data"},
		{"a boot order with an empty volume", boot, boot + "\n        boot_order: [ data ]", "controller", "boot_order"},
		{"a boot order with another VDU's volume", boot, boot + "\n        boot_order: [ scratch ]", "controller", "boot_order"},
		{"a volume for two VDUs", "- virtual_storage: store", "- virtual_storage: data", "data", "controller and to worker"},
		{"a volume for none", "        - virtual_storage: store\n", "", "store", "attached to no VDU"},
		{"a shared volume", "scratch:\n      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage\n      properties: {", "scratch:\n      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage\n      properties: { per_vnfc_instance: false,", "scratch", "share"},
		{"a VDU without an image", ", sw_image_data: *cirros }", " }", "worker", "no software image"},
		{"a link that is a tree", "layer_protocols: [ ipv4 ] }\n        description: between", "layer_protocols: [ ipv4 ], flow_pattern: tree }\n        description: between", "inner", "flow_pattern"},
		{"a security group", "policies:\n", "policies:\n    - closed: { type: tosca.policies.nfv.SecurityGroupRule, targets: [ worker_CP1 ] }\n", "closed", "SecurityGroupRule"},
		{"a VDU in two placement rules", "policies:\n", "policies:\n    - apart: { type: tosca.policies.nfv.AntiAffinityRule, properties: { scope: nfvi_node }, targets: [ worker ] }\n", "worker", "several placement rules"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			vnfd := strings.Replace(readVnfd(t, "scaling"), row.from, row.to, 1)
			if vnfd == readVnfd(t, "scaling") {
				t.Fatal("the VNFD is unchanged")
			}
			refusedFor(t, hot.Check(readFlavour(t, vnfd)), row.node, row.detail)
		})
	}
}

func refusedFor(t *testing.T, err error, node, detail string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v, want one about %s", err, node)
	}
	for _, err := range joined.Unwrap() {
		var untranslatable *hot.Untranslatable
		if errors.As(err, &untranslatable) && untranslatable.Node == node && strings.Contains(untranslatable.Detail, detail) {
			return
		}
	}
	t.Errorf("error %v, want one about %s: %s", err, node, detail)
}

func TestCheckRefusesModels(t *testing.T) {
	t.Parallel()
	image := &vnfpkg.Image{Name: "image"}
	vdu := func(name string) vnfpkg.Vdu {
		return vnfpkg.Vdu{Name: name, Flavor: "f", Image: image, MinInstances: 1}
	}
	aspects := []vnfpkg.ScalingAspect{{Name: "a", MaxLevel: 2, StepDeltas: []string{"d"}}, {Name: "b", MaxLevel: 1}}
	delta := func(aspect, vdu string, n int) vnfpkg.AspectDelta {
		return vnfpkg.AspectDelta{Aspect: aspect, Vdu: vdu, Deltas: map[string]int{"d": n}}
	}
	for _, row := range []struct {
		name         string
		flavour      vnfpkg.Flavour
		node, detail string
	}{
		{"a VDU of two aspects", vnfpkg.Flavour{Vdus: []vnfpkg.Vdu{vdu("v")}, Aspects: aspects, AspectDeltas: []vnfpkg.AspectDelta{delta("a", "v", 1), delta("b", "v", 1)}}, "v", "several aspects"},
		{"VDUs that grow apart", vnfpkg.Flavour{Vdus: []vnfpkg.Vdu{vdu("v"), vdu("w")}, Aspects: aspects, AspectDeltas: []vnfpkg.AspectDelta{delta("a", "v", 1), delta("a", "w", 2)}}, "a", "proportion"},
		{"fewer than no instances", vnfpkg.Flavour{Vdus: []vnfpkg.Vdu{vdu("v")}, Aspects: aspects, AspectDeltas: []vnfpkg.AspectDelta{delta("a", "v", 1)}, DefaultLevelID: "l",
			Levels: []vnfpkg.Level{{ID: "l", ScaleLevels: map[string]int{"a": 2}, VduCounts: map[string]int{"v": 1}}}}, "v", "contradict"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			refusedFor(t, hot.Check(&row.flavour), row.node, row.detail)
		})
	}
}

// TestTranslateRefusesNames has names from the VNFD that no resource can have, or that two resources would have.
func TestTranslateRefusesNames(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		vdus  []string
		wrong string
	}{
		{"a path", []string{"../../etc/passwd"}, "../../etc/passwd"},
		{"a second line", []string{"v\nresources: {}"}, "v\nresources: {}"},
		{"a name that the translation makes", []string{"v", "v_flavor"}, "v_flavor"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			flavour := &vnfpkg.Flavour{}
			for _, name := range row.vdus {
				flavour.Vdus = append(flavour.Vdus, vnfpkg.Vdu{
					Name: name, VirtualCPUs: 1, MemoryBytes: 1, Image: &vnfpkg.Image{Name: "image"}, MinInstances: 1,
				})
			}
			_, err := hot.Translate(hot.Request{Flavour: flavour, Instantiate: &lcm.InstantiateRequest{}})
			refusedFor(t, err, row.wrong, "")
		})
	}
}

func TestTranslateRefusesRequests(t *testing.T) {
	t.Parallel()
	ext := func(links ...lcm.ExtVirtualLinkData) *lcm.InstantiateRequest {
		return &lcm.InstantiateRequest{ExtVirtualLinks: append(links, external("n0", "controller_CP"))}
	}
	worker := func(configs ...lcm.VnfExtCpConfig) *lcm.InstantiateRequest {
		return ext(external("n1", "worker_CP1", configs...))
	}
	fixed := addressed("", lcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{"10.0.0.1"}})
	controller := func(configs ...lcm.VnfExtCpConfig) *lcm.InstantiateRequest {
		return &lcm.InstantiateRequest{ExtVirtualLinks: []lcm.ExtVirtualLinkData{external("n0", "controller_CP", configs...), external("n1", "worker_CP1")}}
	}
	const config, addresses = "/extVirtualLinks/0/extCps/0/cpConfig/0", "/extVirtualLinks/0/extCps/0/cpConfig/0/cpProtocolData/0/ipOverEthernet"
	for _, row := range []struct {
		name      string
		request   *lcm.InstantiateRequest
		attribute string
	}{
		{"a fixed address where VDUs scale", worker(fixed), addresses + "/ipAddresses/0/fixedAddresses/0"},
		{"a MAC address where VDUs scale", worker(addressed("fa:16:3e:00:00:01")), addresses + "/macAddress"},
		{"an existing port where VDUs scale", worker(lcm.VnfExtCpConfig{LinkPortID: "p"}), config + "/linkPortId"},
		{"an unknown link port", controller(lcm.VnfExtCpConfig{LinkPortID: "p"}), config + "/linkPortId"},
		{"instances in different networks", ext(external("n1", "worker_CP1"), external("n2", "worker_CP1")), "/extVirtualLinks/1/extCps/0/cpConfig/0"},
		{"a connection point left out", ext(), "/extVirtualLinks"},
		{"an unknown connection point", ext(external("n1", "worker_CP1"), external("n1", "nobody")), "/extVirtualLinks/1/extCps/0/cpdId"},
		{"an internal connection point", ext(external("n1", "worker_CP1"), external("n1", "worker_inner")), "/extVirtualLinks/1/extCps/0/cpdId"},
		{"a link without a network", ext(external("", "worker_CP1")), "/extVirtualLinks/0/resourceId"},
		{"two connections of one instance", controller(lcm.VnfExtCpConfig{}, lcm.VnfExtCpConfig{}), "/extVirtualLinks/0/extCps/0/cpConfig/1"},
		{"no address", controller(addressed("", lcm.IPAddressData{Type: "IPV4", FixedAddresses: []string{"10.0.0"}})), addresses + "/ipAddresses/0/fixedAddresses/0"},
		{"an address of the other type", controller(addressed("", lcm.IPAddressData{Type: "IPV6", FixedAddresses: []string{"10.0.0.1"}})), addresses + "/ipAddresses/0/fixedAddresses/0"},
		{"a range of addresses", controller(addressed("", lcm.IPAddressData{Type: "IPV4", AddressRange: &lcm.AddressRange{}})), addresses + "/ipAddresses/0/addressRange"},
		{"several addresses of no subnet", controller(addressed("", lcm.IPAddressData{Type: "IPV4", NumDynamicAddresses: 2})), addresses + "/ipAddresses/0/numDynamicAddresses"},
		{"very many addresses", controller(addressed("", lcm.IPAddressData{Type: "IPV4", SubnetID: "s", NumDynamicAddresses: 1 << 30})), addresses + "/ipAddresses/0/numDynamicAddresses"},
		{"an unknown internal link", &lcm.InstantiateRequest{ExtManagedVirtualLinks: []lcm.ExtManagedVirtualLinkData{{VirtualLinkDescID: "nothing", ResourceID: "n"}}}, "/extManagedVirtualLinks/0/vnfVirtualLinkDescId"},
		{"an unknown level", &lcm.InstantiateRequest{InstantiationLevelID: "huge"}, "/instantiationLevelId"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := hot.Translate(hot.Request{Flavour: readFlavour(t, readVnfd(t, "scaling")), Instantiate: row.request})
			joined, ok := err.(interface{ Unwrap() []error })
			if !ok {
				t.Fatalf("error %v, want one about %s", err, row.attribute)
			}
			for _, err := range joined.Unwrap() {
				var invalid *lcm.InvalidRequest
				if errors.As(err, &invalid) && invalid.Attribute == row.attribute {
					return
				}
			}
			t.Errorf("error %v, want one about %s", err, row.attribute)
		})
	}
}
