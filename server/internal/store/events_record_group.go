package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// recordQueueWait is how long a group may take before another group starts concurrently. One group at a time is
	// cheaper, because the cost of a statement is shared by more records.
	recordQueueWait = 100 * time.Millisecond
	// maxRecordGroup bounds the records of a group.
	maxRecordGroup = 128
	recordPause    = 50 * time.Millisecond
	recordTries    = 100
)

// record is a [Record] that waits for its group.
type record struct {
	groupMember
	Record

	holder  string
	next    time.Time
	written bool // false if its subject was locked by another transaction, or its number is not the next one
}

func (s *Store) newRecordQueue() *commitQueue[*record] {
	return &commitQueue[*record]{
		commit: s.commitRecords, limit: maxRecordGroup,
		slots: make(chan struct{}, 1), extraSlot: make(chan struct{}, 1), maxQueueWait: recordQueueWait,
		sameGroup: func(first, other *record) bool { return first.holder == other.holder },
	}
}

// recordInGroup commits a record by group commit on PostgreSQL, and alone if the group fails. On SQLite,
// write does this for every change.
//
// A group is one request. The server has received the whole request before it starts, so a process that
// freezes during it holds no lock. Subjects that another transaction has locked are skipped and retried, so
// that they do not delay the group. It returns studio.ErrBusy after recordTries tries, and studio.ErrNotFound if the
// event does not exist.
func (s *Store) recordInGroup(ctx context.Context, holder string, one Record) (next time.Time, err error) {
	for range recordTries {
		r := &record{groupMember: newGroupMember(), Record: one, holder: holder}
		s.records.add(r)
		<-r.done
		if r.written || r.err != nil {
			return r.next, r.err
		}
		event, err := s.Event(ctx, one.Event.ID)
		if err != nil {
			return next, err
		}
		if number := event.Last.Number + 1; number != one.Attempt.Number {
			one.Attempt.Number = number
			continue
		}
		select {
		case <-ctx.Done():
			return next, ctx.Err()
		case <-time.After(recordPause):
		}
	}
	return next, studio.ErrBusy
}

// commitRecords commits a group. If the group fails, it commits each record alone.
func (s *Store) commitRecords(group []*record) {
	ctx := context.Background()
	if err := s.writeRecords(ctx, group); err != nil {
		alone := len(group) > 1 && !s.engine.busy(err) // another record may be the cause
		for _, r := range group {
			if alone {
				err = s.writeRecords(ctx, []*record{r})
			}
			if err != nil {
				r.err = err
			}
		}
	}
	for _, r := range group {
		close(r.done)
	}
}

// lockedSubjects is the SQL expression for the subjects of a group that the transaction has locked.
const lockedSubjects = `(SELECT current_setting('studio.locked')::text[])::text[]`

// lockSubjects locks the row of the lease holder, the fencing token, and then the subjects of a group.
const lockSubjects = `WITH fence AS MATERIALIZED (SELECT 1 FROM holders WHERE id = $1 FOR KEY SHARE),
	locked AS MATERIALIZED (SELECT id FROM subjects WHERE id = ANY((SELECT $2::text[])::text[]) AND ($1 = '' OR EXISTS (SELECT FROM fence))
		ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
	SELECT $1 = '' OR EXISTS (SELECT FROM fence), set_config('studio.locked', COALESCE((SELECT array_agg(id)::text FROM locked), '{}'), true)`

// The statements that write a group, and return which events they have written and when the next ones of their subjects
// are due.
//
//nolint:gochecknoglobals // constants
var (
	updateGroupEvents = rowStatement[*Record]{
		postgres: updateEvents.postgres + ` RETURNING events.id`, values: updateEvents.values,
	}
	updateGroupDeliveries = rowStatement[*Record]{
		postgres: `WITH gone AS (` + deleteDeliveries.postgres + ` RETURNING subject_id) ` + updateDeliveries.postgres + `
			AND r.subject_id NOT IN (SELECT subject_id FROM gone) RETURNING deliveries.subject_id, deliveries.due_at`, values: nextValues,
	}
)

// writeRecords writes records of one lease holder in one transaction and one request.
func (s *Store) writeRecords(ctx context.Context, group []*record) error {
	connection, err := s.postgres.acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	records, subjects := make([]*Record, len(group)), make([]string, len(group))
	for i, r := range group {
		records[i], subjects[i] = &r.Record, r.Event.SubjectID
	}
	held, written, next := false, make(map[string]bool, len(group)), make(map[string]time.Time)
	sql, batch := postgresDialect{}, new(pgx.Batch)
	batch.Queue(lockSubjects, group[0].holder, subjects).QueryRow(func(row pgx.Row) error { return row.Scan(&held, nil) })
	for _, s := range keepAttempts(sql, records...) {
		batch.Queue(s.query, s.args...)
	}
	for _, s := range updateGroupEvents.with(sql, records...) {
		var id string
		batch.Queue(s.query, s.args...).Query(forEachRow([]any{&id}, func() { written[id] = true }))
	}
	for _, s := range disableEndpoints(sql, records...) {
		batch.Queue(s.query, s.args...)
	}
	for _, s := range updateGroupDeliveries.with(sql, records...) {
		var id string
		var at time.Time
		batch.Queue(s.query, s.args...).Query(forEachRow([]any{&id, instant{&at}}, func() { next[id] = at }))
	}
	if err := connection.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if err := confirmed(connection); err != nil {
		return err
	}
	for _, r := range group {
		r.next, r.written = next[r.Event.SubjectID], written[r.Event.ID]
		if !held {
			r.err = ErrLeaseLost
		}
	}
	return nil
}

// forEachRow returns a function that scans each row of a query in a batch, and then calls each.
func forEachRow(dest []any, each func()) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, dest, func() error {
			each()
			return nil
		})
		return err
	}
}
