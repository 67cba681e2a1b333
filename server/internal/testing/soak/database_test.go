package soak_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// lockEvents prevents all other processes from writing events and attempts until unlock is called.
func lockEvents(t *testing.T, dsn string) (unlock func()) {
	t.Helper()
	tx, err := studiotest.OpenSQL(t, dsn).BeginTx(t.Context(), nil)
	check(t, err)
	if !strings.HasPrefix(dsn, "sqlite:") { // on SQLite, BEGIN IMMEDIATE is the lock
		_, err = tx.ExecContext(t.Context(), "LOCK TABLE events, attempts IN EXCLUSIVE MODE")
		check(t, err)
	}
	return func() { check(t, tx.Rollback()) }
}

const seedPrefix = "seed-"

// seed adds subjects with due events for each URL, and notifies the daemons.
func (d *deployment) seed(subjects, events int, urls ...string) {
	d.t.Helper()
	db := studiotest.OpenSQL(d.t, d.dsn)
	defer func() { check(d.t, db.Close()) }()
	tx, err := db.BeginTx(d.t.Context(), nil)
	check(d.t, err)
	for _, url := range urls {
		d.seeded++
		check(d.t, studiotest.Backlog{
			UserID: d.userID, Prefix: fmt.Sprintf("%s%d-", seedPrefix, d.seeded), URL: url, Subjects: subjects, Events: events,
		}.Insert(d.t.Context(), tx, d.dsn))
	}
	check(d.t, tx.Commit())
	if strings.HasPrefix(d.dsn, "sqlite:") { // daemons poll SQLite for writes of other processes
		return
	}
	for _, url := range urls {
		_, err := db.ExecContext(d.t.Context(), `SELECT pg_notify('studio_' || current_schema(), 'due  ' || $1)`, d.userID+" "+studio.Origin(url))
		check(d.t, err)
	}
}
