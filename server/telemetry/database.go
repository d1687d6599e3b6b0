package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vnfm/lcm"
)

// Database is what telemetry wants to know of the database.
type Database interface {
	Load(ctx context.Context) (*lcm.Load, error)
	Queues() []string
	Connections() []lcm.Connections
}

const (
	// loadAge is how old the numbers may be that belong to the whole database: whoever asks more often does not ask it.
	loadAge = 5 * time.Second
	// loadTime is how long the database may take to tell them.
	loadTime = 3 * time.Second
)

// Watch adds the metrics of a database, which is asked until ctx ends.
func (t *Telemetry) Watch(ctx context.Context, database Database) {
	t.registry.MustRegister(&watch{ctx: ctx, database: database})
}

// watch collects the metrics of a database. Those that belong to the whole database are the same in every process.
type watch struct {
	ctx      context.Context // a collector is not given one
	database Database

	mu   sync.Mutex
	load *lcm.Load // nil: the database is away
	at   time.Time
}

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	databaseUp         = description("vnfm_database_up", "Whether the database answers to this process.")
	operationsActive   = description("vnfm_operations", "Operations that are not over, of the whole database.", "operation", "state")
	queueJobs          = description("vnfm_queue_jobs", "Jobs that wait for a free worker, of the whole database.", "queue")
	queueOldest        = description("vnfm_queue_oldest_seconds", "How long the oldest job has waited, of the whole database.", "queue")
	backlog            = description("vnfm_notification_backlog", "Notifications that have not arrived, of the whole database.")
	backlogOldest      = description("vnfm_notification_backlog_oldest_seconds", "Age of the oldest of them, of the whole database.")
	connections        = description("vnfm_database_connections", "Connections of this process to the database.", "pool", "state")
	connectionsMax     = description("vnfm_database_connections_max", "Connections that this process may have.", "pool")
	connectionWaits    = description("vnfm_database_connection_waits_total", "Times that somebody has waited for a connection.", "pool")
	connectionWaitTime = description("vnfm_database_connection_wait_seconds_total", "Time of waiting for a connection.", "pool")
)

// Describe implements [prometheus.Collector].
func (w *watch) Describe(to chan<- *prometheus.Desc) {
	for _, one := range []*prometheus.Desc{databaseUp, operationsActive, queueJobs, queueOldest, backlog, backlogOldest,
		connections, connectionsMax, connectionWaits, connectionWaitTime} {
		to <- one
	}
}

// Collect implements [prometheus.Collector].
func (w *watch) Collect(to chan<- prometheus.Metric) {
	gauge := func(of *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
	}
	for _, pool := range w.database.Connections() {
		gauge(connections, float64(pool.InUse), pool.Pool, "in_use")
		gauge(connections, float64(pool.Idle), pool.Pool, "idle")
		gauge(connectionsMax, float64(pool.Max), pool.Pool)
		to <- prometheus.MustNewConstMetric(connectionWaits, prometheus.CounterValue, float64(pool.Waits), pool.Pool)
		to <- prometheus.MustNewConstMetric(connectionWaitTime, prometheus.CounterValue, pool.WaitTime.Seconds(), pool.Pool)
	}
	load := w.current()
	if load == nil {
		gauge(databaseUp, 0)
		return
	}
	gauge(databaseUp, 1)
	gauge(backlog, float64(load.Deliveries))
	gauge(backlogOldest, load.OldestDelivery.Seconds())
	w.collectWork(load, gauge)
}

// collectWork tells of operations and queues; a number of which there is none is 0, so that it does not stay what it was.
func (w *watch) collectWork(load *lcm.Load, gauge func(*prometheus.Desc, float64, ...string)) {
	counts := map[lcm.OperationCount]int{}
	for _, found := range load.Operations {
		counts[lcm.OperationCount{Type: found.Type, State: found.State}] = found.Count
	}
	for _, operation := range lcm.OperationTypes() {
		for _, state := range lcm.OperationStates() {
			if !state.Final() {
				gauge(operationsActive, float64(counts[lcm.OperationCount{Type: operation, State: state}]), string(operation), string(state))
			}
		}
	}
	queues := map[string]lcm.QueueLoad{}
	for _, found := range load.Queues {
		queues[found.Queue] = found
	}
	for _, name := range w.database.Queues() {
		gauge(queueJobs, float64(queues[name].Jobs), name)
		gauge(queueOldest, queues[name].Oldest.Seconds(), name)
	}
}

// current returns what there is to do now, or was some seconds ago; nil if the database does not tell.
func (w *watch) current() *lcm.Load {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.load != nil && time.Since(w.at) < loadAge {
		return w.load
	}
	ctx, cancel := context.WithTimeout(w.ctx, loadTime)
	defer cancel()
	w.load, w.at = nil, time.Now()
	if load, err := w.database.Load(ctx); err == nil {
		w.load = load
	}
	return w.load
}
