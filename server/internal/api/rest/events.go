package rest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// ListEvents serves GET /v1/events.
func (a *API) ListEvents(ctx context.Context, request gen.ListEventsRequestObject) (gen.ListEventsResponseObject, error) {
	p := request.Params
	filter := studio.EventFilter{
		ID: value(p.EventID), UserID: caller(ctx), SubjectID: value(p.SubjectID), State: studio.EventState(value(p.State)),
		From: bound(p.Since), To: bound(p.Until),
	}
	if p.EventType != nil {
		filter.Kind = studio.KindOfEvent(string(*p.EventType))
	}
	page, err := a.studio.Events(ctx, filter, studio.EventOrder(value(p.Order)), value(p.Cursor), pageSize(p.Limit), value(p.Attempts))
	if err != nil {
		return nil, err
	}
	events := make([]gen.EventRecord, len(page.Events))
	for i := range page.Events {
		if events[i], err = eventRecord(&page.Events[i]); err != nil {
			return nil, err
		}
		if page.Attempts != nil {
			events[i].Attempts = new(eventAttempts(page.Attempts[events[i].EventID]))
		}
	}
	return gen.ListEvents200JSONResponse{Data: events, NextCursor: optional(page.Next)}, nil
}

// StreamEvents serves GET /v1/events/stream.
func (a *API) StreamEvents(ctx context.Context, request gen.StreamEventsRequestObject) (gen.StreamEventsResponseObject, error) {
	items, err := a.studio.StreamEvents(ctx, caller(ctx), value(request.Params.LastEventID))
	if err != nil {
		return nil, err
	}
	return gen.StreamEvents200EventStreamResponse{Items: func(yield func(stream.Event[gen.StreamEventsData], error) bool) {
		for item, err := range items {
			var event stream.Event[gen.StreamEventsData]
			if err == nil {
				event, err = streamedEvent(item)
			}
			if !yield(event, err) {
				return
			}
		}
	}}, nil
}

func streamedEvent(item studio.StreamedEvent) (event stream.Event[gen.StreamEventsData], err error) {
	event.ID = item.Position
	switch {
	case item.Event != nil:
		var record gen.EventRecord
		record, err = eventRecord(item.Event)
		event.Event, event.Data.EventRecord = string(record.Notification.EventType), &record
	case !item.RetainedSince.IsZero():
		event.Event, event.Data.EventsExpired = "events_expired", &gen.EventsExpired{RetainedSince: item.RetainedSince}
	default:
		event.IDOnly = true
	}
	return event, err
}

func eventRecord(e *studio.EventRecord) (gen.EventRecord, error) {
	record := gen.EventRecord{
		EventID: e.ID, Sequence: e.Sequence, CreatedAt: e.CreatedAt, State: gen.EventState(e.State), AttemptsMade: e.Last.Number,
		NextAttemptAt: optionalTime(e.NextAt),
	}
	if e.State != studio.EventUnsent {
		record.EndedAt = optionalTime(e.EndedAt)
	}
	return record, json.Unmarshal(e.Body, &record.Notification)
}

func eventAttempts(all []studio.Attempt) []gen.EventAttempt {
	attempts := make([]gen.EventAttempt, len(all))
	for i, attempt := range all {
		attempts[i] = gen.EventAttempt{At: attempt.At, DurationMs: attempt.Duration.Milliseconds(), Failure: optional(attempt.Failure)}
		if attempt.Status != 0 {
			attempts[i].Status = &attempt.Status
		}
	}
	return attempts
}

// bound returns a bound of a range of times, or the zero time, which is no bound, if it is absent. A bound of the year
// 1 that is the zero time becomes one that selects the same events.
func bound(t *time.Time) time.Time {
	if t != nil && t.IsZero() {
		return t.Add(time.Microsecond)
	}
	return value(t)
}

// optionalTime returns a pointer to t, or nil if t is zero.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
