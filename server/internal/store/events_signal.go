package store

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// watchTime is for how long WatchEvents is in effect.
	watchTime = time.Minute
	// watchPayload is the payload of a notification of WatchEvents, in the place of the first user.
	watchPayload = "?"
	// payloadUsers bounds the users of a notification, of which PostgreSQL allows 7,999 bytes.
	payloadUsers = 100
)

// eventWatch collects the users with new events while streams of events are open, in this process or another.
type eventWatch struct {
	processID string // identifies the notifications of this process
	signal    chan struct{}

	mu        sync.Mutex
	here      time.Time // until when this process wants to know
	elsewhere time.Time // until when another one does
	changed   map[string]struct{}
	told      map[string]struct{} // to be told to the other processes
	telling   bool                // a goroutine does that
}

func newEventWatch() *eventWatch {
	return &eventWatch{
		processID: rand.Text(), signal: make(chan struct{}, 1), changed: make(map[string]struct{}), told: make(map[string]struct{}),
	}
}

func (s *Store) EventSignal() <-chan struct{} { return s.events.signal }

func (s *Store) TakeChangedUsers() []string { return take(&s.events.mu, s.events.changed) }

func (s *Store) WatchEvents(ctx context.Context) error {
	s.events.mu.Lock()
	s.events.here = time.Now().Add(watchTime)
	s.events.mu.Unlock()
	if !s.Shared() {
		return nil
	}
	return s.notify(ctx, eventChannel, s.events.processID+" "+watchPayload)
}

// reportEvents reports users with new events to this process, and to others that listen. That is after the commit and
// outside of the transaction, because commits with NOTIFY wait for each other.
func (s *Store) reportEvents(users []string) {
	w, now := s.events, time.Now()
	w.add(users, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !now.Before(w.elsewhere) {
		return
	}
	for _, id := range users {
		w.told[id] = struct{}{}
	}
	if !w.telling {
		w.telling = true
		go s.tellEvents()
	}
}

// add signals users with new events if this process watches.
func (w *eventWatch) add(users []string, now time.Time) {
	w.mu.Lock()
	watching := now.Before(w.here)
	if watching {
		for _, id := range users {
			w.changed[id] = struct{}{}
		}
	}
	w.mu.Unlock()
	if watching {
		studio.Signal(w.signal)
	}
}

// tellEvents notifies the other processes until there are no more users. It ignores errors, because those processes also
// read the events at intervals.
func (s *Store) tellEvents() {
	w := s.events
	for {
		users := take(&w.mu, w.told)
		var payloads []string
		for payload := range slices.Chunk(users, payloadUsers) {
			payloads = append(payloads, w.processID+" "+strings.Join(payload, " "))
		}
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		_ = s.notify(ctx, eventChannel, payloads...)
		cancel()
		w.mu.Lock()
		w.telling = len(w.told) > 0
		telling := w.telling
		w.mu.Unlock()
		if !telling {
			return
		}
	}
}

// receive handles the payload of a notification of events.
func (w *eventWatch) receive(payload string) {
	processID, users, _ := strings.Cut(payload, " ")
	switch {
	case processID == w.processID:
	case users == watchPayload:
		w.mu.Lock()
		w.elsewhere = time.Now().Add(watchTime)
		w.mu.Unlock()
	default:
		w.add(strings.Fields(users), time.Now())
	}
}
