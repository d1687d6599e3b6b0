package heat

import (
	"bytes"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm"
	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/vnfpkg"
)

const topTemplate = "BaseHOT/simple/simple_top.yaml"

func accessTo(cloud *heattest.Cloud) lcm.VimAccess {
	account := cloud.Account()
	return lcm.VimAccess{
		AuthURL: cloud.AuthURL(), Username: account.User, Password: lcm.Secret(account.Password), Project: account.Project,
		ProjectDomain: account.Domain, UserDomain: account.Domain,
	}
}

// sample returns the files of the sample package.
func sample(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	tree := samples.TwoVdu()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files[name] = &fstest.MapFile{Data: content}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// plan plans a deployment of a package's flavour simple; networks are named in the VIM's way.
func plan(t *testing.T, files fstest.MapFS, level string, network func(string) string) (*lcm.Deployment, error) {
	t.Helper()
	return planWith(t, files, level, network, lcm.Assets{})
}

// planWith is plan with assets of the VIM.
func planWith(t *testing.T, files fstest.MapFS, level string, network func(string) string, assets lcm.Assets) (*lcm.Deployment, error) {
	t.Helper()
	var archive bytes.Buffer
	if err := vnfpkg.BuildFS(t.Context(), files, &archive); err != nil {
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
	link := func(name string, cpds ...string) lcm.ExtVirtualLinkData {
		data := lcm.ExtVirtualLinkData{ID: name, ResourceID: network(name)}
		for _, cpd := range cpds {
			data.ExtCps = append(data.ExtCps, lcm.VnfExtCpData{CpdID: cpd})
		}
		return data
	}
	return New(Config{}).Plan(t.Context(), lcm.PlanRequest{
		InstanceID: uuid.New(), Package: csar, Flavour: flavour, ScaleLevels: flavour.ScaleLevels(level), Assets: assets,
		Request: &lcm.InstantiateRequest{FlavourID: "simple", InstantiationLevelID: level, ExtVirtualLinks: []lcm.ExtVirtualLinkData{
			link("net0", "controller_CP1", "worker_CP1"), link("net1", "controller_CP2", "worker_CP2"),
		}},
	})
}

// planned is the deployment of the sample package at an instantiation level.
func planned(t *testing.T, cloud *heattest.Cloud, level string) *lcm.Deployment {
	t.Helper()
	deployment, err := plan(t, sample(t), level, cloud.NetworkID)
	if err != nil {
		t.Fatal(err)
	}
	deployment.Vim = accessTo(cloud)
	return deployment
}

// await polls until the stack is in a phase.
func await(t *testing.T, driver *Driver, deployment *lcm.Deployment, phase lcm.StackPhase) lcm.StackStatus {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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

// made makes the stack of a deployment and waits for it.
func made(t *testing.T, driver *Driver, deployment *lcm.Deployment) {
	t.Helper()
	id, err := driver.Create(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	deployment.StackID = id
	await(t, driver, deployment, lcm.StackComplete)
}
