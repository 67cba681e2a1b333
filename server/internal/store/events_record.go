package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// EventState is the state of an event.
type EventState string

// The states of events. Delivered and exhausted ones have ended.
const (
	Pending   EventState = "pending"
	Delivered EventState = "delivered"
	Exhausted EventState = "exhausted"
)

// NoState is the state of an [Outcome] that stores the attempt and leaves the event unchanged. In an
// [EventFilter] it matches every state.
const NoState EventState = ""

// Reason is why an event is exhausted, which means that it is a dead letter.
type Reason string

// The reasons.
const (
	ReasonSchedule Reason = "schedule"     // every attempt of the schedule failed
	ReasonRefused  Reason = "refused"      // the receiver refused the event permanently
	ReasonGone     Reason = "gone"         // the receiver responded with 410
	ReasonOff      Reason = "endpoint off" // the URL is switched off
)

// Attempt is one attempt to deliver an event.
type Attempt struct {
	Number   int // 1, 2, 3 … for each event, replays included; [Store.Record] assigns it
	At       time.Time
	Duration time.Duration
	Address  string // "" if no address was reached
	Status   int    // 0 if there was no response
	Failure  string // "" if the event was delivered
	Excerpt  []byte // the start of the response body
}

// Outcome is the state of an event after an attempt.
type Outcome struct {
	State   EventState
	RetryAt time.Time // when the next attempt of a pending event is due
	Reason  Reason    // why the event is exhausted
	// SwitchOff disables the URL of the event for its user; see [Store.Endpoints].
	SwitchOff bool
}

// Record is an attempt to deliver an event and its outcome.
type Record struct {
	Event   studio.Event
	Attempt Attempt
	Outcome Outcome
}

// endedAt returns when the event ended, or the zero time if it is pending.
func (r Record) endedAt() time.Time {
	if r.Outcome.State == Pending {
		return time.Time{}
	}
	return r.Attempt.At.Add(r.Attempt.Duration)
}

// dueAt returns when the next attempt is due, or the zero time if there is none.
func (r Record) dueAt() time.Time {
	if r.Outcome.State == Pending {
		return r.Outcome.RetryAt
	}
	return time.Time{}
}

// Record stores an attempt and updates its event. When the event has ended, the next event of the subject
// becomes due. If the event had ended before, Record only stores the attempt.
//
// holder is the ID of a [LeaseHolder], as a fencing token: Record stores nothing and returns ErrLeaseLost
// once another process has taken over. An empty holder is not checked. Record returns when the next event of
// the subject is due, by the clock of the database, or the zero time if none is pending. On PostgreSQL it
// returns [studio.ErrBusy] if another transaction locks the subject for more than about five seconds. If the
// event does not exist, it returns [studio.ErrNotFound].
func (s *Store) Record(ctx context.Context, holder string, r Record) (next time.Time, err error) {
	if s.Shared() {
		return s.recordInGroup(ctx, holder, r)
	}
	err = s.write(ctx, func(tx transaction) error {
		next = time.Time{}
		err := tx.execAll(ctx, recordStatements(tx, []*Record{&r}))
		if err != nil {
			return err
		}
		last := deleteDeliveries.with(tx, &r)[0]
		if deleted, err := tx.exec(ctx, last.query, last.args...); err != nil || deleted > 0 {
			return err
		}
		if err = tx.execAll(ctx, updateDeliveries.with(tx, &r)); err != nil {
			return err
		}
		err = queryRow(ctx, tx, []any{instant{&next}}, `SELECT due_at FROM deliveries WHERE subject_id = $1`, r.Event.SubjectID)
		if errors.Is(err, studio.ErrNotFound) {
			err = nil
		}
		return err
	})
	return next, err
}

// The statements that write records.
//
//nolint:gochecknoglobals // constants
var (
	insertAttempts = newRowStatement(`subject_id text, event_id text, at bigint, duration bigint, address text, status int,
		failure text, excerpt bytea`,
		func(r *Record) []any {
			return []any{
				r.Event.SubjectID, r.Event.ID, micros(r.Attempt.At), r.Attempt.Duration.Microseconds(), r.Attempt.Address, r.Attempt.Status,
				r.Attempt.Failure, r.Attempt.Excerpt,
			}
		}, func(sql dialect, _ []string) string {
			return `INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
			SELECT r.event_id, (SELECT COALESCE(MAX(a.number), 0) + 1 FROM attempts a WHERE a.event_id = r.event_id),
				r.at, r.duration, r.address, r.status, r.failure, r.excerpt FROM r WHERE ` + sql.recordable("r.subject_id")
		})

	updateEvents = newRowStatement(outcomeColumns, outcomeValues, func(sql dialect, _ []string) string {
		return `UPDATE events SET state = r.state, tries = events.tries + 1, ended_at = r.ended_at, reason = r.reason
			FROM r WHERE events.id = r.event_id AND events.state = 'pending' AND r.state <> '' AND ` + sql.recordable("r.subject_id")
	})

	insertEndpoints = newRowStatement(outcomeColumns, outcomeValues, func(sql dialect, _ []string) string {
		return `INSERT INTO endpoints (user_id, url, origin, disabled_at, reason)
			SELECT s.user_id, s.webhook_url, s.origin, r.ended_at, r.reason FROM r, subjects s
			WHERE s.id = r.subject_id AND ` + sql.recordable("r.subject_id") + ` ON CONFLICT (user_id, url) DO NOTHING`
	})

	// deleteDeliveries deletes the deliveries of subjects whose last pending event has ended. updateDeliveries follows it: it
	// sets when the event is due again, or makes its successor due.
	deleteDeliveries = newRowStatement(outcomeColumns, outcomeValues, func(sql dialect, _ []string) string {
		return `DELETE FROM deliveries WHERE ` + sql.in("subject_id", `SELECT r.subject_id FROM r WHERE `+sql.recordable("r.subject_id")) +
			` AND ` + firstPending + ` IS NULL`
	})
	updateDeliveries = newRowStatement(outcomeColumns, outcomeValues, func(sql dialect, _ []string) string {
		return `UPDATE deliveries SET sequence = ` + firstPending + `, due_at = COALESCE(r.due_at, ` + sql.past("r.ended_at") + `)
			FROM r WHERE deliveries.subject_id = r.subject_id AND deliveries.sequence = r.sequence AND r.state <> '' AND ` +
			sql.recordable("deliveries.subject_id")
	})
)

const outcomeColumns = `subject_id text, event_id text, sequence bigint, state text, ended_at bigint, due_at bigint, reason text`

func outcomeValues(r *Record) []any {
	return []any{r.Event.SubjectID, r.Event.ID, r.Event.Sequence, string(r.Outcome.State), micros(r.endedAt()), micros(r.dueAt()), string(r.Outcome.Reason)}
}

// recordStatements returns the statements that write attempts and the outcomes of their events. deleteDeliveries and
// updateDeliveries follow them.
func recordStatements(sql dialect, records []*Record) []statement {
	disabled := slices.DeleteFunc(slices.Clone(records), func(r *Record) bool { return !r.Outcome.SwitchOff })
	return slices.Concat(updateEvents.with(sql, records...), insertAttempts.with(sql, records...), insertEndpoints.with(sql, disabled...))
}

// ExhaustEvents ends every pending event of a subject as exhausted, without an attempt.
func (s *Store) ExhaustEvents(ctx context.Context, subjectID string, now time.Time, reason Reason) error {
	return s.write(ctx, func(tx transaction) error {
		return tx.execAll(ctx, []statement{
			lockSubject(tx, subjectID),
			{`UPDATE events SET state = 'exhausted', ended_at = $2, reason = $3
				WHERE subject_id = $1 AND state = 'pending'`, []any{subjectID, micros(now), string(reason)}},
			{`DELETE FROM deliveries WHERE subject_id = $1`, []any{subjectID}},
		})
	})
}

// attemptColumns is the columns of attempts a that Attempt.columns stores. They may be those of an outer join.
const attemptColumns = `COALESCE(a.number, 0), a.at, COALESCE(a.duration, 0), COALESCE(a.address, ''), COALESCE(a.status, 0), COALESCE(a.failure, '')`

func (a *Attempt) columns() []any {
	return []any{&a.Number, instant{&a.At}, interval{&a.Duration}, &a.Address, &a.Status, &a.Failure}
}

// Attempts returns the attempts to deliver an event, in order.
func (s *Store) Attempts(ctx context.Context, eventID string) ([]Attempt, error) {
	return queryRows(ctx, s.engine, func(a *Attempt) []any { return append(a.columns(), &a.Excerpt) },
		`SELECT `+attemptColumns+`, a.excerpt FROM attempts a WHERE a.event_id = $1 ORDER BY a.number`, eventID)
}
