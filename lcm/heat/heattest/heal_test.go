package heattest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"

	"vnfm/lcm/heat/heattest"
)

// find is the resource of this name in the stack of this name, or anywhere when the stack is empty.
func find(list []stackresources.Resource, name string) stackresources.Resource {
	i := slices.IndexFunc(list, func(r stackresources.Resource) bool { return r.Name == name })
	if i < 0 {
		return stackresources.Resource{}
	}
	return list[i]
}

// holder is the name and id of the stack that a resource is in.
func holder(r stackresources.Resource) (name, id string) {
	for _, l := range r.Links {
		if l.Rel == "stack" {
			parts := strings.Split(l.Href, "/")
			return parts[len(parts)-2], parts[len(parts)-1]
		}
	}
	return "", ""
}

func (b *bundle) mark(r stackresources.Resource) {
	b.Helper()
	name, id := holder(r)
	if err := stackresources.MarkUnhealthy(b.Context(), b.heat, name, id, r.Name,
		stackresources.MarkUnhealthyOpts{MarkUnhealthy: true, ResourceStatusReason: "Healing"}).ExtractErr(); err != nil {
		b.Fatalf("mark unhealthy: %v", err)
	}
}

func TestHealReplacesServerAndKeepsItsAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf"))
	before := b.resources("vnf", s.ID)
	worker, port := find(before, "worker"), find(before, "worker_CP")
	b.mark(worker)
	marked := b.resources("vnf", s.ID)
	if r := marked[slices.IndexFunc(marked, func(r stackresources.Resource) bool { return r.PhysicalID == worker.PhysicalID })]; r.Status != "CHECK_FAILED" ||
		r.StatusReason != "Healing" {
		t.Errorf("marked server is %s: %s", r.Status, r.StatusReason)
	}
	if s = b.settle("vnf", s.ID); s.Status != "CREATE_COMPLETE" {
		t.Errorf("marking changed the stack to %s", s.Status)
	}
	if s = b.update("vnf", s.ID, stackBody{}); s.Status != "UPDATE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	after := b.resources("vnf", s.ID)
	ids := func(list []stackresources.Resource, name string) (out []string) {
		for _, r := range list {
			if r.Name == name {
				out = append(out, r.PhysicalID)
			}
		}
		return out
	}
	if slices.Contains(ids(after, "worker"), worker.PhysicalID) || len(ids(after, "worker")) != 2 {
		t.Errorf("servers %v became %v", ids(before, "worker"), ids(after, "worker"))
	}
	if !slices.Contains(ids(after, "worker_CP"), port.PhysicalID) {
		t.Errorf("ports %v became %v", ids(before, "worker_CP"), ids(after, "worker_CP"))
	}
	if find(after, "master").PhysicalID != find(before, "master").PhysicalID {
		t.Error("a healthy server was replaced")
	}
}

func TestHealingServerWithVolumeNeedsTheVolumeToo(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf"))
	before := b.resources("vnf", s.ID)
	b.mark(find(before, "master"))
	s = b.update("vnf", s.ID, stackBody{})
	want := "status must be available or downloading to reserve, but the current status is in-use. (HTTP 400)"
	if s.Status != "UPDATE_FAILED" || !strings.Contains(s.StatusReason, want) || !strings.HasPrefix(s.StatusReason, "Resource CREATE failed: BadRequest: resources.master: Invalid volume: ") {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	failed := find(b.resources("vnf", s.ID), "master")
	if failed.Status != "CREATE_FAILED" || failed.PhysicalID != "" {
		t.Errorf("server is %s with id %q", failed.Status, failed.PhysicalID)
	}
	b.mark(failed)
	b.mark(find(before, "master_volume"))
	if s = b.update("vnf", s.ID, stackBody{}); s.Status != "UPDATE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	after := b.resources("vnf", s.ID)
	for _, name := range []string{"master", "master_volume"} {
		if find(after, name).PhysicalID == find(before, name).PhysicalID {
			t.Errorf("%s was not replaced", name)
		}
	}
	if find(after, "master_CP").PhysicalID != find(before, "master_CP").PhysicalID {
		t.Error("the port was replaced")
	}
	count := map[string]int{}
	for _, item := range b.cloud.Leaks() {
		count[item.Kind]++
	}
	if count["server"] != 3 || count["volume"] != 1 || count["port"] != 3 {
		t.Errorf("there are %v", count)
	}
}

func TestScaling(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	s := b.create(vnfBody("vnf"))
	members := func() (names []string) {
		for _, r := range b.resources("vnf", s.ID) {
			if r.Type == "worker.yaml" {
				names = append(names, r.Name)
			}
		}
		return names
	}
	signal := func(policy string, want int) []string {
		t.Helper()
		if _, err := b.heat.Post(t.Context(), b.heat.ServiceURL("stacks", "vnf", s.ID, "resources", policy, "signal"), nil, nil, okCodes(200)); err != nil {
			t.Fatal(err)
		}
		for {
			busy := slices.ContainsFunc(b.resources("vnf", s.ID), func(r stackresources.Resource) bool { return strings.HasSuffix(r.Status, "IN_PROGRESS") })
			if now := members(); len(now) == want && !busy {
				return now
			}
			pause(t.Context())
		}
	}
	first := members()
	grown := signal("worker_instance_scale_out", 3)
	signal("worker_instance_scale_out", 3) // the limit
	oldest := b.oldestMember("vnf", s.ID)
	shrunk := signal("worker_instance_scale_in", 2)
	if len(first) != 2 || slices.Contains(shrunk, oldest) {
		t.Errorf("of %v, %v remain, the oldest was %s", grown, shrunk, oldest)
	}
	if s = b.settle("vnf", s.ID); s.Status != "CREATE_COMPLETE" {
		t.Errorf("a signal changed the stack to %s", s.Status)
	}

	// An update takes the template's desired_capacity, and what is marked goes first.
	marked := members()[0]
	b.mark(find(b.resources("vnf", s.ID), marked))
	smaller := strings.Replace(vnfTemplate, "desired_capacity: 2", "desired_capacity: 1", 1)
	if s = b.update("vnf", s.ID, stackBody{"template": smaller}); s.Status != "UPDATE_COMPLETE" {
		t.Fatalf("stack is %s: %s", s.Status, s.StatusReason)
	}
	if left := members(); len(left) != 1 || left[0] == marked {
		t.Errorf("%v remain although %s was marked", left, marked)
	}
}

// oldestMember goes by what a client sees: seconds, and then names.
func (b *bundle) oldestMember(name, id string) string {
	b.Helper()
	var oldest *stackresources.Resource
	for _, r := range b.resources(name, id) {
		if r.Type == "worker.yaml" && (oldest == nil || r.CreationTime.Before(oldest.CreationTime) || r.CreationTime.Equal(oldest.CreationTime) && r.Name < oldest.Name) {
			oldest = &r
		}
	}
	return oldest.Name
}

func TestResourceGroupGivesUpTheHighestIndex(t *testing.T) {
	t.Parallel()
	b := setup(t, heattest.Options{})
	template := `
heat_template_version: 2021-04-16
parameters: {n: {type: number}}
resources:
  ports:
    type: OS::Heat::ResourceGroup
    properties: {count: {get_param: n}, resource_def: {type: OS::Neutron::Port, properties: {name: "port-%index%", network: net1}}}
outputs:
  names: {value: {get_attr: [ports, name]}}
  first: {value: {get_attr: [ports, resource.0, fixed_ips, 0, ip_address]}}
`
	s := b.create(stackBody{"stack_name": "rg", "template": template, "parameters": map[string]any{"n": 3}})
	if s.Status != "CREATE_COMPLETE" {
		t.Fatal(s.StatusReason)
	}
	kept := find(b.resources("rg", s.ID), "0").PhysicalID
	s = b.update("rg", s.ID, stackBody{"parameters": map[string]any{"n": 1}})
	var names []string
	for _, r := range b.resources("rg", s.ID) {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"0", "ports"}) || find(b.resources("rg", s.ID), "0").PhysicalID != kept {
		t.Errorf("resources are %v", names)
	}
	for _, o := range s.Outputs {
		if o["output_error"] != nil {
			t.Errorf("output %s: %v", o["output_key"], o["output_error"])
		}
	}
}
