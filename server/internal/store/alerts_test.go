package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// Each of many processes asks whether it may alert a user. One may, once a day and URL, and about ten URLs a day.
func TestStore_ClaimAlert_isGivenOnceADay(t *testing.T) {
	t.Parallel()
	withUser(t, func(t *testing.T, db *store.Store) {
		const url = "https://hooks.example.com/?key=secret"
		claim := func(url string, at, disabledAt time.Time) (claimed int64) {
			t.Helper()
			var count atomic.Int64
			concurrently(repeat(8, func(int) {
				switch email, err := db.ClaimAlert(t.Context(), "ada", url, at, disabledAt); {
				case err != nil:
					t.Error(err)
				case email != "":
					count.Add(1)
				}
			})...)
			return count.Load()
		}
		at := func(hours float64) time.Time { return noon().Add(time.Duration(hours * float64(time.Hour))) }
		never := time.Time{}
		for i, test := range []struct {
			at, disabledAt time.Time
			want           int64
		}{
			{at(0), never, 1},
			{at(23.9), never, 0},
			{at(24), never, 1},
			{at(30), at(30), 0},   // alerted within a day
			{at(48), at(30), 1},   // not alerted since it was disabled
			{at(72.1), at(30), 0}, // alerted since
			{at(72.2), never, 1},
			{at(96.3), at(72.2), 0}, // alerted when it was disabled
		} {
			if got := claim(url, test.at, test.disabledAt); got != test.want {
				t.Errorf("%d. %d claims succeed, want %d", i, got, test.want)
			}
		}
		if got := claim("https://other.example.com/", at(72.3), never); got != 1 {
			t.Errorf("%d claims for another URL succeed", got)
		}
		check(t, db.ReleaseAlert(t.Context(), "ada", url, at(72.1))) // another claim
		if got := claim(url, at(72.4), never); got != 0 {
			t.Error("the claim of another process is released")
		}
		check(t, db.ReleaseAlert(t.Context(), "ada", url, at(72.2)))
		if got := claim(url, at(72.5), never); got != 1 {
			t.Errorf("%d claims after a release succeed", got)
		}
		check(t, db.Prune(t.Context(), at(72.5+48)))
		if got := claim(url, at(72.5), never); got != 0 {
			t.Error("an alert is pruned while it counts")
		}
		check(t, db.Prune(t.Context(), at(72.6+48)))
		if got := claim(url, at(72.5), never); got != 1 {
			t.Error("an alert is kept for more than two days")
		}
		alerts := int64(0)
		for i := range 20 {
			alerts += claim(fmt.Sprintf("https://hooks.example.com/%d", i), at(200+float64(i)/100), never)
		}
		if alerts != 10 {
			t.Errorf("%d alerts about 20 URLs on a day", alerts)
		}
		check(t, db.SetDisabled(t.Context(), "ada", at(0), at(0)))
		if got := claim("https://third.example.com/", at(72), never); got != 0 {
			t.Error("a disabled user is alerted")
		}
	})
}
