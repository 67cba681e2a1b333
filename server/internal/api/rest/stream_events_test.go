package rest_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// follow reads a stream. next returns the next item, and fails the test after an error.
func (s *setup) follow(c *client.Client, options ...client.CallOption) (next func() *stream.Event[gen.StreamEventsData]) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(cancel)
	pull, stop := iter.Pull2(c.StreamEvents(ctx, options...))
	s.t.Cleanup(stop)
	return func() *stream.Event[gen.StreamEventsData] {
		s.t.Helper()
		event, err, _ := pull()
		s.check(err)
		return event
	}
}

// A stream has each event as the list has it, with a position from which another stream continues.
func TestStreamEvents_continuesAfterAPosition(t *testing.T) {
	inMemory(t, func(s *setup) {
		s.addEvents()
		c := s.client(s.user.Email)
		first := s.follow(c, client.After(s.position()))
		var want []gen.EventRecord
		ids := make(map[string]string)
		for range 2 {
			s.addEvents()
			page, err := c.ListEvents(s.t.Context(), client.ListEventsParams{Order: new(gen.EventOrderOldest)})
			s.check(err)
			want = page.Data[4:]
			for _, record := range want[len(ids):] {
				event := first()
				if event.Data.EventRecord == nil || event.Event != string(record.Notification.EventType) || event.ID == "" {
					s.t.Fatalf("%+v, want %+v", event, record)
				}
				if diff := cmp.Diff(record, *event.Data.EventRecord); diff != "" {
					s.t.Errorf("an event differs from that in the list: %s", diff)
				}
				ids[record.EventID] = event.ID
			}
		}
		second := s.follow(c, client.After(ids[want[2].EventID]))
		for _, record := range want[3:] {
			if event := second(); event.ID != ids[record.EventID] || event.Data.EventRecord.EventID != record.EventID {
				s.t.Errorf("%+v, want %+v", event, record)
			}
		}
	})
}

// position returns the position at which a new stream of the user begins.
func (s *setup) position() string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	items, err := s.studio.StreamEvents(ctx, s.user.ID, "")
	s.check(err)
	for item, err := range items {
		s.check(err)
		return item.Position
	}
	s.t.Fatal("the stream has no position")
	return ""
}

// Events are kept for 30 days. The stream then says which are missing, and continues with the others.
func TestStreamEvents_saysWhatHasExpired(t *testing.T) {
	inMemory(t, func(s *setup) {
		position := s.position()
		s.clock.Add(31 * 24 * time.Hour)
		s.addEvents()
		next := s.follow(s.client(s.user.Email), client.After(position))
		first := next()
		if expired := first.Data.EventsExpired; first.Event != "events_expired" || expired == nil || s.clock.Now().Sub(expired.RetainedSince) != 30*24*time.Hour {
			s.t.Fatalf("%+v", first)
		}
		if event := next(); event.Data.EventRecord == nil {
			s.t.Errorf("%+v", event)
		}
		again := s.follow(s.client(s.user.Email), client.After(first.ID))
		if event := again(); event.Data.EventRecord == nil {
			s.t.Errorf("after the position of that item: %+v", event)
		}
	})
}
