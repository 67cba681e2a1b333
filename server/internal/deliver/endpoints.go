package deliver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// endpointInterval is the least time between two writes of the results of attempts, in transactions of up to
	// endpointBatch URLs.
	endpointInterval = time.Second
	endpointBatch    = 500
	// maxEndpoints bounds the URLs in memory.
	maxEndpoints = 10_000
)

// userURL is a webhook URL of a user.
type userURL struct{ userID, url string }

// endpoints collects what attempts tell about the URLs of users, and writes it. Whatever the number of attempts, it
// writes the row of a URL at most once a second. If the process is killed, what it has collected is lost. It is safe
// for concurrent use.
type endpoints struct {
	changed chan struct{} // has a value after an attempt

	mu      sync.Mutex
	results map[userURL]*store.EndpointResult
}

func newEndpoints() *endpoints {
	return &endpoints{changed: make(chan struct{}, 1), results: make(map[userURL]*store.EndpointResult)}
}

// add adds an attempt. If there are too many URLs in memory, it ignores that of a new one.
func (e *endpoints) add(url userURL, attempt studio.Attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	result := e.results[url]
	if result == nil {
		if len(e.results) >= maxEndpoints {
			return
		}
		result = &store.EndpointResult{UserID: url.userID, URL: url.url}
		e.results[url] = result
	}
	result.Add(attempt)
	studio.Signal(e.changed)
}

// take removes and returns the results.
func (e *endpoints) take() (results []store.EndpointResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, result := range e.results {
		results = append(results, *result)
	}
	clear(e.results)
	return results
}

// saveEndpoints writes the results of attempts until stop ends, and then the last ones.
func (d *Deliverer) saveEndpoints(ctx, stop context.Context) {
	for stopped := false; !stopped; {
		select {
		case <-stop.Done():
		case <-d.endpoints.changed:
		}
		stopped = stop.Err() != nil
		results := slices.Collect(slices.Chunk(d.endpoints.take(), endpointBatch))
		studio.Persist(ctx, stop, func(ctx context.Context) bool {
			for len(results) > 0 {
				err := d.Store.SaveResults(ctx, results[0])
				if d.faults.Error(ctx, "endpoints", err); err != nil {
					return false
				}
				results = results[1:]
			}
			return true
		})
		studio.Pause(stop, endpointInterval)
	}
}
