package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"vnfm/api/peer/peertest"
	"vnfm/lcm"
	"vnfm/lcm/grant/granttest"
	"vnfm/lcm/heat/heattest"
)

// asCommand makes the test binary behave as vnfm itself, so that tests have real processes to stop and to kill.
const asCommand = "VNFM_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	// Most of these tests wait for processes most of the time.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(6, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestLifeOfAVnf(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve()
	c.registerVim(p)
	instance := c.instance(p)

	started := p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil)
	p.expect(http.StatusConflict, http.MethodPost, instance+"/instantiate", c.instantiation(), nil)
	p.expect(http.StatusConflict, http.MethodDelete, instance, nil, nil)
	p.await(started.Header.Get("Location"), "COMPLETED")

	var shown struct {
		InstantiationState  string
		InstantiatedVnfInfo struct {
			VnfcResourceInfo []struct {
				VduID           string
				ComputeResource struct{ ResourceID string }
			}
			VirtualStorageResourceInfo []any
			ExtCpInfo                  []any
		}
	}
	p.expect(http.StatusOK, http.MethodGet, instance, nil, &shown)
	info := shown.InstantiatedVnfInfo
	if shown.InstantiationState != "INSTANTIATED" || len(info.VnfcResourceInfo) != 2 || len(info.VirtualStorageResourceInfo) != 1 ||
		len(info.ExtCpInfo) != 4 {
		t.Errorf("instantiated: %+v", shown)
	}
	p.expect(http.StatusConflict, http.MethodDelete, instance, nil, nil)

	ended := p.expect(http.StatusAccepted, http.MethodPost, instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"}, nil)
	p.await(ended.Header.Get("Location"), "COMPLETED")
	p.expect(http.StatusNoContent, http.MethodDelete, instance, nil, nil)
	p.expect(http.StatusNotFound, http.MethodGet, instance, nil, nil)
	c.leaveNothing()
}

func TestOperationsThatAnNFVOGrants(t *testing.T) {
	t.Parallel()
	c, nfvo := newCluster(t, heattest.Options{}), granttest.Start(t)
	password := peertest.File(t, "sehr-geheim")
	p := c.serve("--grant-url", nfvo.URL(), "--grant-username", "vnfm", "--grant-password-file", password, "--log-level", "debug")
	c.registerVim(p)
	instance := c.instance(p)
	type granted struct {
		GrantID string
		Links   struct{ Grant struct{ Href string } } `json:"_links"`
		Error   struct{ Detail string }
	}
	operate := func(task string, body any, state string) granted {
		t.Helper()
		location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/"+task, body, nil).Header.Get("Location")
		p.await(location, state)
		var shown granted
		p.expect(http.StatusOK, http.MethodGet, location, nil, &shown)
		return shown
	}
	nfvo.Answer(granttest.Refused("no room in any zone"))
	if shown := operate("instantiate", c.instantiation(), "ROLLED_BACK"); shown.GrantID != "" || shown.Links.Grant.Href != "" ||
		!strings.Contains(shown.Error.Detail, "no room in any zone") {
		t.Errorf("refused: %+v", shown)
	}
	nfvo.Answer(granttest.Later(1))
	// What the NFVO says about networks need not be in the request.
	request := c.instantiation()
	links := request["extVirtualLinks"]
	request["extVirtualLinks"] = []any{}
	nfvo.Fill(func(asked *lcm.GrantRequest, g *lcm.Grant) {
		encoded, err := json.Marshal(links)
		if err == nil && asked.Operation == lcm.OpInstantiate {
			err = json.Unmarshal(encoded, &g.ExtVirtualLinks)
			account := c.cloud.Account()
			g.VimConnections = []lcm.VimConnectionInfo{{ID: "of-the-nfvo", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3",
				InterfaceInfo: map[string]any{"endpoint": c.cloud.AuthURL()},
				AccessInfo: map[string]any{"username": account.User, "password": account.Password, "project": account.Project,
					"projectDomain": account.Domain, "userDomain": account.Domain},
			}}
		}
		if err != nil {
			t.Error(err)
		}
	})
	if shown := operate("instantiate", request, "COMPLETED"); shown.GrantID == "" || shown.Links.Grant.Href != nfvo.URL()+"/"+shown.GrantID {
		t.Errorf("granted: %+v", shown)
	}
	var shown json.RawMessage
	p.expect(http.StatusOK, http.MethodGet, instance, nil, &shown)
	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--no-owner", c.database).CombinedOutput()
	if err != nil || !bytes.Contains(shown, []byte(`"of-the-nfvo"`)) {
		t.Errorf("%v, instance: %s", err, shown)
	}
	operate("terminate", map[string]any{"terminationType": "FORCEFUL"}, "COMPLETED")
	if len(nfvo.Requests()) != 3 {
		t.Errorf("%d grant requests for 3 operations", len(nfvo.Requests()))
	}
	c.leaveNothing()
	p.kill()
	for where, text := range map[string][]byte{"the instance": shown, "the database": dump, "the log": []byte(p.log.String())} {
		for _, secret := range []string{"sehr-geheim", "streng-geheim", c.cloud.Account().Password} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds %q", where, secret)
			}
		}
	}
}

func TestFailureNamesTheCauseAndCanBeRolledBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		prepare func(c *cluster, request map[string]any)
		detail  string
	}{
		{"network that does not exist", func(_ *cluster, request map[string]any) {
			link, _ := request["extVirtualLinks"].([]any)[0].(map[string]any)
			link["resourceId"] = "5e7aa5b5-0000-4000-8000-000000000000"
		}, "5e7aa5b5-0000-4000-8000-000000000000"},
		{"quota", func(c *cluster, _ map[string]any) { c.cloud.SetInstanceQuota(1) }, "Quota exceeded"},
		{"no host", func(c *cluster, _ map[string]any) {
			c.cloud.FailResource(heattest.ResourceFault{
				Type: "OS::Nova::Server", Action: "CREATE", Times: 1,
				Reason: "ResourceInError: Went to status ERROR due to \"Message: No valid host was found.\"",
			})
		}, "No valid host was found"},
		{"Heat is down", func(c *cluster, _ map[string]any) { c.cloud.SetDown("orchestration", true) }, "cannot be reached"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, heattest.Options{})
			p := c.serve("--vim-patience", "1s")
			c.registerVim(p)
			instance := c.instance(p)
			request := c.instantiation()
			row.prepare(c, request)
			location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", request, nil).Header.Get("Location")
			failed := p.await(location, "FAILED_TEMP")
			if failed.Error == nil || !strings.Contains(failed.Error.Detail, row.detail) {
				t.Errorf("error %+v does not name %q", failed.Error, row.detail)
			}
			c.cloud.SetDown("orchestration", false)
			c.cloud.SetInstanceQuota(0)
			p.expect(http.StatusAccepted, http.MethodPost, location+"/rollback", nil, nil)
			p.await(location, "ROLLED_BACK")
			c.leaveNothing()
			p.expect(http.StatusNoContent, http.MethodDelete, instance, nil, nil)
		})
	}
}

func TestRetryGoesOnWhereItFailed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve("--vim-patience", "1s")
	c.registerVim(p)
	instance := c.instance(p)
	c.cloud.SetDown("orchestration", true)
	location := p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	p.await(location, "FAILED_TEMP")
	c.cloud.SetDown("orchestration", false)
	p.expect(http.StatusAccepted, http.MethodPost, location+"/retry", nil, nil)
	p.await(location, "COMPLETED")
	p.expect(http.StatusConflict, http.MethodPost, location+"/retry", nil, nil)
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	delays := heattest.Delays{"OS::Nova::Server": {Create: 4 * time.Second, Delete: 4 * time.Second}}
	for _, row := range []struct {
		name  string
		stop  func(p *process)
		other bool // whether a second process runs already
	}{
		{"kill -9, started again", (*process).kill, false},
		{"kill -9, another process goes on", (*process).kill, true},
		{"SIGTERM, started again", (*process).terminate, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, heattest.Options{Delays: delays})
			first := c.serve()
			c.registerVim(first)
			instance := c.instance(first)
			var second *process
			if row.other {
				second = c.serve()
			}
			follow := func(task string, body any) {
				location := first.expect(http.StatusAccepted, http.MethodPost, instance+"/"+task, body, nil).Header.Get("Location")
				first.await(location, "PROCESSING")
				row.stop(first)
				if second == nil {
					second = c.serve()
				}
				second.await(location, "COMPLETED")
			}
			follow("instantiate", c.instantiation())
			if servers := len(c.servers()); servers != 2 {
				t.Errorf("%d servers were made, want the 2 of one stack", servers)
			}
			first, second = second, nil
			follow("terminate", map[string]any{"terminationType": "FORCEFUL"})
			c.leaveNothing()
		})
	}
}

func TestDemoWalksToItsEnd(t *testing.T) {
	t.Parallel()
	cmd := command(t, "demo", "--once", "--listen", freeAddress(t), "--sim-listen", freeAddress(t), "--sim-delay", "10ms")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("demo: %v\n%s", err, output)
	}
	for _, line := range []string{
		"ONBOARDED", "instantiate COMPLETED", "VNFC    controller", "rollback    ROLLED_BACK", "retry       COMPLETED", "heal        COMPLETED", "terminate   COMPLETED",
		"VIM     kubernetes", " has made the cluster as master", " has joined as worker", " from etcd", " drains worker",
	} {
		if !strings.Contains(string(output), line) {
			t.Errorf("demo does not tell %q:\n%s", line, output)
		}
	}
}

func TestPackageThatIsNotSignedAsItMustBeIsInvalid(t *testing.T) {
	t.Parallel()
	output, err := command(t, "package", "validate", "samples/two-vdu", "--require-signed-packages").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(output), "not signed") {
		t.Errorf("%v: %s", err, output)
	}
	if output, err := command(t, "package", "validate", "samples/two-vdu").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, args, option string }{
		{"address that others reach", "serve --listen 0.0.0.0:9890", "--listen"},
		{"database without a key", "serve --database-url postgres://127.0.0.1/none", "--secret-key-file"},
		{"half of the access to an NFVO", "serve --grant-url https://nfvo/grant/v1/grants --grant-username me", "--grant-password-file"},
		{"unknown option", "serve --colour", "--colour"},
		{"package that is none", "package validate go.mod", "go.mod"},
		{"trust store that is none", "serve --package-trust-store go.mod", "--package-trust-store"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			output, err := command(t, strings.Fields(row.args)...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(output), row.option) {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}
