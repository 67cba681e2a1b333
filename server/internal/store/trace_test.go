package store_test

import (
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

func TestSpanName_saysWhatAStatementDoes(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"":                               "",
		"PRAGMA wal_checkpoint(PASSIVE)": "PRAGMA",
		"SELECT (SELECT 1)":              "SELECT",
		"WITH r (id) AS NOT MATERIALIZED (SELECT $1) SELECT s.id FROM subjects s":           "SELECT",
		"WITH r (id) AS (SELECT $1) INSERT OR FAIL INTO events (id) SELECT r.id FROM r":     "INSERT events",
		"WITH r (id) AS (SELECT lower($1))\n\tUPDATE subjects SET id = r.id FROM r":         "UPDATE subjects",
		"DELETE FROM renderings WHERE subject_id IN (SELECT r.subject_id FROM r)":           "DELETE renderings",
		"INSERT INTO accepted_keys VALUES ($1)":                                             "INSERT accepted_keys",
		"WITH due AS (SELECT id FROM events FOR UPDATE SKIP LOCKED) UPDATE OR FAIL a SET b": "UPDATE a",
	} {
		if name := store.SpanName(statement); name != want {
			t.Errorf("the span of %q is %q, want %q", statement, name, want)
		}
	}
}
