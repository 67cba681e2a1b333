package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// addEvent creates a lip-sync with a webhook, and records an attempt to deliver its event.
func (s *site) addEvent(t testing.TB, address string, attempt studio.Attempt, outcome store.Outcome) studio.EventRecord {
	t.Helper()
	made := try(s.studio.CreateLipsync(t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: address, Enabled: true}}))(t)
	try(s.studio.Rendered(t.Context(), made.ID, studio.Rendering{}, nil))(t)
	events := studiotest.Events(t, s.store, studio.EventFilter{UserID: s.user.ID, SubjectID: made.ID})
	attempt.At = time.Now()
	try(s.store.SaveAttempt(t.Context(), "", store.MadeAttempt{Event: events[0].Event, Attempt: attempt, Outcome: outcome}))(t)
	result := store.EndpointResult{UserID: s.user.ID, URL: address}
	attempt.Number = 1
	result.Add(attempt)
	check(t, s.store.SaveResults(t.Context(), []store.EndpointResult{result}))
	return events[0]
}

func TestWebhooks_showHealth(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	v.get("/console/webhooks").want(t, http.StatusOK, "No webhooks are registered.")
	s.addEvent(t, "https://good.example/?key=secret", studio.Attempt{Status: 200}, store.Outcome{State: studio.EventDelivered})
	s.addEvent(t, "https://paused.example/", studio.Attempt{Status: 500, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
	s.addEvent(t, "https://off.example/", studio.Attempt{Status: 410, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
	check(t, s.store.SaveBreaker(t.Context(), store.Breaker{Origin: "https://paused.example", Until: time.Now().Add(time.Hour), Pause: time.Hour}))
	s.addEvent(t, "https://dead.example/", studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventPending, RetryAt: time.Now().Add(time.Hour)})
	try(s.studio.CreateAvatar(t.Context(), studio.Creation{UserID: s.user.ID, Request: []byte(`{}`), Webhook: studio.Registration{URL: "https://new.example/", Enabled: true}}))(t)
	p := v.get("/console/webhooks")
	p.want(t, http.StatusOK, "https://good.example/?…", ">in use<", "Accepted with 200 OK.", "https://paused.example/", "Nothing is sent until", "Last success: none.", "1 exhausted",
		"https://off.example/", "because it responded with 410", "https://dead.example/", ">failing<", "1 waiting", "No connection could be opened.", "https://new.example/", ">not used yet<")
	if strings.Contains(p.text, "key=") || strings.Count(p.text, "badge good") != 1 {
		t.Errorf("the page shows the query of a webhook, or a dead endpoint as healthy:\n%s", p.text)
	}
	bob := s.join(t, "bob@example.com", studio.NoRole)
	bob.get("/console/webhooks").want(t, http.StatusOK, "No webhooks are registered.")
	form := func(address, state string) url.Values {
		_, row, _ := strings.Cut(v.get("/console/webhooks").text, address)
		_, id, _ := strings.Cut(row, `name="endpoint" value="`)
		id, _, _ = strings.Cut(id, `"`)
		return url.Values{"endpoint": {id}, "state": {state}}
	}
	on := form("https://off.example/", "enabled")
	bob.post("/console/webhooks/set", on).want(t, http.StatusNotFound)
	v.post("/console/webhooks/set", on).want(t, http.StatusOK, "The endpoint is enabled.")
	v.get("/console/webhooks").wantNone(t, "because it responded with 410", ">paused<")
	v.post("/console/webhooks/set", form("https://good.example/", "paused")).want(t, http.StatusOK, "The endpoint is paused.", ">paused<")
	try(s.store.Pause(t.Context(), time.Now()))(t)
	v.post("/console/webhooks/set", form("https://good.example/", "enabled")).want(t, http.StatusOK, "an operator of this service has paused notifications")
}

func TestWebhooks_rotateSecretsAndSendTests(t *testing.T) {
	t.Parallel()
	_, v := signedIn(t)
	secret := regexp.MustCompile(`whsec_[^<]+`)
	first := secret.FindAllString(v.get("/console/webhooks").text, -1)
	second := secret.FindAllString(v.post("/console/webhooks/rotate", nil).text, -1)
	if len(first) != 1 || len(second) != 2 || first[0] == second[0] || first[0] != second[1] {
		t.Errorf("the page shows %d secrets, and %d after the rotation", len(first), len(second))
	}
	test := func(address string) page {
		return v.post("/console/webhooks/test", url.Values{"webhook_url": {address}, "kind": {"video"}})
	}
	test("https://hooks.example.com/").want(t, http.StatusOK, "Delivered. Accepted with 204 No Content.", "avatar_inference_event", `value="video" selected`)
	test("https://down.example/").want(t, http.StatusOK, "Not delivered. No connection could be opened.</div>")
	test("https://refused.example/").want(t, http.StatusUnprocessableEntity, `id="webhook_url-error">must not be refused`)
	for range 10 {
		if p := test("https://hooks.example.com/"); p.status == http.StatusTooManyRequests {
			p.want(t, http.StatusTooManyRequests, "Too many sample notifications.")
			return
		}
	}
	t.Error("sample events are not rate limited")
}

// The list of events shows what each is about, where it goes, its latest result and its next attempt, in words. Without
// an event to replay, it has no buttons for a replay.
func TestEvents_listInWords(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	c := studio.Creation{UserID: s.user.ID, Title: new("Ada " + hostile), Request: []byte(`{}`), Webhook: studio.Registration{URL: "https://hooks.example.com/avatars?key=secret", Enabled: true}}
	avatar := try(s.studio.CreateAvatar(t.Context(), c))(t)
	try(s.studio.Rendered(t.Context(), avatar.ID, studio.Rendering{}, nil))(t)
	events := studiotest.Events(t, s.store, studio.EventFilter{UserID: s.user.ID})
	record := func(attempt studio.Attempt, outcome store.Outcome) page {
		t.Helper()
		attempt.At = time.Now()
		try(s.store.SaveAttempt(t.Context(), "", store.MadeAttempt{Event: events[0].Event, Attempt: attempt, Outcome: outcome}))(t)
		return v.get("/console/events")
	}
	first := v.get("/console/events")
	first.want(t, http.StatusOK, "Ada &lt;script&gt;", "<code>avatar_event</code> processing, now consent pending", "<code>hooks.example.com/avatars</code>",
		"First attempt <time", ">now</time>", "Sent after the event before it")
	waiting := record(studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventPending, RetryAt: time.Now().Add(4 * time.Minute)})
	waiting.want(t, http.StatusOK, "Last result: No connection could be opened.", "Next attempt <time", ">in 4 min</time>")
	for _, p := range []page{first, waiting} {
		p.wantNone(t, "Replay", "checkbox", "key=", "<script>document")
	}
	ended := record(studio.Attempt{Status: 422, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonRefused})
	ended.want(t, http.StatusOK, "The endpoint refused it repeatedly.", "Last result: Responded with 422 Unprocessable Entity.", `type="checkbox"`, "Replay selected")
	v.get("/console/events?state=pending").wantNone(t, "Replay")
	v.get("/console/events/"+events[0].ID).want(t, http.StatusOK, ": processing</h1>", `href="/console/avatars/`+avatar.ID+`"`, "now consent pending")
	check(t, s.studio.Delete(t.Context(), s.user.ID, studio.Avatar, avatar.ID))
	deleted := v.get("/console/events")
	deleted.want(t, http.StatusOK, "Deleted avatar", "What it is about was deleted.")
	deleted.wantNone(t, "Replay")
}

// The page of an event shows its attempts and the responses of the receiver.
func TestEvents_showAttempts(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	event := s.addEvent(t, "https://hooks.example.com/?key=secret", studio.Attempt{
		Status: 500, Failure: "status", Duration: 1234 * time.Millisecond, Address: "192.0.2.1:443", Excerpt: []byte(hostile + "\xff"),
	}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule})
	p := v.get("/console/events/" + event.ID)
	p.want(t, http.StatusOK, "Responded with 500 Internal Server Error.", "It took 1234 ms. Address 192.0.2.1:443.", "&lt;script&gt;", "https://hooks.example.com/?…", "lipsync_inference_event")
	p.wantNone(t, "<script>document", "key=secret")

	bob := s.join(t, "bob@example.com", studio.NoRole)
	bob.get("/console/events/"+event.ID).want(t, http.StatusNotFound)
	bob.get("/console/events?cursor="+event.ID).want(t, http.StatusBadRequest)
	bob.get("/console/events?subject="+event.SubjectID).want(t, http.StatusOK, "No events match this filter.")
	bob.post("/console/events/replay", url.Values{"select": {"ids"}, "id": {event.ID}}).want(t, http.StatusOK, "Nothing to replay")
	bob.post("/console/events/replay", url.Values{"select": {"ids"}, "id": {event.ID}, "confirmed": {"true"}})
	v.get("/console/events?state=exhausted").want(t, http.StatusOK, event.ID)
}

// A replay first shows how many events are selected. After the confirmation, it replays these events only, and once.
func TestEvents_replaySelectedEvents(t *testing.T) {
	t.Parallel()
	s, v := signedIn(t)
	delivered := s.addEvent(t, "https://hooks.example.com/", studio.Attempt{Status: 204}, store.Outcome{State: studio.EventDelivered})
	var events []studio.EventRecord
	for range 5 {
		events = append(events, s.addEvent(t, "https://hooks.example.com/", studio.Attempt{Status: 500, Failure: "status"}, store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonSchedule}))
	}
	state := func(state string) int {
		return strings.Count(v.get("/console/events?state="+state).text, `<td class="wrap"><a`)
	}
	form := url.Values{"select": {"ids"}, "id": {events[0].ID, events[1].ID}}
	for text, form := range map[string]url.Values{
		"2 events": form, "1 event?": {"select": {"filter"}, "subject": {events[2].SubjectID}}, "Replay 5 events?": {"select": {"filter"}, "state": {"exhausted"}},
		"Replay also 1 event delivered before": {"select": {"filter"}}, "Replay 1 event?": {"select": {"ids"}, "id": {delivered.ID}},
		"Nothing": {"select": {"filter"}, "from": {"2040-01-01T00:00"}}, "Nothing to replay": {"select": {"filter"}, "kind": {"avatar"}},
		"Only exhausted and delivered": {"select": {"ids"}}, ">Replay 1 event delivered before": {"select": {"filter"}, "subject": {delivered.SubjectID}},
	} {
		v.post("/console/events/replay", form).want(t, http.StatusOK, text)
	}
	v.post("/console/events/replay", url.Values{"select": {"filter"}, "state": {"pending"}}).want(t, http.StatusNotFound)
	if n := state("exhausted"); n != 5 {
		t.Fatalf("%d events are exhausted", n)
	}
	form.Set("key", "of the form")
	form.Set("confirmed", "true")
	for _, want := range []int{3, 4} { // the second form is the same
		v.post("/console/events/replay", form).want(t, http.StatusOK, "The events are being sent again.")
		studiotest.FinishReplays(t, s.store, time.Now())
		if n := state("exhausted"); n != want {
			t.Errorf("%d events are exhausted, want %d", n, want)
		}
		try(s.store.ExhaustEvents(t.Context(), events[0].SubjectID, time.Now(), studio.ReasonSchedule))(t)
	}
	v.post("/console/events/replay", url.Values{"select": {"filter"}, "confirmed": {"delivered"}}).want(t, http.StatusOK, "The events are being sent again.")
	studiotest.FinishReplays(t, s.store, time.Now())
	if exhausted, sent := state("exhausted"), state("delivered"); exhausted != 0 || sent != 0 {
		t.Errorf("%d events are exhausted, and %d delivered", exhausted, sent)
	}
	v.get("/console/events?state=exhausted&kind=video&subject=any&from=2026-01-12T09:30&to=2026-01-13T09:30").want(t, http.StatusOK,
		`"exhausted" selected`, `"video" selected`, `value="any"`, `value="2026-01-12T09:30"`, `value="2026-01-13T09:30"`)
	v.get("/console/events?from=noon").want(t, http.StatusBadRequest)
	for _, query := range []string{"state=any", "kind=any"} {
		v.get("/console/events?"+query).want(t, http.StatusNotFound)
		v.get("/console/events/live?"+query).want(t, http.StatusNotFound)
	}
}

// The list of events shows new events as they occur, those without a webhook, too, and the end of its session.
func TestEvents_streamNewEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t), rarelyPolled)
	v, other := s.signIn(t, email), s.signIn(t, email)
	v.get("/console/events?kind=avatar&cursor=").want(t, http.StatusOK, `sse-connect="/console/events/live?kind=avatar"`)
	all, avatars := v.stream(t, "/console/events/live"), other.stream(t, "/console/events/live?kind=avatar")
	for _, page := range []fragments{all, avatars} {
		page.want("state", "No events match this filter.")
	}
	s.create(t, studio.Avatar, "Ada")
	for _, page := range []fragments{all, avatars} {
		page.wantSoon(">Ada</a>")
	}
	unsent := studiotest.Events(t, s.store, studio.EventFilter{UserID: s.user.ID})[0]
	v.get("/console/events/"+unsent.ID).want(t, http.StatusOK, ">not sent<", "No webhook is registered", "avatar_event")
	lipsync := s.addEvent(t, "https://hooks.example.com/", studio.Attempt{Failure: "connect"}, store.Outcome{State: studio.EventPending, RetryAt: time.Now().Add(time.Second)})
	all.wantSoon(lipsync.ID)
	v.post("/console/logout", nil)
	check(t, s.studio.EndSessions(t.Context(), studio.User{}, email))
	for _, page := range []fragments{all, avatars} {
		page.wantSoon("You have been signed out.")
		page.want("done", "")
	}
}
