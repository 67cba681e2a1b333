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
	mu       sync.Mutex
	mine     time.Time // until when this process wants to know
	others   time.Time // until when another one does
	unsent   []string  // users of whom the others are to be notified
	notifies bool      // a goroutine does that
}

func (s *Store) WatchEvents(ctx context.Context) error {
	s.events.mu.Lock()
	s.events.mine = time.Now().Add(watchTime)
	s.events.mu.Unlock()
	return s.notify(ctx, signalWatch, "")
}

// watchedByOther notes that another process wants to know the users with new events.
func (w *eventWatch) watchedByOther(until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others = until
}

// reportEvents signals users with new events to this process, and notifies others that want to know. That is after the
// commit and outside of the transaction, because commits with NOTIFY wait for each other.
func (s *Store) reportEvents(users []string) {
	s.signalEventsOf(users)
	w := &s.events
	w.mu.Lock()
	defer w.mu.Unlock()
	if !time.Now().Before(w.others) {
		return
	}
	w.unsent = append(w.unsent, users...)
	if !w.notifies {
		w.notifies = true
		go s.notifyOfEvents()
	}
}

// signalEventsOf signals users with new events if this process watches.
func (s *Store) signalEventsOf(users []string) {
	s.events.mu.Lock()
	watching := time.Now().Before(s.events.mine)
	s.events.mu.Unlock()
	if watching {
		s.signals.send(signalEvents, users...)
	}
}

// notifyOfEvents notifies the other processes until there are no more users. It ignores errors, because those processes
// also read the events at intervals.
func (s *Store) notifyOfEvents() {
	w := &s.events
	for {
		w.mu.Lock()
		users := w.unsent
		w.unsent = nil
		if w.notifies = len(users) > 0; !w.notifies {
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
