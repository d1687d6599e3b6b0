package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"vnfm/lcm/heat/heattest"
	"vnfm/samples"
)

// metrics are what a process tells Prometheus, by name and labels.
type metrics struct {
	t     testing.TB
	value map[string]float64
}

var sample = regexp.MustCompile(`(?m)^([a-z_]+(?:\{.*\})?) (\S+)$`)

func (p *process) metrics() metrics {
	p.t.Helper()
	response, err := http.Get(p.url + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %s %v", response.Status, text, err)
	}
	found := metrics{p.t, map[string]float64{}}
	for _, line := range sample.FindAllStringSubmatch(string(text), -1) {
		if found.value[line[1]], err = strconv.ParseFloat(line[2], 64); err != nil {
			p.t.Fatal(err)
		}
	}
	return found
}

func (m metrics) atLeast(least float64, name string) {
	m.t.Helper()
	if value, ok := m.value[name]; !ok || value < least {
		m.t.Errorf("%s is %v (known: %t), want at least %v", name, value, ok, least)
	}
}

func (m metrics) exactly(value float64, names ...string) {
	m.t.Helper()
	for _, name := range names {
		if found, ok := m.value[name]; !ok || found != value {
			m.t.Errorf("%s is %v (known: %t), want %v", name, found, ok, value)
		}
	}
}

// untilMetric waits for the value of a metric; those of the whole database are some seconds old.
func (p *process) untilMetric(name string, right func(float64) bool) {
	p.t.Helper()
	p.until(name+" as it has to be", func() bool { return right(p.metrics().value[name]) })
}

func is(want float64) func(float64) bool { return func(value float64) bool { return value == want } }
func above(limit float64) func(float64) bool {
	return func(value float64) bool { return value > limit }
}

func of(name, operation, state string) string {
	return fmt.Sprintf(`%s{operation="%s",state="%s"}`, name, operation, state)
}

const stateChanges = "vnfm_operation_state_changes_total"

func TestMetricsTellOfOperations(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve("--vim-patience", "1s")
	other := c.serve("--workers", "1") // so that one operation waits for another
	p.metrics().exactly(0, of(stateChanges, "INSTANTIATE", "COMPLETED"), of("vnfm_operations", "SCALE", "FAILED_TEMP"),
		`vnfm_queue_jobs{queue="operations"}`, `vnfm_queue_oldest_seconds{queue="operations"}`, "vnfm_operation_runs", "vnfm_leases_lost_total")
	p.metrics().exactly(20, `vnfm_database_connections_max{pool="main"}`)
	p.metrics().exactly(1, "vnfm_database_up", `vnfm_build_info{version="unknown"}`)

	other.terminate() // p does all work
	c.registerVim(p)
	instance := c.instance(p)
	p.await(p.expect(http.StatusAccepted, http.MethodPost, instance+"/instantiate", c.instantiation(), nil).Header.Get("Location"), "COMPLETED")
	done := p.metrics()
	for _, state := range []string{"STARTING", "PROCESSING", "COMPLETED"} {
		done.exactly(1, of(stateChanges, "INSTANTIATE", state))
	}
	done.exactly(1, of("vnfm_operation_duration_seconds_count", "INSTANTIATE", "COMPLETED"),
		`vnfm_step_duration_seconds_count{operation="INSTANTIATE",outcome="ok",step="await_stack"}`,
		`vnfm_vim_call_duration_seconds_count{method="POST",outcome="ok",service="Heat"}`)
	done.atLeast(1, `vnfm_vim_call_duration_seconds_count{method="POST",outcome="ok",service="Keystone"}`)
	if _, known := done.value[of("vnfm_operation_duration_seconds_count", "INSTANTIATE", "PROCESSING")]; known {
		t.Error("an operation that goes on has a duration")
	}

	c.cloud.SetDown("orchestration", true)
	scaling := map[string]any{"type": "SCALE_OUT", "aspectId": "worker_group"}
	failed := p.expect(http.StatusAccepted, http.MethodPost, instance+"/scale", scaling, nil).Header.Get("Location")
	p.await(failed, "FAILED_TEMP")
	other = c.serve("--workers", "1")
	for _, replica := range []*process{p, other} {
		replica.untilMetric(of("vnfm_operations", "SCALE", "FAILED_TEMP"), is(1))
	}
	other.metrics().exactly(0, of(stateChanges, "SCALE", "FAILED_TEMP")) // it was not this one, so that the sum is right
	p.metrics().atLeast(1, `vnfm_step_duration_seconds_count{operation="SCALE",outcome="failed",step="plan"}`)
	p.expect(http.StatusOK, http.MethodPost, failed+"/fail", nil, nil)
	p.metrics().exactly(1, of(stateChanges, "SCALE", "FAILED_TEMP"), of("vnfm_operation_duration_seconds_count", "SCALE", "FAILED"))
	p.untilMetric(of("vnfm_operations", "SCALE", "FAILED_TEMP"), is(0))
	if unreachable := p.metrics().value[`vnfm_vim_call_duration_seconds_count{method="GET",outcome="unavailable",service="Heat"}`] +
		p.metrics().value[`vnfm_vim_call_duration_seconds_count{method="PUT",outcome="unavailable",service="Heat"}`]; unreachable == 0 {
		t.Error("no call of Heat is counted as unavailable")
	}
	c.cloud.SetDown("orchestration", false)
}

// TestMetricsTellOfTheQueue lets operations wait for the one worker that there is.
func TestMetricsTellOfTheQueue(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{Delays: heattest.Delays{"OS::Nova::Server": {Create: 20 * time.Second}}})
	p := c.serve("--workers", "1")
	c.registerVim(p)
	vnfd := c.onboard(p, samples.TwoVdu())
	locations := []string{}
	for range 3 {
		request := p.expect(http.StatusAccepted, http.MethodPost, c.create(p, vnfd)+"/instantiate", c.instantiation(), nil)
		locations = append(locations, request.Header.Get("Location"))
	}
	p.untilMetric(`vnfm_queue_jobs{queue="operations"}`, above(0))
	p.untilMetric(`vnfm_queue_oldest_seconds{queue="operations"}`, above(1))
	p.metrics().exactly(1, "vnfm_operation_runs")
	for _, location := range locations {
		p.await(location, "COMPLETED")
	}
	p.untilMetric(`vnfm_queue_jobs{queue="operations"}`, is(0))
	p.untilMetric(`vnfm_queue_oldest_seconds{queue="operations"}`, is(0))
	p.untilMetric("vnfm_operation_runs", is(0))
}

func TestMetricsTellOfNotifications(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	p := c.serve("--no-callback-test")
	well, strict, broken := newSink(t), answering(t, http.StatusBadRequest), answering(t, http.StatusInternalServerError)
	well.subscribe(p, "vnflcm")
	for _, consumer := range []string{strict, broken} {
		p.expect(http.StatusCreated, http.MethodPost, "/vnflcm/v1/subscriptions", map[string]any{"callbackUri": consumer}, nil)
	}
	p.metrics().exactly(0, "vnfm_notification_backlog", "vnfm_notification_backlog_oldest_seconds",
		`vnfm_notifications_given_up_total{reason="refused"}`, `vnfm_notifications_given_up_total{reason="expired"}`)
	c.instance(p)
	const attempts = "vnfm_notification_attempt_duration_seconds_count"
	p.untilMetric(attempts+`{outcome="ok"}`, is(1))
	p.untilMetric(`vnfm_notifications_given_up_total{reason="refused"}`, is(1))
	p.metrics().exactly(3, attempts+`{outcome="refused"}`)
	p.metrics().atLeast(1, attempts+`{outcome="unavailable"}`)
	p.untilMetric("vnfm_notification_backlog", is(1))
	p.untilMetric("vnfm_notification_backlog_oldest_seconds", above(1))
}

// answering is the address of a consumer that gives everybody that status.
func answering(t *testing.T, status int) string {
	t.Helper()
	consumer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(consumer.Close)
	return consumer.URL
}

// TestMetricsWithoutTheDatabase asks for metrics while the database is away: those of the process are told, and that it is away.
func TestMetricsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	c := newCluster(t, heattest.Options{})
	between := c.connect()
	p := serve(t, between.url(), c.key)
	p.untilMetric("vnfm_database_up", is(1))
	if output, err := command(t, "healthcheck", p.url+"/readyz").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	between.set(refusing)
	p.untilMetric("vnfm_database_up", is(0))
	if output, err := command(t, "healthcheck", p.url+"/readyz").CombinedOutput(); err == nil || !strings.Contains(string(output), "503") {
		t.Errorf("%v: %s", err, output)
	}
	away := p.metrics()
	if _, known := away.value["vnfm_notification_backlog"]; known {
		t.Error("a number of the database is told that nobody knows")
	}
	away.atLeast(1, `vnfm_http_request_duration_seconds_count{method="GET",route="/readyz",status="200"}`)
	between.set(passing)
	p.untilMetric("vnfm_database_up", is(1))
}
