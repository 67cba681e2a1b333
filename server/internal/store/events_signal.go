package store

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// watchTime is for how long WatchEvents is in effect.
	watchTime = time.Minute
	// payloadUsers bounds the users of a notification, of which PostgreSQL allows 7,999 bytes.
	payloadUsers = 100
)

// eventWatch knows which processes want to know the users with new events, while streams of events are open.
type eventWatch struct {
	mu        sync.Mutex
	here      time.Time // until when this process wants to know
	elsewhere time.Time // until when another one does
	untold    []string  // users to be told to the other processes
	telling   bool      // a goroutine does that
}

func (s *Store) WatchEvents(ctx context.Context) error {
	s.events.mu.Lock()
	s.events.here = time.Now().Add(watchTime)
	s.events.mu.Unlock()
	return s.notify(ctx, signalWatch, "")
}

// watchedElsewhere notes that another process wants to know the users with new events.
func (w *eventWatch) watchedElsewhere(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.elsewhere = until
}

// reportEvents reports users with new events to this process, and to others that listen. That is after the commit and
// outside of the transaction, because commits with NOTIFY wait for each other.
func (s *Store) reportEvents(users []string) {
	s.reportEventsHere(users)
	w := &s.events
	w.mu.Lock()
	defer w.mu.Unlock()
	if !time.Now().Before(w.elsewhere) {
		return
	}
	w.untold = append(w.untold, users...)
	if !w.telling {
		w.telling = true
		go s.tellEvents()
	}
}

// reportEventsHere signals users with new events if this process watches.
func (s *Store) reportEventsHere(users []string) {
	s.events.mu.Lock()
	watching := time.Now().Before(s.events.here)
	s.events.mu.Unlock()
	if watching {
		s.signals.send(signalEvents, users...)
	}
}

// tellEvents notifies the other processes until there are no more users. It ignores errors, because those processes also
// read the events at intervals.
func (s *Store) tellEvents() {
	w := &s.events
	for {
		w.mu.Lock()
		users := w.untold
		w.untold = nil
		if w.telling = len(users) > 0; !w.telling {
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		slices.Sort(users)
		var keys []string
		for some := range slices.Chunk(slices.Compact(users), payloadUsers) {
			keys = append(keys, strings.Join(some, " "))
		}
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		_ = s.notify(ctx, signalEvents, keys...)
		cancel()
	}
}
