package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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
	skipped bool // its subject was locked by another transaction
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
		if !r.skipped {
			if s.engine.missingReference(r.err) {
				r.err = studio.ErrNotFound
			}
			return r.next, r.err
		}
		if _, err := s.Event(ctx, one.Event.ID); err != nil {
			return next, err
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

// fenceHolder locks the row of the lease holder, the fencing token. lockSubjects locks the subjects of a group.
const (
	fenceHolder  = `SELECT 1 FROM holders WHERE id = $1 FOR KEY SHARE`
	lockSubjects = `SELECT set_config('studio.locked', COALESCE((SELECT array_agg(id)::text FROM
		(SELECT id FROM subjects WHERE id = ANY($2::text[]) AND ($1 = '' OR EXISTS (SELECT FROM holders WHERE id = $1))
			ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) l), '{}'), true)`
)

// writeRecords writes records of one lease holder in one transaction and one request.
func (s *Store) writeRecords(ctx context.Context, group []*record) error {
	connection, err := s.postgres.acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	holder, held := group[0].holder, group[0].holder == ""
	written := make(map[string]time.Time, len(group))
	records, subjects := make([]*Record, len(group)), make([]string, len(group))
	for i, r := range group {
		records[i], subjects[i] = &r.Record, r.Event.SubjectID
	}
	batch := new(pgx.Batch)
	if holder != "" {
		batch.Queue(fenceHolder, holder).Exec(func(tag pgconn.CommandTag) error {
			held = tag.RowsAffected() > 0
			return nil
		})
	}
	batch.Queue(lockSubjects, holder, subjects)
	sql := postgresDialect{}
	for _, s := range slices.Concat(recordStatements(sql, records), deleteDeliveries.with(sql, records...), updateDeliveries.with(sql, records...)) {
		batch.Queue(s.query, s.args...)
	}
	batch.Queue(`SELECT id, due_at FROM unnest(` + lockedSubjects + `) locked (id) LEFT JOIN deliveries ON subject_id = id`).Query(func(rows pgx.Rows) error {
		var id string
		var next time.Time
		_, err := pgx.ForEachRow(rows, []any{&id, instant{&next}}, func() error {
			written[id] = next
			return nil
		})
		return err
	})
	if err := connection.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if err := confirmed(connection); err != nil {
		return err
	}
	for _, r := range group {
		if !held {
			r.err = ErrLeaseLost
		}
		next, ok := written[r.Event.SubjectID]
		r.next, r.skipped = next, held && !ok
	}
	return nil
}
