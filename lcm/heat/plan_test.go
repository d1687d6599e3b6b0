package heat

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

func unchanged(name string) string { return name }

// replaced returns the sample package with a part of its top template replaced.
func replaced(t *testing.T, old, fresh string) fstest.MapFS {
	t.Helper()
	files := sample(t)
	top := string(files[topTemplate].Data)
	if !strings.Contains(top, old) {
		t.Fatalf("the template does not contain %q", old)
	}
	files[topTemplate] = &fstest.MapFile{Data: []byte(strings.Replace(top, old, fresh, 1))}
	return files
}

func TestTemplatesAreSentAsThePackageHasThem(t *testing.T) {
	t.Parallel()
	files := sample(t)
	deployment, err := plan(t, files, "", unchanged)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(files[topTemplate].Data), deployment.Template); diff != "" {
		t.Errorf("top template, -want +got:\n%s", diff)
	}
	const nested = "simple_nested_worker.yaml"
	want := map[string]string{nested: string(files["BaseHOT/simple/nested/"+nested].Data)}
	if diff := cmp.Diff(want, deployment.Files); diff != "" {
		t.Errorf("files, -want +got:\n%s", diff)
	}
	vdu := map[string]any{"flavor": "m1.tiny", "image": "cirros-0.5.2-x86_64-disk"}
	cp := func(network string) map[string]any { return map[string]any{"network": network, "fixed_ips": []any{}} }
	parameters := map[string]any{"nfv": map[string]any{
		"VDU": map[string]any{"controller": vdu, "worker": vdu},
		"CP": map[string]any{
			"controller_CP1": cp("net0"), "controller_CP2": cp("net1"), "worker_CP1": cp("net0"), "worker_CP2": cp("net1"),
		},
	}}
	if diff := cmp.Diff(parameters, deployment.Parameters); diff != "" {
		t.Errorf("parameters, -want +got:\n%s", diff)
	}
}

const capacity = "      min_size: 1\n      max_size: 3\n      desired_capacity: 1\n"

func TestGroupsGetTheSizeOfTheLevel(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, old, fresh string
		want             string // in the template that is sent
		parameter        any    // worker_group_desired_capacity
	}{
		{"a literal", capacity, capacity, "desired_capacity: 3\n", nil},
		{"a literal as a string", "desired_capacity: 1", `desired_capacity: "1" # few`, "desired_capacity: 3 # few\n", nil},
		{"none", "      desired_capacity: 1\n", "", "desired_capacity: 3\n", nil},
		{"a literal that is used elsewhere", capacity, "      desired_capacity: &few 1\n      min_size: *few\n",
			"desired_capacity: &few 3\n", nil},
		{"a parameter", "parameters:\n", "parameters:\n  worker_group_desired_capacity: {type: number}\n", "desired_capacity: 1\n", 3},
		{"computed by the template", "desired_capacity: 1", "desired_capacity: { get_param: [ nfv, size ] }",
			"desired_capacity: { get_param: [ nfv, size ] }\n", nil},
		{"a resource group", "    type: OS::Heat::AutoScalingGroup\n    properties:\n" + capacity,
			"    type: OS::Heat::ResourceGroup\n    properties:\n      count: 1\n", "count: 3\n", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			deployment, err := plan(t, replaced(t, row.old, row.fresh), "instantiation_level_3", unchanged)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(deployment.Template, row.want) {
				t.Errorf("template without %q:\n%s", row.want, deployment.Template)
			}
			if got := deployment.Parameters["worker_group_desired_capacity"]; got != row.parameter {
				t.Errorf("parameter %v, want %v", got, row.parameter)
			}
			if _, err := parse("sent", []byte(deployment.Template)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPackagesThatDoNotFitTheRequest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, old, fresh, level string
		attribute, says         string // of the refusal; "" = none
	}{
		{"more members than the template allows", "max_size: 3", "max_size: 2", "instantiation_level_3", "/instantiationLevelId", "allows 1 to 2"},
		{"fewer members than the template allows", "min_size: 1", "min_size: 2", "instantiation_level_1", "/instantiationLevelId", "allows 2 to 3"},
		{"no group to give a size to", "  worker_group:\n", "  workers:\n", "instantiation_level_2", "/instantiationLevelId", "no scaling group worker_group"},
		{"no group, and the size that it has anyway", "  worker_group:\n", "  workers:\n", "", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := plan(t, replaced(t, row.old, row.fresh), row.level, unchanged)
			var invalid *lcm.InvalidRequest
			switch {
			case row.says == "" && err != nil:
				t.Error(err)
			case row.says != "" && (!errors.As(err, &invalid) || invalid.Attribute != row.attribute || !strings.Contains(invalid.Detail, row.says)):
				t.Errorf("error %v, want one of %s that says %q", err, row.attribute, row.says)
			}
		})
	}
}

func TestFlavourWithoutTemplatesIsMadeFromItsTopology(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	files := sample(t)
	for name := range files {
		if strings.HasPrefix(name, "BaseHOT/simple/") {
			delete(files, name)
		}
	}
	driver := New(Config{})
	deployment, err := plan(t, files, "instantiation_level_2", cloud.NetworkID)
	if err != nil {
		t.Fatal(err)
	}
	deployment.Vim = accessTo(cloud)
	made(t, driver, deployment)
	resources, err := driver.Resources(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]int{}
	for _, resource := range resources {
		if resource.Type == "OS::Nova::Server" {
			servers[resource.Name]++
		}
	}
	if diff := cmp.Diff(map[string]int{"controller": 1, "worker": 2}, servers); diff != "" {
		t.Error(diff)
	}
}

func TestTemplatesCannotReadTheServersFilesOrNetwork(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	network := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(network.Close)
	for _, bait := range []string{
		"user_data: { get_file: file:///etc/passwd }",
		"user_data: { get_file: /etc/passwd }",
		"user_data: { get_file: ../../../../../../../../etc/passwd }",
		fmt.Sprintf("user_data: { get_file: '%s/data' }", network.URL),
	} {
		t.Run(bait, func(t *testing.T) {
			t.Parallel()
			cloud := heattest.Start(t, heattest.Options{})
			deployment, err := plan(t, replaced(t, "name: controller\n", "name: controller\n      "+bait+"\n"), "", cloud.NetworkID)
			if err != nil {
				t.Fatal(err)
			}
			deployment.Vim = accessTo(cloud)
			if len(deployment.Files) != 1 || strings.Contains(deployment.Template, "root:") {
				t.Errorf("more is sent than the package holds: %v", deployment.Files)
			}
			if _, err := New(Config{}).Create(t.Context(), deployment); !errors.As(err, new(*lcm.Rejected)) {
				t.Errorf("Heat's answer: %v", err)
			}
		})
	}
	t.Run("type", func(t *testing.T) {
		t.Parallel()
		deployment, err := plan(t, replaced(t, "type: simple_nested_worker.yaml", "type: "+network.URL+"/nested.yaml"), "", unchanged)
		if err != nil {
			t.Fatal(err)
		}
		if len(deployment.Files) != 1 {
			t.Errorf("more is sent than the package holds: %v", deployment.Files)
		}
	})
	t.Cleanup(func() {
		if asked.Load() > 0 {
			t.Errorf("the network was asked %d times", asked.Load())
		}
	})
}

func TestAliasesStayAliases(t *testing.T) {
	t.Parallel()
	outputs := strings.Builder{}
	outputs.WriteString("outputs:\n  a0: &a0 {value: 1}\n")
	for i := 1; i < 4; i++ {
		fmt.Fprintf(&outputs, "  a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	files := replaced(t, "resources:\n", outputs.String()+"resources:\n")
	deployment, err := plan(t, files, "instantiation_level_2", unchanged)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := strings.Count(outputs.String(), "*a"), strings.Count(deployment.Template, "*a"); got != want {
		t.Errorf("%d aliases have become %d", want, got)
	}
}
