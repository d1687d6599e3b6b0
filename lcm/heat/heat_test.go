package heat

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/vnfpkg"
)

func accessTo(cloud *heattest.Cloud) lcm.VimAccess {
	account := cloud.Account()
	return lcm.VimAccess{
		AuthURL: cloud.AuthURL(), Username: account.User, Password: lcm.Secret(account.Password), Project: account.Project,
		ProjectDomain: account.Domain, UserDomain: account.Domain,
	}
}

// planned is the deployment of the sample package at an instantiation level.
func planned(t *testing.T, driver *Driver, cloud *heattest.Cloud, level string) *lcm.Deployment {
	t.Helper()
	var archive bytes.Buffer
	if err := vnfpkg.BuildFS(t.Context(), samples.TwoVdu(), &archive); err != nil {
		t.Fatal(err)
	}
	csar, err := vnfpkg.OpenCSAR(bytes.NewReader(archive.Bytes()), int64(archive.Len()), vnfpkg.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	description, err := csar.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	flavour := description.Vnfd.Flavours["simple"]
	link := func(network string, cpds ...string) lcm.ExtVirtualLinkData {
		data := lcm.ExtVirtualLinkData{ID: network, ResourceID: cloud.NetworkID(network)}
		for _, cpd := range cpds {
			data.ExtCps = append(data.ExtCps, lcm.VnfExtCpData{CpdID: cpd})
		}
		return data
	}
	deployment, err := driver.Plan(t.Context(), lcm.PlanRequest{
		InstanceID: uuid.New(), Package: csar, Flavour: flavour, ScaleLevels: flavour.ScaleLevels(level),
		Request: &lcm.InstantiateRequest{FlavourID: "simple", InstantiationLevelID: level, ExtVirtualLinks: []lcm.ExtVirtualLinkData{
			link("net0", "controller_CP1", "worker_CP1"), link("net1", "controller_CP2", "worker_CP2"),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	deployment.Vim = accessTo(cloud)
	return deployment
}

// await polls until the stack is in a phase.
func await(t *testing.T, driver *Driver, deployment *lcm.Deployment, phase lcm.StackPhase) lcm.StackStatus {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, err := driver.Status(t.Context(), deployment)
		if err != nil {
			t.Fatal(err)
		}
		if status.Phase == phase {
			return status
		}
	}
	t.Fatalf("stack does not come to %s", phase)
	return lcm.StackStatus{}
}

func TestLevelsDecideHowManyWorkersThereAre(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	for level, workers := range map[string]int{"": 1, "instantiation_level_2": 2, "instantiation_level_3": 3} {
		deployment := planned(t, driver, cloud, level)
		id, err := driver.Create(t.Context(), deployment)
		if err != nil {
			t.Fatal(err)
		}
		deployment.StackID = id
		await(t, driver, deployment, lcm.StackComplete)
		resources, err := driver.Resources(t.Context(), deployment)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, resource := range resources {
			if resource.Name == "worker" && resource.Type == "OS::Nova::Server" {
				found++
				if resource.StackID == id || resource.PhysicalID == "" {
					t.Errorf("worker is in stack %s as %q", resource.StackID, resource.PhysicalID)
				}
			}
		}
		if found != workers {
			t.Errorf("level %q: %d workers, want %d", level, found, workers)
		}
	}
}

func TestCreateAdoptsWhatALostAnswerHasMade(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, driver, cloud, "")
	cloud.Inject(heattest.Fault{Method: http.MethodPost, Path: `/stacks$`, Times: 1, LoseReply: true})
	if _, err := driver.Create(t.Context(), deployment); !errors.As(err, new(*lcm.Unavailable)) {
		t.Fatalf("lost answer: %v", err)
	}
	id, err := driver.Create(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	deployment.StackID = id
	await(t, driver, deployment, lcm.StackComplete)
	if made := cloud.Calls()["POST /orchestration/v1/{project}/stacks"]; made != 2 {
		t.Errorf("%d calls to make a stack, want the lost and the refused one", made)
	}
	for range 2 {
		if err := driver.Delete(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		await(t, driver, deployment, lcm.StackAbsent)
	}
	if leaks := cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %+v", leaks)
	}
}

func TestFailedStackTellsWhichResourceAndWhyAndCanGoOn(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, driver, cloud, "")
	cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Name: "worker", Action: "CREATE", Times: 1,
		Reason: "ResourceInError: Went to status ERROR due to \"Message: No valid host was found.\""})
	id, err := driver.Create(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	deployment.StackID = id
	status := await(t, driver, deployment, lcm.StackFailed)
	if !strings.Contains(status.Reason, "No valid host") || !strings.Contains(status.Reason, "worker") {
		t.Errorf("reason %q", status.Reason)
	}
	again, err := driver.Create(t.Context(), deployment)
	if err != nil || again != id {
		t.Fatalf("second creation: %s, %v", again, err)
	}
	await(t, driver, deployment, lcm.StackComplete)
}

func TestRefusalsHaveTheVimsWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		spoil  func(cloud *heattest.Cloud, deployment *lcm.Deployment)
		words  string
		passes bool // whether it may pass by itself
	}{
		{"network", func(_ *heattest.Cloud, d *lcm.Deployment) {
			nfv, _ := d.Parameters["nfv"].(map[string]any)
			cps, _ := nfv["CP"].(map[string]any)
			cps["controller_CP1"] = map[string]any{"network": "none-such"}
		}, "none-such", false},
		{"password", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.Password = "wrong" }, "credentials", false},
		{"project", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.Project = "none-such" }, "credentials", false},
		{"region", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.Region = "Nowhere" }, "Nowhere", false},
		{"address", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.AuthURL = "http://127.0.0.1:1/v3" }, "connection refused", true},
		{"Heat answers 503", func(c *heattest.Cloud, _ *lcm.Deployment) {
			c.Inject(heattest.Fault{Path: `/orchestration/`, Status: http.StatusServiceUnavailable})
		}, "503", true},
		{"Heat hangs", func(c *heattest.Cloud, _ *lcm.Deployment) {
			c.Inject(heattest.Fault{Path: `/orchestration/`, Hang: true})
		}, "cannot be reached", true},
		{"Heat is down", func(c *heattest.Cloud, _ *lcm.Deployment) { c.SetDown("orchestration", true) }, "cannot be reached", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cloud := heattest.Start(t, heattest.Options{})
			driver := New(Config{Timeout: 300 * time.Millisecond})
			deployment := planned(t, driver, cloud, "")
			row.spoil(cloud, deployment)
			_, err := driver.Create(t.Context(), deployment)
			if err == nil || !strings.Contains(err.Error(), row.words) {
				t.Errorf("error %v does not say %q", err, row.words)
			}
			if passes := errors.As(err, new(*lcm.Unavailable)); passes != row.passes {
				t.Errorf("%v: passes %t", err, passes)
			}
			if strings.Contains(err.Error(), "devstack") || strings.Contains(err.Error(), "wrong") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestTokensAreRenewed(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, driver, cloud, "")
	for range 3 {
		if _, err := driver.Status(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		cloud.RevokeTokens()
	}
}

func TestRegions(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	regions, err := driver.Regions(t.Context(), accessTo(cloud))
	if err != nil || len(regions) != 1 || regions[0] != "RegionOne" {
		t.Errorf("regions %v, %v", regions, err)
	}
}

func TestCancelledCallIsNoFailureOfTheVim(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, driver, cloud, "")
	if _, err := driver.Status(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := driver.Status(ctx, deployment); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
}
