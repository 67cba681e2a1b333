package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// recordTurns is how many groups of records are committed at once.
	recordTurns = 2
	// recordGroup is how many records a group may have.
	recordGroup   = 128
	recordTimeout = 5 * time.Second
	recordPause   = 50 * time.Millisecond
	recordTries   = 100
)

// records commits what comes while others commit together. It is for PostgreSQL, which waits for
// the disk at every commit; on SQLite every change is committed so.
//
// A group is one request: the server has all of it before it begins, so a process that is frozen
// meanwhile keeps no lock. Subjects that another transaction has locked are left out of the group
// and tried again, so they keep nobody waiting.
type records struct {
	turns chan struct{}

	mu      sync.Mutex
	waiting []*record
}

// record is a [Record] that waits.
type record struct {
	Record
	holder string
	next   time.Time
	err    error
	again  bool          // it was left out
	done   chan struct{} // closed when err is known
}

func newRecords() *records { return &records{turns: make(chan struct{}, recordTurns)} }

// take returns some that wait and have the same holder.
func (q *records) take() (group []*record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(group) < recordGroup && len(group) < len(q.waiting) && q.waiting[len(group)].holder == q.waiting[0].holder {
		group = append(group, q.waiting[len(group)])
	}
	q.waiting = slices.Delete(q.waiting, 0, len(group))
	return group
}

// write writes a record with those that wait too, and alone if that fails.
func (q *records) write(ctx context.Context, s *Store, holder string, one Record) (next time.Time, err error) {
	for try := 1; ; try++ {
		r := &record{Record: one, holder: holder, done: make(chan struct{})}
		q.mu.Lock()
		q.waiting = append(q.waiting, r)
		q.mu.Unlock()
		for known := false; !known; {
			select {
			case q.turns <- struct{}{}:
				q.writeGroup(ctx, s) // in which this one need not be
				<-q.turns
			case <-r.done:
				known = true
			}
		}
		if !r.again {
			return r.next, r.err
		}
		if try == recordTries {
			return next, studio.ErrBusy
		}
		select {
		case <-ctx.Done():
			return next, ctx.Err()
		case <-time.After(recordPause):
		}
	}
}

// writeGroup writes some that wait. No member may end that for the others.
func (q *records) writeGroup(ctx context.Context, s *Store) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	group := q.take()
	if len(group) == 0 {
		return
	}
	if err := s.writeRecords(ctx, group); err != nil {
		for _, r := range group {
			if len(group) > 1 { // another may be why
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

// lockedSubjects is the subjects of a group that its transaction has locked, in SQL.
const lockedSubjects = `current_setting('studio.locked')::text[]`

// groupStatements write a group. $1 is the holder; the arrays of the records follow. CASE keeps the
// planner from the index of pending events: while the statistics say that it is empty, reading all of
// it for each record looks cheaper than finding the event by its id.
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

// writeRecords writes records of one holder in one transaction and one request.
func (s *Store) writeRecords(ctx context.Context, group []*record) error {
	connection, err := s.engine.(*postgres).acquire(ctx)
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
		ended, due = append(ended, microsPointer(r.ended())), append(due, microsPointer(r.due()))
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
			batch.Queue(groupStatements.endpoints, r.Event.SubjectID, r.ended().UnixMicro(), string(r.Outcome.Reason))
		}
	}
	if err := connection.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for _, r := range group {
		if !held {
			r.err = ErrNotHeld
		}
		next, ok := written[r.Event.SubjectID]
		r.next, r.again = next, held && !ok
	}
	return nil
}

func microsPointer(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}
