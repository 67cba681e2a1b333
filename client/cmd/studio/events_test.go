package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/weburl"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
)

// Each flag for a filter is sent; see TestLists_haveAFlagForEachParameter.
func TestEvents_listsWhatMatches(t *testing.T) {
	t.Parallel()
	_, p := startService(t)
	p.must(t, "", "avatar", "create")
	lipsync := p.must(t, "", "lipsync", "create")
	for want, args := range map[string][]string{
		"succeeded published consent_pending processing": {"--all"},
		"succeeded published":                            {"--limit=2"},
		"processing":                                     {"--order=oldest", "--limit=1", "--since=1h"},
	} {
		var got []string
		for line := range strings.Lines(p.must(t, "", append([]string{"events", "--json"}, args...)...)) {
			var event gen.EventRecord
			check(t, json.Unmarshal([]byte(line), &event))
			got = append(got, subjectOf(event.Notification).Status)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", args, got)
		}
	}
	lines := strings.Split(p.must(t, "", "events", "--limit=1"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "ID ") || !strings.Contains(lines[1], "lipsync_inference_event  "+lipsync+"  succeeded  1") {
		t.Errorf("the table is %q", lines)
	}
	p.mustFail(t, exitUsage, "--since must be", "events", "--since=yesterday")
	p.mustFail(t, exitUsage, "--type", "events", "--type=party")
}

// application is a receiver on the local machine that verifies signatures.
type application struct {
	url string

	mu       sync.Mutex
	statuses []int // of the next responses; then 202
	accepted []string
}

func startApplication(t *testing.T, s *clienttest.Service, statuses ...int) *application {
	t.Helper()
	app := &application{statuses: statuses}
	app.url = startFake(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		check(t, err)
		err = webhook.Verify(r.Header, body, time.Now(), s.Secret)
		if err != nil || r.URL.String() != "/hooks?key=1" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", r.URL, err)
		}
		app.mu.Lock()
		defer app.mu.Unlock()
		if len(app.statuses) > 0 {
			w.WriteHeader(app.statuses[0])
			app.statuses = app.statuses[1:]
			return
		}
		app.accepted = append(app.accepted, r.Header.Get(webhook.HeaderSequence)+string(body)+"\n")
		w.WriteHeader(http.StatusAccepted)
	}) + "/hooks?key=1"
	return app
}

func (a *application) received() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.accepted, "")
}

// Without a public URL, events are signed and posted in order, and again until the receiver accepts them, or they are
// given up.
func TestListen_forwardsTheEventsOfTheService(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	past := p.must(t, "", "avatar", "create")
	app := startApplication(t, s, http.StatusInternalServerError, http.StatusNotFound)
	fromNow := p.start(t, "listen", "--json")
	harness.Eventually(t, "listening", func() bool { return fromNow.errs.String() == "waiting for events\n" })
	in := p.start(t, "listen", "--since=1h", "--forward", app.url)
	harness.Eventually(t, "that the past is forwarded", func() bool { return strings.Count(app.received(), "\n") == 3 })
	to := p.start(t, "listen", "--since=1h", "--forward", "http://127.0.0.1:1/")
	givenUp := "avatar_event " + past + " published #3 -> no response, given up\n"
	harness.Eventually(t, givenUp, func() bool { return strings.HasSuffix(to.out.String(), givenUp) })
	if tried := strings.Count(to.out.String(), "no response"); tried != 3*forwardAttempts {
		t.Errorf("tried %d times", tried)
	}
	id := p.must(t, "", "avatar", "create")
	want := ""
	for _, about := range []string{past, id} {
		for i, status := range []string{"processing", "consent_pending", "published"} {
			want += string(rune('1'+i)) + `{"data":{"avatar_id":"` + about + `","status":"` + status + `"},"event_type":"avatar_event"}` + "\n"
		}
	}
	harness.Eventually(t, want, func() bool { return app.received() == want })
	harness.Eventually(t, "that new events are printed", func() bool {
		return strings.Count(fromNow.out.String(), "\n") == 3 && strings.Count(in.out.String(), "\n") == 8
	})
	wantParts(t, in.out.String(),
		"avatar_event "+past+" processing #1 -> 500, again in 1ms\n", "avatar_event "+past+" processing #1 -> 404, again in 2ms\n",
		"avatar_event "+past+" processing #1 -> 202\n", "avatar_event "+id+" published #3 -> 202\n",
	)
	if printed := fromNow.out.String(); strings.Contains(printed, past) || strings.Count(printed, id) != 3 {
		t.Errorf("from now on: %s", printed)
	}
	if errs := in.errs.String(); strings.Count(errs, "\n") != 1 || strings.Contains(errs, "key=1") {
		t.Errorf("stderr has %q", errs)
	}
	closed, full := io.Pipe()
	check(t, closed.Close())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, forward := range []string{"", app.url} {
		var errs bytes.Buffer
		p.Stdin, p.Stdout, p.Stderr = nil, full, &errs
		code := p.Run(ctx, []string{"studio", "listen", "--since=1h", "--forward", forward})
		if code != exitFailure || !strings.Contains(errs.String(), "closed pipe") {
			t.Errorf("without an output, it ends with %d: %s", code, errs.String())
		}
	}
}

// The events that a receiver missed are counted and sent again. A URL can be paused.
func TestEvent_isSentAgain(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	app := startApplication(t, s)
	id := p.must(t, "", "avatar", "create", "--webhook-url", app.url)
	if attempts := s.Deliver(); len(attempts) != 3 {
		t.Fatalf("attempts %+v", attempts)
	}
	replay := func(args ...string) string {
		t.Helper()
		return p.must(t, "", append([]string{"event", "replay", "--state=delivered"}, args...)...)
	}
	if got := replay("--since=1h", "--dry-run", "--subject", id); got != "events that would be sent again: 3" {
		t.Error(got)
	}
	sent := s.Events(id)[0].ID
	if _, _, hint := p.run(t, "", "event", "replay", sent); !strings.Contains(hint, "--state delivered") {
		t.Errorf("the replay of a delivered event says %q", hint)
	}
	var known gen.Endpoint
	check(t, json.Unmarshal([]byte(p.must(t, "", "endpoint", "list", "--json")), &known))
	if strings.Contains(known.URL, "key=1") || known.State != gen.EndpointStateOk {
		t.Errorf("the URL is %+v", known)
	}
	wantParts(t, p.must(t, "", "endpoint", "pause", known.EndpointID), "  paused  ")
	if got := replay("--state=exhausted", sent); got != "events sent again: 1" || len(s.Deliver()) != 0 {
		t.Error(got)
	}
	if row := p.must(t, "", "endpoint", "enable", known.EndpointID); !strings.Contains(row, "  1  ") || len(s.Deliver()) != 1 {
		t.Errorf("an enabled URL is %q", row)
	}
	p.mustFail(t, exitUsage, "--since", "event", "replay")
	p.mustFail(t, exitNotFound, "404", "endpoint", "enable", "unknown")
}

// Each command that takes the URL of a receiver sends it in the form of the WHATWG URL standard, itself or by the
// service.
func TestStudio_sendsURLsInTheFormOfTheStandard(t *testing.T) {
	t.Parallel()
	s, p := startService(t)
	targets := make(chan string, 8)
	app := startFake(t, func(_ http.ResponseWriter, r *http.Request) { targets <- r.RequestURI })
	const raw, want = `/é%2F|/x/..?name=é&x={"a":"b"}`, "/%C3%A9%2F%7C/?name=%C3%A9&x={%22a%22:%22b%22}"
	target := try(weburl.Parse(app + raw))(t)
	forwarder := &program{transport: &http.Transport{DisableKeepAlives: true}}
	check(t, forwarder.post(t.Context(), target, &notification{EventID: "a"}, []webhook.Secret{s.Secret}))
	if got := <-targets; got != want {
		t.Errorf("listen forwards to %q as %q, want %q", raw, got, want)
	}
	for name, args := range map[string][]string{
		"webhook test": {"webhook", "test", app + raw}, "lipsync create": {"lipsync", "create", "--webhook-url", app + raw},
	} {
		p.must(t, "", args...)
		s.Deliver()
		if got := <-targets; got != want {
			t.Errorf("%s sends %q as %q, want %q", name, raw, got, want)
		}
	}
	created := p.must(t, "", "lipsync", "create", "--json", "--video-url", "https://a.example"+raw, "--audio-url", "https://b.example"+raw)
	wantParts(t, strings.ReplaceAll(created, `\u0026`, "&"), `"https://a.example`+want, `"https://b.example`+want)
}
