package metrics

import (
	"context"
	"sync"
	"time"

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

// database has the metrics of a store.
type database struct {
	db *store.Store

	mu     sync.Mutex
	next   time.Time // when the cached status expires
	latest store.Status
	err    error
}

// status returns the status of the queue, from the cache if it has not expired.
func (d *database) status() (store.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if began := time.Now(); !began.Before(d.next) {
		limited, cancel := context.WithTimeout(context.Background(), statusTimeout)
		defer cancel()
		d.latest, d.err = d.db.Status(limited)
		d.next = began.Add(minStatusAge)
		if took := time.Since(began); d.err == nil && statusRest*took > minStatusAge {
			d.next = began.Add(min(statusRest*took, maxStatusAge))
		}
	}
	return d.latest, d.err
}

func (d *database) collect(now scrape) {
	for _, c := range d.db.Connections() {
		now.gaugef(float64(c.InUse), `studiod_database_connections{pool=%q,state="in_use"}`, c.Pool)
		now.gaugef(float64(c.Idle), `studiod_database_connections{pool=%q,state="idle"}`, c.Pool)
		now.gaugef(float64(c.Max), `studiod_database_connections_max{pool=%q}`, c.Pool)
		now.counterf(c.Waited.Seconds(), `studiod_database_connection_wait_seconds_total{pool=%q}`, c.Pool)
	}
	status, err := d.status()
	now.gaugef(oneIf(err == nil), "studiod_database_up")
	if err != nil {
		return
	}
	for work, waiting := range map[string]store.Waiting{"rendering": status.Rendering, "delivery": status.Delivery} {
		now.gaugef(float64(waiting.Count), `studiod_queue_due{work=%q}`, work)
		now.gaugef(max(waiting.Oldest.Seconds(), 0), `studiod_queue_oldest_due_seconds{work=%q}`, work)
	}
	now.gaugef(float64(status.OpenBreakers), "studiod_breakers_open")
	now.gaugef(oneIf(!status.PausedSince.IsZero()), "studiod_deliveries_paused")
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
