package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// eventsIn returns the events in lines of JSON.
func eventsIn(t *testing.T, lines string) (events []gen.EventRecord) {
	t.Helper()
	for line := range strings.Lines(lines) {
		events = append(events, gen.EventRecord{})
		check(t, json.Unmarshal([]byte(line), &events[len(events)-1]))
	}
	return events
}

// published creates an avatar that is published.
func (p *program) published(t *testing.T) (id string) {
	t.Helper()
	id, _ = states(t, p.must(t, "", "avatar", "create", "--watch", "--json"))
	return id
}

func TestEvents_listsWhatMatches(t *testing.T) {
	t.Parallel()
	p := startService(t).loggedIn(t)
	first, second := p.published(t), p.published(t)
	lipsync := p.must(t, "", "lipsync", "create")
	p.must(t, "", "lipsync", "watch", lipsync)

	for name, test := range map[string]struct {
		args []string
		want string // the statuses
	}{
		"all, newest first": {[]string{"--all"}, "succeeded published consent_pending processing published consent_pending processing"},
		"the newest":        {[]string{"--limit=2"}, "succeeded published"},
		"a type":            {[]string{"--type=lipsync_inference_event"}, "succeeded"},
		"a subject":         {[]string{"--subject", first}, "published consent_pending processing"},
		"a state":           {[]string{"--state=exhausted"}, ""},
		"the last hour":     {[]string{"--since=1h", "--subject", second}, "published consent_pending processing"},
		"before that":       {[]string{"--until=1h"}, ""},
	} {
		var got []string
		for _, event := range eventsIn(t, p.must(t, "", append([]string{"events", "--json"}, test.args...)...)) {
			got = append(got, subjectOf(event.Notification).Status)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	lines := strings.Split(p.must(t, "", "events", "--limit=1"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "ID ") || !strings.Contains(lines[1], "lipsync_inference_event  "+lipsync+"  succeeded  1") {
		t.Errorf("the table is %q", lines)
	}
	p.mustFail(t, exitUsage, "since", "events", "--since=1h", "--until=2h")
	p.mustFail(t, exitUsage, "--since must be", "events", "--since=yesterday")
	p.mustFail(t, exitUsage, "--type", "events", "--type=party")
}

// application is a receiver on the local machine that verifies signatures.
type application struct {
	url string

	mu       sync.Mutex
	statuses []int // of the next responses; then 202
	accepted []string
	refused  int
}

func startApplication(t *testing.T, s *service, statuses ...int) *application {
	t.Helper()
	app := &application{statuses: statuses}
	app.url = startFake(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = webhook.Verify(r.Header, body, time.Now(), s.secret)
		}
		if err != nil || r.URL.String() != "/hooks?key=1" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", r.URL, err)
		}
		app.mu.Lock()
		defer app.mu.Unlock()
		if len(app.statuses) > 0 {
			app.refused++
			w.WriteHeader(app.statuses[0])
			app.statuses = app.statuses[1:]
			return
		}
		app.accepted = append(app.accepted, r.Header.Get(webhook.HeaderSequence)+string(body))
		w.WriteHeader(http.StatusAccepted)
	}) + "/hooks?key=1"
	return app
}

func (a *application) received() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.accepted...)
}

// Without a public URL, events are signed and posted in order, and again until the receiver accepts them.
func TestListen_forwardsTheEventsOfTheService(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := s.loggedIn(t)
	past := p.published(t)
	app := startApplication(t, s, http.StatusInternalServerError, http.StatusNotFound)
	fromNow := p.start(t, "listen", "--json")
	harness.Eventually(t, "listening", func() bool { return fromNow.errs.String() == "waiting for events\n" })
	in := p.start(t, "listen", "--since=1h", "--forward", app.url)
	harness.Eventually(t, "that the past is forwarded", func() bool { return len(app.received()) == 3 })
	id := p.published(t)
	harness.Eventually(t, "that new events are forwarded", func() bool { return len(app.received()) == 6 })
	var want []string
	for _, about := range []string{past, id} {
		for i, status := range []string{"processing", "consent_pending", "published"} {
			want = append(want, string(rune('1'+i))+`{"event_type":"avatar_event","data":{"avatar_id":"`+about+`","status":"`+status+`"}}`)
		}
	}
	if got := strings.Join(app.received(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("received\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	for _, line := range []string{
		"avatar_event " + past + " processing #1 -> 500, again in 1ms\n", "avatar_event " + past + " processing #1 -> 404, again in 2ms\n",
		"avatar_event " + past + " processing #1 -> 202\n", "avatar_event " + id + " published #3 -> 202\n",
	} {
		if !strings.Contains(in.out.String(), line) {
			t.Errorf("%q is not among\n%s", line, in.out)
		}
	}
	harness.Eventually(t, "that new events are printed", func() bool { return strings.Count(fromNow.out.String(), "\n") == 3 })
	if printed := fromNow.out.String(); strings.Contains(printed, past) || strings.Count(printed, id) != 3 {
		t.Errorf("from now on: %s", printed)
	}
	if errs := in.errs.String(); strings.Count(errs, "\n") != 1 || strings.Contains(errs, "whsec_") {
		t.Errorf("stderr has %q", errs)
	}
}

// An event that is never accepted holds up those of the same avatar until it is given up, and no others.
func TestListen_givesUp(t *testing.T) {
	t.Parallel()
	p := startService(t).loggedIn(t)
	id := p.published(t)
	in := p.start(t, "listen", "--since=1h", "--forward", "http://127.0.0.1:1/?key=hidden")
	want := "avatar_event " + id + " published #3 -> no response, given up\n"
	harness.Eventually(t, want, func() bool { return strings.HasSuffix(in.out.String(), want) })
	if tried := strings.Count(in.out.String(), "no response"); tried != 3*forwardAttempts {
		t.Errorf("tried %d times", tried)
	}
	if errs := in.errs.String(); strings.Contains(errs, "hidden") {
		t.Errorf("stderr has %q", errs)
	}
}

// The events that a receiver missed are counted and sent again. A URL can be paused.
func TestEvent_isSentAgain(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := s.loggedIn(t)
	app := startApplication(t, s)
	id, _ := states(t, p.must(t, "", "avatar", "create", "--webhook-url", app.url, "--watch", "--json"))
	harness.Eventually(t, "the deliveries", func() bool { return len(app.received()) == 3 })
	for want, args := range map[string][]string{
		"0 events would be sent again": {"--since=1h", "--dry-run"},
		"3 events would be sent again": {"--since=1h", "--dry-run", "--state=delivered", "--subject", id},
	} {
		if got := p.must(t, "", append([]string{"event", "replay"}, args...)...); got != want {
			t.Errorf("%q: %s", args, got)
		}
	}
	events := eventsIn(t, p.must(t, "", "events", "--json"))
	if _, _, hint := p.run(t, "", "event", "replay", events[0].EventID); !strings.Contains(hint, "--state delivered") {
		t.Errorf("the replay of a delivered event says %q", hint)
	}

	url, _, _ := strings.Cut(app.url, "?")
	endpoint := func() (e gen.Endpoint) {
		check(t, json.Unmarshal([]byte(p.must(t, "", "endpoint", "list", "--json")), &e))
		return e
	}
	known := endpoint()
	if !strings.HasPrefix(known.URL, url) || strings.Contains(known.URL, "key=1") || known.State != gen.EndpointStateOk {
		t.Errorf("the URL is %+v", known)
	}
	if row := p.must(t, "", "endpoint", "pause", known.EndpointID); !strings.Contains(row, "  paused  ") {
		t.Errorf("a paused URL is %q", row)
	}
	if got := p.must(t, "", "event", "replay", "--state=delivered", "--state=exhausted", events[0].EventID, events[1].EventID); got != "2 events are sent again" {
		t.Error(got)
	}
	harness.Eventually(t, "waiting events", func() bool { return endpoint().Waiting == 2 })
	if row := p.must(t, "", "endpoint", "enable", known.EndpointID); !strings.Contains(row, url) {
		t.Errorf("an enabled URL is %q", row)
	}
	harness.Eventually(t, "the replay", func() bool { return len(app.received()) == 5 })
	p.mustFail(t, exitUsage, "--since", "event", "replay")
	p.mustFail(t, exitNotFound, "404", "endpoint", "enable", "unknown")
}
