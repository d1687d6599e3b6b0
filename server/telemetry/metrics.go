package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"vnfm/lcm"
)

// metrics are those of this process. docs/operations.md has them in a table.
type metrics struct {
	requests   *prometheus.HistogramVec
	entered    *prometheus.CounterVec
	operations *prometheus.HistogramVec
	runs       prometheus.Gauge
	leasesLost prometheus.Counter
	steps      *prometheus.HistogramVec
	vimCalls   *prometheus.HistogramVec
	sshActions *prometheus.HistogramVec
	deliveries *prometheus.HistogramVec
	givenUp    *prometheus.CounterVec
}

var (
	// requestBuckets, callBuckets and workBuckets are seconds: of an answer of ours, of a call of another system, and of what takes its time.
	requestBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60}
	callBuckets    = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120}
	workBuckets    = []float64{0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1200, 2400, 3600, 7200}
)

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *metrics) register(registry *prometheus.Registry, version string) {
	m.requests = histogram("vnfm_http_request_duration_seconds", "Time to answer HTTP requests.", requestBuckets, "method", "route", "status")
	m.entered = counters("vnfm_operation_state_changes_total", "Operations that this process has taken to a state.", "operation", "state")
	m.operations = histogram("vnfm_operation_duration_seconds",
		"Time from the request to the state, in which an operation is over or waits for a decision.", workBuckets, "operation", "state")
	m.runs = prometheus.NewGauge(prometheus.GaugeOpts{Name: "vnfm_operation_runs", Help: "Operations that this process works on now."})
	m.leasesLost = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "vnfm_leases_lost_total", Help: "Runs of this process that have lost their operation to another run."})
	m.steps = histogram("vnfm_step_duration_seconds", "Time from the beginning of a step to its end, waiting included.", workBuckets,
		"operation", "step", "outcome")
	m.vimCalls = histogram("vnfm_vim_call_duration_seconds", "Time of calls of the services of VIMs.", callBuckets, "service", "method", "outcome")
	m.sshActions = histogram("vnfm_ssh_action_duration_seconds", "Time of logins, commands and file transfers on VMs.", callBuckets,
		"action", "outcome")
	m.deliveries = histogram("vnfm_notification_attempt_duration_seconds", "Time of attempts to deliver a notification.", callBuckets, "outcome")
	m.givenUp = counters("vnfm_notifications_given_up_total", "Notifications that were never delivered.", "reason")
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "vnfm_build_info", Help: "1; the label tells the version."}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	registry.MustRegister(m.requests, m.entered, m.operations, m.runs, m.leasesLost, m.steps, m.vimCalls, m.sshActions, m.deliveries,
		m.givenUp, build)
	m.begin()
}

// begin lets counters that alerts look at begin with 0: the first one of something that never was before is an increase, too.
func (m *metrics) begin() {
	for _, operation := range lcm.OperationTypes() {
		for _, state := range lcm.OperationStates() {
			m.entered.WithLabelValues(string(operation), string(state))
		}
	}
	for _, reason := range []string{reasonExpired, reasonRefused} {
		m.givenUp.WithLabelValues(reason)
	}
}
