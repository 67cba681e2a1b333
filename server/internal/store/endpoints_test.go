package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Each URL is listed once, with its switch-off reason, its circuit breaker and its latest attempt.
func TestStore_Endpoints_listsEachURLOnce(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		for i := range 20 {
			s := subject(fmt.Sprintf("s%02d", i), 1)
			s.WebhookURL = fmt.Sprintf("https://hooks%d.example.com/", i%4)
			create(t, db, s)
			for attempt := range i % 4 {
				failed := studio.Attempt{At: noon().Add(time.Duration(attempt-i) * time.Second), Status: 500 + attempt, Failure: "status"}
				check(t, recordAttempt(t.Context(), db, s.Events[0], failed, store.Outcome{State: studio.EventPending, RetryAt: noon()}))
			}
		}
		check(t, db.SaveBreaker(t.Context(), store.Breaker{Origin: "https://hooks2.example.com", Until: noon(), Pause: time.Second}))
		first, more, err := db.Endpoints(t.Context(), "ada", "", 3)
		check(t, err)
		second, last, err := db.Endpoints(t.Context(), "ada", first[2].SubjectID, 3)
		check(t, err)
		if !more || last || len(first) != 3 || len(second) != 1 {
			t.Errorf("pages of %d and %d endpoints", len(first), len(second))
		}
		for i, r := range append(first, second...) {
			if r.URL != fmt.Sprintf("https://hooks%d.example.com/", i) || r.OpenUntil.IsZero() != (i != 2) || r.DisabledReason != "" || r.Waiting != 5 {
				t.Errorf("%d. %+v", i, r)
			}
			if want := 499 + i; i > 0 && r.Last.Status != want || r.Last.At.IsZero() != (i == 0) {
				t.Errorf("%d. the latest attempt is %+v, want status %d", i, r.Last, want)
			}
		}
		_, _, err = db.Endpoints(t.Context(), "bob", first[2].SubjectID, 3)
		wantError(t, err, studio.ErrCursor)
	})
}
