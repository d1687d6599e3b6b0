package lcm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrantedConnections(t *testing.T) {
	t.Parallel()
	connection := func(id, vim string) VimConnectionInfo { return VimConnectionInfo{ID: id, VimID: vim} }
	on := func(ids ...string) []GrantInfo {
		var infos []GrantInfo
		for _, id := range ids {
			infos = append(infos, GrantInfo{VimConnectionID: id})
		}
		return infos
	}
	for _, row := range []struct {
		name           string
		made           bool
		known, granted []VimConnectionInfo
		places         []GrantInfo
		want           []VimConnectionInfo
		says           string // the refusal
	}{
		{name: "nothing said by anybody"},
		{name: "of the request", known: []VimConnectionInfo{connection("a", "1")}, want: []VimConnectionInfo{connection("a", "1")}},
		{name: "of the grant", known: []VimConnectionInfo{connection("a", "1")}, granted: []VimConnectionInfo{connection("b", "2")},
			want: []VimConnectionInfo{connection("b", "2"), connection("a", "1")}},
		{name: "of the VNF that is there", made: true, known: []VimConnectionInfo{connection("a", "1")},
			granted: []VimConnectionInfo{connection("b", "2")}, want: []VimConnectionInfo{connection("a", "1"), connection("b", "2")}},
		{name: "new parameters of the same", known: []VimConnectionInfo{connection("a", "1")}, granted: []VimConnectionInfo{connection("a", "2")},
			want: []VimConnectionInfo{connection("a", "2")}},
		{name: "the one that resources are placed on", granted: []VimConnectionInfo{connection("a", "1"), connection("b", "2")}, places: on("b", "", "b"),
			want: []VimConnectionInfo{connection("b", "2"), connection("a", "1")}},
		{name: "named by the VIM's id, as our resource handles have it", known: []VimConnectionInfo{connection("a", "1")}, places: on("1"),
			want: []VimConnectionInfo{connection("a", "1")}},
		{name: "unknown", known: []VimConnectionInfo{connection("a", "1")}, places: on("c"), says: `"c"`},
		{name: "several", places: on("a", "b"), says: "a, b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := grantedConnections(row.known, &Grant{VimConnections: row.granted, AddResources: row.places}, row.made)
			var refused *Failure
			if row.says != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Detail, row.says)) || row.says == "" && err != nil {
				t.Fatalf("error %v, want one that says %q", err, row.says)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGrantedAssets(t *testing.T) {
	t.Parallel()
	server := func(id, vdu string) ResourceDefinition {
		return ResourceDefinition{ID: id, Type: ResourceCompute, VduID: vdu}
	}
	had := Assets{Flavors: map[string]string{"worker": "small"}, Images: map[string]string{"worker": "old"}, Zones: map[string]string{"worker": "az1"}}
	zones := []ZoneInfo{{ID: "z1", ZoneID: "az1"}, {ID: "z2", ZoneID: "az2"}}
	flavor := func(vdu, id string) VimAssets {
		return VimAssets{ComputeResourceFlavours: []VimComputeResourceFlavour{{VnfdVirtualComputeDescID: vdu, VimFlavourID: id}}}
	}
	image := func(vdu, id string) VimAssets {
		return VimAssets{SoftwareImages: []VimSoftwareImage{{VnfdSoftwareImageID: vdu, VimSoftwareImageID: id}}}
	}
	for _, row := range []struct {
		name    string
		had     Assets
		settled []string
		grant   Grant
		want    Assets
		says    string // the refusal
	}{
		{name: "nothing new", had: had, settled: []string{"worker"}, want: had},
		{name: "first values", grant: Grant{Zones: zones, AddResources: []GrantInfo{{ResourceDefinitionID: "1", ZoneID: "z2"}}, VimAssets: flavor("worker", "big")},
			want: Assets{Zones: map[string]string{"worker": "az2"}, Flavors: map[string]string{"worker": "big"}}},
		{name: "the same again", had: had, settled: []string{"worker"}, want: had,
			grant: Grant{Zones: zones, AddResources: []GrantInfo{{ResourceDefinitionID: "1", ZoneID: "z1"}}, VimAssets: flavor("worker", "small")}},
		{name: "zones of ports and volumes", grant: Grant{Zones: zones, AddResources: []GrantInfo{{ResourceDefinitionID: "3", ZoneID: "z1"}}}},
		{name: "a new zone for all", had: Assets{Zones: map[string]string{"worker": "az1"}}, want: Assets{Zones: map[string]string{"worker": "az2"}},
			grant: Grant{Zones: zones, AddResources: []GrantInfo{{ResourceDefinitionID: "1", ZoneID: "z2"}, {ResourceDefinitionID: "2", ZoneID: "z2"}}}},
		{name: "two zones for a VDU", says: "spreads VDU worker",
			grant: Grant{Zones: zones, AddResources: []GrantInfo{{ResourceDefinitionID: "1", ZoneID: "z1"}, {ResourceDefinitionID: "2", ZoneID: "z2"}}}},
		{name: "another zone than those that stay", had: had, settled: []string{"worker"}, says: `zone "az2"`,
			grant: Grant{Zones: zones, AddResources: []GrantInfo{{ResourceDefinitionID: "1", ZoneID: "z2"}}}},
		{name: "another flavor than those that stay", had: had, settled: []string{"worker"}, grant: Grant{VimAssets: flavor("worker", "big")}, says: `flavor "big"`},
		{name: "another image than those that stay", had: had, settled: []string{"worker"}, grant: Grant{VimAssets: image("worker", "new")}, says: `image "new"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plan := &grantPlan{Settled: row.settled, Change: &storedChange{Assets: row.had}, Request: &GrantRequest{AddResources: []ResourceDefinition{
				server("1", "worker"), server("2", "worker"), {ID: "3", Type: ResourceStorage, VduID: "worker"},
			}}}
			got, err := plan.assets(&row.grant)
			var refused *Failure
			if row.says != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Detail, row.says)) || row.says == "" && err != nil {
				t.Fatalf("error %v, want one that says %q", err, row.says)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMaskedValuesOfAGrantAreOurOwn(t *testing.T) {
	t.Parallel()
	ours := map[string]any{"nodes": []any{map[string]any{"password": "a"}, map[string]any{"password": "b"}}, "token": "t", "size": 1.0}
	theirs := map[string]any{"nodes": []any{map[string]any{"password": "***"}, map[string]any{"password": "new"}, "***"}, "token": "***", "size": "***"}
	want := map[string]any{"nodes": []any{map[string]any{"password": "a"}, map[string]any{"password": "new"}, "***"}, "token": "t", "size": "***"}
	if diff := cmp.Diff(want, unmask(theirs, ours)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
