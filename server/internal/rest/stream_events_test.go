package rest_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/stream"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
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
	eachStore(t, func(s *setup, c *client.Client) {
		s.addEvents()
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
	eachStore(t, func(s *setup, c *client.Client) {
		position := s.position()
		s.clock.Add(31 * 24 * time.Hour)
		s.addEvents()
		next := s.follow(s.client(s.user.Email), client.After(position))
		first := next()
		if expired := first.Data.EventsExpired; first.Event != "events_expired" || expired == nil || s.clock.Now().Sub(expired.RetainedSince) < studio.Retention {
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

func TestStreamEvents_rejectsPositionsOfOthers(t *testing.T) {
	eachStore(t, func(s *setup, _ *client.Client) {
		studiotest.AddUser(s.t, s.studio, "bob@example.com")
		page, err := s.studio.Events(s.t.Context(), studio.EventFilter{UserID: s.user.ID}, studio.OldestFirst, "", 1, false)
		s.check(err)
		bob := s.client("bob@example.com")
		for _, position := range []string{"guess", s.position(), page.Next + "A"} {
			for _, err := range bob.StreamEvents(s.t.Context(), client.After(position)) {
				if code(err) != "position_unknown" {
					s.t.Errorf("%q: %v", position, err)
				}
			}
		}
	})
}

func TestStreamEvents_haveALimitForEachUser(t *testing.T) {
	eachStore(t, func(s *setup, c *client.Client) {
		for range studio.MaxStreams {
			_, err := s.studio.StreamEvents(s.t.Context(), s.user.ID, "")
			s.check(err)
		}
		for _, err := range c.StreamEvents(s.t.Context(), client.WithRetry(client.Retry{Attempts: 1})) {
			if !errors.Is(err, client.ErrRateLimited) || code(err) != "too_many_streams" {
				s.t.Errorf("one stream more: %v", err)
			}
		}
	})
}
