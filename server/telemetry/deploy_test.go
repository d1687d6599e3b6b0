package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"vnfm/lcm"
	"vnfm/lcm/notify"
	"vnfm/server/telemetry"
)

// database is one about which there is something to tell.
type database struct{}

func (database) Load(context.Context) (*lcm.Load, error) { return &lcm.Load{}, nil }
func (database) Queues() []string                        { return []string{"operations"} }
func (database) Connections() []lcm.Connections          { return []lcm.Connections{{Pool: "main"}} }

// exported returns the labels of every metric of a server, by name. Those of a histogram are under its own name.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	measured := telemetry.New("1")
	measured.Watch(t.Context(), database{})
	operation := &lcm.Operation{ID: uuid.New(), Type: lcm.OpHeal, State: lcm.StateFailed}
	measured.Entered(operation)
	_, endRun := measured.RunBegins(t.Context(), &lcm.Run{Operation: operation})
	endRun(lcm.ErrSuperseded)
	_, endStep := measured.StepBegins(t.Context(), operation, "plan")
	endStep(lcm.StepEnd{Over: true, Err: errors.New("no")})
	_, endCall := measured.VimCall(t.Context(), "Heat", http.MethodGet)
	endCall(&lcm.Unavailable{Peer: "Heat", Err: errors.New("no")})
	_, endSSH := measured.SSHAction(t.Context(), "login", "host")
	endSSH(nil)
	for _, result := range []notify.Result{notify.Delivered, notify.Refused, notify.Troubled, notify.RefusedForGood, notify.Expired} {
		measured.Delivery(result, time.Second)
	}
	_, endRequest := measured.Request(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), http.MethodGet, "/")
	endRequest(http.StatusOK)

	answer := httptest.NewRecorder()
	measured.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	labels := map[string][]string{}
	text := answer.Body.String()
	for _, of := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		sample := regexp.MustCompile(`(?m)^` + of[1] + `(?:_count)?(?:\{(.*)\})? `).FindStringSubmatch(text)
		if sample == nil {
			t.Fatalf("%s has no value", of[1])
		}
		labels[of[1]] = []string{}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(sample[1], -1) {
			labels[of[1]] = append(labels[of[1]], label[1])
		}
	}
	return labels
}

// checkExpression looks for metrics and labels that no server has.
func checkExpression(t *testing.T, where, expression string, known map[string][]string) {
	t.Helper()
	used := regexp.MustCompile(`\b((?:vnfm|process|go)_\w+|up)\b(?:\{([^}]*)\})?`).FindAllStringSubmatch(expression, -1)
	if len(used) == 0 {
		t.Errorf("%s: %s uses no metric", where, expression)
	}
	ofAll := []string{"job", "instance", "le"} // those that Prometheus adds, and that of buckets
	for _, metric := range used {
		name := metric[1]
		labels, ok := known[name]
		if !ok {
			labels, ok = known[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")]
		}
		if !ok && name != "up" {
			t.Errorf("%s: no server has the metric %s", where, name)
		}
		for _, matcher := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(metric[2], -1) {
			if !slices.Contains(append(labels, ofAll...), matcher[1]) {
				t.Errorf("%s: %s has no label %s", where, name, matcher[1])
			}
		}
		ofAll = append(ofAll, labels...) // for what is summed by labels
	}
	for _, by := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(expression, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			if !slices.Contains(ofAll, strings.TrimSpace(label)) {
				t.Errorf("%s: %s is by the label %s, which no metric of it has", where, expression, label)
			}
		}
	}
}

func TestDashboardShowsWhatServersTell(t *testing.T) {
	content, err := os.ReadFile("../../deploy/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil || dashboard.UID == "" || dashboard.Title == "" || len(dashboard.Panels) < 20 {
		t.Fatalf("%v: %+v", err, dashboard)
	}
	known, seen, ids := exported(t), string(content), map[int]bool{}
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] || (panel.Type != "row" && len(panel.Targets) == 0) {
			t.Errorf("panel %d, %s, is there twice or shows nothing", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			checkExpression(t, panel.Title, target.Expr, known)
		}
	}
	for _, name := range []string{"vnfm_operations", "vnfm_step_duration_seconds", "vnfm_queue_oldest_seconds", "vnfm_vim_call_duration_seconds",
		"vnfm_ssh_action_duration_seconds", "vnfm_notification_backlog", "vnfm_leases_lost_total"} {
		if !strings.Contains(seen, name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

func TestAlertsAreOfWhatServersTell(t *testing.T) {
	const file = "../../deploy/alerts.yml"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 10 {
		t.Fatalf("%v: %+v", err, rules)
	}
	known, names := exported(t), map[string]bool{}
	for _, rule := range rules.Groups[0].Rules {
		if names[rule.Alert] || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" ||
			!slices.Contains([]string{"info", "warning", "critical"}, rule.Labels["severity"]) {
			t.Errorf("%+v is there twice or incomplete", rule)
		}
		names[rule.Alert] = true
		checkExpression(t, rule.Alert, rule.Expr, known)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("without promtool the expressions are not parsed")
		return
	}
	if output, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v: %s", err, output)
	}
}

// TestGuideHasEveryMetric compares the table of the guide with what a server tells, both ways.
func TestGuideHasEveryMetric(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `(vnfm_\\w+)` \\|([^|]*)\\|").FindAllStringSubmatch(string(guide), -1) {
		told[line[1]] = []string{}
		for _, label := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(line[2], -1) {
			told[line[1]] = append(told[line[1]], label[1])
		}
	}
	known := exported(t)
	for name, labels := range known {
		if !strings.HasPrefix(name, "vnfm_") {
			continue
		}
		slices.Sort(labels)
		slices.Sort(told[name])
		if of, ok := told[name]; !ok || !slices.Equal(of, labels) {
			t.Errorf("docs/operations.md has %s with %q, the server with %q", name, of, labels)
		}
	}
	for name := range told {
		if _, ok := known[name]; !ok {
			t.Errorf("docs/operations.md has %s, which no server tells", name)
		}
	}
}
