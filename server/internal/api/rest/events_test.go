package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// onSQLite runs a test of what only a database has.
func onSQLite(t *testing.T, test func(s *setup, db *store.Store)) {
	t.Helper()
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewSQLite(t))
	test(newSetup(t, db), db)
}

// addEvents creates an avatar with a webhook that gets published, and a lip-sync without one that succeeds. It returns
// the ids of both.
func (s *setup) addEvents() (avatar, lipsync string) {
	s.t.Helper()
	ctx := s.t.Context()
	created, err := s.studio.CreateAvatar(ctx, studio.Creation{
		UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: "https://hooks.example.com/?key=secret", Enabled: true},
	})
	s.check(err)
	s.clock.Add(time.Minute)
	silent, err := s.studio.CreateLipsync(ctx, studio.Creation{UserID: s.user.ID, Request: []byte(`{}`)})
	s.check(err)
	_, err = s.studio.Rendered(ctx, silent.ID, studio.Rendering{}, nil)
	s.check(err)
	s.clock.Add(time.Minute)
	s.publish(created.ID)
	return created.ID, silent.ID
}

// events returns the events that a query selects.
func (s *setup) events(query url.Values) []gen.EventRecord {
	s.t.Helper()
	_, answer := s.do("GET", "/v1/events?"+query.Encode(), "", nil)
	var list gen.EventList
	s.check(json.Unmarshal([]byte(answer), &list))
	return list.Data
}

// Every state change of which a notification tells is an event, with a webhook or without one.
func TestListEvents_filtersEvents(t *testing.T) {
	inMemory(t, func(s *setup) {
		avatar, lipsync := s.addEvents()
		const (
			processing = "avatar_event 1 processing pending"
			succeeded  = "lipsync_inference_event 1 succeeded none"
			consent    = "avatar_event 2 consent_pending pending"
			published  = "avatar_event 3 published pending"
		)
		all := s.events(nil)
		for query, want := range map[string][]string{
			"":                                   {published, consent, succeeded, processing},
			"order=oldest":                       {processing, succeeded, consent, published},
			"event_id=" + all[2].EventID:         {succeeded},
			"event_id=a%00":                      nil,
			"event_type=lipsync_inference_event": {succeeded},
			"event_type=avatar_inference_event":  nil,
			"subject_id=" + avatar:               {published, consent, processing},
			"subject_id=" + lipsync + "&state=pending": nil,
			"state=none":                            {succeeded},
			"since=2026-01-12T12:01:00Z":            {published, consent, succeeded},
			"until=2026-01-12T12:01:00Z":            {processing},
			"until=0001-01-01T00:00:00Z":            nil,
			"since=0001-01-01T00:00:00Z&state=none": {succeeded},
		} {
			values, err := url.ParseQuery(query)
			s.check(err)
			var got []string
			for _, e := range s.events(values) {
				_, status, _ := strings.Cut(string(e.Notification.Data), `"status":"`)
				got = append(got, fmt.Sprintf("%s %d %s %s", e.Notification.EventType, e.Sequence, strings.TrimSuffix(status, `"}`), e.State))
			}
			if !slices.Equal(got, want) {
				s.t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	})
}

// The attempts have the words of a test of the webhook.
func TestListEvents_showsAttempts(t *testing.T) {
	onSQLite(t, func(s *setup, db *store.Store) {
		s.addEvents()
		event := studiotest.Events(s.t, db, studio.EventFilter{State: studio.EventPending})[0]
		at := s.clock.Now().Add(time.Second)
		for _, made := range []store.MadeAttempt{
			{Attempt: studio.Attempt{At: at, Duration: 15 * time.Second, Failure: "timeout"}, Outcome: store.Outcome{State: studio.EventPending, RetryAt: at.Add(time.Minute)}},
			{Attempt: studio.Attempt{At: at.Add(time.Minute), Duration: time.Second, Status: 204}, Outcome: store.Outcome{State: studio.EventDelivered}},
		} {
			made.Event = event.Event
			_, err := db.SaveAttempt(s.t.Context(), "", made)
			s.check(err)
		}
		_, answer := s.do("GET", "/v1/events?attempts=true&event_id="+event.ID, "", nil)
		if want := `"attempts":[{"at":"2026-01-12T12:02:01Z","duration_ms":15000,"failure":"timeout"},` +
			`{"at":"2026-01-12T12:03:01Z","duration_ms":1000,"status":204}],"attempts_made":2`; !strings.Contains(answer, want) || strings.Contains(answer, "secret") {
			s.t.Errorf("%s, want %s", answer, want)
		}
	})
}

// A replay selects the events of the caller that match all members of the request, and that can be sent again.
func TestReplayEvents_selectsEvents(t *testing.T) {
	onSQLite(t, func(s *setup, db *store.Store) {
		avatar, lipsync := s.addEvents()
		_, err := db.ExhaustEvents(s.t.Context(), avatar, s.clock.Now(), studio.ReasonSchedule)
		s.check(err)
		events := studiotest.Events(s.t, db, studio.EventFilter{SubjectID: avatar})
		first, next, delivered := events[0], events[1], events[2]
		_, err = s.studio.ReplayEvents(s.t.Context(), studio.Replay{Filter: studio.EventFilter{UserID: s.user.ID}, EventIDs: []string{delivered.ID}})
		s.check(err)
		studiotest.FinishReplays(s.t, db, s.clock.Now())
		_, err = db.SaveAttempt(s.t.Context(), "", store.MadeAttempt{
			Event: delivered.Event, Attempt: studio.Attempt{At: s.clock.Now(), Status: 204}, Outcome: store.Outcome{State: studio.EventDelivered},
		})
		s.check(err)
		at := func(e studio.EventRecord) string { return e.CreatedAt.Format(time.RFC3339Nano) }
		const since = `,"since":"2026-01-12T00:00:00Z"`
		for _, test := range []struct {
			body, want string
		}{
			{since, "2"},
			{since + `,"states":["exhausted","delivered"]`, "3"},
			{since + `,"states":["delivered"]`, "1"},
			{since + `,"event_type":"avatar_event"`, "2"},
			{since + `,"event_type":"lipsync_inference_event"`, "0"},
			{since + `,"subject_id":"` + avatar + `"`, "2"},
			{since + `,"subject_id":"` + lipsync + `","states":["exhausted","delivered"]`, "0"}, // no webhook
			{`,"since":"` + at(next) + `"`, "1"},
			{`,"until":"` + at(next) + `"`, "1"},
			{`,"since":"0001-01-01T00:00:00Z"`, "2"},
			{`,"until":"0001-01-01T00:00:00Z"`, "0"},
			{since + `,"until":"0001-01-01T00:00:00Z"`, `"pointer":"/since"`},
			{`,"event_ids":["` + first.ID + `","` + first.ID + `","unknown","\u0000"]`, "1"},
			{`,"event_ids":["` + first.ID + `"],` + `"since":"` + at(next) + `"`, "0"},
			{`,"subject_id":"` + avatar + `"`, `"code":"replay_empty"`},
			{`,"event_ids":[]`, `"code":"bad_request"`},
			{`,"event_ids":["` + strings.Repeat(`a","`, 1000) + `a"]`, `"code":"bad_request"`},
			{since + `,"states":["pending"]`, `"code":"bad_request"`},
		} {
			want := test.want
			if len(want) == 1 {
				want = `{"dry_run":true,"events":` + want + `}`
			}
			if _, got := s.do("POST", "/v1/events/replay", `{"dry_run":true`+test.body+`}`, nil); !strings.Contains(got, want) {
				s.t.Errorf("%.100s: %s, want %s", test.body, got, want)
			}
		}
		if _, got := s.do("POST", "/v1/events/replay", `{"event_ids":["`+first.ID+`"]}`, nil); !strings.Contains(got, `"events":1`) {
			s.t.Error(got)
		}
		studiotest.FinishReplays(s.t, db, s.clock.Now())
		if pending := s.events(url.Values{"state": {"pending"}}); len(pending) != 1 || pending[0].EventID != first.ID || pending[0].EndedAt != nil {
			s.t.Errorf("pending are %+v", pending)
		}
		if ended := s.events(url.Values{"state": {"delivered"}}); len(ended) != 1 || ended[0].EndedAt == nil {
			s.t.Errorf("delivered are %+v", ended)
		}
	})
}

// Endpoints are listed by their URLs, without the query. One that is paused holds its events until it is enabled.
func TestEndpoints_arePausedAndEnabled(t *testing.T) {
	onSQLite(t, func(s *setup, db *store.Store) {
		s.addEvents()
		const sample = `{"webhook_url":"https://down.example/","event_type":"lipsync_inference_event"}` // is not registered
		s.wantCode("", `{"delivered":false,"duration_ms":1000,"error":"connect","event":{"data":{"inference_id":`, "POST", "/v1/webhooks/test", sample, nil)
		for _, path := range []string{"c", "a", "b", "c"} {
			s.record("POST", "/v1/avatars/create_avatar", `{"webhook":{"enabled":true},"webhook_data":{"webhook_url":"https://hooks.example.com/`+path+`"}}`, nil)
		}
		ids, sizes := s.pages("/v1/webhooks/endpoints", url.Values{"limit": {"1"}}, func() {})
		var list gen.EndpointList
		_, answer := s.do("GET", "/v1/webhooks/endpoints", "", nil)
		s.check(json.Unmarshal([]byte(answer), &list))
		for i, want := range []string{"?…", "a", "b", "c"} {
			if e := list.Data[i]; len(sizes) != 4 || e.EndpointID != ids[i] || e.URL != "https://hooks.example.com/"+want {
				s.t.Errorf("the endpoints %d are %+v", sizes, list.Data)
			}
		}
		set := func(state, want string) {
			s.t.Helper()
			_, answer := s.do("POST", "/v1/webhooks/set_endpoint", `{"endpoint_id":"`+ids[0]+`","state":"`+state+`"}`, nil)
			if !strings.Contains(answer, want) || !strings.Contains(answer, `"waiting":3`) {
				s.t.Errorf("the endpoint is %s, want %s", answer, want)
			}
		}
		for range 2 {
			set("paused", `"paused_at":"2026-01-12T12:02:00Z"`)
		}
		for range 2 {
			set("enabled", `"state":"ok"`)
		}
		_, err := db.Pause(s.t.Context(), s.clock.Now().Add(time.Second))
		s.check(err)
		set("enabled", `"paused_at":"2026-01-12T12:02:01Z"`) // an operator pauses it, too
	})
}

// client returns a client of the user.
func (s *setup) client() *client.Client {
	s.t.Helper()
	served := httptest.NewServer(s.handler)
	s.t.Cleanup(served.Close)
	c, err := client.New(client.Config{BaseURL: served.URL, Email: s.user.Email, Password: "password"})
	s.check(err)
	return c
}

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

// A stream has each event as the list has it, with a position from which another stream continues. It says first what
// has expired since its position.
func TestStreamEvents_continuesAfterAPosition(t *testing.T) {
	inMemory(t, func(s *setup) {
		begin := s.position()
		s.clock.Add(31 * 24 * time.Hour)
		s.addEvents()
		c := s.client()
		page, err := c.ListEvents(s.t.Context(), client.ListEventsParams{Order: new(gen.EventOrderOldest)})
		s.check(err)
		next := s.follow(c, client.After(begin))
		first := next()
		if expired := first.Data.EventsExpired; first.Event != "events_expired" || expired == nil || s.clock.Now().Sub(expired.RetainedSince) != 30*24*time.Hour {
			s.t.Fatalf("%+v", first)
		}
		positions := []string{first.ID}
		for _, record := range page.Data {
			event := next()
			if event.Event != string(record.Notification.EventType) {
				s.t.Fatalf("%+v, want %+v", event, record)
			}
			if diff := cmp.Diff(&record, event.Data.EventRecord); diff != "" {
				s.t.Errorf("an event differs from that in the list: %s", diff)
			}
			positions = append(positions, event.ID)
		}
		for i, record := range page.Data {
			if event := s.follow(c, client.After(positions[i]))(); event.ID != positions[i+1] || event.Data.EventRecord.EventID != record.EventID {
				s.t.Errorf("after the position %d: %+v, want %+v", i, event, record)
			}
		}
	})
}
