package main

import (
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestEventReplay_selectsEventsByFlags(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := fillEvents(t, dsn)
	s := studiotest.Open(t, dsn)
	for _, id := range []string{subjectID, otherID} {
		try(s.ExhaustEvents(t.Context(), id, studiotest.NewClock().Now(), studio.ReasonSchedule))(t)
	}
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"--dry-run --until=2026-01-13T00:00:00Z --json", exitOK, `{"dry_run":true,"events":2}`},
		{eventID(1), exitFailure, "--delivered replays one"},
		{"--until=2026-01-13T00:00:00Z", exitOK, "2 events are sent again"},
		{"--subject " + subjectID, exitOK, "0 events are sent again"},
		{"--subject " + subjectID + " --delivered --dry-run", exitOK, "1 events would be sent again"},
		{"--json " + eventID(4), exitOK, `{"dry_run":false,"events":1}`},
		{eventID(4), exitFailure, "it is pending"},
		{eventID(1) + " --delivered", exitOK, "1 events are sent again"},
		{"--all --json", exitOK, `{"dry_run":false,"events":0}`},
	} {
		code, stdout, stderr := studiod(t, "", append([]string{"event", "replay", db}, strings.Fields(test.args)...)...)
		studiotest.FinishReplays(t, s, time.Now()) // there is no daemon
		if code != test.code || !strings.Contains(stdout+stderr, test.says) {
			t.Errorf("%s: exit code %d, %s%s", test.args, code, stdout, stderr)
		}
	}
	try(s.DeleteSubject(t.Context(), userID, "", studio.Avatar, otherID, time.Now(), time.Now()))(t)
	fails(t, exitFailure, "its subject was deleted", "event", "replay", db, eventID(4))
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
