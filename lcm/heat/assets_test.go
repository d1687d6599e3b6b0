package heat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
)

func TestAssetsGetWhereTheTemplatesTakeThem(t *testing.T) {
	t.Parallel()
	assets := lcm.Assets{
		Flavors: map[string]string{"worker": "big", "elsewhere": "big"},
		Images:  map[string]string{"worker": "image-1", "volume": "image-2"},
		Zones:   map[string]string{"worker": "az1"},
	}
	nfv := func(worker map[string]any) map[string]any {
		return map[string]any{"nfv": map[string]any{"VDU": map[string]any{"worker": worker}}}
	}
	for _, row := range []struct {
		name, top, nested   string
		parameters          map[string]any
		wantTop, wantNested string // "" = unchanged
		want                map[string]any
	}{
		{name: "parameters", top: `resources:
  group: {properties: {flavor: {get_param: [nfv, VDU, worker, flavor]}, image: {get_param: [nfv, VDU, worker, image]}, zone: {get_param: [nfv, VDU, worker, zone]}}}
`, nested: `resources:
  worker: {type: OS::Nova::Server, properties: {flavor: {get_param: flavor}, image: {get_param: image}, availability_zone: {get_param: zone}}}
`, parameters: nfv(map[string]any{"flavor": "small", "image": "cirros"}),
			want: nfv(map[string]any{"flavor": "big", "image": "image-1", "zone": "az1"})},
		{name: "no parameter for the zone", top: `resources:
  group: {properties: {flavor: {get_param: [nfv, VDU, worker, flavor]}, image: {get_param: [nfv, VDU, worker, image]}}}
`, nested: `# a comment
resources:
  worker:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
`, parameters: nfv(map[string]any{"flavor": "small", "image": "cirros"}),
			wantNested: `# a comment
resources:
  worker:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      availability_zone: az1
`, want: nfv(map[string]any{"flavor": "big", "image": "image-1", "zone": "az1"})},
		{name: "no parameters at all", top: `resources:
  worker:
    type: OS::Nova::Server
    properties:
      flavor: small
      availability_zone: here
  volume:
    type: OS::Cinder::Volume
    properties:
      image: cirros
`, nested: `resources:
  elsewhere: {type: OS::Heat::None, properties: {flavor: small}}
`, parameters: map[string]any{},
			wantTop: `resources:
  worker:
    type: OS::Nova::Server
    properties:
      flavor: big
      availability_zone: az1
  volume:
    type: OS::Cinder::Volume
    properties:
      image: image-2
`, want: map[string]any{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			templates := map[string]*yaml.Node{}
			for name, text := range map[string]string{"top": row.top, "nested": row.nested} {
				node, err := parse(name, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				templates[name] = node
			}
			changed := setAssets(templates, row.parameters, assets)
			for name, want := range map[string]string{"top": row.wantTop, "nested": row.wantNested} {
				if changed[name] != (want != "") {
					t.Errorf("%s changed: %t", name, changed[name])
				}
				if !changed[name] {
					continue
				}
				got, err := encode(templates[name])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("%s, -want +got:\n%s", name, diff)
				}
			}
			if diff := cmp.Diff(row.want, row.parameters); diff != "" {
				t.Errorf("parameters, -want +got:\n%s", diff)
			}
		})
	}
}

func TestZonesOfATopology(t *testing.T) {
	t.Parallel()
	files := sample(t)
	for name := range files {
		if strings.HasPrefix(name, "BaseHOT/simple/") {
			delete(files, name)
		}
	}
	deployment, err := planWith(t, files, "", unchanged, lcm.Assets{Zones: map[string]string{"controller": "az1"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(deployment.Template, "availability_zone") {
		t.Errorf("no zone in the template:\n%s", deployment.Template)
	}
}
