package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// Each of many processes asks for alerts. One gets that about a URL, once a day, and a user gets about ten a day.
func TestStore_ClaimAlert_isGivenOnceADay(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const url = "https://hooks.example.com/?key=secret"
		at := func(hours float64) time.Time { return noon().Add(time.Duration(hours * float64(time.Hour))) }
		add := func(url string) {
			s := subject(url, 0)
			s.WebhookURL = url
			create(t, db, s)
		}
		claim := func(now time.Time) (alerts []store.Alert) {
			t.Helper()
			var mu sync.Mutex
			concurrently(repeat(8, func(int) {
				if alert, err := db.ClaimAlert(t.Context(), now); err == nil {
					mu.Lock()
					defer mu.Unlock()
					alerts = append(alerts, alert)
				}
			})...)
			return alerts
		}
		add(url)
		want := store.Alert{UserID: "ada", Email: "ada@example.com", URL: url}
		for i, test := range []struct {
			at, failingSince, disabledAt, lastAt float64 // in hours; 0 for none
			want, postpone                       bool
		}{
			{at: 23.9, lastAt: 23},
			{at: 25, failingSince: 1.1, lastAt: 23}, // not yet for a day
			{at: 26, failingSince: 1, lastAt: 23, want: true},
			{at: 49.9, failingSince: 1, lastAt: 49},
			{at: 50, failingSince: 1, lastAt: 20}, // nothing is sent any more
			{at: 50, failingSince: 1, lastAt: 22, want: true},
			{at: 60, failingSince: 1, disabledAt: 60, lastAt: 60}, // alerted within a day
			{at: 74, failingSince: 1, disabledAt: 60, lastAt: 60, want: true},
			{at: 95.9, disabledAt: 60, lastAt: 60},  // alerted since
			{at: 200, disabledAt: 163, lastAt: 163}, // too long ago
			{at: 200, disabledAt: 199, lastAt: 199, want: true, postpone: true},
			{at: 200.1, disabledAt: 199, lastAt: 199},
			{at: 200.2, disabledAt: 199, lastAt: 199, want: true},
			{at: 230, disabledAt: 200.5, lastAt: 200.5, want: true, postpone: true},
			{at: 230.1, disabledAt: 200.5, lastAt: 200.5},
			{at: 230.2, disabledAt: 200.5, lastAt: 200.5, want: true},
			{at: 230.4, disabledAt: 200.5, lastAt: 200.5},
		} {
			micros := func(hours float64) string {
				if hours == 0 {
					return "NULL"
				}
				return fmt.Sprint(at(hours).UnixMicro())
			}
			db.Exec(t, `UPDATE endpoints SET failing_since = `+micros(test.failingSince)+`, disabled_at = `+micros(test.disabledAt)+`, last_at = `+micros(test.lastAt))
			alerts := claim(at(test.at))
			want.FailingSince, want.DisabledAt = at(test.failingSince), time.Time{}
			if test.disabledAt > 0 {
				want.FailingSince, want.DisabledAt = time.Time{}, at(test.disabledAt)
			}
			if (len(alerts) == 1) != test.want || len(alerts) > 1 || len(alerts) == 1 && alerts[0] != want {
				t.Errorf("%d. alerts are %+v", i, alerts)
			}
			if test.postpone {
				check(t, db.PostponeAlert(t.Context(), want, at(test.at-0.1))) // that of another process
				check(t, db.PostponeAlert(t.Context(), want, at(test.at)))
				check(t, db.Prune(t.Context(), at(test.at))) // which keeps it
			}
		}
		for i := range 20 {
			add(fmt.Sprintf("https://hooks.example.com/%d", i))
		}
		fail := fmt.Sprintf(`UPDATE endpoints SET failing_since = 1, disabled_at = NULL, last_at = %d`, at(400).UnixMicro())
		db.Exec(t, fail)
		for _, alert := range claim(at(400)) { // which delays no other
			check(t, db.PostponeAlert(t.Context(), alert, at(400)))
		}
		check(t, db.CreateUser(t.Context(), user("eve")))
		s := subject("eve", 0)
		s.UserID, s.WebhookURL = "eve", "https://hooks.example.com/0"
		create(t, db, s)
		db.Exec(t, fail)
		alerts := make(map[string]int) // by user
		for claimed := claim(at(400)); len(claimed) > 0; claimed = claim(at(400)) {
			for _, alert := range claimed {
				alerts[alert.UserID]++
			}
		}
		if alerts["ada"] != 10 || alerts["eve"] != 1 {
			t.Errorf("alerts about 21 URLs and one of another user on a day: %v", alerts)
		}
		check(t, db.SetDisabled(t.Context(), "ada", at(0), at(0)))
		if got := claim(at(400)); len(got) > 0 {
			t.Errorf("a disabled user is alerted: %v", got)
		}
	})
}
