package jobs_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// seed adds subjects of a user with one due event each, a number of them for each URL.
func seed(t testing.TB, dsn, userID string, events int, urls ...string) {
	t.Helper()
	db := studiotest.OpenSQL(t, dsn)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range urls {
		backlog := studiotest.Backlog{UserID: userID, Prefix: url + " ", URL: url, Subjects: events, Events: 1}
		if err := backlog.Insert(t.Context(), tx, dsn); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
