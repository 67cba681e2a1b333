package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const (
	userID    = "01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00"
	subjectID = "01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00"
	otherID   = "01936f3e-7b00-7d4e-8f66-5c3c4d2e1f01"
	queryURL  = "https://hooks.example.com/ada?key=canary-query"
)

func eventID(n int) string { return fmt.Sprintf("01936f3e-7e00-7000-8000-%012d", n) }

// fillEvents creates a database with four events: a delivered one, an exhausted one whose receiver
// responded with 410, a pending one, and a pending one of another user a day later.
func fillEvents(t *testing.T, dsn string) (db string) {
	t.Helper()
	s := try(store.Open(t.Context(), dsn, store.Config{}))(t)
	defer func() { check(t, s.Close()) }()
	ctx, noon := t.Context(), studiotest.NewClock().Now()
	check(t, s.CreateUser(ctx, studio.User{ID: userID, Email: testEmail, CreatedAt: noon}))
	try(s.Key(ctx, serviceKeyName, func() []byte { return []byte("of the test") }))(t)
	n := 0
	create := func(id string, at time.Time, events int) {
		subject := studio.Subject{
			ID: id, Kind: studio.Avatar, UserID: userID, Request: []byte(`{}`), WebhookURL: queryURL,
			Status: studio.Processing, CreatedAt: at, UpdatedAt: at,
		}
		try(s.CreateSubject(ctx, subject, studio.IdempotencyKey{}))(t)
		for i := range events {
			n++
			_, err := s.UpdateSubject(ctx, id, func(s *studio.Subject) error {
				s.Sequence++
				s.Events = []studio.Event{{
					ID: eventID(n), SubjectID: id, Sequence: s.Sequence, CreatedAt: at.Add(time.Duration(i) * time.Minute),
					Body: []byte(`{"event_type":"avatar_event"}`),
				}}
				return nil
			})
			check(t, err)
		}
	}
	create(subjectID, noon, 3)
	create(otherID, noon.Add(24*time.Hour), 1)
	var result store.EndpointResult
	const address = "192.0.2.7:443"
	for i, made := range []store.MadeAttempt{
		{Attempt: studio.Attempt{Address: address, Status: 204}, Outcome: store.Outcome{State: studio.EventDelivered}},
		{Attempt: studio.Attempt{Failure: "dns"}, Outcome: store.Outcome{State: studio.EventPending, RetryAt: noon}},
		{
			Attempt: studio.Attempt{Address: address, Status: 410, Failure: "status", Excerpt: []byte(hostile)},
			Outcome: store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true},
		},
	} {
		next := studiotest.Events(t, s, studio.EventFilter{SubjectID: subjectID, State: studio.EventPending})[0]
		made.Event, made.Attempt.At, made.Attempt.Duration = next.Event, noon.Add(time.Duration(i)*time.Hour), 12_345*time.Microsecond
		try(s.SaveAttempt(ctx, "", made))(t)
		made.Attempt.Number = i + 1
		result.UserID, result.URL = next.UserID, next.URL
		result.Add(made.Attempt)
	}
	check(t, s.SaveResults(ctx, []store.EndpointResult{result}))
	return "--db=" + dsn
}

// compare fails the test if the output differs from want or contains a secret.
func compare(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimSpace(want), got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if strings.Contains(got, "canary") {
		t.Errorf("a query is printed: %s", got)
	}
	assertHarmless(t, got)
}

const (
	deliveredJSON = `{"created_at":"2026-01-12T12:00:00Z","ended_at":"2026-01-12T12:00:00.012345Z","id":"01936f3e-7e00-7000-8000-000000000001","sequence":1,"state":"delivered","subject_id":"01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00","tries":1,"user_id":"01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00","webhook_url":"https://hooks.example.com/ada?…"}`
	exhaustedJSON = `{"created_at":"2026-01-12T12:01:00Z","ended_at":"2026-01-12T14:00:00.012345Z","id":"01936f3e-7e00-7000-8000-000000000002","reason":"gone","sequence":2,"state":"exhausted","subject_id":"01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00","tries":2,"user_id":"01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00","webhook_url":"https://hooks.example.com/ada?…"}`
	pendingJSON   = `{"created_at":"2026-01-12T12:02:00Z","id":"01936f3e-7e00-7000-8000-000000000003","sequence":3,"state":"pending","subject_id":"01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00","tries":0,"user_id":"01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00","webhook_url":"https://hooks.example.com/ada?…"}`
	firstAttempt  = `{"at":"2026-01-12T13:00:00Z","duration_ms":12.345,"failure":"dns","number":1}`
	secondAttempt = `{"address":"192.0.2.7:443","at":"2026-01-12T14:00:00Z","duration_ms":12.345,"failure":"status","number":2,"status":410}`
)

func TestEventList_filtersAndPages(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := fillEvents(t, dsn)
	compare(t, must(t, "", "event", "list", db, "--subject", subjectID), `
ID                                    CREATED               STATE             TRIES  SUBJECT                               SEQUENCE  URL
01936f3e-7e00-7000-8000-000000000003  2026-01-12T12:02:00Z  pending           0      01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00  3         https://hooks.example.com/ada?…
01936f3e-7e00-7000-8000-000000000002  2026-01-12T12:01:00Z  exhausted (gone)  2      01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00  2         https://hooks.example.com/ada?…
01936f3e-7e00-7000-8000-000000000001  2026-01-12T12:00:00Z  delivered         1      01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00  1         https://hooks.example.com/ada?…`)
	compare(t, must(t, "", "event", "list", db, "--json", "--until", "2026-01-13T12:00:00Z"),
		pendingJSON+"\n"+exhaustedJSON+"\n"+deliveredJSON)
	for args, want := range map[string]string{
		"--since=2026-01-12T13:02:00+01:00":                         eventID(4) + eventID(3),
		"--since=2026-01-12T12:01:00Z --until=2026-01-12T12:02:00Z": eventID(2),
		"--state=pending --until=1h":                                eventID(4) + eventID(3),
		"--limit=4 --after=" + eventID(4):                           eventID(3) + eventID(2) + eventID(1),
	} {
		ids := ""
		for _, e := range printed[struct{ ID string }](t, append([]string{"event", "list", db}, strings.Fields(args)...)...) {
			ids += e.ID
		}
		if ids != want {
			t.Errorf("%s lists %s, want %s", args, ids, want)
		}
	}
	code, stdout, stderr := studiod(t, "", "event", "list", db, "--json", "--limit=2", "--after="+eventID(4))
	if code != exitOK || stdout != pendingJSON+"\n"+exhaustedJSON || stderr != "there are more: --after "+eventID(2) {
		t.Errorf("exit code %d, %s, %s", code, stdout, stderr)
	}
	code, stdout, stderr = studiod(t, "", "event", "list", db, "--since=1h")
	if code != exitOK || stdout != "" || stderr != "no events" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestEventShow_printsAttempts(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := fillEvents(t, dsn)
	compare(t, must(t, "", "event", "show", db, eventID(2)), eventText)
	compare(t, must(t, "", "event", "show", db, "--excerpt", eventID(2)), eventText+`

response to attempt 2:
| \x1b[2J\x1b]0;title\a\x00\u009b31m\u202egro.elpmaxe\u2028\x7f�
| <b>&ü 世 🎬`)
	with := func(attempts, event string) string {
		return `{"attempts":[` + attempts + `],"body":{"event_type":"avatar_event"},` + strings.TrimPrefix(event, "{")
	}
	compare(t, must(t, "", "event", "show", db, "--json", eventID(2)), with(firstAttempt+","+secondAttempt, exhaustedJSON))
	compare(t, must(t, "", "event", "show", db, "--json", "--excerpt", eventID(2)), with(firstAttempt+","+strings.Replace(secondAttempt, `"failure"`,
		`"excerpt":"\u001b[2J\u001b]0;title\u0007\u0000\u009b31m\u202egro.elpmaxe\u2028\u007f\ufffd\r\n<b>&ü 世 🎬","failure"`, 1), exhaustedJSON))
	compare(t, must(t, "", "event", "show", db, "--json", eventID(3)), with("", pendingJSON))
	fails(t, exitFailure, "studiod: no event "+subjectID, "event", "show", db, subjectID)
}

const eventText = `ID                                    CREATED               STATE             TRIES  SUBJECT                               SEQUENCE  URL
01936f3e-7e00-7000-8000-000000000002  2026-01-12T12:01:00Z  exhausted (gone)  2      01936f3e-7b00-7d4e-8f66-5c3c4d2e1f00  2         https://hooks.example.com/ada?…

{"event_type":"avatar_event"}

ATTEMPT  AT                    MILLISECONDS  STATUS  FAILURE  ADDRESS
1        2026-01-12T13:00:00Z  12.345        -       dns      -
2        2026-01-12T14:00:00Z  12.345        410     status   192.0.2.7:443`

func TestEndpoints_listPauseAndEnable(t *testing.T) {
	t.Parallel()
	dsn := studiotest.NewSQLite(t)
	db := fillEvents(t, dsn)
	const id, user = "343f267cb83f81b972b803bff54d0958", "--user=" + testEmail
	compare(t, must(t, "", "endpoint", "list", db), `
ID                                USER             STATE            SINCE                 WAITING  EXHAUSTED  LAST SUCCESS          URL
`+id+`  ada@example.com  disabled (gone)  2026-01-12T14:00:00Z  2        1          2026-01-12T12:00:00Z  https://hooks.example.com/ada?…`)
	line := func(reason, since, state string) string {
		return `{"email":"ada@example.com","exhausted":1,"id":"` + id + `","last_success_at":"2026-01-12T12:00:00.012345Z",` + reason + `"since":"` + since + `","state":"` + state +
			`","user_id":"01936f3e-6a00-7b2c-9d33-1e5e0e9f8c00","waiting":2,"webhook_url":"https://hooks.example.com/ada?…"}`
	}
	compare(t, must(t, "", "endpoint", "list", db, user, "--json"), line(`"reason":"gone",`, "2026-01-12T14:00:00.012345Z", "disabled"))
	const paused = "https://hooks.example.com/ada?… of ada@example.com is "
	compare(t, must(t, "", "endpoint", "enable", db, id, user), paused+"on")
	compare(t, must(t, "", "endpoint", "list", db, "--json"), line("", "2026-01-12T13:00:00Z", "failing"))
	unknown := strings.Repeat("0", len(id))
	fails(t, exitFailure, "studiod: the user has no endpoint with the id "+unknown, "endpoint", "enable", db, unknown, user)
	fails(t, exitUsage, "studiod: no such user", "endpoint", "pause", db, id, "--user=bob@example.com")
	compare(t, must(t, "", "endpoint", "pause", db, id, user), paused+"paused")
	if list := must(t, "", "endpoint", "list", db, user, "--json"); !strings.Contains(list, `,"since":"20`) || !strings.Contains(list, `,"state":"paused",`) {
		t.Error(list)
	}
	compare(t, must(t, "", "endpoint", "enable", db, id, user), paused+"on")
}

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
		{"--until=2026-01-13T00:00:00Z", exitOK, "events sent again: 2"},
		{"--subject " + subjectID, exitOK, "events sent again: 0"},
		{"--subject " + subjectID + " --delivered --dry-run", exitOK, "events that would be sent again: 1"},
		{"--json " + eventID(4), exitOK, `{"dry_run":false,"events":1}`},
		{eventID(4), exitFailure, "it is pending"},
		{eventID(1) + " --delivered", exitOK, "events sent again: 1"},
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
