package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// recordSlots bounds the groups of records that are committed concurrently.
	recordSlots = 2
	// maxRecordGroup bounds the records of a group.
	maxRecordGroup = 128
	recordPause    = 50 * time.Millisecond
	recordTries    = 100
)

// record is a [Record] that waits for its group.
type record struct {
	Record
	holder  string
	next    time.Time
	err     error
	skipped bool          // its subject was locked by another transaction
	done    chan struct{} // closed when err and skipped are set
}

func (s *Store) newRecordQueue() *commitQueue[*record] {
	return &commitQueue[*record]{
		commit: s.commitRecords, limit: maxRecordGroup, slots: make(chan struct{}, recordSlots),
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
		r := &record{Record: one, holder: holder, done: make(chan struct{})}
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
const lockedSubjects = `current_setting('studio.locked')::text[]`

// groupStatements write a group of records. fence locks the row of the lease holder, the fencing token. CASE
// keeps the planner from using the index of pending events: if the statistics say that the index is empty,
// reading all of it for each record looks cheaper than finding the event by its ID.
//
//nolint:gochecknoglobals // a table
var groupStatements = struct{ fence, lock, attempts, events, subjects, endpoints string }{
	fence: `SELECT 1 FROM holders WHERE id = $1 FOR KEY SHARE`,
	lock: `SELECT set_config('studio.locked', COALESCE((SELECT array_agg(id)::text FROM
		(SELECT id FROM subjects WHERE id = ANY($2::text[]) AND ($1 = '' OR EXISTS (SELECT FROM holders WHERE id = $1))
			ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) l), '{}'), true)`,
	attempts: `INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
		SELECT r.event_id, (SELECT COALESCE(MAX(a.number), 0) + 1 FROM attempts a WHERE a.event_id = r.event_id),
			r.at, r.duration, r.address, r.status, r.failure, r.excerpt
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::int[], $7::text[], $8::bytea[])
			r(subject_id, event_id, at, duration, address, status, failure, excerpt)
		WHERE r.subject_id = ANY(` + lockedSubjects + `)`,
	events: `UPDATE events e SET state = r.state, tries = e.tries + 1, ended_at = r.ended_at, due_at = r.due_at, reason = r.reason
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
			r(subject_id, event_id, state, ended_at, due_at, reason)
		WHERE e.id = r.event_id AND CASE e.state WHEN 'pending' THEN TRUE END AND r.state <> '' AND r.subject_id = ANY(` + lockedSubjects + `)`,
	subjects: `UPDATE subjects SET deliver_at = ` + duePostgres + ` WHERE id = ANY(` + lockedSubjects + `) RETURNING id, deliver_at`,
	endpoints: `INSERT INTO endpoints (user_id, url, origin, disabled_at, reason)
		SELECT user_id, webhook_url, origin, $2::bigint, $3::text FROM subjects WHERE id = $1 AND id = ANY(` + lockedSubjects + `)
		ON CONFLICT (user_id, url) DO NOTHING`,
}

// writeRecords writes records of one lease holder in one transaction and one request.
func (s *Store) writeRecords(ctx context.Context, group []*record) error {
	connection, err := s.postgres.acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	holder, held := group[0].holder, group[0].holder == ""
	written := make(map[string]time.Time, len(group))
	var subjects, events, addresses, failures, states, reasons []string
	var at, duration []int64
	var status []int32
	var excerpts [][]byte
	var ended, due []*int64
	for _, r := range group {
		subjects, events = append(subjects, r.Event.SubjectID), append(events, r.Event.ID)
		at, duration = append(at, r.Attempt.At.UnixMicro()), append(duration, r.Attempt.Duration.Microseconds())
		addresses, status = append(addresses, r.Attempt.Address), append(status, int32(r.Attempt.Status)) //nolint:gosec // three digits
		failures, excerpts = append(failures, r.Attempt.Failure), append(excerpts, r.Attempt.Excerpt)
		states, reasons = append(states, string(r.Outcome.State)), append(reasons, string(r.Outcome.Reason))
		ended, due = append(ended, microsPointer(r.endedAt())), append(due, microsPointer(r.dueAt()))
	}
	batch := new(pgx.Batch)
	if holder != "" {
		batch.Queue(groupStatements.fence, holder).Query(func(rows pgx.Rows) error {
			held = rows.Next()
			rows.Close()
			return rows.Err()
		})
	}
	batch.Queue(groupStatements.lock, holder, subjects)
	batch.Queue(groupStatements.attempts, subjects, events, at, duration, addresses, status, failures, excerpts)
	batch.Queue(groupStatements.events, subjects, events, states, ended, due, reasons)
	batch.Queue(groupStatements.subjects).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id string
			var next time.Time
			if err := rows.Scan(&id, instant{&next}); err != nil {
				return err
			}
			written[id] = next
		}
		return rows.Err()
	})
	for _, r := range group {
		if r.Outcome.SwitchOff {
			batch.Queue(groupStatements.endpoints, r.Event.SubjectID, r.endedAt().UnixMicro(), string(r.Outcome.Reason))
		}
	}
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

// microsPointer returns a time in microseconds, or nil for the zero time.
func microsPointer(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}
