package server_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"vnfm/lcm/heat/heattest"
)

// tasks are the task resources of a VNF instance with a body that each of them takes.
var tasks = map[string]string{
	"instantiate":     `{"flavourId": "simple"}`,
	"scale":           `{"type": "SCALE_OUT", "aspectId": "worker_group"}`,
	"scale_to_level":  `{"instantiationLevelId": "instantiation_level_2"}`,
	"change_flavour":  `{"newFlavourId": "large"}`,
	"terminate":       `{"terminationType": "FORCEFUL"}`,
	"heal":            `{"cause": "test"}`,
	"operate":         `{"changeStateTo": "STOPPED"}`,
	"change_ext_conn": `{"extVirtualLinks": [{"id": "a", "resourceId": "b", "extCps": [{"cpdId": "worker_CP1", "cpConfig": [{}]}]}]}`,
}

// ofTasks makes a requirement of every task but those that are left out.
func ofTasks(name, instance string, status int, detail string, without ...string) []requirement {
	var rows []requirement
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		if !slices.Contains(without, task) {
			rows = append(rows, requirement{name + ": " + task, "POST", instance + "/" + task, tasks[task], nil, status, nil, detail})
		}
	}
	return rows
}

// accepted is a requirement for a task that starts an operation.
func accepted(name, task, body string) requirement {
	return requirement{name, "POST", "{instance}/" + task, body, nil, 202, []string{"Location: /vnflcm/v1/vnf_lcm_op_occs/[0-9a-f-]{36}"}, ""}
}

// operate starts an operation, which {opOcc} is from then on, and carries it out; its state and what the instance then shows are required.
func (p *place) operate(t *testing.T, row requirement, operation, instance []string) {
	t.Helper()
	t.Run(row.name, func(t *testing.T) {
		in := p.at(t)
		p.names["opOcc"] = in.check(t, row).Header.Get("Location")
		in.carryOut(p.names["opOcc"])
		in.check(t, requirement{method: "GET", path: "{opOcc}", status: 200, expect: operation})
		in.check(t, requirement{method: "GET", path: "{instance}", status: 200, expect: instance})
	})
}

func TestLifeOfAnInstance(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.registerVim()
	network := p.json(map[string]any{"extVirtualLinks": []any{p.link("net1", "worker_CP1")}})
	completed := func(operation string, more ...string) []string {
		return append(more, `operationState="COMPLETED"`, `operation="`+operation+`"`, "-error", "isCancelPending=false", "-cancelMode", "-_links/cancel",
			"-_links/retry", "_links/self/href", "_links/vnfInstance/href", "isAutomaticInvocation=false", "operationParams")
	}
	p.inOrder(t, slices.Concat(
		ofTasks("not instantiated", "{instance}", 409, "NOT_INSTANTIATED", "instantiate"),
		ofTasks("no such instance", "{instances}/{none}", 404, "{none}")))
	p.names["instance"] = p.instance(p.names["vnfd"])
	tag := p.expect(http.StatusOK, http.MethodGet, p.names["instance"], "").Header.Get("ETag")
	p.names["opOcc"] = p.start(p.names["instance"], "instantiate", p.instantiation())
	p.inOrder(t, append([]requirement{
		{"occurrence is there when 202 comes", "GET", "{opOcc}", "", nil, 200, []string{`operationState="STARTING"`, `operation="INSTANTIATE"`, "isCancelPending=false",
			"stateEnteredTime", "startTime", "_links/cancel/href", "-_links/retry", "-_links/rollback", "-_links/fail", "-_links/grant", "-grantId", "-error",
			`operationParams/additionalParams={"admin":{"password":"***"}}`}, ""},
		{"deletion while an operation is under way", "DELETE", "{instance}", "", nil, 409, nil, ""},
		{"modification while an operation is under way", "PATCH", "{instance}", `{"vnfInstanceName": "a"}`, nil, 409, nil, ""},
	}, ofTasks("while an operation is under way", "{instance}", 409, "", "instantiate")...))
	p.carryOut(p.names["opOcc"])
	p.inOrder(t, []requirement{
		{"instantiation completed", "GET", "{opOcc}", "", nil, 200, completed("INSTANTIATE", "resourceChanges/affectedVnfcs", `resourceChanges/affectedVnfcs/changeType="ADDED"`,
			"resourceChanges/affectedVirtualStorages/virtualStorageDescId", "resourceChanges/affectedVnfcs/metadata/stack_id"), ""},
		{"instantiated", "GET", "{instance}", "", nil, 200, []string{`instantiationState="INSTANTIATED"`, `instantiatedVnfInfo/vnfState="STARTED"`,
			`instantiatedVnfInfo/flavourId="simple"`, "instantiatedVnfInfo/extCpInfo/cpProtocolInfo", "instantiatedVnfInfo/extVirtualLinkInfo/resourceHandle/vimConnectionId",
			`instantiatedVnfInfo/scaleStatus=[{"aspectId":"worker_group","scaleLevel":0}]`, "instantiatedVnfInfo/vnfcResourceInfo/computeResource/resourceId",
			"instantiatedVnfInfo/virtualStorageResourceInfo/storageResource/resourceId", "vimConnectionInfo/vimType",
			`instantiatedVnfInfo/vnfVirtualLinkResourceInfo/vnfLinkPorts/cpInstanceType="VNFC_CP"`, "-_links/instantiate", "_links/terminate/href",
			"_links/scale/href", "_links/scaleToLevel/href", "_links/changeFlavour/href", "_links/heal/href", "_links/operate/href", "_links/changeExtConn/href"}, ""},
		{"tag of the former state", "PATCH", "{instance}", `{"vnfInstanceName": "a"}`, []string{"If-Match", tag}, 412, nil, ""},
		{"list without the large attributes", "GET", "{instances}?all_records=yes", "", nil, 200, []string{"-instantiatedVnfInfo", "-vimConnectionInfo", "-metadata"}, ""},
		{"list of operations without the large attributes", "GET", "{opOccs}", "", nil, 200, []string{"-operationParams", "-resourceChanges", "operationState"}, ""},
		{"list of operations with all attributes", "GET", "{opOccs}?all_fields", "", nil, 200, []string{"operationParams", "resourceChanges"}, ""},
		{"list of operations with one attribute", "GET", "{opOccs}?fields=resourceChanges/affectedVnfcs/vduId", "", nil, 200,
			[]string{"resourceChanges/affectedVnfcs/vduId", "-resourceChanges/affectedVirtualStorages", "-operationParams"}, ""},
		{"list of operations by a nested attribute", "GET", "{opOccs}?filter=(eq,resourceChanges/affectedVnfcs/changeType,ADDED)", "", nil, 200, []string{"id"}, ""},
		{"instantiated twice", "POST", "{instance}/instantiate", p.instantiation(), nil, 409, nil, "INSTANTIATED"},
		{"deletion of what is instantiated", "DELETE", "{instance}", "", nil, 409, nil, "INSTANTIATED"},
		{"scaling below the least level", "POST", "{instance}/scale", `{"type": "SCALE_IN", "aspectId": "worker_group"}`, nil, 400, nil, "worker_group"},
		{"scaling above the greatest level", "POST", "{instance}/scale", `{"type": "SCALE_OUT", "aspectId": "worker_group", "numberOfSteps": 99}`, nil, 400, nil, "worker_group"},
		{"unknown aspect", "POST", "{instance}/scale", `{"type": "SCALE_OUT", "aspectId": "none"}`, nil, 400, nil, "/aspectId"},
		{"unknown level", "POST", "{instance}/scale_to_level", `{"instantiationLevelId": "none"}`, nil, 400, nil, "/instantiationLevelId"},
		{"neither of two ways to tell a level", "POST", "{instance}/scale_to_level", `{}`, nil, 400, nil, "exactly one"},
		{"both ways to tell a level", "POST", "{instance}/scale_to_level",
			`{"instantiationLevelId": "instantiation_level_2", "scaleInfo": [{"aspectId": "worker_group", "scaleLevel": 1}]}`, nil, 400, nil, "exactly one"},
		{"unknown flavour", "POST", "{instance}/change_flavour", `{"newFlavourId": "none"}`, nil, 400, nil, "/newFlavourId"},
		{"timeout with a forceful end", "POST", "{instance}/terminate", `{"terminationType": "FORCEFUL", "gracefulTerminationTimeout": 1}`, nil, 400, nil, "/gracefulTerminationTimeout"},
		{"stop type of a start", "POST", "{instance}/operate", `{"changeStateTo": "STARTED", "stopType": "GRACEFUL"}`, nil, 400, nil, "/stopType"},
		{"no external link", "POST", "{instance}/change_ext_conn", `{"extVirtualLinks": []}`, nil, 400, nil, "/extVirtualLinks"},
	})
	p.operate(t, accepted("scale", "scale", `{"type": "SCALE_OUT", "aspectId": "worker_group"}`), completed("SCALE", "resourceChanges/affectedVnfcs/vduId"),
		[]string{`instantiatedVnfInfo/scaleStatus/scaleLevel=1`})
	p.operate(t, accepted("scale to level", "scale_to_level", `{"scaleInfo": [{"aspectId": "worker_group", "scaleLevel": 0}]}`),
		completed("SCALE_TO_LEVEL", `resourceChanges/affectedVnfcs/changeType="REMOVED"`), []string{`instantiatedVnfInfo/scaleStatus/scaleLevel=0`})
	p.operate(t, accepted("heal", "heal", `{}`), completed("HEAL"), []string{`instantiatedVnfInfo/vnfState="STARTED"`})
	p.operate(t, accepted("stop", "operate", `{"changeStateTo": "STOPPED"}`), completed("OPERATE"), []string{`instantiatedVnfInfo/vnfState="STOPPED"`})
	p.operate(t, accepted("start", "operate", `{"changeStateTo": "STARTED"}`), completed("OPERATE"), []string{`instantiatedVnfInfo/vnfState="STARTED"`})
	p.operate(t, accepted("change external connectivity", "change_ext_conn", network), completed("CHANGE_EXT_CONN", "changedExtConnectivity/resourceHandle/resourceId"),
		[]string{"instantiatedVnfInfo/extVirtualLinkInfo/id"})
	p.operate(t, accepted("change flavour", "change_flavour", `{"newFlavourId": "large", "extensions": {"a": 1}, "vnfConfigurableProperties": {"b": 2}}`),
		completed("CHANGE_FLAVOUR"),
		[]string{`instantiatedVnfInfo/flavourId="large"`, `extensions={"a":1}`, `vnfConfigurableProperties={"b":2}`})
	p.operate(t, requirement{"modify", "PATCH", "{instance}", `{"vnfInstanceName": "new", "metadata": {"a": {"b": 1, "c": null}, "password": "p"}}`,
		[]string{"Content-Type", "application/merge-patch+json"}, 202, []string{"Location: /vnflcm/v1/vnf_lcm_op_occs/.+"}, ""},
		completed("MODIFY_INFO", `changedInfo/vnfInstanceName="new"`, `changedInfo/metadata/password="***"`),
		[]string{`vnfInstanceName="new"`, `metadata={"a":{"b":1},"password":"p"}`})
	p.operate(t, requirement{"modify by removing", "PATCH", "{instance}", `{"metadata": {"a": null}}`, nil, 202, nil, ""},
		completed("MODIFY_INFO"), []string{"-metadata/a"})
	p.operate(t, accepted("terminate", "terminate", `{"terminationType": "FORCEFUL"}`), completed("TERMINATE", `resourceChanges/affectedVnfcs/changeType="REMOVED"`),
		[]string{`instantiationState="NOT_INSTANTIATED"`, "-instantiatedVnfInfo", "_links/instantiate/href", "-_links/terminate"})
	p.inOrder(t, slices.Concat([]requirement{
		{"deletion", "DELETE", "{instance}", "", nil, 204, []string{"-Location:"}, ""},
		{"deleted", "GET", "{instance}", "", nil, 404, nil, ""},
		{"deleted twice", "DELETE", "{instance}", "", nil, 404, nil, ""},
		{"operations stay readable", "GET", "{opOcc}", "", nil, 200, []string{`operationState="COMPLETED"`}, ""},
	}, ofTasks("deleted instance", "{instance}", 404, "")))
}

// TestStateMachine leads operations through failure and cancellation.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.registerVim()
	failing := func() {
		p.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1})
	}
	failedTemp := []string{`operationState="FAILED_TEMP"`, "error/status", "error/detail", "_links/retry/href", "_links/rollback/href", "_links/fail/href", "-_links/cancel"}
	notInstantiated := []string{`instantiationState="NOT_INSTANTIATED"`, "-instantiatedVnfInfo"}
	instantiate := accepted("instantiation that fails", "instantiate", p.instantiation())
	decisions := func(name string, status int, without ...string) []requirement {
		var rows []requirement
		for decision, body := range map[string]string{"retry": "", "rollback": "", "fail": "", "cancel": `{"cancelMode": "FORCEFUL"}`} {
			if !slices.Contains(without, decision) {
				rows = append(rows, requirement{name + ": " + decision, "POST", "{opOcc}/" + decision, body, nil, status, nil, ""})
			}
		}
		return rows
	}

	failing()
	p.operate(t, instantiate, failedTemp, notInstantiated)
	p.inOrder(t, slices.Concat([]requirement{
		{"cancellation of what waits for a decision", "POST", "{opOcc}/cancel", `{"cancelMode": "FORCEFUL"}`, nil, 409, nil, "FAILED_TEMP"},
		{"modification of what waits for a decision", "PATCH", "{instance}", `{"vnfInstanceName": "a"}`, nil, 409, nil, ""},
		{"deletion of what waits for a decision", "DELETE", "{instance}", "", nil, 409, nil, ""},
		{"retry with a body that nobody asked for", "POST", "{opOcc}/retry", "x", []string{"Content-Type", "text/csv"}, 202, []string{"Location: {opOcc}"}, ""},
		{"retried", "GET", "{opOcc}", "", nil, 200, []string{`operationState="PROCESSING"`, "_links/cancel/href", "-_links/retry", "error/detail"}, ""},
	}, decisions("not while it is under way", 409, "cancel")))
	p.carryOut(p.names["opOcc"])
	p.inOrder(t, slices.Concat([]requirement{
		{"completed after a retry", "GET", "{opOcc}", "", nil, 200, []string{`operationState="COMPLETED"`, "-error"}, ""},
	}, decisions("not when it is completed", 409)))
	p.operate(t, accepted("terminate", "terminate", tasks["terminate"]), []string{`operationState="COMPLETED"`}, notInstantiated)

	failing()
	p.operate(t, instantiate, failedTemp, notInstantiated)
	p.operate(t, requirement{"rollback", "POST", "{opOcc}/rollback", "", nil, 202, []string{"Location: {opOcc}"}, ""},
		[]string{`operationState="ROLLED_BACK"`, "error/detail", "-_links/retry", "-_links/cancel"}, notInstantiated)
	p.inOrder(t, decisions("not when it is rolled back", 409))

	failing()
	p.operate(t, instantiate, failedTemp, notInstantiated)
	p.inOrder(t, slices.Concat([]requirement{
		{"fail answers with the occurrence", "POST", "{opOcc}/fail", "", nil, 200, []string{`operationState="FAILED"`, "error/detail", "-_links/fail", "-_links/retry"}, ""},
	}, decisions("not when it has failed", 409)))

	p.names["instance"] = p.instance(p.names["vnfd"])
	p.names["opOcc"] = p.start(p.names["instance"], "instantiate", p.instantiation())
	p.inOrder(t, []requirement{
		{"mode of a cancellation", "POST", "{opOcc}/cancel", `{"cancelMode": "LATER"}`, nil, 400, nil, "/cancelMode"},
		{"cancellation without a mode", "POST", "{opOcc}/cancel", `{}`, nil, 400, nil, "/cancelMode"},
		{"cancellation", "POST", "{opOcc}/cancel", `{"cancelMode": "GRACEFUL"}`, nil, 202, nil, ""},
		{"cancellation is pending", "GET", "{opOcc}", "", nil, 200, []string{"isCancelPending=true", `cancelMode="GRACEFUL"`, `operationState="STARTING"`}, ""},
	})
	p.carryOut(p.names["opOcc"])
	p.inOrder(t, []requirement{
		{"cancelled in STARTING", "GET", "{opOcc}", "", nil, 200, []string{`operationState="ROLLED_BACK"`, "isCancelPending=false", "-cancelMode"}, ""},
		{"operations of all states are listed with 200", "GET", "{opOccs}?all_records=yes", "", nil, 200, []string{"operationState"}, ""},
	})
	p.names["opOcc"] = p.names["opOccs"] + "/" + p.names["none"]
	p.inOrder(t, decisions("no such operation", 404))
}

// TestLinksLeadSomewhere follows every link of every resource; one of a task has another method.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.registerVim()
	task := p.start(p.names["instance"], "instantiate", p.instantiation())
	starting := p.read(task)
	p.carryOut(task)
	for _, document := range []map[string]any{starting, p.read("{instance}"), p.read("{package}")} {
		links, _ := document["_links"].(map[string]any)
		for name, link := range links {
			href, _ := link.(map[string]any)["href"].(string)
			if a := p.do(http.MethodGet, href, ""); a.StatusCode != http.StatusOK && a.Header.Get("Allow") != "OPTIONS, POST" {
				t.Errorf("%s: %s %s", name, href, a.Status)
			}
		}
	}
}
