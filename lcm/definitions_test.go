package lcm

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"vnfm/vnfpkg"
)

// placed is a flavour with placement rules, in which workers are counted by their scale level.
func placed() *vnfpkg.Flavour {
	flavour := cluster()
	flavour.InitialDeltas = map[string]int{"worker": 1, "controller": 1}
	flavour.AspectDeltas = []vnfpkg.AspectDelta{{Aspect: "worker_group", Vdu: "worker", Deltas: map[string]int{"one": 1}}}
	flavour.PlacementRules = []vnfpkg.PlacementRule{
		{Name: "apart", Anti: true, Scope: "zone", Members: []string{"worker"}},
		{Name: "near", Scope: "nfvi_node", Members: []string{"controller", "worker"}},
		{Name: "alone", Scope: "nfvi_node", Members: []string{"controller"}},
		{Name: "networks", Scope: "nfvi_pop", Members: []string{"internal", "unused"}},
	}
	return flavour
}

// defined is the grant request of an operation on the VNF that Heat has with the given workers, none = no VNF.
func defined(t *testing.T, kind OperationType, request string, change change, files map[string]string, workers ...string) (*grantPlan, *InstantiatedVnfInfo) {
	t.Helper()
	d := &definer{files: files, plan: &grantPlan{Request: &GrantRequest{Operation: kind}}, info: &InstantiatedVnfInfo{}, flavour: placed()}
	if len(workers) > 0 {
		d.resources = clusterResources(workers...)
		d.info = buildInfo(infoSource{VimID: "vim", Flavour: placed(), Request: clusterRequest(), Resources: d.resources})
	}
	info := d.info
	change.request = clusterRequest()
	change.request.InstantiationLevelID = ""
	d.change = &change
	run := &Run{Operation: &Operation{ID: uuid.New(), Type: kind}, Request: json.RawMessage(request)}
	if err := d.define(run); err != nil {
		t.Fatal(err)
	}
	return d.plan, info
}

// summary shows definitions by what they are about: the template of what is new, the VIM's id of what is there.
func summary(definitions []ResourceDefinition) []string {
	var lines []string
	for _, definition := range definitions {
		what := "new " + definition.ResourceTemplateID
		if definition.Resource != nil {
			what = definition.Resource.ResourceID
		}
		lines = append(lines, string(definition.Type)+" "+what)
	}
	return lines
}

func TestGrantRequestsNameTheVeryResources(t *testing.T) {
	t.Parallel()
	one, two := map[string]int{"worker_group": 1}, map[string]int{"worker_group": 2}
	newController := []string{"COMPUTE new controller", "STORAGE new controller_volume"} // connected to a port that exists
	newWorker := []string{"COMPUTE new worker", "LINKPORT new worker_CP1", "LINKPORT new worker_CP2"}
	worker := func(name string) []string {
		return []string{"COMPUTE server-" + name, "LINKPORT port1-" + name, "LINKPORT port2-" + name}
	}
	controller := []string{"COMPUTE server-controller", "STORAGE volume-controller", "LINKPORT port-controller"}
	member := Resource{Name: "b", Type: "worker.yaml", PhysicalID: "stack-b", StackID: "stack-group"}
	ill := Resource{Name: "worker", Type: typeServer, PhysicalID: "server-a", StackID: "stack-a"}
	for _, row := range []struct {
		name                string
		kind                OperationType
		request             string
		change              change
		files               map[string]string // of the new flavour
		workers             []string
		add, remove, update []string
		settled             []string
	}{
		{name: "instantiate", kind: OpInstantiate, change: change{shape: shape{levels: one}},
			add: slices.Concat(newController, newWorker, newWorker, []string{"VL new internal", "VL new unused"})},
		{name: "scale out", kind: OpScale, change: change{shape: shape{levels: two}}, workers: []string{"a", "b"},
			add: newWorker, settled: []string{"controller", "worker"}},
		{name: "scale in removes the member that was chosen", kind: OpScale, workers: []string{"a", "b", "c"},
			change: change{shape: shape{levels: one}, unhealthy: []Resource{member}},
			remove: worker("b"), settled: []string{"controller", "worker"}},
		{name: "more leave than were chosen: the oldest", kind: OpScaleToLevel, workers: []string{"a", "b", "c"},
			change: change{shape: shape{levels: map[string]int{"worker_group": 0}}, unhealthy: []Resource{member}},
			remove: slices.Concat(worker("b"), worker("a")), settled: []string{"controller", "worker"}},
		{name: "heal of one", kind: OpHeal, workers: []string{"a", "b"}, change: change{shape: shape{levels: one}, unhealthy: []Resource{ill}},
			update: []string{"COMPUTE server-a"}, settled: []string{"controller", "worker"}},
		{name: "heal of the whole", kind: OpHeal, workers: []string{"a"}, change: change{shape: shape{levels: one}, whole: true},
			add:    slices.Concat(newController, newWorker, newWorker, []string{"VL new internal", "VL new unused"}),
			remove: slices.Concat(controller, worker("a"), []string{"VL net-internal"})},
		{name: "change of flavour", kind: OpChangeFlavour, workers: []string{"a"}, change: change{shape: shape{levels: one}},
			add: slices.Concat(newWorker, newWorker, []string{"VL new unused"}), remove: worker("a"), update: []string{"COMPUTE server-controller"}},
		{name: "change of flavour with the same nested template", kind: OpChangeFlavour, workers: []string{"a", "b"},
			change: change{shape: shape{levels: one}}, files: map[string]string{"worker.yaml": ""},
			add: []string{"VL new unused"}, update: []string{"COMPUTE server-controller", "COMPUTE server-a", "COMPUTE server-b"}},
		{name: "change of connectivity", kind: OpChangeExtConn, workers: []string{"a", "b"}, change: change{shape: shape{levels: one}},
			request: `{"extVirtualLinks": [{"id": "x", "extCps": [{"cpdId": "worker_CP1"}]}]}`,
			update:  []string{"LINKPORT port1-a", "LINKPORT port1-b"}, settled: []string{"controller", "worker"}},
		{name: "operate nobody known", kind: OpOperate, request: `{"vnfcInstanceId": ["none"]}`, workers: []string{"a"},
			change: change{shape: shape{levels: one}}},
		{name: "operate", kind: OpOperate, request: "{}", workers: []string{"a"}, change: change{shape: shape{levels: one}},
			update: []string{"COMPUTE server-controller", "COMPUTE server-a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plan, _ := defined(t, row.kind, row.request, row.change, row.files, row.workers...)
			for _, list := range []struct {
				name      string
				want, got []string
			}{
				{"add", row.add, summary(plan.Request.AddResources)}, {"remove", row.remove, summary(plan.Request.RemoveResources)},
				{"update", row.update, summary(plan.Request.UpdateResources)}, {"settled", row.settled, plan.Settled},
			} {
				if diff := cmp.Diff(list.want, list.got); diff != "" {
					t.Errorf("%s, -want +got:\n%s", list.name, diff)
				}
			}
		})
	}
}

func TestMembersWithinMembersLeaveTogether(t *testing.T) {
	t.Parallel()
	d := &definer{
		change: &change{unhealthy: []Resource{{Name: "m", Type: "member.yaml", PhysicalID: "stack-m", StackID: "stack-group"}}},
		resources: []Resource{
			{Name: "inner", Type: "deep.yaml", PhysicalID: "stack-deep", StackID: "stack-inner"},
			{Name: "workers", Type: "OS::Heat::ResourceGroup", PhysicalID: "stack-inner", StackID: "stack-m"},
			{Name: "other", Type: "member.yaml", PhysicalID: "stack-other", StackID: "stack-group"},
		},
	}
	if diff := cmp.Diff(map[string]bool{"stack-m": true, "stack-inner": true, "stack-deep": true}, d.leaving()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlacementConstraintsHoldWhatIsPlacedAndWhatIsThere(t *testing.T) {
	t.Parallel()
	plan, _ := defined(t, OpScale, "", change{shape: shape{levels: map[string]int{"worker_group": 1}}}, nil, "a")
	fresh := ConstraintResourceRef{IDType: "GRANT", ResourceID: plan.Request.AddResources[0].ID}
	present := func(id string) ConstraintResourceRef {
		return ConstraintResourceRef{IDType: "RES_MGMT", ResourceID: id, VimConnectionID: "vim"}
	}
	want := []PlacementConstraint{
		{AffinityOrAntiAffinity: "ANTI_AFFINITY", Scope: "ZONE", Resource: []ConstraintResourceRef{fresh, present("server-a")}},
		{AffinityOrAntiAffinity: "AFFINITY", Scope: "NFVI_NODE", Resource: []ConstraintResourceRef{fresh, present("server-controller"), present("server-a")}},
	}
	if diff := cmp.Diff(want, plan.Request.PlacementConstraints); diff != "" {
		t.Errorf("scale out, -want +got:\n%s", diff)
	}
	plan, _ = defined(t, OpInstantiate, "", change{shape: shape{levels: map[string]int{"worker_group": 1}}}, nil)
	sizes := map[string]int{}
	for _, constraint := range plan.Request.PlacementConstraints {
		sizes[constraint.Scope] = len(constraint.Resource)
	}
	if diff := cmp.Diff(map[string]int{"ZONE": 2, "NFVI_NODE": 3, "NFVI_POP": 2}, sizes); diff != "" {
		t.Errorf("resources of the constraints at instantiation, -want +got:\n%s", diff)
	}
	member := Resource{Name: "a", Type: "worker.yaml", PhysicalID: "stack-a", StackID: "stack-group"}
	plan, _ = defined(t, OpScale, "", change{unhealthy: []Resource{member}}, nil, "a", "b", "c")
	if plan.Request.PlacementConstraints != nil {
		t.Errorf("constraints where nothing is placed: %+v", plan.Request.PlacementConstraints)
	}
}

func TestPlannedIdentifiersBecomeThoseOfTheInstance(t *testing.T) {
	t.Parallel()
	levels := map[string]int{"worker_group": 1}
	plan, before := defined(t, OpScale, "", change{shape: shape{levels: levels}}, nil, "a")
	after := buildInfo(infoSource{VimID: "vim", Flavour: placed(), Request: clusterRequest(), Previous: before, Planned: plan.Planned,
		Zones: map[string]string{"worker": "az1"}, Resources: clusterResources("a", "b")})
	ids := map[string]bool{}
	for _, vnfc := range after.VnfcResourceInfo {
		ids[vnfc.ID] = true
		if (vnfc.ZoneID == "az1") != (vnfc.VduID == "worker") {
			t.Errorf("%s is in zone %q", vnfc.VduID, vnfc.ZoneID)
		}
	}
	for _, link := range after.VnfVirtualLinkResourceInfo {
		for _, port := range link.VnfLinkPorts {
			ids[port.ID] = true
		}
	}
	for _, definition := range plan.Request.AddResources {
		if !ids[definition.ID] {
			t.Errorf("%s %s has another id than the NFVO was told", definition.Type, definition.ResourceTemplateID)
		}
	}
	for _, vnfc := range before.VnfcResourceInfo {
		if !ids[vnfc.ID] {
			t.Errorf("%s %s has lost its id", vnfc.VduID, vnfc.ComputeResource.ResourceID)
		}
	}
}
