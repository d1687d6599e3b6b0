package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
	"vnfm/server/servertest"
)

// heard is a notification that a consumer has got.
type heard struct {
	ID, NotificationType, SubscriptionID, OperationState, Operation, NotificationStatus, ChangeType string
	Error                                                                                           map[string]any
	AffectedVnfcs                                                                                   []any
	Links                                                                                           map[string]struct{ Href string } `json:"_links"`
}

func (h heard) String() string {
	text := []string{h.NotificationType, h.Operation, h.OperationState, h.NotificationStatus, h.ChangeType}
	return strings.Join(slices.DeleteFunc(text, func(s string) bool { return s == "" }), " ")
}

// sink is a consumer that takes every notification and the test of its URI, from who knows the password.
type sink struct {
	*httptest.Server
	mu    sync.Mutex
	tests int
	got   []heard
}

const sinkPassword = "callback-geheim"

func newSink(t *testing.T) *sink {
	t.Helper()
	s, schemas := &sink{}, servertest.LoadNotifications(t)
	s.Server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != "nfvo" || password != sinkPassword {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		content, _ := io.ReadAll(request.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if request.Method == http.MethodGet {
			s.tests++
		} else {
			schemas.Check(t, content)
			var h heard
			if err := json.Unmarshal(content, &h); err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(s.got, func(other heard) bool { return other.ID == h.ID }) { // it may come twice
				s.got = append(s.got, h)
			}
		}
		response.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) subscribe(p *process, of string) string {
	p.t.Helper()
	return p.expect(http.StatusCreated, "POST", "/"+of+"/v1/subscriptions", map[string]any{
		"callbackUri":    s.URL,
		"authentication": map[string]any{"authType": []string{"BASIC"}, "paramsBasic": map[string]any{"userName": "nfvo", "password": sinkPassword}},
	}, nil).Header.Get("Location")
}

func (s *sink) told() []heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// expect waits for notifications, which have to be exactly these in this order.
func (s *sink) expect(p *process, want ...string) {
	p.t.Helper()
	p.until(fmt.Sprintf("told of %d things", len(want)), func() bool { return len(s.told()) >= len(want) })
	var got []string
	for _, h := range s.told() {
		got = append(got, h.String())
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("the consumer heard\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func occurrences(operation string, states ...string) []string {
	var all []string
	for _, state := range states {
		status := "START"
		if !slices.Contains([]string{"STARTING", "PROCESSING", "ROLLING_BACK"}, state) {
			status = "RESULT"
		}
		all = append(all, "VnfLcmOperationOccurrenceNotification "+operation+" "+state+" "+status)
	}
	return all
}

func TestSubscribersHearOfEverythingThroughDeathsOfTheProcess(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve("--api-root", "https://vnfm.example.net/")
	c.registerVim(p)
	lcm, pkgm := newSink(t), newSink(t)
	subscription := lcm.subscribe(p, "vnflcm")
	pkgm.subscribe(p, "vnfpkgm")

	pkg := p.onboard(samples.TwoVdu())
	instance := c.create(p, pkg.VnfdID)
	c.cloud.FailResource(heattest.ResourceFault{Type: "OS::Nova::Server", Action: "CREATE", Times: 1, Reason: "No valid host was found."})
	failed := p.expect(http.StatusAccepted, "POST", instance+"/instantiate", c.instantiation(), nil).Header.Get("Location")
	p.await(failed, "FAILED_TEMP")
	p.expect(http.StatusAccepted, "POST", failed+"/retry", nil, nil)
	p.kill()
	p = c.serve("--api-root", "https://vnfm.example.net/")
	p.await(failed, "COMPLETED")
	ended := p.expect(http.StatusAccepted, "POST", instance+"/terminate", map[string]any{"terminationType": "FORCEFUL"}, nil).Header.Get("Location")
	p.await(ended, "COMPLETED")
	p.expect(http.StatusNoContent, "DELETE", instance, nil, nil)
	packagePath := "/vnfpkgm/v1/vnf_packages/" + pkg.ID
	p.expect(http.StatusOK, "PATCH", packagePath, map[string]any{"operationalState": "DISABLED"}, nil)
	p.expect(http.StatusNoContent, "DELETE", packagePath, nil, nil)

	lcm.expect(p, slices.Concat(
		[]string{"VnfIdentifierCreationNotification"},
		occurrences("INSTANTIATE", "STARTING", "PROCESSING", "FAILED_TEMP", "PROCESSING", "COMPLETED"),
		occurrences("TERMINATE", "STARTING", "PROCESSING", "COMPLETED"),
		[]string{"VnfIdentifierDeletionNotification"})...)
	pkgm.expect(p, "VnfPackageOnboardingNotification", "VnfPackageChangeNotification OP_STATE_CHANGE", "VnfPackageChangeNotification PKG_DELETE")

	got := lcm.told()
	for at, want := range map[int]struct{ error, changes bool }{2: {}, 3: {error: true}, 5: {changes: true}, 8: {changes: true}} {
		if h := got[at]; (h.Error != nil) != want.error || (len(h.AffectedVnfcs) > 0) != want.changes && !want.error {
			t.Errorf("%s has error %v, VNFCs %v", h, h.Error, h.AffectedVnfcs)
		}
	}
	for name, path := range map[string]string{"vnfInstance": instance, "vnfLcmOpOcc": failed, "subscription": subscription} {
		if href := got[1].Links[name].Href; href != "https://vnfm.example.net"+strings.TrimPrefix(path, p.url) {
			t.Errorf("link %s is %s", name, href)
		}
	}
	if lcm.tests != 1 || pkgm.tests != 1 {
		t.Errorf("%d and %d tests of the callback URIs", lcm.tests, pkgm.tests)
	}
	if strings.Contains(p.log.String(), sinkPassword) {
		t.Error("the password of the consumer is in the log")
	}
	p.expect(http.StatusNoContent, "DELETE", subscription, nil, nil)
	p.expect(http.StatusNotFound, "GET", subscription, nil, nil)
}
