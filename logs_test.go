package main

import (
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
	"vnfm/mgmtdriver/drivertest"
)

// lines are those of a log that are about operations: not about the process, the job queue or other requests.
func (j *journal) lines() []string {
	ofTheProcess := []string{"msg=serving", "msg=request ", "component=river", `msg="search for`, `says" driver=`}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(j.String()), "\n"), func(line string) bool {
		return slices.ContainsFunc(ofTheProcess, func(mark string) bool { return strings.Contains(line, mark) })
	})
}

// TestEveryLineOfTheLogTellsItsOperationAndRequest follows an operation from the request of a client through two processes.
func TestEveryLineOfTheLogTellsItsOperationAndRequest(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 3 * time.Second}}})
	inventory, _ := inventoryDriver(t)
	program := inventory + ".talks"
	drivertest.Script(t, program, "#!/bin/sh\necho hello >&2\nexec "+inventory+"\n")
	options := []string{"--mgmt-driver", "inventory=" + program, "--log-level", "debug"}
	first := c.serve(options...)
	c.registerVim(first)
	instance := c.create(first, c.onboard(first, withDriver(t, "inventory", "instantiate_start", "instantiate_end")))
	started := first.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil)
	location := started.Header.Get("Location")
	ids := []string{"vnfLcmOpOccId=" + path.Base(location), "vnfInstanceId=" + path.Base(instance), "requestId=" + started.Header.Get("X-Request-Id")}

	first.await(location, "PROCESSING")
	first.until("waiting for Heat", func() bool { return strings.Contains(first.log.String(), `msg="call of a VIM"`) })
	first.kill()
	second := c.serve(options...)
	second.await(location, "COMPLETED")

	request := regexp.MustCompile(`(?m)^.*msg=request .*/instantiate .*$`).FindString(first.log.String())
	for _, id := range ids {
		if !strings.Contains(request, id) {
			t.Errorf("the line of the request lacks %s: %s", id, request)
		}
	}
	for _, p := range []*process{first, second} {
		for _, message := range []string{`msg="step done"`, `msg="call of a VIM"`} {
			if !strings.Contains(p.log.String(), message) {
				t.Errorf("%s: the log has no %s", p.url, message)
			}
		}
		for _, line := range p.log.lines() {
			for _, id := range ids {
				if !strings.Contains(line, id) {
					t.Errorf("%s: a line of the log lacks %s: %s", p.url, id, line)
				}
			}
		}
	}
	if !strings.Contains(second.log.String(), "management driver says") {
		t.Error("the driver has said nothing that is in the log")
	}
}
