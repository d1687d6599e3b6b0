package lcm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vnfm/lcm"
	"vnfm/lcm/grant"
	"vnfm/lcm/grant/granttest"
)

// asking is an engine whose operations an NFVO has to grant.
func (b *bench) asking(nfvo *granttest.NFVO, runs lcm.RunStore, patience time.Duration) *lcm.Engine {
	b.t.Helper()
	options := grant.Options{URL: nfvo.URL(), Timeout: time.Second}
	source, err := options.Source()
	if err != nil {
		b.t.Fatal(err)
	}
	config := quick
	config.Grants, config.Patience = source, patience
	return lcm.NewEngine(runs, b.packages, b.vims, b.driver, b.drivers, config)
}

// do carries an operation out that the NFVO is asked for.
func (b *bench) do(nfvo *granttest.NFVO, instance *lcm.VnfInstance, start operate, request string) *lcm.Operation {
	b.t.Helper()
	operation, err := start(b.t.Context(), instance.ID, json.RawMessage(request))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.follow(b.asking(nfvo, b.db, time.Minute), operation.ID)
}

func TestWhatTheNFVODecidesHappens(t *testing.T) {
	t.Parallel()
	unknown := func(_ *lcm.GrantRequest, g *lcm.Grant) { g.AddResources[0].ResourceDefinitionID = "somebody-else's" }
	for _, row := range []struct {
		name     string
		replies  []granttest.Reply
		fill     func(*lcm.GrantRequest, *lcm.Grant)
		patience time.Duration
		state    lcm.OperationState
		title    string // of the operation's error
		status   int
		says     string
	}{
		{name: "granted", state: lcm.StateCompleted},
		{name: "granted after a while", replies: []granttest.Reply{granttest.Later(2)}, state: lcm.StateCompleted},
		{name: "refused", replies: []granttest.Reply{granttest.Refused("no room in any zone")}, state: lcm.StateRolledBack,
			title: "No resources", status: 403, says: "no room in any zone"},
		{name: "refused after a while", replies: []granttest.Reply{granttest.RefusedLater(1, "no room in any zone")}, state: lcm.StateRolledBack,
			title: "No resources", status: 403, says: "no room in any zone"},
		{name: "in trouble for a moment", replies: []granttest.Reply{granttest.Status(503), granttest.Silence()}, patience: time.Minute,
			state: lcm.StateCompleted},
		{name: "in trouble for too long", replies: slices.Repeat([]granttest.Reply{granttest.Status(500)}, 9), patience: time.Millisecond,
			state: lcm.StateRolledBack, title: "Out of reach", status: 503, says: "500 Internal Server Error"},
		{name: "does not understand", replies: []granttest.Reply{granttest.Status(400)}, state: lcm.StateRolledBack,
			title: "Grant refused", status: 400, says: "400 Bad Request"},
		{name: "answers nonsense", replies: []granttest.Reply{granttest.Says(201, `<html>"secret"`)}, state: lcm.StateRolledBack,
			title: "Wrong answer from the NFVO", status: 502, says: "no Grant"},
		{name: "grants other resources", fill: unknown, state: lcm.StateRolledBack,
			title: "Unusable grant", status: 422, says: "unknown or repeated are [somebody-else's]"},
		{name: "grants less", fill: func(_ *lcm.GrantRequest, g *lcm.Grant) { g.AddResources = g.AddResources[1:] },
			state: lcm.StateRolledBack, title: "Unusable grant", status: 422, says: "addResources"},
		{name: "grants something else", fill: func(_ *lcm.GrantRequest, g *lcm.Grant) { g.VnfLcmOpOccID = "other" },
			state: lcm.StateRolledBack, title: "Unusable grant", status: 422, says: `operation occurrence "other"`},
		{name: "grants a zone without a name", fill: func(_ *lcm.GrantRequest, g *lcm.Grant) { g.AddResources[0].ZoneID = "z" },
			state: lcm.StateRolledBack, title: "Unusable grant", status: 422, says: `zone "z"`},
		{name: "grants a VIM that is not registered", fill: func(_ *lcm.GrantRequest, g *lcm.Grant) {
			g.VimConnections = []lcm.VimConnectionInfo{{ID: "v", VimID: "none", VimType: "openstack"}}
		}, state: lcm.StateRolledBack, title: "Unusable grant", status: 422, says: "VimConnection id is not found: none"},
		{name: "grants two VIMs", fill: func(_ *lcm.GrantRequest, g *lcm.Grant) {
			g.AddResources[0].VimConnectionID, g.AddResources[1].VimConnectionID = "a", "b"
		}, state: lcm.StateRolledBack, title: "Unusable grant", status: 422, says: "a, b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b, nfvo := setup(t), granttest.Start(t)
			nfvo.Answer(row.replies...)
			nfvo.Fill(row.fill)
			instance := b.instance()
			operation, err := b.manager.Instantiate(t.Context(), instance.ID, b.request())
			if err != nil {
				t.Fatal(err)
			}
			ended := b.follow(b.asking(nfvo, b.db, row.patience), operation.ID)
			b.expect(ended, row.state)
			if row.state == lcm.StateCompleted {
				if ended.GrantID == "" || ended.GrantURI != nfvo.URL()+"/"+ended.GrantID || nfvo.Grants() != 1 {
					t.Errorf("grant %q at %q, %d were made", ended.GrantID, ended.GrantURI, nfvo.Grants())
				}
				return
			}
			problem := ended.Error
			if problem == nil || problem.Title != row.title || problem.Status != row.status || !strings.Contains(problem.Detail, row.says) {
				t.Errorf("error %+v, want %q, %d with %q", problem, row.title, row.status, row.says)
			}
			if ended.GrantID != "" {
				t.Errorf("an operation that did not happen has the grant %s", ended.GrantID)
			}
			b.leaveNothing()
			if err := b.manager.DeleteInstance(t.Context(), instance.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDeathWhileAskingForAGrant kills the process before each commit: the NFVO gets the same request again, and makes one grant.
func TestDeathWhileAskingForAGrant(t *testing.T) {
	t.Parallel()
	for kill := range 8 {
		t.Run(fmt.Sprintf("commit %d", kill+1), func(t *testing.T) {
			t.Parallel()
			b, nfvo := setup(t), granttest.Start(t)
			nfvo.Answer(granttest.Later(1))
			instance := b.instance()
			for i, operation := range []struct {
				start   operate
				request string
			}{
				{b.manager.Instantiate, string(b.request())},
				{b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`},
				{b.manager.Scale, `{"type": "SCALE_IN", "aspectId": "worker_group"}`},
			} {
				started, err := operation.start(t.Context(), instance.ID, json.RawMessage(operation.request))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = b.asking(nfvo, &dying{b.db, kill}, time.Minute).Run(t.Context(), started.ID)
				ended := b.follow(b.asking(nfvo, b.db, time.Minute), started.ID)
				b.expect(ended, lcm.StateCompleted)
				if nfvo.Grants() != i+1 || ended.GrantID == "" {
					t.Errorf("%d grants after %d operations, the last is %q", nfvo.Grants(), i+1, ended.GrantID)
				}
			}
		})
	}
}

// told shows what a request asks for, with existing resources by what the instance says they are, and checks its identifiers: those of
// existing resources before the operation, and those of new ones after it.
func told(t *testing.T, request *lcm.GrantRequest, before, after *lcm.InstantiatedVnfInfo) []string {
	t.Helper()
	ids := func(info *lcm.InstantiatedVnfInfo) map[string]string { // what is where in the VIM
		known := map[string]string{}
		if info == nil {
			return known
		}
		for _, vnfc := range info.VnfcResourceInfo {
			known[vnfc.ID] = vnfc.ComputeResource.ResourceID
		}
		for _, storage := range info.VirtualStorageResourceInfo {
			known[storage.ID] = storage.StorageResource.ResourceID
		}
		for _, link := range info.VnfVirtualLinkResourceInfo {
			known[link.ID] = link.NetworkResource.ResourceID
			for _, port := range link.VnfLinkPorts {
				known[port.ID] = port.ResourceHandle.ResourceID
			}
		}
		return known
	}
	was, is := ids(before), ids(after)
	lines := []string{}
	for _, list := range []struct {
		name        string
		definitions []lcm.ResourceDefinition
	}{{"add", request.AddResources}, {"remove", request.RemoveResources}, {"update", request.UpdateResources}} {
		for _, definition := range list.definitions {
			if definition.Resource != nil && was[definition.ID] != definition.Resource.ResourceID {
				t.Errorf("%s %+v: the instance has %q", list.name, *definition.Resource, was[definition.ID])
			}
			if _, made := is[definition.ID]; made != (list.name != "remove") {
				t.Errorf("%s %s %s: afterwards the instance has it: %t", list.name, definition.Type, definition.ResourceTemplateID, made)
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", list.name, definition.Type, definition.ResourceTemplateID))
		}
	}
	slices.Sort(lines)
	return lines
}

// each are the lines for an instance of the VDUs of the sample.
func each(verb string, vdus ...string) []string {
	lines := []string{}
	for _, vdu := range vdus {
		lines = append(lines, verb+" COMPUTE "+vdu, verb+" LINKPORT "+vdu+"_CP1", verb+" LINKPORT "+vdu+"_CP2")
		if vdu == "controller" {
			lines = append(lines, verb+" STORAGE controller_volume")
		}
	}
	slices.Sort(lines)
	return lines
}

func TestGrantRequestOfEveryOperation(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	instance := b.instance()
	var params map[string]any
	if err := json.Unmarshal(b.request(), &params); err != nil {
		t.Fatal(err)
	}
	params["instantiationLevelId"] = "instantiation_level_2"
	params["additionalParams"] = map[string]any{"size": "big", "admin": map[string]any{"password": "streng-geheim"}}
	request, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	const moved = `{"extVirtualLinks": [{"id": "moved", "resourceId": "%s", "extCps": [{"cpdId": "worker_CP2", "cpConfig": []}]}]}`
	controller := func(info *lcm.InstantiatedVnfInfo) string {
		for _, vnfc := range info.VnfcResourceInfo {
			if vnfc.VduID == "controller" {
				return vnfc.ID
			}
		}
		return ""
	}
	fixed := func(request string) func(*lcm.InstantiatedVnfInfo) string {
		return func(*lcm.InstantiatedVnfInfo) string { return request }
	}
	for _, row := range []struct {
		start   operate
		request func(*lcm.InstantiatedVnfInfo) string
		want    []string
	}{
		{b.manager.Instantiate, fixed(string(request)), each("add", "controller", "worker", "worker")},
		{b.manager.Scale, fixed(`{"type": "SCALE_OUT", "aspectId": "worker_group"}`), each("add", "worker")},
		{b.manager.Scale, fixed(`{"type": "SCALE_IN", "aspectId": "worker_group"}`), each("remove", "worker")},
		{b.manager.ScaleToLevel, fixed(`{"instantiationLevelId": "instantiation_level_3"}`), each("add", "worker")},
		{b.manager.ScaleToLevel, fixed(`{"instantiationLevelId": "instantiation_level_1"}`), each("remove", "worker", "worker")},
		{b.manager.ChangeExtConn, fixed(fmt.Sprintf(moved, b.cloud.NetworkID("net_mgmt"))), []string{"update LINKPORT worker_CP2"}},
		{b.manager.Heal, func(info *lcm.InstantiatedVnfInfo) string { return `{"vnfcInstanceId": ["` + controller(info) + `"]}` },
			[]string{"update COMPUTE controller", "update STORAGE controller_volume"}},
		{b.manager.Heal, func(info *lcm.InstantiatedVnfInfo) string {
			return `{"vnfcInstanceId": "` + controller(info) + `", "additionalParams": {"tacker_extension_heal_include_block_storage": false}}`
		}, []string{"update COMPUTE controller"}},
		{b.manager.ChangeFlavour, fixed(`{"newFlavourId": "large"}`),
			slices.Concat(each("add", "worker", "worker"), each("remove", "worker"), []string{"update COMPUTE controller"})},
		{b.manager.Heal, fixed(`{}`), slices.Concat(each("add", "controller", "worker", "worker"), each("remove", "controller", "worker", "worker"))},
		{b.manager.Terminate, fixed(`{"terminationType": "FORCEFUL"}`), each("remove", "controller", "worker", "worker")},
	} {
		before := b.read(instance).InstantiatedVnfInfo
		b.expect(b.do(nfvo, instance, row.start, row.request(before)), lcm.StateCompleted)
		requests := nfvo.Requests()
		asked := requests[len(requests)-1]
		slices.Sort(row.want)
		if diff := cmp.Diff(row.want, told(t, asked, before, b.read(instance).InstantiatedVnfInfo)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", asked.Operation, diff)
		}
	}
	first := nfvo.Requests()[0]
	first.AddResources, first.VnfLcmOpOccID = nil, ""
	want := &lcm.GrantRequest{
		VnfInstanceID: instance.ID.String(), VnfdID: instance.VnfdID, FlavourID: "simple", Operation: lcm.OpInstantiate,
		InstantiationLevelID: "instantiation_level_2",
		AdditionalParams:     map[string]any{"size": "big", "admin": map[string]any{"password": "***"}},
		Links: lcm.GrantRequestLinks{
			VnfLcmOpOcc: first.Links.VnfLcmOpOcc, VnfInstance: lcm.Link{Href: "/vnflcm/v1/vnf_instances/" + instance.ID.String()},
		},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first request, -want +got:\n%s", diff)
	}
	b.leaveNothing()
}

// deployment is what the database has sealed of an instance.
func (b *bench) deployment(instance *lcm.VnfInstance) *lcm.Deployment {
	b.t.Helper()
	operation, err := b.manager.Terminate(b.t.Context(), instance.ID, json.RawMessage(`{"terminationType": "FORCEFUL"}`))
	if err != nil {
		b.t.Fatal(err)
	}
	run, err := b.db.AcquireRun(context.WithoutCancel(b.t.Context()), operation.ID, time.Millisecond)
	if err != nil {
		b.t.Fatal(err)
	}
	return run.Deployment
}

func TestGrantIsApplied(t *testing.T) {
	t.Parallel()
	b, nfvo := setup(t), granttest.Start(t)
	b.manager.ExpectGrants()
	known, err := b.vims.Vims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nfvo.Fill(func(request *lcm.GrantRequest, g *lcm.Grant) {
		if request.Operation != lcm.OpInstantiate {
			return
		}
		g.VimConnections = []lcm.VimConnectionInfo{
			{ID: "unused", VimID: "00000000-0000-4000-8000-000000000000", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
			{ID: "granted", VimID: known[0].ID.String(), VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
		}
		g.Zones = []lcm.ZoneInfo{{ID: "z1", ZoneID: "nova"}}
		for i := range g.AddResources {
			g.AddResources[i].VimConnectionID = "granted"
			if request.AddResources[i].Type == lcm.ResourceCompute {
				g.AddResources[i].ZoneID = "z1"
			}
		}
		g.VimAssets.ComputeResourceFlavours = []lcm.VimComputeResourceFlavour{{VnfdVirtualComputeDescID: "worker", VimFlavourID: "m1.small"}}
		g.ExtVirtualLinks = []lcm.ExtVirtualLinkData{{ID: "of-the-nfvo", ResourceID: b.cloud.NetworkID("net1"),
			ExtCps: []lcm.VnfExtCpData{{CpdID: "controller_CP2"}, {CpdID: "worker_CP2"}}}}
		g.AdditionalParams = map[string]any{"size": "small", "admin": map[string]any{"password": "***", "name": "root"}}
	})
	instance := b.instance()
	request := fmt.Sprintf(`{"flavourId": "simple",
		"extVirtualLinks": [{"id": "net0", "resourceId": %q, "extCps": [{"cpdId": "controller_CP1"}, {"cpdId": "worker_CP1"}]}],
		"additionalParams": {"size": "big", "colour": "red", "admin": {"password": "streng-geheim"}}}`, b.cloud.NetworkID("net0"))
	b.expect(b.do(nfvo, instance, b.manager.Instantiate, request), lcm.StateCompleted)
	// Another grant without zones leaves them as they are.
	b.expect(b.do(nfvo, instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`), lcm.StateCompleted)

	info := b.read(instance).InstantiatedVnfInfo
	for _, vnfc := range info.VnfcResourceInfo {
		if vnfc.ZoneID != "nova" {
			t.Errorf("%s is in zone %q", vnfc.VduID, vnfc.ZoneID)
		}
	}
	if links := len(info.ExtVirtualLinkInfo); links != 2 || info.ExtVirtualLinkInfo[1].ID != "of-the-nfvo" {
		t.Errorf("external links %+v", info.ExtVirtualLinkInfo)
	}
	deployment := b.deployment(instance)
	if deployment.VimConnectionInfo[0].ID != "granted" {
		t.Errorf("VIM connections %+v", deployment.VimConnectionInfo)
	}
	params := map[string]any{"size": "small", "colour": "red", "admin": map[string]any{"password": "streng-geheim", "name": "root"}}
	if diff := cmp.Diff(params, deployment.Request.AdditionalParams); diff != "" {
		t.Errorf("parameters, -want +got:\n%s", diff)
	}
	nfv, _ := deployment.Parameters["nfv"].(map[string]any)
	vdus, _ := nfv["VDU"].(map[string]any)
	worker, _ := vdus["worker"].(map[string]any)
	if worker["flavor"] != "m1.small" {
		t.Errorf("parameters of the workers: %v", worker)
	}
	for name, template := range map[string]string{"top": deployment.Template, "nested": deployment.Files["simple_nested_worker.yaml"]} {
		if !strings.Contains(template, "availability_zone: nova\n") {
			t.Errorf("the %s template has no zone:\n%s", name, template)
		}
	}
}

// TestGrantCannotDisturbWhatStays has the NFVO place a new worker where the old ones are not: Heat would replace them all.
func TestGrantCannotDisturbWhatStays(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(*lcm.GrantRequest, *lcm.Grant){
		"zone": func(_ *lcm.GrantRequest, g *lcm.Grant) {
			g.Zones, g.AddResources[0].ZoneID = []lcm.ZoneInfo{{ID: "z", ZoneID: "elsewhere"}}, "z"
		},
		"VIM": func(_ *lcm.GrantRequest, g *lcm.Grant) {
			g.VimConnections = []lcm.VimConnectionInfo{{ID: "other", VimID: "00000000-0000-4000-8000-000000000000", VimType: "openstack"}}
			g.AddResources[0].VimConnectionID = "other"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, nfvo := setup(t), granttest.Start(t)
			instance := b.instantiated()
			before := maps.Clone(servers(instance, "worker"))
			nfvo.Fill(fill)
			ended := b.do(nfvo, instance, b.manager.Scale, `{"type": "SCALE_OUT", "aspectId": "worker_group"}`)
			b.expect(ended, lcm.StateRolledBack)
			if ended.Error == nil || ended.Error.Title != "Unusable grant" {
				t.Errorf("error %+v", ended.Error)
			}
			if diff := cmp.Diff(before, servers(b.read(instance), "worker")); diff != "" {
				t.Errorf("workers, -before +after:\n%s", diff)
			}
		})
	}
}
