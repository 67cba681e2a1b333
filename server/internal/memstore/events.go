package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// addEvents adds the new events of a subject. s.mu must be held.
func (s *Store) addEvents(subject studio.Subject) {
	for _, event := range subject.Events {
		if next := s.lastEvent[subject.UserID].Add(time.Microsecond); event.CreatedAt.Before(next) {
			event.CreatedAt = next
		}
		s.lastEvent[subject.UserID] = event.CreatedAt
		added := &studio.EventRecord{Event: event, UserID: subject.UserID, URL: subject.WebhookURL, State: studio.EventPending, Kind: subject.Kind, WorkspaceID: subject.WorkspaceID}
		if subject.WebhookURL == "" {
			added.State, added.EndedAt = studio.EventUnsent, event.CreatedAt
		}
		s.events = append(s.events, added)
	}
	if len(subject.Events) > 0 {
		s.seconds[subject.UserID] += subject.VideoSeconds() // its last event is that it succeeded
		for _, wake := range s.onEvents {
			wake([]string{subject.UserID})
		}
	}
}

// selected returns the events that match, in the order of their positions. s.mu must be held.
func (s *Store) selected(match func(*studio.EventRecord) bool) (all []studio.EventRecord) {
	waiting := map[string]bool{} // subjects with an earlier pending event
	for _, event := range s.events {
		if match(event) {
			record := *event
			subject := s.subjects[event.SubjectID]
			record.Title, record.Status, record.Deleted = subject.Title, subject.Status, !subject.deletedAt.IsZero()
			if event.State == studio.EventPending && !waiting[event.SubjectID] {
				record.NextAt = event.CreatedAt
			}
			all = append(all, record)
		}
		waiting[event.SubjectID] = waiting[event.SubjectID] || event.State == studio.EventPending
	}
	return all
}

// matches reports whether a filter selects an event.
func matches(filter studio.EventFilter, e *studio.EventRecord) bool {
	return (filter.ID == "" || e.ID == filter.ID) && (filter.UserID == "" || e.UserID == filter.UserID) &&
		(filter.SubjectID == "" || e.SubjectID == filter.SubjectID) && (filter.Kind == "" || e.Kind == filter.Kind) &&
		(filter.WorkspaceID == "" || e.WorkspaceID == filter.WorkspaceID) &&
		(filter.State == studio.NoEventState || e.State == filter.State) &&
		!e.CreatedAt.Before(filter.From) && (filter.To.IsZero() || e.CreatedAt.Before(filter.To))
}

func (s *Store) Events(
	_ context.Context, filter studio.EventFilter, order studio.EventOrder, after studio.Position, limit int,
) (events []studio.EventRecord, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events = s.selected(func(e *studio.EventRecord) bool { return matches(filter, e) })
	position := func(e studio.EventRecord) studio.Position { return studio.Position{CreatedAt: e.CreatedAt, ID: e.ID} }
	compare := newest
	if order == studio.OldestFirst {
		compare = func(a, b studio.Position) int { return newest(b, a) }
	}
	events, more = page(events, position, compare, after, limit)
	return events, more, nil
}

func (s *Store) Attempts(_ context.Context, eventIDs ...string) (map[string][]studio.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	attempts := make(map[string][]studio.Attempt)
	for _, event := range s.events {
		if event.Last.Number > 0 && slices.Contains(eventIDs, event.ID) {
			attempts[event.ID] = []studio.Attempt{event.Last}
		}
	}
	return attempts, nil
}

func (s *Store) NewEvents(_ context.Context, userID string, after time.Time, limit int) ([]studio.EventRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.selected(func(e *studio.EventRecord) bool {
		return e.UserID == userID && e.CreatedAt.After(after) && e.Reason != studio.ReasonDeleted
	})
	return events[:min(len(events), limit)], nil
}

func (s *Store) LastEvents(_ context.Context, userIDs ...string) (map[string]time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := maps.Clone(s.lastEvent)
	maps.DeleteFunc(last, func(id string, _ time.Time) bool { return !slices.Contains(userIDs, id) })
	return last, nil
}

func (s *Store) OnEvents(wake func(userIDs []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEvents = append(s.onEvents, wake)
}

// NextEvent returns the event that occurred first of those that are pending and not paused, and whose subject is not
// skipped.
func (s *Store) NextEvent(skip map[string]bool) (next studio.EventRecord, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range s.events {
		if event.State == studio.EventPending && !skip[event.SubjectID] && s.pauses[pair{event.UserID, event.URL}].IsZero() {
			return *event, true
		}
	}
	return studio.EventRecord{}, false
}

// SetDelivered records that an event was delivered. It does nothing if the event has ended.
func (s *Store) SetDelivered(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range s.events {
		if event.ID == id && event.State == studio.EventPending {
			event.State, event.EndedAt, event.Tries = studio.EventDelivered, now, 1
			event.Last = studio.Attempt{Number: event.Last.Number + 1, At: now}
		}
	}
}
