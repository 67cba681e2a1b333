package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A user has endpoints in pages, and operators see those of all users with trouble.
func TestStore_Endpoints_areThoseOfAUser(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		check(t, db.CreateUser(t.Context(), studio.User{ID: "bob", Email: "bob@example.com", CreatedAt: noon()}))
		check(t, db.CreateUser(t.Context(), studio.User{ID: "eve", Email: "eve@example.com", CreatedAt: noon()}))
		failed := studio.Attempt{Number: 1, At: noon(), Status: 500, Failure: "status"}
		for i, outcome := range []store.Outcome{
			{},
			{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true},
			{State: studio.EventPending, RetryAt: noon()},
			{State: studio.EventExhausted, Reason: studio.ReasonSchedule},
			{},
			{State: studio.EventPending, RetryAt: noon()},
		} {
			s := subject(fmt.Sprint(i), 1)
			s.UserID, s.WebhookURL = []string{"ada", "eve"}[i%2], fmt.Sprintf("https://hooks.example.com/%d", i/4)
			create(t, db, s)
			if outcome.State != "" {
				check(t, recordAttempt(t.Context(), db, s.Events[0], failed, outcome))
				result := store.EndpointResult{UserID: s.UserID, URL: s.WebhookURL}
				result.Add(failed)
				check(t, db.SaveResults(t.Context(), []store.EndpointResult{result}))
			}
		}
		check(t, db.PauseEndpoint(t.Context(), "ada", "https://hooks.example.com/1", noon()))
		check(t, db.EnableEndpoint(t.Context(), "ada", "https://hooks.example.com/0")) // and no other URL
		check(t, db.EnableEndpoint(t.Context(), "eve", "https://hooks.example.com/1"))
		line := func(e studio.Endpoint) string {
			return fmt.Sprintf("%s %s: %d waiting, %d exhausted, paused: %t, %s", e.Email, e.URL[len(e.URL)-1:], e.Waiting, e.Exhausted, !e.PausedAt.IsZero(), e.DisabledReason)
		}
		want := []string{
			"ada@example.com 0: 2 waiting, 0 exhausted, paused: false, ", "ada@example.com 1: 1 waiting, 0 exhausted, paused: true, ",
			"eve@example.com 0: 0 waiting, 2 exhausted, paused: false, gone", "eve@example.com 1: 1 waiting, 0 exhausted, paused: false, ",
		}
		var got []string
		for _, user := range []string{"ada", "eve"} {
			for after, more := (studio.Position{}), true; more; {
				var page []studio.Endpoint
				var err error
				page, more, err = db.Endpoints(t.Context(), user, after, 1)
				check(t, err)
				got, after = append(got, line(page[0])), studio.Position{ID: page[0].SubjectID}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		_, _, err := db.Endpoints(t.Context(), "eve", studio.Position{ID: "0"}, 1) // of ada
		wantError(t, err, studio.ErrCursor)
		page, more, err := db.Endpoints(t.Context(), "eve", studio.Position{ID: "1"}, 1)
		if check(t, err); len(page) != 1 || line(page[0]) != want[3] || more {
			t.Errorf("the second page of a user is %+v", page)
		}
		for limit := range 5 {
			troubled := try(db.TroubledEndpoints(t.Context(), limit))(t)
			if len(troubled) != limit {
				t.Errorf("%d endpoints have trouble, want %d", len(troubled), limit)
			}
			if limit == 2 && (troubled[0].Email != "ada@example.com" || troubled[0].Last.Failure == "" || line(troubled[1]) != want[3]) {
				t.Errorf("the first with trouble are %+v", troubled)
			}
		}
	})
}

// An endpoint counts its waiting and exhausted events, and its row has the results of attempts: an outage begins with
// the first failure after a success, and goes on until the next success.
func TestStore_SaveResults_keepsAnOutage(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		at := func(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }
		for i := range 4 {
			create(t, db, subject(fmt.Sprint("s", i), 2))
		}
		check(t, deleteSubject(t, db, studio.Avatar, "s3", noon()))
		try(db.ExhaustEvents(t.Context(), "s1", at(41), studio.ReasonSchedule))(t)
		want := studio.Endpoint{
			UserID: "ada", Email: "ada@example.com", URL: "https://hooks.example.com/", SubjectID: "s0", Waiting: 4, Exhausted: 2, OpenUntil: noon(),
		}
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://another.example.com", Until: at(1), Pause: time.Second}))
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://hooks.example.com", Until: noon(), Pause: time.Second}))
		for i, save := range []struct {
			failures                    []string // of the attempts, which are made every minute
			lastSuccessAt, failingSince int      // in minutes; 0 for none
		}{
			{failures: []string{"status", "status"}, failingSince: 10},
			{failures: []string{"connect"}, failingSince: 10},
			{failures: []string{"status", "", "status", "status"}, lastSuccessAt: 31, failingSince: 32},
			{failures: []string{"status"}, lastSuccessAt: 31, failingSince: 32},
			{failures: []string{""}, lastSuccessAt: 50},
			{failures: []string{"status"}, lastSuccessAt: 50, failingSince: 60},
		} {
			result := store.EndpointResult{UserID: "ada", URL: want.URL}
			for n, failure := range save.failures {
				want.Last = studio.Attempt{Number: n + 1, At: at(10*(i+1) + n), Duration: time.Second, Status: 500, Failure: failure, Address: "a"}
				result.Add(want.Last)
			}
			unknown := store.EndpointResult{UserID: "bob", URL: want.URL, Last: want.Last}
			check(t, db.SaveResults(t.Context(), []store.EndpointResult{unknown, result}))
			want.LastSuccessAt, want.FailingSince = time.Time{}, time.Time{}
			if save.lastSuccessAt > 0 {
				want.LastSuccessAt = at(save.lastSuccessAt).Add(time.Second)
			}
			if save.failingSince > 0 {
				want.FailingSince = at(save.failingSince)
			}
			got := try(db.Endpoint(t.Context(), "ada", want.URL))(t)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d. endpoint (-want +got):\n%s", i, diff)
			}
		}
		_, err := db.Endpoint(t.Context(), "ada", "https://hooks.example.com")
		wantError(t, err, studio.ErrNotFound)
	})
}

// An endpoint is kept until a month after the last attempt, and longer if it is paused or disabled.
func TestStore_Prune_deletesUnusedEndpoints(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		url := func(name string) string { return "https://hooks.example.com/" + name }
		for _, name := range []string{"disabled", "paused", "unused", "used"} {
			s := subject(name, 1)
			s.WebhookURL = url(name)
			create(t, db, s)
		}
		check(t, db.PauseEndpoint(t.Context(), "ada", url("paused"), noon()))
		finish(t, db, "disabled", store.Outcome{State: studio.EventExhausted, Reason: studio.ReasonGone, DisableURL: true})
		const month = studio.Retention + 24*time.Hour
		for _, at := range []time.Duration{time.Hour, month} {
			check(t, db.SaveResults(t.Context(), []store.EndpointResult{{UserID: "ada", URL: url("used"), Last: studio.Attempt{At: noon().Add(at)}}}))
		}
		want := []string{url("disabled"), url("paused"), url("unused"), url("used")}
		for range 2 {
			urls := try(db.EndpointURLs(t.Context(), "ada", "", 5))(t)
			if !slices.Equal(urls, want) {
				t.Errorf("the endpoints are %v, want %v", urls, want)
			}
			check(t, db.Prune(t.Context(), noon().Add(month+time.Hour)))
			want = []string{url("disabled"), url("paused"), url("used")}
		}
	})
}
