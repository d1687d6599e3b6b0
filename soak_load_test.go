package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/vnfpkg"
)

const (
	instancesPath  = "/vnflcm/v1/vnf_instances"
	operationsPath = "/vnflcm/v1/vnf_lcm_op_occs"
	packagesPath   = "/vnfpkgm/v1/vnf_packages"
)

// life is a client that leads VNFs through their lives, one after the other.
type life struct {
	*soakClient
	instance string
	known    map[string]bool // the operations of this instance
	given    bool            // an operation was given up, so that the instance is of no further use
}

// chance is true so many times out of a hundred.
func chance(percent int) bool { return rand.IntN(100) < percent }

// run leads lives until the time is over. The last VNF stays as it is then.
func (l *life) run() {
	for {
		name := "soak-" + uuid.NewString()
		l.instance = l.create(instancesPath, map[string]any{"vnfdId": l.vnfd, "vnfInstanceName": name}, func() string {
			return l.find(instancesPath, "(eq,vnfInstanceName,"+name+")")
		})
		if l.instance == "" {
			return
		}
		l.known, l.given = map[string]bool{}, false
		l.identifiers.add(path.Base(l.instance))
		for range 1 + rand.IntN(8) {
			if l.over() || l.given {
				break
			}
			l.change()
		}
		if l.over() && !l.given {
			return
		}
		l.end()
	}
}

// find is the path of the one element of a list that a filter allows; "" if there is none.
func (c *soakClient) find(list, filter string) string {
	var found []struct{ ID string }
	c.get(list+"?filter="+url.QueryEscape(filter), &found)
	if len(found) == 0 {
		return ""
	}
	return list + "/" + found[0].ID
}

// end terminates the VNF, if there is anything of it, and removes the instance.
func (l *life) end() {
	if l.shown().terminable() {
		l.do("terminate", map[string]any{"terminationType": "FORCEFUL"})
	}
	l.remove(l.instance)
	l.identifiers.remove(path.Base(l.instance))
}

// shownInstance is what a life reads of its VNF.
type shownInstance struct {
	InstantiationState  string
	InstantiatedVnfInfo struct{ VnfcResourceInfo []vnfc }
	Links               map[string]any `json:"_links"`
}

func (s shownInstance) terminable() bool { return s.Links["terminate"] != nil }

func (l *life) shown() (shown shownInstance) {
	l.get(l.instance, &shown)
	return shown
}

// change does something with the VNF that is possible.
func (l *life) change() {
	shown := l.shown()
	if shown.InstantiationState != "INSTANTIATED" {
		request := l.instantiation()
		request["instantiationLevelId"] = fmt.Sprintf("instantiation_level_%d", 1+rand.IntN(2))
		l.do("instantiate", request)
		return
	}
	vnfcs := shown.InstantiatedVnfInfo.VnfcResourceInfo
	switch rand.IntN(7) {
	case 0, 1:
		if len(vnfcs) < 4 { // with the controller
			l.do("scale", scale("SCALE_OUT", 1))
		} else {
			l.do("scale", scale("SCALE_IN", 1))
		}
	case 2:
		l.do("heal", map[string]any{"vnfcInstanceId": []string{vnfcs[rand.IntN(len(vnfcs))].ID}})
	case 3:
		l.do("heal", map[string]any{})
	case 4:
		l.do("operate", map[string]any{"changeStateTo": "STOPPED", "stopType": "FORCEFUL"})
		if !l.given {
			l.do("operate", map[string]any{"changeStateTo": "STARTED"})
		}
	case 5:
		l.do("change_ext_conn", map[string]any{"extVirtualLinks": []any{l.link([]string{"net_mgmt", "net1"}[rand.IntN(2)], "controller_CP2")}})
	default:
		l.do("", map[string]any{"vnfInstanceDescription": time.Now().String(), "metadata": map[string]any{"round": rand.IntN(1000)}})
	}
}

// do carries an operation out to its end, and makes it fail, or cancels it, at times.
func (l *life) do(task string, body any) {
	if chance(12) && (task == "instantiate" || task == "scale" || task == "heal") {
		l.counts.provoked.Add(1)
		l.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Stack: "vnf-" + path.Base(l.instance),
			Times: 1, Reason: "Message: " + noHost + "., Code: 500"})
	}
	location := l.begin(task, body)
	if location == "" {
		l.given = true // it would go on for ever otherwise
		return
	}
	if chance(5) { // another client is told to wait
		if a, err := l.ask(http.MethodPost, l.instance+"/heal", map[string]any{}); err == nil && a.status == http.StatusConflict {
			l.counts.conflicts.Add(1)
		} else if other := l.started(); other != "" { // the first one was over already
			l.settle(other, false)
		}
	}
	cancelled := false
	if chance(8) && task != "" && task != "terminate" {
		cancelled = l.cancel(location)
	}
	l.settle(location, cancelled)
}

// begin starts an operation and returns where it is; "" if it is refused, which is a mistake of the load or of the server.
func (l *life) begin(task string, body any) string {
	method, target := http.MethodPost, l.instance+"/"+task
	if task == "" {
		method, target = http.MethodPatch, l.instance
	}
	for {
		a, err := l.ask(method, target, body)
		if err != nil {
			l.counts.unknown.Add(1)
		}
		if err != nil || a.status == http.StatusConflict {
			if location := l.started(); location != "" {
				return location
			}
		}
		switch {
		case err != nil:
		case a.status == http.StatusAccepted:
			location := l.relative(a.header.Get("Location"))
			l.accept(location)
			return location
		default:
			l.t.Errorf("%s %s: %d %.500s", method, target, a.status, a.body)
			return ""
		}
		if l.lost("%s %s is never accepted: %d %.500s %v", method, target, a.status, a.body, err) {
			return ""
		}
	}
}

func (l *life) accept(location string) {
	l.known[path.Base(location)] = true
	l.accepted.add(path.Base(location))
}

// started is the operation that a request has started whose answer nobody has heard; "" if it has started none.
func (l *life) started() string {
	var found []struct{ ID string }
	l.get(operationsPath+"?filter="+url.QueryEscape("(eq,vnfInstanceId,"+path.Base(l.instance)+")"), &found)
	for _, operation := range found {
		if !l.known[operation.ID] {
			l.accept(operationsPath + "/" + operation.ID)
			return operationsPath + "/" + operation.ID
		}
	}
	return ""
}

// follow waits until an operation is over, or waits for a decision.
func (l *life) follow(location string) (current operation) {
	for began := time.Now(); ; pause(100 * time.Millisecond) {
		current = operation{}
		l.get(location, &current)
		switch current.OperationState {
		case "COMPLETED", "FAILED", "ROLLED_BACK", "FAILED_TEMP":
			return current
		}
		if time.Since(began) > 5*time.Minute {
			l.t.Errorf("%s is %s for minutes", location, current.OperationState)
			return current
		}
	}
}

// cancel cancels an operation, if it is not over yet.
func (l *life) cancel(location string) bool {
	pause(time.Duration(rand.IntN(1000)) * time.Millisecond)
	a, err := l.ask(http.MethodPost, location+"/cancel", map[string]any{"cancelMode": []string{"GRACEFUL", "FORCEFUL"}[rand.IntN(2)]})
	if err == nil && a.status != http.StatusAccepted && a.status != http.StatusConflict {
		l.t.Errorf("cancel %s: %d %.500s", location, a.status, a.body)
	}
	l.counts.cancelled.Add(1)
	return err != nil || a.status == http.StatusAccepted
}

// settle decides about an operation until it is over.
func (l *life) settle(location string, cancelled bool) {
	for {
		current := l.follow(location)
		if current.OperationState != "FAILED_TEMP" || l.lost("%s comes to no end: %s", location, current.Error.Detail) {
			return
		}
		if detail := current.Error.Detail; !cancelled && !strings.Contains(detail, noHost) {
			l.t.Errorf("%s failed, and not because of what was done to it: %s", location, detail)
			l.counts.unasked.Add(1)
		}
		switch kind := rand.IntN(10); {
		case kind < 6:
			l.decide(location, "retry", &l.counts.retries)
		case kind < 8 && l.decide(location, "rollback", &l.counts.rollbacks):
		case kind == 9:
			if l.decide(location, "fail", &l.counts.givenUp) {
				l.given = true
			}
		}
	}
}

// decide tells the server what to do with an operation that has failed, and reports whether it does it. If nobody knows, it looks again.
func (l *life) decide(location, task string, count interface{ Add(int64) int64 }) bool {
	a, err := l.ask(http.MethodPost, location+"/"+task, nil)
	switch {
	case err != nil:
		l.counts.unknown.Add(1)
		return true
	case a.status == http.StatusAccepted || a.status == http.StatusOK:
		count.Add(1)
		return true
	case a.status != http.StatusConflict:
		l.t.Errorf("%s %s: %d %.500s", task, location, a.status, a.body)
	}
	return false
}

// read asks for lists and for single resources.
func (c *soakClient) read() {
	queries := []string{
		instancesPath, instancesPath + "?all_fields", instancesPath + "?filter=" + url.QueryEscape("(eq,instantiationState,INSTANTIATED)"),
		instancesPath + "?filter=" + url.QueryEscape("(cont,vnfInstanceName,soak);(gt,metadata/round,500)"), instancesPath + "?fields=vnfInstanceName",
		operationsPath, operationsPath + "?filter=" + url.QueryEscape("(in,operationState,PROCESSING,STARTING,FAILED_TEMP)"),
		packagesPath, "/vnflcm/v1/subscriptions", "/vnfpkgm/v1/subscriptions", "/v1.0/vims", "/vnflcm/v1/api_versions", "/audit/v1/events",
	}
	for !c.over() {
		query := queries[rand.IntN(len(queries))]
		if a, _ := c.ask(http.MethodGet, query, nil); a.status != http.StatusOK {
			c.t.Errorf("GET %s: %d %.300s", query, a.status, a.body)
		}
		pause(50 * time.Millisecond)
	}
}

// upload brings packages in and removes them.
func (c *soakClient) upload() {
	for !c.over() {
		content := c.csar(uuid.NewString())
		mark := uuid.NewString()
		pkg := c.create(packagesPath, map[string]any{"userDefinedData": map[string]any{"mark": mark}}, func() string {
			return c.find(packagesPath, "(eq,userDefinedData/mark,"+mark+")")
		})
		if pkg == "" {
			return
		}
		c.identifiers.add(path.Base(pkg))
		var info packageInfo
		for info.OnboardingState != "ONBOARDED" {
			if c.get(pkg, &info); info.OnboardingState == "CREATED" {
				a, err := c.send(http.MethodPut, pkg+"/package_content", "application/zip", content)
				if err == nil && a.status != http.StatusAccepted && a.status != http.StatusConflict {
					c.t.Errorf("upload: %d %.500s", a.status, a.body)
				}
			}
			if c.lost("%s is %s, and never ONBOARDED", pkg, info.OnboardingState) {
				return
			}
			pause(100 * time.Millisecond)
		}
		if a, _ := c.ask(http.MethodGet, pkg+"/package_content", nil); !bytes.Equal(a.body, content) {
			c.t.Errorf("%d bytes of a package were uploaded, and %d are there: %d", len(content), len(a.body), a.status)
		}
		for done := false; !done; {
			a, err := c.ask(http.MethodPatch, pkg, map[string]any{"operationalState": "DISABLED"})
			done = err == nil && (a.status == http.StatusOK || a.status == http.StatusConflict)
			if !done && c.lost("%s is never DISABLED: %d %.500s %v", pkg, a.status, a.body, err) {
				return
			}
		}
		c.remove(pkg)
		c.identifiers.remove(path.Base(pkg))
		c.counts.packages.Add(1)
		pause(time.Second)
	}
}

// csar is the sample package with another VNFD.
func (c *soakClient) csar(vnfd string) []byte {
	files := fstest.MapFS{}
	err := fs.WalkDir(samples.TwoVdu(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(samples.TwoVdu(), name)
		files[name] = &fstest.MapFile{Data: bytes.ReplaceAll(content, []byte("5c9d2b0e-6a41-4f7e-9d3c-2f8e1a7b4c60"), []byte(vnfd))}
		return err
	})
	var csar bytes.Buffer
	if err == nil {
		err = vnfpkg.BuildFS(c.t.Context(), files, &csar)
	}
	if err != nil {
		c.t.Error(err)
	}
	return csar.Bytes()
}

// subscribe makes subscriptions and removes them.
func (c *soakClient) subscribe() {
	for !c.over() {
		callback := c.consumer.URL + "/passing-" + uuid.NewString()
		subscription := c.create("/vnflcm/v1/subscriptions", map[string]any{"callbackUri": callback}, func() string {
			return c.find("/vnflcm/v1/subscriptions", "(eq,callbackUri,"+callback+")")
		})
		if subscription == "" {
			return
		}
		pause(3 * time.Second)
		c.remove(subscription)
		c.counts.subscriptions.Add(1)
	}
}

// mistake sends requests with mistakes, which have to be refused as such.
func (c *soakClient) mistake() {
	none := uuid.NewString()
	mistakes := []struct {
		method, path, contentType, body string
		status                          int
	}{
		{http.MethodGet, instancesPath + "/" + none, "", "", http.StatusNotFound},
		{http.MethodGet, instancesPath + "?filter=(eq,nothing", "", "", http.StatusBadRequest},
		{http.MethodPost, instancesPath, "application/json", `{"vnfdId": "` + none + `"}`, http.StatusUnprocessableEntity},
		{http.MethodPost, instancesPath, "application/json", `{`, http.StatusBadRequest},
		{http.MethodPost, instancesPath, "text/plain", `{}`, http.StatusUnsupportedMediaType},
		{http.MethodPost, instancesPath + "/" + none + "/heal", "application/json", `{}`, http.StatusNotFound},
		{http.MethodPost, operationsPath + "/" + none + "/retry", "", "", http.StatusNotFound},
		{http.MethodPut, instancesPath, "application/json", `{}`, http.StatusMethodNotAllowed},
		{http.MethodPost, "/vnflcm/v1/subscriptions", "application/json", `{"callbackUri": "http://169.254.169.254/"}`, http.StatusBadRequest},
	}
	for !c.over() {
		mistake := mistakes[rand.IntN(len(mistakes))]
		a, err := c.send(mistake.method, mistake.path, mistake.contentType, []byte(mistake.body))
		if err == nil && a.status != mistake.status {
			c.t.Errorf("%s %s %s: %d %.300s, want %d", mistake.method, mistake.path, mistake.body, a.status, a.body, mistake.status)
		}
		c.counts.mistakes.Add(1)
		pause(200 * time.Millisecond)
	}
}
