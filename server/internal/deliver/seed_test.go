package deliver_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// seed adds subjects of a user with one due event each, a number of them for each URL.
func seed(t testing.TB, dsn, userID string, events int, urls ...string) {
	t.Helper()
	db := studiotest.OpenSQL(t, dsn)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	check(t, err)
	for _, url := range urls {
		backlog := studiotest.Backlog{UserID: userID, Prefix: url + " ", URL: url, Subjects: events, Events: 1}
		check(t, backlog.Insert(t.Context(), tx, dsn))
	}
	check(t, tx.Commit())
}
