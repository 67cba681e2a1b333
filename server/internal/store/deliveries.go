package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// EventState tells how far an event has come.
type EventState string

// The states of events. Delivered and exhausted ones have ended.
const (
	Pending   EventState = "pending"
	Delivered EventState = "delivered"
	Exhausted EventState = "exhausted"
)

// Undecided is the state of an outcome from which nothing follows but a line in the log.
const Undecided EventState = ""

// Reason says why an event is exhausted.
type Reason string

// The reasons.
const (
	ReasonSchedule Reason = "schedule"     // every attempt of the schedule failed
	ReasonRefused  Reason = "refused"      // the receiver refuses it for good
	ReasonGone     Reason = "gone"         // the receiver answered 410
	ReasonOff      Reason = "endpoint off" // nothing is sent to the URL any more
)

// Attempt is one try to deliver an event.
type Attempt struct {
	Number   int // 1, 2, 3 … of the event, replays included; [Store.Record] counts
	At       time.Time
	Duration time.Duration
	Address  string // "" when none was reached
	Status   int    // 0 when there was no answer
	Failure  string // "" when the receiver took the event
	Excerpt  []byte // of the answer's body
}

// Outcome is what follows from an attempt.
type Outcome struct {
	State   EventState
	RetryAt time.Time // of a pending event: when the next attempt is due
	Reason  Reason    // of an exhausted event
	// SwitchOff takes the URL of the event out of use for its user; see [Store.Endpoints].
	SwitchOff bool
}

// Record is an attempt to deliver an event and what follows from it.
type Record struct {
	Event   studio.Event
	Attempt Attempt
	Outcome Outcome
}

// ended is when the event ended; the zero time when it has not.
func (r Record) ended() time.Time {
	if r.Outcome.State == Pending {
		return time.Time{}
	}
	return r.Attempt.At.Add(r.Attempt.Duration)
}

// due is when the next attempt is due; the zero time when there is none.
func (r Record) due() time.Time {
	if r.Outcome.State == Pending {
		return r.Outcome.RetryAt
	}
	return time.Time{}
}

// Record keeps a record. The next event of the subject is due once this one has ended. An attempt of an
// event that had ended before changes nothing but the log.
//
// With the id of a [Holder], nothing is kept and the error is ErrNotHeld once another has taken over.
// "" is for who needs no lanes. Record returns when the next event of the subject is due, by the clock
// of the database; the zero time when there is none.
func (s *Store) Record(ctx context.Context, holder string, r Record) (next time.Time, err error) {
	if s.Pool() != nil {
		return s.records.write(ctx, s, holder, r)
	}
	err = s.write(ctx, func(tx transaction) error {
		_, err := tx.execAll(ctx, []statement{
			{`INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
				VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE event_id = $1), $2, $3, $4, $5, $6, $7)`, []any{
				r.Event.ID, micros(r.Attempt.At), r.Attempt.Duration.Microseconds(), r.Attempt.Address, r.Attempt.Status,
				r.Attempt.Failure, r.Attempt.Excerpt,
			}},
			{
				`UPDATE events SET state = $2, tries = tries + 1, ended_at = $3, due_at = $4, reason = $5
					WHERE id = $1 AND state = 'pending' AND $2 <> ''`,
				[]any{r.Event.ID, string(r.Outcome.State), micros(r.ended()), micros(r.due()), string(r.Outcome.Reason)},
			},
		})
		if err == nil && r.Outcome.SwitchOff {
			err = switchOff(ctx, tx, r)
		}
		if err != nil {
			return err
		}
		derive := deriveDue(tx, r.Event.SubjectID)
		return one(ctx, tx, []any{instant{&next}}, derive.query+` RETURNING deliver_at`, derive.args...)
	})
	return next, err
}

// GiveUp ends every event of a subject that has not ended, without an attempt.
func (s *Store) GiveUp(ctx context.Context, subjectID string, now time.Time, reason Reason) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.execAll(ctx, []statement{
			lockSubject(tx, subjectID),
			{`UPDATE events SET state = 'exhausted', ended_at = $2, due_at = NULL, reason = $3
				WHERE subject_id = $1 AND state = 'pending'`, []any{subjectID, micros(now), string(reason)}},
			deriveDue(tx, subjectID),
		})
		return err
	})
}

// These are when a row of subjects is due: when its lowest pending event is, and NULL when it has none.
// Nothing else decides that. An event that was not tried yet is due at once: its creation is only its
// place among others, and may be ahead of the clock of the database.
const (
	dueSQLite = `(SELECT COALESCE(e.due_at, e.created_at) FROM events e
		WHERE e.subject_id = subjects.id AND e.state = 'pending' ORDER BY e.sequence LIMIT 1)`
	duePostgres = `(SELECT COALESCE(e.due_at, LEAST(e.created_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
		FROM events e WHERE e.subject_id = subjects.id AND e.state = 'pending' ORDER BY e.sequence LIMIT 1)`
)

// deriveDue follows every change of the events of a subject, in a transaction that has locked it.
func deriveDue(tx transaction, subjectID string) statement {
	return statement{`UPDATE subjects SET deliver_at = ` + tx.subjectDue() + ` WHERE id = $1`, []any{subjectID}}
}

// eventsAdded is deriveDue for a subject that has more pending events than before, which wakes who
// delivers them.
func eventsAdded(ctx context.Context, tx transaction, subjectID string) error {
	var line Line
	derive := deriveDue(tx, subjectID)
	err := one(ctx, tx, []any{&line.UserID, &line.Origin}, derive.query+` RETURNING user_id, origin`, derive.args...)
	if err == nil {
		tx.deliverDue(line)
	}
	return err
}

// lockSubject keeps others from adding events to a subject, and from ending some, until the end of
// the transaction.
func lockSubject(tx transaction, subjectID string) statement {
	return statement{`SELECT 1 FROM subjects WHERE id = $1` + tx.forUpdate(), []any{subjectID}}
}

// Attempts returns the attempts to deliver an event, in order.
func (s *Store) Attempts(ctx context.Context, eventID string) ([]Attempt, error) {
	var attempts []Attempt
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var a Attempt
		var duration int64
		err := scan(&a.Number, instant{&a.At}, &duration, &a.Address, &a.Status, &a.Failure, &a.Excerpt)
		a.Duration = time.Duration(duration) * time.Microsecond
		attempts = append(attempts, a)
		return err
	}, `SELECT number, at, duration, address, status, failure, excerpt FROM attempts WHERE event_id = $1 ORDER BY number`,
		eventID)
	return attempts, err
}
