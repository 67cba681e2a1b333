package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestEventReplay_selectsEventsByFlags(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, func(t *testing.T, dsn string) {
		db := fillEvents(t, dsn)
		s := studiotest.Open(t, dsn)
		for _, id := range []string{subjectID, otherID} {
			check(t, s.ExhaustEvents(t.Context(), id, studiotest.NewClock().Now(), studio.ReasonSchedule))
		}
		for _, test := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"--dry-run", "--until=2026-01-13T00:00:00Z", "--json"}, exitOK, `{"events":2,"dry_run":true}`},
			{[]string{"--dry-run", eventID(4)}, exitOK, "1 events would be sent again"},
			{[]string{eventID(1)}, exitFailure, "the event is delivered; --delivered replays it"},
			{[]string{"--until=2026-01-13T00:00:00Z"}, exitOK, "2 events are sent again"},
			{[]string{"--dry-run", "--until=2026-01-13T00:00:00Z"}, exitOK, "0 events would be sent again"},
			{[]string{"--subject", subjectID}, exitOK, "0 events are sent again"},
			{[]string{"--subject", subjectID, "--delivered", "--dry-run"}, exitOK, "1 events"},
			{[]string{"--json", eventID(4)}, exitOK, `{"events":1,"dry_run":false}`},
			{[]string{eventID(4)}, exitFailure, "the event is pending; it is sent anyway"},
			{[]string{eventID(1), "--delivered"}, exitOK, "1 events are sent again"},
			{[]string{eventID(1)}, exitFailure, "the event is pending"},
			{[]string{"--all", "--json"}, exitOK, `{"events":0,"dry_run":false}`},
		} {
			code, stdout, stderr := studiod(t, "", append([]string{"event", "replay", db}, test.args...)...)
			studiotest.FinishReplays(t, s, time.Now()) // there is no daemon
			if code != test.code || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("%v: exit code %d, %s%s", test.args, code, stdout, stderr)
			}
			assertHarmless(t, stdout+stderr)
		}
		check(t, s.ExhaustEvents(t.Context(), subjectID, studiotest.NewClock().Now(), studio.ReasonDeleted))
		if got := must(t, "", "event", "replay", db, "--all", "--dry-run"); got != "0 events would be sent again" {
			t.Errorf("a dry run counts events of a deleted subject: %s", got)
		}
		_, err := s.DeleteSubject(t.Context(), userID, "", studio.Avatar, otherID, time.Now(), time.Now())
		check(t, err)
		fails(t, exitFailure, "studiod: the avatar of the event was deleted", "event", "replay", db, eventID(4))
	})
}

// An operator replays events after an outage of a receiver, while the daemon is running.
func TestEventReplay_deliversAfterReceiverOutage(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, testReceiverGone)
}

func testReceiverGone(t *testing.T, dsn string) {
	t.Helper()
	prepareDatabase(t, dsn)
	var back atomic.Bool
	receiver := faultserver.New(t, faultserver.Func(func(w http.ResponseWriter, r *http.Request) {
		if back.Load() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		faultserver.Respond(http.StatusGone, nil, hostile).ServeHTTP(w, r)
	}))
	p := startProcess(t, dsn, "--renderer=simulate:0s")
	avatar, err := p.client.CreateAvatar(t.Context(), avatarRequest("Ada", receiver.URL()+"/hooks?key=canary-query"))
	check(t, err)
	db := "--db=" + dsn
	exhausted := func() []string {
		return lines(must(t, "", "event", "list", db, "--json", "--state=exhausted", "--subject", avatar.AvatarID))
	}
	harness.Eventually(t, "that every event is exhausted", func() bool { return len(exhausted()) == 3 })

	shown := must(t, "", "event", "replay", db, "--subject", avatar.AvatarID, "--dry-run")
	if shown != "3 events would be sent again" || len(exhausted()) != 3 {
		t.Errorf("a dry run shows %s", shown)
	}
	off := printed[struct {
		ID, Email  string
		WebhookURL string `json:"webhook_url"`
		State      studio.EndpointState
		Reason     studio.Reason
	}](t, "endpoint", "list", db)[0]
	if off.Email != testEmail || off.WebhookURL != receiver.URL()+"/hooks?…" || off.State != studio.EndpointDisabled || off.Reason != studio.ReasonGone {
		t.Errorf("the endpoint is %+v", off)
	}
	if got := must(t, "", "endpoint", "enable", db, off.ID); got != off.WebhookURL+" of "+testEmail+" is on" {
		t.Error(got)
	}
	back.Store(true)
	const promptly = 15 * time.Second // less than the 30 s after which a daemon finds due work by itself
	began := time.Now()
	if got := must(t, "", "event", "replay", db, "--subject", avatar.AvatarID); got != "3 events are sent again" {
		t.Error(got)
	}
	harness.Eventually(t, "that an event is sent", func() bool { return receiver.Count() > 1 || time.Since(began) > promptly })
	if took := time.Since(began); took > promptly {
		t.Error("a replay does not wake the daemon")
	}
	harness.Eventually(t, "that every event is sent", func() bool { return receiver.Count() == 4 })
	var got []string
	var first string
	for i, r := range receiver.Received() {
		if i == 0 {
			first = r.Header.Get(webhook.HeaderID)
			continue
		}
		got = append(got, string(r.Body))
		if i == 1 && r.Header.Get(webhook.HeaderID) != first {
			t.Error("a replay changes the id of an event")
		}
	}
	want := avatarEvents(avatar.AvatarID, "processing", "consent_pending", "published")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent are %v, want %v", got, want)
	}
	harness.Eventually(t, "that every event is delivered", func() bool {
		return strings.Count(must(t, "", "event", "list", db), " delivered ") == 3
	})
	detail := must(t, "", "event", "show", db, "--excerpt", first)
	if !strings.Contains(detail, "410") || !strings.Contains(detail, "204") {
		t.Errorf("the attempts are not shown: %s", detail)
	}
	for _, text := range []string{shown, detail, p.Log()} {
		assertHarmless(t, text)
		if strings.Contains(text, "canary") {
			t.Errorf("a query is printed: %s", text)
		}
	}
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
