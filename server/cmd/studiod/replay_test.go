package main

import (
	"net/http"
	"slices"
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
			args string
			code int
			says string
		}{
			{"--dry-run --until=2026-01-13T00:00:00Z --json", exitOK, `{"events":2,"dry_run":true}`},
			{eventID(1), exitFailure, "the event is delivered; --delivered replays it"},
			{"--until=2026-01-13T00:00:00Z", exitOK, "2 events are sent again"},
			{"--subject " + subjectID, exitOK, "0 events are sent again"},
			{"--subject " + subjectID + " --delivered --dry-run", exitOK, "1 events would be sent again"},
			{"--json " + eventID(4), exitOK, `{"events":1,"dry_run":false}`},
			{eventID(4), exitFailure, "the event is pending; it is sent anyway"},
			{eventID(1) + " --delivered", exitOK, "1 events are sent again"},
			{"--all --json", exitOK, `{"events":0,"dry_run":false}`},
		} {
			code, stdout, stderr := studiod(t, "", append([]string{"event", "replay", db}, strings.Fields(test.args)...)...)
			studiotest.FinishReplays(t, s, time.Now()) // there is no daemon
			if code != test.code || !strings.Contains(stdout+stderr, test.says) {
				t.Errorf("%s: exit code %d, %s%s", test.args, code, stdout, stderr)
			}
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
	harness.Eventually(t, "that every event is exhausted", func() bool {
		return len(lines(must(t, "", "event", "list", db, "--json", "--state=exhausted", "--subject", avatar.AvatarID))) == 3
	})
	off := printed[struct{ ID string }](t, "endpoint", "list", db)[0]
	if got := must(t, "", "endpoint", "enable", db, off.ID); got != receiver.URL()+"/hooks?… of "+testEmail+" is on" {
		t.Error(got)
	}
	back.Store(true)
	const promptly = 15 * time.Second // less than the 30 s after which a daemon finds due work by itself
	began := time.Now()
	if got := must(t, "", "event", "replay", db, "--subject", avatar.AvatarID); got != "3 events are sent again" {
		t.Error(got)
	}
	harness.Eventually(t, "that every event is sent", func() bool { return receiver.Count() == 4 })
	if took := time.Since(began); took > promptly {
		t.Errorf("a replay does not wake the daemon: it takes %v", took)
	}
	var got []string
	received := receiver.Received()
	for _, r := range received[1:] {
		got = append(got, string(r.Body))
	}
	first := received[0].Header.Get(webhook.HeaderID)
	if want := avatarEvents(avatar.AvatarID, "processing", "consent_pending", "published"); !slices.Equal(got, want) || received[1].Header.Get(webhook.HeaderID) != first {
		t.Errorf("sent are %v, want %v, with the same id", got, want)
	}
	var shown string
	harness.Eventually(t, "that the attempts are shown", func() bool {
		shown = must(t, "", "event", "show", db, "--excerpt", first)
		return strings.Contains(shown, "410") && strings.Contains(shown, "204")
	})
	for _, text := range []string{shown, p.Log()} {
		assertHarmless(t, text)
		if strings.Contains(text, "canary") {
			t.Errorf("a query is printed: %s", text)
		}
	}
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
