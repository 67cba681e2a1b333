package metrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

const (
	// The status of the queue is cached for minStatusAge, or for statusRest times as long as the query took,
	// up to maxStatusAge, whatever the number of scrapes.
	minStatusAge = 5 * time.Second
	maxStatusAge = time.Minute
	statusRest   = 100
	// statusTimeout limits the query, so that a scrape returns the other metrics while the database is
	// unavailable.
	statusTimeout = 3 * time.Second
)

var errNoDatabase = errors.New("metrics: no database is open")

// database is a [prometheus.Collector] for the metrics of a store, once one has been set.
type database struct {
	mu     sync.Mutex
	db     *store.Store
	next   time.Time // when the cached status expires
	latest store.Status
	err    error
}

func (d *database) watch(db *store.Store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.db, d.next = db, time.Time{}
}

// status returns the status of the queue, from the cache if it has not expired.
func (d *database) status(ctx context.Context) (store.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return store.Status{}, errNoDatabase
	}
	if began := time.Now(); !began.Before(d.next) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusTimeout) // concurrent callers share the result
		defer cancel()
		d.latest, d.err = d.db.Status(limited)
		d.next = began.Add(minStatusAge)
		if took := time.Since(began); d.err == nil && statusRest*took > minStatusAge {
			d.next = began.Add(min(statusRest*took, maxStatusAge))
		}
	}
	return d.latest, d.err
}

func (d *database) connections() []store.Connections {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db == nil {
		return nil
	}
	return d.db.Connections()
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

//nolint:gochecknoglobals // tables
var (
	databaseUp        = describe("studiod_database_up", "1 if the database can be read, and 0 otherwise.")
	queueDue          = describe("studiod_queue_due", "Subjects with due work that is not in progress, up to 100,000, for all processes with the database.", "work")
	queueOldest       = describe("studiod_queue_oldest_due_seconds", "How long the oldest due subject has been due, for all processes with the database.", "work")
	openBreakers      = describe("studiod_breakers_open", "Receivers with an open circuit breaker, for all processes with the database.")
	deliveriesPaused  = describe("studiod_deliveries_paused", "1 if an operator has paused all deliveries, and 0 otherwise.")
	connections       = describe("studiod_database_connections", "Connections to the database, by pool and state.", "pool", "state")
	mostConnections   = describe("studiod_database_connections_max", "The maximum number of connections of a pool.", "pool")
	connectionWaits   = describe("studiod_database_connection_waits_total", "Waits for a free connection of a pool.", "pool")
	connectionsWaited = describe("studiod_database_connection_wait_seconds_total", "Total time waited for a free connection of a pool.", "pool")
)

// Describe implements [prometheus.Collector].
func (d *database) Describe(all chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		databaseUp, queueDue, queueOldest, openBreakers, deliveriesPaused, connections, mostConnections, connectionWaits, connectionsWaited,
	} {
		all <- desc
	}
}

// Collect implements [prometheus.Collector].
func (d *database) Collect(all chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	counter := func(desc *prometheus.Desc, value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
	}
	for _, c := range d.connections() {
		gauge(connections, float64(c.InUse), c.Pool, "in_use")
		gauge(connections, float64(c.Idle), c.Pool, "idle")
		gauge(mostConnections, float64(c.Max), c.Pool)
		counter(connectionWaits, float64(c.Waits), c.Pool)
		counter(connectionsWaited, c.Waited.Seconds(), c.Pool)
	}
	status, err := d.status(context.Background())
	if err != nil {
		gauge(databaseUp, 0)
		return
	}
	gauge(databaseUp, 1)
	for work, waiting := range map[string]store.Waiting{"rendering": status.Rendering, "delivery": status.Delivery} {
		gauge(queueDue, float64(waiting.Count), work)
		gauge(queueOldest, max(waiting.Oldest.Seconds(), 0), work)
	}
	gauge(openBreakers, float64(status.OpenBreakers))
	paused := 0.0
	if !status.PausedSince.IsZero() {
		paused = 1
	}
	gauge(deliveriesPaused, paused)
}
