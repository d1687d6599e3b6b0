package heat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/lcm"
)

// realCloud is the access to a real OpenStack, whose Keystone VNFM_TEST_OPENSTACK names (http://127.0.0.1:5000/v3 for the one of
// e2e). It has the networks net0 and net1, the flavor m1.tiny and the image cirros-0.5.2-x86_64-disk.
func realCloud(t *testing.T) lcm.VimAccess {
	t.Helper()
	address := os.Getenv("VNFM_TEST_OPENSTACK")
	if address == "" {
		t.Skip("VNFM_TEST_OPENSTACK does not name a Keystone")
	}
	setting := func(name, otherwise string) string { return cmp.Or(os.Getenv("VNFM_TEST_OPENSTACK_"+name), otherwise) }
	return lcm.VimAccess{
		AuthURL: address, Username: setting("USER", "nfv_user"), Password: lcm.Secret(setting("PASSWORD", "devstack")),
		Project: setting("PROJECT", "nfv"), ProjectDomain: "Default", UserDomain: "Default",
	}
}

// realDeployment is the sample package on the real OpenStack; its stack is removed at the end of the test.
func realDeployment(t *testing.T, driver *Driver, level string) *lcm.Deployment {
	t.Helper()
	access := realCloud(t)
	deployment, err := plan(t, sample(t), level, unchanged)
	if err != nil {
		t.Fatal(err)
	}
	deployment.Vim = access
	deployment.StackName = "test-heat-" + deployment.StackName
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		remains := *deployment
		remains.Vim, remains.StackID = access, ""
		for phase := lcm.StackFailed; phase != lcm.StackAbsent; time.Sleep(time.Second) {
			status, err := driver.Status(ctx, &remains)
			if err == nil && status.Phase != lcm.StackInProgress {
				err = driver.Delete(ctx, &remains)
			}
			if err != nil {
				t.Errorf("stack %s is left: %v", remains.StackName, err)
				return
			}
			phase = status.Phase
		}
	})
	return deployment
}

func TestLifeOfAStackOnARealOpenStack(t *testing.T) {
	t.Parallel()
	driver := New(Config{})
	deployment := realDeployment(t, driver, "instantiation_level_2")
	id, err := driver.Create(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := driver.Create(t.Context(), deployment); err != nil || again != id {
		t.Fatalf("a second creation: %s, %v; want that the stack %s is adopted", again, err, id)
	}
	if status, err := driver.Status(t.Context(), deployment); err != nil || status.ID != id {
		t.Errorf("by name: %+v, %v", status, err)
	}
	deployment.StackID = id
	await(t, driver, deployment, lcm.StackComplete)

	resources, err := driver.Resources(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	counts, workers := map[string]int{}, []string{}
	for _, resource := range resources {
		counts[resource.Type]++
		if resource.PhysicalID == "" || resource.CreatedAt.IsZero() || resource.StackID == "" || resource.StackName == "" {
			t.Errorf("incomplete: %+v", resource)
		}
		if resource.Name == "worker" {
			workers = append(workers, resource.StackID)
		}
	}
	if counts["OS::Nova::Server"] != 3 || counts["OS::Neutron::Port"] != 6 || counts["OS::Cinder::Volume"] != 1 {
		t.Errorf("resources %v", counts)
	}
	if slices.Contains(workers, id) || len(slices.Compact(workers)) != 2 {
		t.Errorf("workers are in the stacks %v", workers)
	}

	if err := driver.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	await(t, driver, deployment, lcm.StackAbsent)
	if err := driver.Delete(t.Context(), deployment); err != nil {
		t.Errorf("a second deletion: %v", err)
	}
	// Heat shows DELETE_COMPLETE a moment before it gives the name away.
	again, err := driver.Create(t.Context(), deployment)
	for ; errors.As(err, new(*lcm.Unavailable)); again, err = driver.Create(t.Context(), deployment) {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil || again == id {
		t.Errorf("creation after the deletion: %s, %v; the former was %s", again, err, id)
	}
	deployment.StackID = again
}

func TestStackThatFailsOnARealOpenStackGoesOn(t *testing.T) {
	t.Parallel()
	driver := New(Config{})
	deployment := realDeployment(t, driver, "")
	good := deployment.Template
	deployment.Template = strings.Replace(good, "name: controller\n", "name: controller\n      availability_zone: none-such\n", 1)
	id, err := driver.Create(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	status := await(t, driver, deployment, lcm.StackFailed)
	if !strings.Contains(status.Reason, "availability zone is not available") ||
		!strings.Contains(status.Reason, "resource controller (OS::Nova::Server) is CREATE_FAILED") {
		t.Errorf("reason %q", status.Reason)
	}
	deployment.Template = good
	if again, err := driver.Create(t.Context(), deployment); err != nil || again != id {
		t.Fatalf("second creation: %s, %v", again, err)
	}
	await(t, driver, deployment, lcm.StackComplete)
}

func TestRefusalsOfARealOpenStack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		spoil  func(*lcm.Deployment)
		status int
		words  string
	}{
		{"network", unknownNetwork, 400, "none-such"},
		{"file", func(d *lcm.Deployment) {
			d.Template = strings.Replace(d.Template, "name: controller\n", "name: controller\n      user_data: { get_file: file:///etc/passwd }\n", 1)
		}, 400, "passwd"},
		{"password", func(d *lcm.Deployment) { d.Vim.Password = "geheim" }, 401, "credentials"},
		{"project", func(d *lcm.Deployment) { d.Vim.Project = "none-such" }, 401, "credentials"},
		{"region", func(d *lcm.Deployment) { d.Vim.Region = "Nowhere" }, 400, "Nowhere"},
		{"version", func(d *lcm.Deployment) { d.Template = strings.Replace(d.Template, "2021-04-16", "1999-01-01", 1) }, 400, "1999"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			driver := New(Config{})
			deployment := realDeployment(t, driver, "")
			row.spoil(deployment)
			_, err := driver.Create(t.Context(), deployment)
			var rejected *lcm.Rejected
			if !errors.As(err, &rejected) || rejected.Status != row.status || !strings.Contains(rejected.Detail, row.words) {
				t.Fatalf("error %v, want %d with %q", err, row.status, row.words)
			}
			if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "<") {
				t.Errorf("the error shows too much: %v", err)
			}
		})
	}
}

func TestRegionsOfARealOpenStack(t *testing.T) {
	t.Parallel()
	access := realCloud(t)
	regions, err := New(Config{}).Regions(t.Context(), access)
	if err != nil || !slices.Contains(regions, "RegionOne") {
		t.Errorf("regions %v, %v", regions, err)
	}
}
