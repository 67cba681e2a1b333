package store

import (
	"context"
	"slices"
	"time"
)

// groupAttempt is a [MadeAttempt] that is saved, on PostgreSQL with its group.
type groupAttempt struct {
	groupMember
	MadeAttempt

	holder  string
	next    time.Time
	written bool // false if its subject was locked by another transaction, or its number is not the next one
}

// lockedSubjects is the SQL expression for the subjects of a group that the transaction has locked.
const lockedSubjects = `(SELECT current_setting('studio.locked')::text[])::text[]`

// lockSubjects locks the row of the lease holder, the fencing token, and then the subjects of a group.
const lockSubjects = `WITH fence AS MATERIALIZED (SELECT 1 FROM holders WHERE id = $1 FOR KEY SHARE),
	locked AS MATERIALIZED (SELECT id FROM subjects WHERE id = ANY((SELECT $2::text[])::text[]) AND ($1 = '' OR EXISTS (SELECT FROM fence))
		ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
	SELECT CASE WHEN $1 <> '' AND NOT EXISTS (SELECT FROM fence) THEN '` + leaseLost + `' ELSE '' END,
		set_config('studio.locked', COALESCE((SELECT array_agg(id)::text FROM locked), '{}'), true), NULL::bigint`

// The statements that write a group, and return which events they have written and when the next ones of their subjects
// are due.
//
//nolint:gochecknoglobals // constants
var (
	updateGroupEvents = rowStatement[*MadeAttempt]{
		postgres: updateEvents.postgres + ` RETURNING '` + eventWritten + `', events.id, NULL::bigint`, values: updateEvents.values,
	}
	updateGroupDeliveries = newRowStatement(nextColumns, nextValues, func(sql dialect) string {
		return `, gone AS (` + deleteEnded(sql) + ` RETURNING subject_id) ` + updateNext(sql) + `
			AND r.subject_id NOT IN (SELECT subject_id FROM gone) RETURNING '` + nextDue + `', deliveries.subject_id, deliveries.due_at`
	})
)

// The first column of a row that a statement of a group returns. The second is the ID of an event or a subject, and the
// third a time.
const (
	leaseLost    = "lease lost"
	eventWritten = "event written"
	nextDue      = "next due"
)

// saveAttempts is a groupWrite for attempts of one lease holder. On PostgreSQL it is one request. The server has
// received the whole request before it starts, so a process that freezes during it holds no lock. It skips subjects
// that another transaction has locked, so that they do not delay the group.
func (s *Store) saveAttempts(ctx context.Context, tx transaction, group []*groupAttempt, _ bool) error {
	if !s.Shared() {
		return group[0].saveOnSQLite(ctx, tx)
	}
	attempts, subjects := make([]*MadeAttempt, len(group)), make([]string, len(group))
	for i, r := range group {
		attempts[i], subjects[i] = &r.MadeAttempt, r.Event.SubjectID
	}
	lost, written, next := false, make(map[string]bool, len(group)), make(map[string]time.Time)
	err := tx.last(ctx, func(scan func(...any) error) error {
		var what, id string
		var at time.Time
		err := scan(&what, &id, instant{&at})
		switch what {
		case leaseLost:
			lost = true
		case eventWritten:
			written[id] = true
		case nextDue:
			next[id] = at
		}
		return err
	}, slices.Concat([]statement{{lockSubjects, []any{group[0].holder, subjects}}},
		keepAttempts(tx, attempts...), updateGroupEvents.with(tx, attempts...),
		disableEndpoints(tx, attempts...), updateGroupDeliveries.with(tx, attempts...))...)
	for _, r := range group {
		r.next, r.written = next[r.Event.SubjectID], written[r.Event.ID]
		if lost {
			r.err = ErrLeaseLost
		}
	}
	return err
}
