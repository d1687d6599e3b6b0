package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"vnfm/api"
	"vnfm/api/access"
	"vnfm/server"
)

// events lists what is remembered, as a user sees it.
func (b *bench) events(filter string) (events []api.AuditEvent) {
	b.t.Helper()
	query := "/audit/v1/events?all_records=yes"
	if filter != "" {
		query += "&filter=" + url.QueryEscape(filter)
	}
	if err := json.Unmarshal(b.expect(http.StatusOK, http.MethodGet, query, "").body, &events); err != nil {
		b.t.Fatal(err)
	}
	return events
}

func TestWhoHasChangedWhat(t *testing.T) {
	t.Parallel()
	b := guarded(t)
	ann, bob, mona, adam := b.as(t, "ann"), b.as(t, "bob"), b.as(t, "mona"), b.as(t, "adam")
	pkg, _, _ := ann.onboard()
	b.as(t, "rita").expect(http.StatusForbidden, http.MethodDelete, pkg, "")
	bob.expect(http.StatusNotFound, http.MethodDelete, pkg, "")
	mona.expect(http.StatusOK, http.MethodPatch, pkg, `{"operationalState": "DISABLED"}`)
	refused := mona.expect(http.StatusBadRequest, http.MethodPatch, pkg, `{"operationalState": "NO"}`)
	for _, row := range []struct {
		user   *bench
		filter string
		want   string
	}{
		{adam, "", "ann POST 201, ann PUT 202, rita DELETE 403, bob DELETE 404, mona PATCH 200, mona PATCH 400"},
		{mona, "", "ann POST 201, ann PUT 202, rita DELETE 403, mona PATCH 200, mona PATCH 400"}, // those of the project
		{adam, "(eq,userId,bob)", "bob DELETE 404"},
		{adam, "(gte,status,400);(eq,projectId,p1)", "rita DELETE 403, mona PATCH 400"},
		{adam, "(eq,id," + refused.Header.Get("X-Request-Id") + ")", "mona PATCH 400"},
		{adam, "(gt,durationSeconds,1000)", ""},
	} {
		var got []string
		for _, event := range row.user.events(row.filter) {
			got = append(got, fmt.Sprintf("%s %s %d", event.UserID, event.Method, event.Status))
			right := event.Address != "" && event.DurationSeconds > 0 && event.ProjectID == people[event.UserID][0]
			if !right || !strings.HasPrefix(event.Path, "/vnfpkgm/v1/vnf_packages") {
				t.Errorf("%+v", event)
			}
		}
		if all := strings.Join(got, ", "); all != row.want {
			t.Errorf("%s: %s, want %s", row.filter, all, row.want)
		}
	}
	ann.expect(http.StatusForbidden, http.MethodGet, "/audit/v1/events", "")
}

// forgetful is a memory that cannot remember.
type forgetful struct{ server.AuditLog }

func (forgetful) BeginEvent(context.Context, *access.Event) error { return errors.New("disk full") }

func TestWhatCannotBeNotedIsNotDone(t *testing.T) {
	t.Parallel()
	b := setupOn(t, nil, func(config *server.Config) { config.Audit = forgetful{config.Audit} })
	b.expect(http.StatusInternalServerError, http.MethodPost, "/vnfpkgm/v1/vnf_packages", `{}`)
	if list := b.expect(http.StatusOK, http.MethodGet, "/vnfpkgm/v1/vnf_packages", ""); strings.TrimSpace(string(list.body)) != "[]" {
		t.Errorf("%s", list.body)
	}
}
