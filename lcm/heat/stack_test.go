package heat

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
)

func TestLevelsDecideHowManyWorkersThereAre(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	for level, workers := range map[string]int{"": 1, "instantiation_level_2": 2, "instantiation_level_3": 3} {
		deployment := planned(t, cloud, level)
		made(t, driver, deployment)
		resources, err := driver.Resources(t.Context(), deployment)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, resource := range resources {
			if resource.Name == "worker" && resource.Type == "OS::Nova::Server" {
				found++
				if resource.StackID == deployment.StackID || resource.PhysicalID == "" {
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
	deployment := planned(t, cloud, "")
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
	deployment := planned(t, cloud, "")
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

// unknownNetwork connects a deployment to a network that does not exist.
func unknownNetwork(deployment *lcm.Deployment) {
	nfv, _ := deployment.Parameters["nfv"].(map[string]any)
	cps, _ := nfv["CP"].(map[string]any)
	cps["controller_CP1"] = map[string]any{"network": "none-such", "fixed_ips": []any{}}
}

func TestRefusalsHaveTheVimsWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		spoil  func(cloud *heattest.Cloud, deployment *lcm.Deployment)
		words  string
		passes bool // whether it may pass by itself
	}{
		{"network", func(_ *heattest.Cloud, d *lcm.Deployment) { unknownNetwork(d) }, "none-such", false},
		{"password", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.Password = "wrong" }, "credentials", false},
		{"project", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.Project = "none-such" }, "credentials", false},
		{"region", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.Region = "Nowhere" }, "Nowhere", false},
		{"address", func(_ *heattest.Cloud, d *lcm.Deployment) { d.Vim.AuthURL = "http://127.0.0.1:1/v3" }, "connection refused", true},
		{"Heat answers 503", func(c *heattest.Cloud, _ *lcm.Deployment) {
			c.Inject(heattest.Fault{Path: `/orchestration/`, Status: http.StatusServiceUnavailable})
		}, "503", true},
		{"Heat asks for patience", func(c *heattest.Cloud, _ *lcm.Deployment) {
			c.Inject(heattest.Fault{Path: `/orchestration/`, Status: http.StatusTooManyRequests})
		}, "429", true},
		{"Heat hangs", func(c *heattest.Cloud, _ *lcm.Deployment) {
			c.Inject(heattest.Fault{Path: `/orchestration/`, Hang: true})
		}, "cannot be reached", true},
		{"Heat is down", func(c *heattest.Cloud, _ *lcm.Deployment) { c.SetDown("orchestration", true) }, "cannot be reached", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cloud := heattest.Start(t, heattest.Options{})
			driver := New(Config{Timeout: 2 * time.Second})
			deployment := planned(t, cloud, "")
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

func TestCancelledCallIsNoFailureOfTheVim(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, cloud, "")
	if _, err := driver.Status(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := driver.Status(ctx, deployment); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
}

func TestQuotaIsNamedAsTheReason(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{InstanceQuota: 1})
	driver := New(Config{})
	deployment := planned(t, cloud, "")
	id, err := driver.Create(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	deployment.StackID = id
	status := await(t, driver, deployment, lcm.StackFailed)
	if !strings.Contains(status.Reason, "Quota exceeded for instances") || !strings.Contains(status.Reason, "(OS::Nova::Server) is CREATE_FAILED") {
		t.Errorf("reason %q", status.Reason)
	}
}

func TestNameOfAStackThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	former := planned(t, cloud, "")
	made(t, driver, former)
	cloud.SetDelays(heattest.Delays{"OS::Nova::Server": {Delete: time.Second}})
	if err := driver.Delete(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	fresh := *former
	fresh.StackID = ""
	if _, err := driver.Create(t.Context(), &fresh); !errors.As(err, new(*lcm.Unavailable)) {
		t.Fatalf("while the former is there: %v", err)
	}
	await(t, driver, former, lcm.StackAbsent)
	made(t, driver, &fresh)
	if fresh.StackID == former.StackID {
		t.Error("the stack that was deleted was adopted")
	}
	if status, err := driver.Status(t.Context(), former); err != nil || status.Phase != lcm.StackAbsent {
		t.Errorf("the former is %+v, %v", status, err)
	}
	if err := driver.Delete(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	if status, err := driver.Status(t.Context(), &fresh); err != nil || status.Phase != lcm.StackComplete {
		t.Errorf("the deletion of the former has changed the fresh one: %+v, %v", status, err)
	}
}

func TestDeletionThatFailsCanBeRepeated(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	deployment := planned(t, cloud, "")
	made(t, driver, deployment)
	cloud.FailResource(heattest.ResourceFault{Type: "OS::Neutron::Port", Name: "controller_CP1", Action: "DELETE", Times: 1, Reason: "port is in use"})
	if err := driver.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	status := await(t, driver, deployment, lcm.StackFailed)
	if status.Action != "DELETE" || !strings.Contains(status.Reason, "port is in use") {
		t.Errorf("status %+v", status)
	}
	if _, err := driver.Create(t.Context(), deployment); !errors.As(err, new(*lcm.Unavailable)) {
		t.Errorf("creation in place of what cannot be deleted: %v", err)
	}
	await(t, driver, deployment, lcm.StackAbsent)
	if leaks := cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %+v", leaks)
	}
}

func TestStackThatNeverWas(t *testing.T) {
	t.Parallel()
	cloud := heattest.Start(t, heattest.Options{})
	driver := New(Config{})
	for _, id := range []string{"", "5f3b8e2a-3c53-4a3e-9d8a-2f1b6a0c7d11"} {
		deployment := planned(t, cloud, "")
		deployment.StackID = id
		if status, err := driver.Status(t.Context(), deployment); err != nil || status.Phase != lcm.StackAbsent {
			t.Errorf("status %+v, %v", status, err)
		}
		if err := driver.Delete(t.Context(), deployment); err != nil {
			t.Errorf("deletion: %v", err)
		}
	}
}

func TestWordsOfAPeerAreBounded(t *testing.T) {
	t.Parallel()
	if words := lcm.Legible("a\x00b"); words != "ab" {
		t.Errorf("%q", words)
	}
	if words := lcm.Legible(strings.Repeat("ä", lcm.MaxWords)); len(words) > lcm.MaxWords+10 || !utf8.ValidString(words) {
		t.Errorf("%d bytes, valid: %t", len(words), utf8.ValidString(words))
	}
}
