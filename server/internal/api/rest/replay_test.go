package rest_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A replay selects the events of the caller that match all members of the request, and that can be sent again.
func TestReplayEvents_selectsEvents(t *testing.T) {
	eachSetup(t, func(s *setup) {
		avatar, lipsync := s.addEvents()
		db := s.store.(*store.Store)
		bob := studiotest.AddUser(s.t, s.studio, "bob@example.com")
		s.check(db.ExhaustEvents(s.t.Context(), avatar, s.clock.Now(), studio.ReasonSchedule))
		events := studiotest.Events(s.t, db, studio.EventFilter{SubjectID: avatar})
		first, next, delivered := events[0], events[1], events[2]
		replayed := func(body string, key ...string) string {
			header := map[string]string{}
			if len(key) > 0 {
				header["Idempotency-Key"] = key[0]
			}
			_, answer := s.do("POST", "/v1/events/replay", body, header)
			return answer
		}
		replayed(`{"event_ids":["` + delivered.ID + `"]}`)
		studiotest.FinishReplays(s.t, db, s.clock.Now())
		_, err := db.SaveAttempt(s.t.Context(), "", store.MadeAttempt{
			Event: delivered.Event, Attempt: studio.Attempt{At: s.clock.Now(), Status: 204}, Outcome: store.Outcome{State: studio.EventDelivered},
		})
		s.check(err)
		at := func(e studio.EventRecord) string { return e.CreatedAt.Format(time.RFC3339Nano) }
		const since = `"since":"2026-01-12T00:00:00Z"`
		for i, test := range []struct {
			body, want string
		}{
			{since, "2"},
			{since + `,"states":["exhausted","delivered"]`, "3"},
			{since + `,"states":["delivered"]`, "1"},
			{since + `,"event_type":"avatar_event"`, "2"},
			{since + `,"event_type":"lipsync_inference_event"`, "0"},
			{since + `,"subject_id":"` + avatar + `"`, "2"},
			{since + `,"subject_id":"` + lipsync + `","states":["exhausted","delivered"]`, "0"}, // no webhook
			{since + `,"subject_id":"\u0000"`, "0"},
			{`"since":"` + at(next) + `"`, "1"},
			{`"until":"` + at(next) + `"`, "1"},
			{`"since":"` + at(next) + `","until":"` + at(next) + `"`, "0"},
			{`"since":"0001-01-01T00:00:00Z"`, "2"},
			{`"until":"0001-01-01T00:00:00Z"`, "0"},
			{since + `,"until":"0001-01-01T00:00:00Z"`, `"code":"range_invalid"`},
			{`"event_ids":["` + first.ID + `","` + first.ID + `","unknown","\u0000"]`, "1"},
			{`"event_ids":["\u0000"]`, "0"},
			{`"event_ids":["` + first.ID + `"],` + `"since":"` + at(next) + `"`, "0"},
			{`"since":"` + at(next) + `","until":"` + at(first) + `"`, `"pointer":"/since"`},
			{`"subject_id":"` + avatar + `"`, `"code":"replay_empty"`},
			{``, `"code":"replay_empty"`},
			{`"event_ids":[]`, `"code":"bad_request"`},
			{`"event_ids":["` + strings.Repeat(`a","`, 1000) + `a"]`, `"code":"bad_request"`},
			{since + `,"states":["pending"]`, `"code":"bad_request"`},
		} {
			want := test.want
			if len(want) == 1 {
				want = `{"dry_run":true,"events":` + want + `}`
			}
			comma := ""
			if test.body != "" {
				comma = ","
			}
			if got := replayed(`{"dry_run":true` + comma + test.body + `}`); !strings.Contains(got, want) {
				s.t.Errorf("%d. %.100s: %s, want %s", i, test.body, got, want)
			}
		}
		foreign, err := s.studio.ReplayEvents(s.t.Context(), studio.Replay{Filter: studio.EventFilter{UserID: bob.ID}, EventIDs: []string{first.ID}})
		if foreign != 0 || err != nil {
			s.t.Errorf("another user replays %d events, %v", foreign, err)
		}

		one := `{"event_ids":["` + first.ID + `"]}`
		for range 2 { // the second time it is in progress, and then finished
			for range 2 {
				if got := replayed(one, "key"); !strings.Contains(got, `"events":1`) {
					s.t.Error(got)
				}
			}
			if got := replayed(`{`+since+`}`, "key"); !strings.Contains(got, "idempotency_key_reused") {
				s.t.Error(got)
			}
			studiotest.FinishReplays(s.t, db, s.clock.Now())
		}
		s.wantCode("idempotency_key_reused", "", "POST", "/v1/lipsync/create_lipsync", `{}`, map[string]string{"Idempotency-Key": "key"})
		if _, pending := s.do("GET", "/v1/events?state=pending", "", nil); strings.Count(pending, `"event_id"`) != 1 || !strings.Contains(pending, first.ID) {
			s.t.Errorf("pending are %s", pending)
		}
		s.clock.Add(studio.IdempotencyLifetime)
		pair, err := s.studio.Login(s.t.Context(), netip.Addr{}, s.user.Email, "password")
		s.check(err)
		s.token = pair.Access
		if got := replayed(`{`+since+`}`, "key"); !strings.Contains(got, `"events":1`) { // the key has expired
			s.t.Error(got)
		}
		for i := range 9 {
			if got := replayed(`{`+since+`}`, fmt.Sprint(i)); !strings.Contains(got, `"events":1`) {
				s.t.Error(got)
			}
		}
		if got := replayed(`{` + since + `}`); !strings.Contains(got, "too_many_replays") {
			s.t.Error(got)
		}
	})
}

// Endpoints are listed without their query. One that is paused holds its events, until its user enables it.
func TestSetEndpoint_pausesAndEnables(t *testing.T) {
	eachStore(t, func(s *setup, c *client.Client) {
		s.addEvents()
		ctx := s.t.Context()
		page, err := c.ListEndpoints(ctx)
		s.check(err)
		e := page.Data[0]
		if len(page.Data) != 1 || e.URL != "https://hooks.example.com/?…" || e.State != gen.EndpointStateOk || e.Waiting != 3 {
			s.t.Fatalf("endpoints are %+v", page)
		}
		set := func(state gen.EndpointSwitch) gen.Endpoint {
			s.t.Helper()
			changed, err := c.SetEndpoint(ctx, gen.SetEndpointRequest{EndpointID: e.EndpointID, State: state})
			s.check(err)
			if changed.EndpointID != e.EndpointID || changed.Waiting != 3 {
				s.t.Errorf("the endpoint is %+v", changed)
			}
			return *changed
		}
		for range 2 {
			if paused := set(gen.EndpointSwitchPaused); paused.State != gen.EndpointStatePaused || !paused.PausedAt.Equal(s.clock.Now()) {
				s.t.Errorf("the endpoint is %+v", paused)
			}
		}
		for range 2 {
			if enabled := set(gen.EndpointSwitchEnabled); enabled.State != gen.EndpointStateOk || enabled.PausedAt != nil {
				s.t.Errorf("the endpoint is %+v", enabled)
			}
		}
		if db, ok := s.store.(*store.Store); ok { // an operator pauses it, too
			since, err := db.Pause(ctx, store.PauseScope{}, s.clock.Now())
			s.check(err)
			set(gen.EndpointSwitchPaused)
			if enabled := set(gen.EndpointSwitchEnabled); enabled.State != gen.EndpointStatePaused || !enabled.PausedAt.Equal(since) {
				s.t.Errorf("the endpoint is %+v", enabled)
			}
		}
		studiotest.AddUser(s.t, s.studio, "bob@example.com")
		bob := s.client("bob@example.com")
		if page, err := bob.ListEndpoints(ctx); err != nil || len(page.Data) != 0 {
			s.t.Errorf("another user has %+v, %v", page, err)
		}
		for _, id := range []string{e.EndpointID, "unknown"} {
			_, err := bob.SetEndpoint(ctx, gen.SetEndpointRequest{EndpointID: id, State: gen.EndpointSwitchPaused})
			if code(err) != "not_found" {
				s.t.Error(err)
			}
		}
	})
}

// Pages of endpoints are in the order of their URLs, and one of another user has other cursors.
func TestListEndpoints_returnsPages(t *testing.T) {
	eachStore(t, func(s *setup, c *client.Client) {
		for i := range 5 {
			_, err := s.studio.CreateAvatar(s.t.Context(), studio.Creation{
				UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: fmt.Sprintf("https://hooks.example.com/%d", 4-i%3), Enabled: true},
			})
			s.check(err)
		}
		var urls []string
		params := client.ListEndpointsParams{Limit: new(1)}
		for {
			page, err := c.ListEndpoints(s.t.Context(), params)
			s.check(err)
			for _, e := range page.Data {
				urls = append(urls, strings.TrimPrefix(e.URL, "https://hooks.example.com/"))
			}
			if params.Cursor = page.NextCursor; params.Cursor == nil {
				break
			}
			if status, _ := s.do("GET", "/v1/events?cursor="+*params.Cursor, "", nil); status != http.StatusBadRequest {
				s.t.Errorf("the cursor is one of another list: %d", status)
			}
		}
		if got := strings.Join(urls, ""); got != "234" {
			s.t.Errorf("listed are %s", got)
		}
	})
}
