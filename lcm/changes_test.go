package lcm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is a short form of resource changes.
func told(changes *ResourceChanges) []string {
	if changes == nil {
		return nil
	}
	var all []string
	for _, vnfc := range changes.AffectedVnfcs {
		all = append(all, fmt.Sprintf("%s %s", vnfc.ChangeType, vnfc.ComputeResource.ResourceID))
	}
	for _, link := range changes.AffectedVirtualLinks {
		all = append(all, fmt.Sprintf("%s %s", link.ChangeType, link.NetworkResource.ResourceID))
	}
	for _, storage := range changes.AffectedVirtualStorages {
		all = append(all, fmt.Sprintf("%s %s", storage.ChangeType, storage.StorageResource.ResourceID))
	}
	return all
}

func TestResourceChanges(t *testing.T) {
	t.Parallel()
	two := clusterInfo(nil, clusterResources("a", "b"))
	three := clusterInfo(two, clusterResources("a", "b", "c"))
	replaced := clusterResources("a", "b")
	for i := range replaced {
		switch replaced[i].PhysicalID {
		case "server-b", "server-controller", "volume-controller":
			replaced[i].PhysicalID += "-healed"
		}
	}
	for _, row := range []struct {
		name          string
		before, after *InstantiatedVnfInfo
		want          []string
	}{
		{"nothing has changed", two, clusterInfo(two, clusterResources("a", "b")), nil},
		{"instantiation adds all", nil, two, []string{
			"ADDED server-controller", "ADDED server-a", "ADDED server-b",
			"ADDED net-internal", "ADDED net-managed", "ADDED net-control", "ADDED volume-controller",
		}},
		{"termination removes all", two, nil, []string{
			"REMOVED server-controller", "REMOVED server-a", "REMOVED server-b",
			"REMOVED net-internal", "REMOVED net-managed", "REMOVED net-control", "REMOVED volume-controller",
		}},
		{"a worker more changes the networks that it is on", two, three,
			[]string{"ADDED server-c", "MODIFIED net-internal", "MODIFIED net-control"}},
		{"a worker less changes them as well", three, clusterInfo(three, clusterResources("a", "b")),
			[]string{"REMOVED server-c", "MODIFIED net-internal", "MODIFIED net-control"}},
		{"what is healed is the same VNFC with another server", two, clusterInfo(two, replaced),
			[]string{"MODIFIED server-controller-healed", "MODIFIED server-b-healed", "MODIFIED volume-controller-healed"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, told(resourceChanges(row.before, row.after))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAffectedVnfcNamesWhatGoesWithIt(t *testing.T) {
	t.Parallel()
	info := clusterInfo(nil, clusterResources("a"))
	controller := info.VnfcResourceInfo[0]
	added, removed := resourceChanges(nil, info).AffectedVnfcs[0], resourceChanges(info, nil).AffectedVnfcs[0]
	want := AffectedVnfc{
		ID: controller.ID, VduID: "controller", ChangeType: Added, ComputeResource: controller.ComputeResource,
		Metadata:                map[string]any{"stack_id": "stack-top"},
		AffectedVnfcCpIDs:       []string{controller.VnfcCpInfo[0].ID},
		AddedStorageResourceIDs: slices.Clone(controller.StorageResourceIDs),
	}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Errorf("added, -want +got:\n%s", diff)
	}
	want.ChangeType, want.RemovedStorageResourceIDs, want.AddedStorageResourceIDs = Removed, want.AddedStorageResourceIDs, nil
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed, -want +got:\n%s", diff)
	}
}
