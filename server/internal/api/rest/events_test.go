package rest_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// eachStore runs a test with a client of the service on each kind of database and in memory.
func eachStore(t *testing.T, test func(s *setup, c *client.Client)) {
	t.Helper()
	t.Parallel()
	studiotest.EachStore(t, func(t *testing.T, db studio.Store) {
		s := newSetup(t, db, server.ResponsesEnforced)
		test(s, s.client(s.user.Email))
	})
}

// client returns a client of a user.
func (s *setup) client(email string) *client.Client {
	s.t.Helper()
	served := httptest.NewServer(s.handler)
	s.t.Cleanup(served.Close)
	c, err := client.New(client.Config{BaseURL: served.URL, Email: email, Password: "password"})
	s.check(err)
	return c
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

// code returns the code of an error of the service.
func code(err error) string {
	failed, _ := errors.AsType[*client.Error](err)
	if failed == nil {
		return ""
	}
	return failed.Code
}

// describe returns the type, status and state of an event.
func describe(t testing.TB, e gen.EventRecord) string {
	t.Helper()
	_, status, ok := strings.Cut(string(e.Notification.Data), `"status":"`)
	if !ok || e.EventID == "" || e.CreatedAt.IsZero() {
		t.Errorf("%+v", e)
	}
	return fmt.Sprintf("%s %d %s %s", strings.TrimSuffix(string(e.Notification.EventType), "_event"), e.Sequence, strings.TrimSuffix(status, `"}`), e.State)
}

// Every state change of which a notification tells is an event, with a webhook or without one.
func TestListEvents_filtersEvents(t *testing.T) {
	eachStore(t, func(s *setup, c *client.Client) {
		began := s.clock.Now()
		avatar, lipsync := s.addEvents()
		studiotest.AddUser(s.t, s.studio, "bob@example.com")
		const (
			processing = "avatar 1 processing pending"
			succeeded  = "lipsync_inference 1 succeeded none"
			consent    = "avatar 2 consent_pending pending"
			published  = "avatar 3 published pending"
		)
		all, err := c.ListEvents(s.t.Context())
		s.check(err)
		for name, test := range map[string]struct {
			params client.ListEventsParams
			want   []string
		}{
			"newest":         {client.ListEventsParams{}, []string{published, consent, succeeded, processing}},
			"oldest":         {client.ListEventsParams{Order: new(gen.EventOrderOldest)}, []string{processing, succeeded, consent, published}},
			"an id":          {client.ListEventsParams{EventID: &all.Data[2].EventID}, []string{succeeded}},
			"another id":     {client.ListEventsParams{EventID: new("a")}, nil},
			"no id":          {client.ListEventsParams{EventID: new("a\x00")}, nil},
			"a type":         {client.ListEventsParams{EventType: new(gen.EventTypeLipsyncInference)}, []string{succeeded}},
			"another type":   {client.ListEventsParams{EventType: new(gen.EventTypeAvatarInference)}, nil},
			"a subject":      {client.ListEventsParams{SubjectID: &avatar}, []string{published, consent, processing}},
			"a state":        {client.ListEventsParams{State: new(gen.EventStatePending), SubjectID: &lipsync}, nil},
			"no webhook":     {client.ListEventsParams{State: new(gen.EventStateNone)}, []string{succeeded}},
			"since a time":   {client.ListEventsParams{Since: new(began.Add(time.Minute))}, []string{published, consent, succeeded}},
			"until a time":   {client.ListEventsParams{Until: new(began.Add(time.Minute))}, []string{processing}},
			"an empty range": {client.ListEventsParams{Since: &began, Until: &began}, nil},
		} {
			page, err := c.ListEvents(s.t.Context(), test.params)
			s.check(err)
			var got []string
			for _, event := range page.Data {
				got = append(got, describe(s.t, event))
			}
			if !slices.Equal(got, test.want) || page.NextCursor != nil {
				s.t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
		if page, err := s.client("bob@example.com").ListEvents(s.t.Context(), client.ListEventsParams{EventID: &all.Data[0].EventID}); err != nil || len(page.Data) > 0 {
			s.t.Errorf("another user sees %v, %v", page, err)
		}
	})
}

// In both orders, an event that exists throughout the listing is on one page. A new one is on a later page of the
// oldest.
func TestListEvents_hasPages(t *testing.T) {
	eachStore(t, func(s *setup, c *client.Client) {
		s.addEvents()
		for i, order := range []gen.EventOrder{gen.EventOrderNewest, gen.EventOrderOldest} {
			var got []gen.EventRecord
			params := client.ListEventsParams{Order: &order, Limit: new(3)}
			for more := true; more; more = params.Cursor != nil {
				page, err := c.ListEvents(s.t.Context(), params)
				s.check(err)
				if len(got) == 0 {
					s.addEvents()
				}
				got, params.Cursor = append(got, page.Data...), page.NextCursor
			}
			sorted := slices.IsSortedFunc(got, func(a, b gen.EventRecord) int {
				if order == gen.EventOrderNewest {
					a, b = b, a
				}
				return a.CreatedAt.Compare(b.CreatedAt)
			})
			if want := []int{4, 12}[i]; len(got) != want || !sorted {
				s.t.Errorf("%s: %d events, want %d, sorted %t", order, len(got), want, sorted)
			}
		}
	})
}

func TestListEvents_rejectsCursorsOfOtherLists(t *testing.T) {
	eachStore(t, func(s *setup, c *client.Client) {
		avatar, _ := s.addEvents()
		page, err := c.ListEvents(s.t.Context(), client.ListEventsParams{Limit: new(1)})
		s.check(err)
		now := s.clock.Now()
		for name, params := range map[string]client.ListEventsParams{
			"order":  {Order: new(gen.EventOrderOldest)},
			"id":     {EventID: &page.Data[0].EventID},
			"type":   {EventType: new(gen.EventTypeAvatar)},
			"record": {SubjectID: &avatar},
			"state":  {State: new(gen.EventStatePending)},
			"since":  {Since: new(now.Add(-time.Hour))},
			"until":  {Until: &now},
		} {
			params.Cursor = page.NextCursor
			if _, err := c.ListEvents(s.t.Context(), params); code(err) != "cursor_invalid" {
				s.t.Errorf("another %s: %v", name, err)
			}
		}
		if _, err := c.ListEvents(s.t.Context(), client.ListEventsParams{Since: &now, Until: new(now.Add(-1))}); code(err) != "range_invalid" {
			s.t.Error(err)
		}
	})
}

// The attempts have the words of a test of the webhook.
func TestListEvents_showsAttempts(t *testing.T) {
	eachSetup(t, func(s *setup) {
		s.addEvents()
		records := s.store.(*store.Store)
		event := studiotest.Events(s.t, records, studio.EventFilter{State: studio.EventPending})[0]
		at := s.clock.Now().Add(time.Second)
		for i, outcome := range []store.Outcome{{State: studio.EventPending, RetryAt: at.Add(time.Minute)}, {State: studio.EventDelivered}} {
			attempt := []studio.Attempt{{At: at, Duration: 15 * time.Second, Failure: "timeout"}, {At: at.Add(time.Minute), Duration: time.Second, Status: 204}}[i]
			_, err := records.SaveAttempt(s.t.Context(), "", store.MadeAttempt{Event: event.Event, Attempt: attempt, Outcome: outcome})
			s.check(err)
			status, answer := s.do("GET", "/v1/events?"+url.Values{"event_id": {event.ID}, "attempts": {"true"}}.Encode(), "", nil)
			want := []string{
				`"attempts":[{"at":"2026-01-12T12:02:01Z","duration_ms":15000,"failure":"timeout"}],"attempts_made":1`,
				`{"at":"2026-01-12T12:03:01Z","duration_ms":1000,"status":204}],"attempts_made":2`,
			}[i]
			if status != 200 || !strings.Contains(answer, want) || strings.Contains(answer, "secret") {
				s.t.Errorf("%d %s, want %s", status, answer, want)
			}
		}
	})
}
