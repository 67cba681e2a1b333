package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// SaveAttempt tries saveTries times, with a pause after a try that found the subject locked.
const (
	savePause = 50 * time.Millisecond
	saveTries = 100
)

// Outcome is the state of an event after an attempt.
type Outcome struct {
	State   studio.EventState
	RetryAt time.Time     // when the next attempt of a pending event is due
	Reason  studio.Reason // why the event is exhausted
	// DisableURL disables the URL of the event for its user; see [Store.Endpoints].
	DisableURL bool
}

// MadeAttempt is an attempt to deliver an event and its outcome.
type MadeAttempt struct {
	Event   studio.Event
	Attempt studio.Attempt
	Outcome Outcome
}

// endedAt returns when the event ended, or the zero time if it is pending.
func (r MadeAttempt) endedAt() time.Time {
	if r.Outcome.State == studio.EventPending {
		return time.Time{}
	}
	return r.Attempt.At.Add(r.Attempt.Duration)
}

// dueAt returns when the next attempt is due, or the zero time if there is none.
func (r MadeAttempt) dueAt() time.Time {
	if r.Outcome.State == studio.EventPending {
		return r.Outcome.RetryAt
	}
	return time.Time{}
}

// SaveAttempt stores an attempt and updates its event. When the event has ended, the next event of the subject
// becomes due. If the event had ended before, SaveAttempt only stores the attempt. It is faster if Number is set, as
// Delivery.Attempts + 1. If that is not the next number of the event, SaveAttempt corrects it, or stores nothing if the
// last attempt is this one: the answer to an earlier call may have been lost.
//
// holder is the ID of a [LeaseHolder], as a fencing token: SaveAttempt stores nothing and returns ErrLeaseLost
// once another process has taken over. An empty holder is not checked. SaveAttempt returns when the next event of
// the subject is due, by the clock of the database, or the zero time if none is pending. On PostgreSQL it
// returns [studio.ErrBusy] if another transaction locks the subject for more than about five seconds. If the
// event does not exist, it returns [studio.ErrNotFound].
func (s *Store) SaveAttempt(ctx context.Context, holder string, one MadeAttempt) (next time.Time, err error) {
	for range saveTries {
		r := &groupAttempt{MadeAttempt: one, holder: holder}
		if err := writeGrouped(ctx, s, s.saving, s.saveAttempts, r); err != nil || r.written {
			return r.next, err
		}
		var last studio.Attempt // zero if there was none
		err := queryRow(ctx, s.engine, attemptDest(&last), `SELECT `+lastAttemptColumns+` FROM events e WHERE e.id = $1`, one.Event.ID)
		if err != nil {
			return next, err
		}
		if one.isSaved(last) {
			return nextDelivery(ctx, s.engine, one.Event.SubjectID)
		}
		if number := last.Number + 1; number != one.Attempt.Number {
			one.Attempt.Number = number
			continue
		}
		studio.Pause(ctx, savePause)
	}
	return next, cmp.Or[error](ctx.Err(), studio.ErrBusy)
}

// saveOnSQLite is saveAttempts on SQLite, where a change has no group.
func (r *groupAttempt) saveOnSQLite(ctx context.Context, tx transaction) error {
	one := &r.MadeAttempt
	r.next = time.Time{}
	if err := tx.execAll(ctx, keepAttempts(tx, one)); err != nil {
		return err
	}
	update := updateEvents.with(tx, one)[0]
	updated, err := tx.exec(ctx, update.query, update.args...)
	if r.written = updated > 0; err != nil || !r.written {
		return err
	}
	if err := tx.execAll(ctx, disableEndpoints(tx, one)); err != nil {
		return err
	}
	last := deleteDeliveries.with(tx, one)[0]
	if deleted, err := tx.exec(ctx, last.query, last.args...); err != nil || deleted > 0 {
		return err
	}
	if err := tx.execAll(ctx, updateDeliveries.with(tx, one)); err != nil {
		return err
	}
	r.next, err = nextDelivery(ctx, tx, one.Event.SubjectID)
	return err
}

// isSaved reports whether the last attempt of the event is this one. Attempts for an event follow each
// other, so no two begin and end at the same times.
func (r MadeAttempt) isSaved(last studio.Attempt) bool {
	a := r.Attempt
	return a.Number > 0 && a.Number <= last.Number && a.At.UnixMicro() == last.At.UnixMicro() && a.Status == last.Status &&
		a.Duration.Microseconds() == last.Duration.Microseconds() && a.Address == last.Address && a.Failure == last.Failure
}

// nextDelivery returns when the next event of a subject is due, or the zero time if none is pending.
func nextDelivery(ctx context.Context, q querier, subjectID string) (at time.Time, err error) {
	err = queryRow(ctx, q, []any{instant{&at}}, `SELECT due_at FROM deliveries WHERE subject_id = $1`, subjectID)
	return at, orZero(err)
}

// The statements that write attempts.
//
//nolint:gochecknoglobals // constants
var (
	// insertAttempts moves the last attempt of an event to its earlier ones.
	insertAttempts = newRowStatement(`subject_id text, event_id text, number int`,
		func(r *MadeAttempt) []any { return []any{r.Event.SubjectID, r.Event.ID, r.Attempt.Number} }, func(sql dialect) string {
			return `INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
				SELECT e.id, e.last_number, e.last_at, e.last_duration, e.last_address, e.last_status, e.last_failure, e.last_excerpt
				FROM r, events e WHERE e.id = r.event_id AND e.last_number = r.number - 1 AND ` + sql.locked("r.subject_id")
		})

	// updateEvents changes no event whose last attempt is not the one before.
	updateEvents = newRowStatement(`subject_id text, event_id text, state text, ended_at bigint, reason text, number int,
		at bigint, duration bigint, address text, status int, failure text, excerpt bytea`,
		func(r *MadeAttempt) []any {
			return []any{
				r.Event.SubjectID, r.Event.ID, string(r.Outcome.State), micros(r.endedAt()), string(r.Outcome.Reason), r.Attempt.Number,
				micros(r.Attempt.At), r.Attempt.Duration.Microseconds(), r.Attempt.Address, r.Attempt.Status, r.Attempt.Failure, r.Attempt.Excerpt,
			}
		}, func(sql dialect) string {
			const changes = `CASE WHEN events.state = 'pending' AND r.state <> '' THEN `
			return `UPDATE events SET state = ` + changes + `r.state ELSE events.state END, tries = events.tries + ` + changes + `1 ELSE 0 END,
				ended_at = ` + changes + `r.ended_at ELSE events.ended_at END, reason = ` + changes + `r.reason ELSE events.reason END,
				last_number = r.number, last_at = r.at, last_duration = r.duration, last_address = r.address, last_status = r.status,
				last_failure = r.failure, last_excerpt = r.excerpt
				FROM r WHERE events.id = r.event_id AND events.last_number = r.number - 1 AND ` + sql.locked("r.subject_id")
		})

	// deleteDeliveries deletes the deliveries of subjects whose last pending event has ended. updateDeliveries follows
	// it: it sets when the event is due again, or makes its successor due.
	deleteDeliveries = newRowStatement(nextColumns, nextValues, deleteEnded)
	updateDeliveries = newRowStatement(nextColumns, nextValues, updateNext)
)

func deleteEnded(sql dialect) string {
	return `DELETE FROM deliveries WHERE ` + sql.in("subject_id", `SELECT r.subject_id FROM r WHERE `+sql.locked("r.subject_id")) +
		` AND ` + firstPending + ` IS NULL`
}

func updateNext(sql dialect) string {
	return `UPDATE deliveries SET sequence = ` + firstPending + `, due_at = COALESCE(r.due_at, ` + sql.untilNow("r.ended_at") + `)
			FROM r WHERE deliveries.subject_id = r.subject_id AND deliveries.sequence = r.sequence AND r.state <> '' AND ` +
		sql.locked("deliveries.subject_id")
}

const nextColumns = `subject_id text, sequence bigint, state text, ended_at bigint, due_at bigint`

func nextValues(r *MadeAttempt) []any {
	return []any{r.Event.SubjectID, r.Event.Sequence, string(r.Outcome.State), micros(r.endedAt()), micros(r.dueAt())}
}

// keepAttempts returns the statements that precede updateEvents for those attempts that are not the first of their
// event.
func keepAttempts(sql dialect, attempts ...*MadeAttempt) []statement {
	first := func(r *MadeAttempt) bool { return r.Attempt.Number <= 1 }
	return insertAttempts.with(sql, slices.DeleteFunc(slices.Clone(attempts), first)...)
}

// ExhaustEvents ends every pending event of a subject as exhausted, without an attempt. With the reason
// studio.ReasonDisabled, it ends none if the user has enabled the URL since the events were read. It returns when the
// next event is due, as SaveAttempt does.
func (s *Store) ExhaustEvents(ctx context.Context, subjectID string, now time.Time, reason studio.Reason) (next time.Time, err error) {
	err = s.write(ctx, func(tx transaction) error {
		err := tx.execAll(ctx, []statement{
			{`SELECT 1 FROM subjects WHERE id = $1` + tx.forUpdate(), []any{subjectID}}, // the lock protects its events, too
			{
				`UPDATE events SET state = 'exhausted', ended_at = $2, reason = $3 WHERE subject_id = $1 AND state = 'pending' AND ($3 <> $4 OR
					(SELECT p.disabled_at FROM deliveries d JOIN endpoints p ON p.user_id = d.user_id AND p.url = d.url WHERE d.subject_id = $1) IS NOT NULL)`,
				[]any{subjectID, micros(now), string(reason), string(studio.ReasonDisabled)},
			},
			{`DELETE FROM deliveries WHERE subject_id = $1 AND ` + firstPending + ` IS NULL`, []any{subjectID}},
		})
		if err == nil {
			next, err = nextDelivery(ctx, tx, subjectID)
		}
		return err
	})
	return next, err
}

// The columns that attemptDest stores: attemptColumns of attempts a, and lastAttemptColumns of events e.
const (
	attemptColumns     = `a.number, a.at, a.duration, a.address, a.status, a.failure`
	lastAttemptColumns = `COALESCE(e.last_number, 0), e.last_at, COALESCE(e.last_duration, 0), COALESCE(e.last_address, ''), COALESCE(e.last_status, 0),
		COALESCE(e.last_failure, '')`
)

func attemptDest(a *studio.Attempt) []any {
	return []any{&a.Number, instant{&a.At}, interval{&a.Duration}, &a.Address, &a.Status, &a.Failure}
}

func (s *Store) Attempts(ctx context.Context, eventIDs ...string) (map[string][]studio.Attempt, error) {
	queries := make([]statement, len(eventIDs))
	for i, id := range eventIDs {
		queries[i] = statement{`SELECT ` + attemptColumns + `, a.excerpt, a.event_id FROM attempts a WHERE a.event_id = $1
			UNION ALL SELECT ` + lastAttemptColumns + `, e.last_excerpt, e.id FROM events e WHERE e.id = $1 AND e.last_number > 0 ORDER BY 1`, []any{id}}
	}
	all := make(map[string][]studio.Attempt)
	err := s.engine.queryAll(ctx, func(scan func(...any) error) error {
		var a studio.Attempt
		var id string
		err := scan(append(attemptDest(&a), &a.Excerpt, &id)...)
		all[id] = append(all[id], a)
		return err
	}, queries)
	return all, err
}
