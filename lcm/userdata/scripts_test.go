package userdata_test

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/userdata"
	"vnfm/lcm/userdata/python"
	"vnfm/samples"
	"vnfm/vnfpkg"
)

func scripts() *userdata.Scripts { return userdata.NewScripts(python.NewRunner(python.Config{})) }

// planOf asks for a flavour of a package with every connection point on a network of its own.
func planOf(t *testing.T, pkg *vnfpkg.CSAR, flavourID string) (lcm.PlanRequest, *vnfpkg.BaseHOT) {
	t.Helper()
	description, err := pkg.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	base, err := pkg.BaseHOT(flavourID)
	if err != nil {
		t.Fatal(err)
	}
	flavour := description.Vnfd.Flavours[flavourID]
	request := &lcm.InstantiateRequest{FlavourID: flavourID, AdditionalParams: map[string]any{
		"k8s_worker_node_group": "together", "unknown": 1, "password": "hidden-thing",
	}}
	for i, point := range flavour.Cps {
		address := lcm.IPAddressData{Type: "IPV4", SubnetID: "subnet-" + point.Name}
		if i%2 == 0 {
			address.FixedAddresses = []string{"10.0.0.1", "10.0.0.2"}
		}
		request.ExtVirtualLinks = append(request.ExtVirtualLinks, lcm.ExtVirtualLinkData{
			ID: "link", ResourceID: "net-" + point.Name, ExtCps: []lcm.VnfExtCpData{cp(point.Name, address)},
		})
	}
	return lcm.PlanRequest{
		InstanceID: uuid.New(), Package: pkg, Flavour: flavour, Request: request, ScaleLevels: flavour.ScaleLevels(""),
	}, base
}

// native is what [userdata.Compute] makes of a plan.
func native(t *testing.T, plan lcm.PlanRequest, base *vnfpkg.BaseHOT) map[string]any {
	t.Helper()
	request := userdata.Request{Top: parse(t, string(base.Top)), Flavour: plan.Flavour, Instantiate: plan.Request}
	for _, name := range slices.Sorted(maps.Keys(base.Files)) {
		request.Nested = append(request.Nested, parse(t, string(base.Files[name])))
	}
	parameters, err := userdata.Compute(request)
	if err != nil {
		t.Fatal(err)
	}
	return parameters
}

func TestNativeAndPythonComputeTheSame(t *testing.T) {
	t.Parallel()
	kubernetes := changed(t, os.DirFS("../../vnfpkg/testdata/kubernetes"), map[string]string{"UserData/usual.py": usual})
	for _, row := range []struct {
		name    string
		pkg     *vnfpkg.CSAR
		choice  userdata.Choice
		flavour string
	}{
		{"two-vdu, simple", csar(t, samples.TwoVdu()), userdata.Choice{File: "./UserData/user_data.py", Class: "SampleUserData"}, "simple"},
		{"two-vdu, large", csar(t, samples.TwoVdu()), userdata.Choice{File: "./UserData/user_data.py", Class: "SampleUserData"}, "large"},
		{"cluster, simple", csar(t, kubernetes), userdata.Choice{File: "./UserData/usual.py", Class: "Usual"}, "simple"},
		{"cluster, complex", csar(t, kubernetes), userdata.Choice{File: "./UserData/usual.py", Class: "Usual"}, "complex"},
		{"cluster, podaffinity", csar(t, kubernetes), userdata.Choice{File: "./UserData/usual.py", Class: "Usual"}, "podaffinity"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plan, base := planOf(t, row.pkg, row.flavour)
			got, err := scripts().Compute(t.Context(), row.choice, base, plan)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(native(t, plan, base), got); diff != "" {
				t.Errorf("-native +python:\n%s", diff)
			}
		})
	}
}

// existing is a plan for a VNF of the package two-vdu that exists, with parameters.
func existing(t *testing.T, script string) (lcm.PlanRequest, *vnfpkg.BaseHOT) {
	t.Helper()
	plan, base := planOf(t, csar(t, changed(t, samples.TwoVdu(), map[string]string{"UserData/own.py": script})), "simple")
	former := *plan.Request
	plan.Existing = &lcm.Existing{
		Instance: &lcm.VnfInstance{ID: plan.InstanceID, Name: "mine", InstantiatedVnfInfo: &lcm.InstantiatedVnfInfo{
			FlavourID: "simple", ScaleStatus: []lcm.ScaleInfo{{AspectID: "worker_group", ScaleLevel: 0}},
			VnfcResourceInfo: []lcm.VnfcResourceInfo{
				{ID: "1", VduID: "controller", ComputeResource: lcm.ResourceHandle{ResourceID: "server-1"}}, {ID: "2", VduID: "worker"},
			},
		}},
		Deployment: &lcm.Deployment{StackID: "stack", Request: &former, Parameters: map[string]any{
			"seen": []any{}, "nfv": map[string]any{"CP": map[string]any{"worker_CP1": map[string]any{"network": "net-worker_CP1"}}},
		}},
	}
	return plan, base
}

var own = userdata.Choice{File: "UserData/own.py", Class: "Own"}

func TestHooksGetTheOperation(t *testing.T) {
	t.Parallel()
	const script = `class Own:
    def scale(base_hot, vnfd, request, instance, info, param, number):
        assert base_hot['heat_template']['heat_template_version'] == '2021-04-16' and 'simple_nested_worker.yaml' in base_hot
        assert 'worker' in vnfd['topology_template']['node_templates']
        assert instance.vnf_instance_name == 'mine' and instance.instantiated_vnf_info.instance_id == info.instance_id == 'stack'
        assert info.additional_params['password'] == 'hidden-thing'
        param['seen'].append([request.type, request.aspect_id, request.number_of_steps, info.scale_status[0].scale_level, number])
        return param

    def heal(base_hot, vnfd, request, instance, info, param, vnfcs):
        param['seen'].append([request.cause, request.vnfc_instance_id, [(v.id, v.vdu_id, v.compute_resource.resource_id) for v in vnfcs]])
        return param
`
	for _, row := range []struct {
		name  string
		scale []lcm.ScaleRequest
		heal  *lcm.HealRequest
		level int
		want  []any
	}{
		{"scaling", []lcm.ScaleRequest{{Type: lcm.ScaleOut, AspectID: "worker_group", NumberOfSteps: 2}}, nil, 2,
			[]any{[]any{"SCALE_OUT", "worker_group", 2.0, 0.0, 3.0}}},
		{"healing VNFCs", nil, &lcm.HealRequest{Cause: "ill", VnfcInstanceID: []string{"1"}}, 0,
			[]any{[]any{"ill", []any{"1"}, []any{[]any{"1", "controller", "server-1"}}}}},
		{"healing the whole", nil, &lcm.HealRequest{}, 0,
			[]any{[]any{nil, []any{}, []any{[]any{"1", "controller", "server-1"}, []any{"2", "worker", ""}}}}},
		{"neither", nil, nil, 0, []any{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plan, base := existing(t, script)
			plan.ScaleLevels = map[string]int{"worker_group": row.level}
			plan.Existing.Scale, plan.Existing.Heal = row.scale, row.heal
			parameters, err := scripts().Compute(t.Context(), own, base, plan)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, parameters["seen"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestConnectionPointsMoveInTheParameters(t *testing.T) {
	t.Parallel()
	move := func(plan lcm.PlanRequest, name string) {
		request := *plan.Request
		request.ExtVirtualLinks = slices.Clone(request.ExtVirtualLinks)
		for i, link := range request.ExtVirtualLinks {
			if link.ExtCps[0].CpdID == name {
				request.ExtVirtualLinks[i].ResourceID = "elsewhere"
			}
		}
		*plan.Request = request
	}
	plan, base := existing(t, "")
	move(plan, "worker_CP1")
	parameters, err := scripts().Compute(t.Context(), own, base, plan)
	if err != nil {
		t.Fatal(err)
	}
	nfv, _ := parameters["nfv"].(map[string]any)
	point, _ := nfv["CP"].(map[string]any)["worker_CP1"].(map[string]any)
	if point["network"] != "elsewhere" {
		t.Errorf("the parameters are %v", parameters)
	}
	plan, base = existing(t, "")
	move(plan, "controller_CP1")
	_, err = scripts().Compute(t.Context(), own, base, plan)
	var failed *lcm.Failure
	if !errors.As(err, &failed) || !strings.Contains(failed.Detail, "nfv.CP.controller_CP1") {
		t.Errorf("error %v, want one that names the parameter that is missing", err)
	}
}

func TestClassesGetTheArgumentsOfInstantiate(t *testing.T) {
	t.Parallel()
	const script = `class Own:
    def instantiate(base_hot, vnfd, request, grant_info):
        link = request.ext_virtual_links[0]
        address = link.ext_cps[0].cp_config[0].cp_protocol_data[0].ip_over_ethernet.ip_addresses[0]
        return {
            'request': [request.flavour_id, request.instantiation_level_id, link.resource_id, address.type, address.fixed_addresses],
            'additional': request.additional_params, 'vim': request.vim_connection_info[0].access_info,
            'grant': {vdu: [r.resource_identifier for r in resources] for vdu, resources in grant_info.items()},
            'hot': base_hot['heat_template']['conditions'], 'policies': len(vnfd['topology_template']['policies']),
        }
`
	tree := changed(t, samples.TwoVdu(), map[string]string{"UserData/own.py": script})
	const top = "BaseHOT/simple/simple_top.yaml"
	tree[top].Data = append(tree[top].Data, "\nconditions: {a: yes, b: 'yes', c: 2021-04-16, 1: &x [0x10], d: *x}\n"...)
	plan, base := planOf(t, csar(t, tree), "simple")
	plan.Request.VimConnectionInfo = []lcm.VimConnectionInfo{{ID: "vim", AccessInfo: map[string]any{"username": "u", "password": "p"}}}
	plan.Assets.Images = map[string]string{"worker": "image-id"}
	got, err := scripts().Compute(t.Context(), own, base, plan)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"request":    []any{"simple", nil, "net-" + plan.Flavour.Cps[0].Name, "IPV4", []any{"10.0.0.1", "10.0.0.2"}},
		"additional": map[string]any{"k8s_worker_node_group": "together", "unknown": 1.0, "password": "hidden-thing"},
		"vim":        map[string]any{"username": "u", "password": lcm.Masked},
		"grant":      map[string]any{"controller": []any{"cirros-0.5.2-x86_64-disk"}, "worker": []any{"image-id"}},
		"hot":        map[string]any{"a": true, "b": "yes", "c": "2021-04-16", "1": []any{16.0}, "d": []any{16.0}},
		"policies":   7.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSecretsDoNotShowInTheMessageOfAFailure(t *testing.T) {
	t.Parallel()
	plan, base := planOf(t, csar(t, changed(t, samples.TwoVdu(), map[string]string{
		"UserData/own.py": "class Own:\n    def instantiate(h, v, request, g):\n        print(request.additional_params)\n        raise Exception(request.additional_params)\n",
	})), "simple")
	_, err := scripts().Compute(t.Context(), own, base, plan)
	var failed *lcm.Failure
	if !errors.As(err, &failed) || strings.Contains(failed.Detail, "hidden-thing") || !strings.Contains(failed.Detail, "***") {
		t.Errorf("error %v", err)
	}
}

// TestFunctionsOfTheModuleUtils calls what existing classes call.
func TestFunctionsOfTheModuleUtils(t *testing.T) {
	t.Parallel()
	const script = `import tacker.vnfm.lcm_user_data.utils as u
from tacker.vnfm.lcm_user_data.constants import USER_DATA_TIMEOUT

class Own:
    def instantiate(base_hot, vnfd, request, grant_info):
        initial = u.create_initial_param_dict(base_hot)
        return {
            'flavors': u.create_vdu_flavor_dict(vnfd), 'images': u.create_vdu_image_dict(grant_info),
            'networks': u.create_cpd_vl_dict(base_hot, request), 'timeout': USER_DATA_TIMEOUT,
            'final': u.create_final_param_dict(initial, u.create_vdu_flavor_dict(vnfd), {}, u.create_cpd_vl_dict(base_hot, request)),
            'capacity': u.create_desired_capacity_dict(base_hot, vnfd, request),
        }

    def scale(base_hot, vnfd, request, instance, info, param, number):
        return {'capacity': u.get_desired_capacity_dict(base_hot, vnfd, info)}
`
	plan, base := existing(t, script)
	plan.Existing.Scale = []lcm.ScaleRequest{{Type: lcm.ScaleOut, AspectID: "worker_group", NumberOfSteps: 1}}
	plan.Existing.Instance.InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel = 2
	scaled, err := scripts().Compute(t.Context(), own, base, plan)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"capacity": map[string]any{"worker_group": 3.0}}, scaled); diff != "" {
		t.Errorf("scale, -want +got:\n%s", diff)
	}
	plan.Existing, plan.Request.InstantiationLevelID = nil, "instantiation_level_2"
	got, err := scripts().Compute(t.Context(), own, base, plan)
	if err != nil {
		t.Fatal(err)
	}
	flavor := map[string]any{"vcpus": 1.0, "ram": 512.0, "disk": 1.0}
	want := map[string]any{
		"flavors": map[string]any{"controller": flavor, "worker": flavor}, "timeout": 60.0,
		"images":   map[string]any{"controller": "cirros-0.5.2-x86_64-disk", "worker": "cirros-0.5.2-x86_64-disk"},
		"capacity": map[string]any{"worker_group": 2.0},
		"networks": map[string]any{"controller_CP1": "net-controller_CP1", "controller_CP2": "net-controller_CP2",
			"worker_CP1": "net-worker_CP1", "worker_CP2": "net-worker_CP2"},
		"final": map[string]any{"nfv": map[string]any{
			"VDU": map[string]any{"controller": map[string]any{"flavor": flavor, "image": nil}, "worker": map[string]any{"flavor": flavor, "image": nil}},
			"CP": map[string]any{"controller_CP1": map[string]any{"network": "net-controller_CP1"}, "controller_CP2": map[string]any{"network": "net-controller_CP2"},
				"worker_CP1": map[string]any{"network": "net-worker_CP1"}, "worker_CP2": map[string]any{"network": "net-worker_CP2"}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instantiate, -want +got:\n%s", diff)
	}
}
