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

// Reason says why an event is exhausted.
type Reason string

// The reasons.
const (
	ReasonSchedule Reason = "schedule"     // every attempt of the schedule failed
	ReasonRefused  Reason = "refused"      // the receiver refuses it for good
	ReasonGone     Reason = "gone"         // the receiver answered 410
	ReasonOff      Reason = "endpoint off" // nothing is sent to the URL any more
)

// Delivery is the first event of a subject that has not ended.
type Delivery struct {
	Event  studio.Event
	UserID string
	URL    string
	Origin string    // of the URL
	Off    bool      // the URL is switched off for the user
	Tries  int       // attempts made since the creation or the last replay
	DueAt  time.Time // when the next attempt is due
}

// NextDelivery returns what is to be delivered next for a subject; studio.ErrNotFound when
// all its events have ended.
func (s *Store) NextDelivery(ctx context.Context, subjectID string) (Delivery, error) {
	d := Delivery{Event: studio.Event{SubjectID: subjectID}}
	err := one(ctx, s.engine, []any{
		&d.Event.ID, &d.Event.Sequence, &d.Event.Body,
		instant{&d.Event.CreatedAt},
		&d.Tries,
		&d.UserID, &d.URL, &d.Origin, &d.Off,
		instant{&d.DueAt},
	}, `SELECT e.id, e.sequence, e.body, e.created_at, e.tries, s.user_id, s.webhook_url, s.origin,
			p.url IS NOT NULL, s.deliver_at
		FROM events e JOIN subjects s ON s.id = e.subject_id
		LEFT JOIN endpoints p ON p.user_id = s.user_id AND p.url = s.webhook_url
		WHERE e.subject_id = $1 AND e.state = 'pending' ORDER BY e.sequence LIMIT 1`, subjectID)
	return d, err
}

// Attempt is one try to deliver an event.
type Attempt struct {
	Number   int // 1, 2, 3 … of the event, replays included; [Store.RecordAttempt] counts
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
	// Job is the one of River's that the attempt was made for; 0 is none. It ends unless more is due
	// now, and another takes its place if more is due later.
	Job int64
}

// RecordAttempt keeps an attempt and what follows from it. The next event of the subject is due
// once this one has ended. An attempt of an event that had ended before changes nothing but the log.
// It reports whether the job has ended, or is not the caller's any more.
func (s *Store) RecordAttempt(
	ctx context.Context, event studio.Event, attempt Attempt, outcome Outcome,
) (settled bool, err error) {
	now := attempt.At.Add(attempt.Duration)
	var ended, due time.Time
	if outcome.State == Pending {
		due = outcome.RetryAt
	} else {
		ended = now
	}
	statements := []statement{
		s.lockSubject(event.SubjectID),
		{`INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
			VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE event_id = $1), $2, $3, $4, $5, $6, $7)`, []any{
			event.ID, micros(attempt.At), attempt.Duration.Microseconds(), attempt.Address, attempt.Status,
			attempt.Failure, attempt.Excerpt,
		}},
		{
			`UPDATE events SET state = $2, tries = tries + 1, ended_at = $3, due_at = $4, reason = $5
				WHERE id = $1 AND state = 'pending'`,
			[]any{event.ID, string(outcome.State), micros(ended), micros(due), string(outcome.Reason)},
		},
		deriveDue(event.SubjectID),
	}
	if outcome.Job != 0 {
		statements = append(statements,
			statement{`SELECT FROM river_job WHERE id = $1 AND state = 'running'`, []any{outcome.Job}},
			statement{`DELETE FROM river_job WHERE id = $1 AND state = 'running' AND NOT EXISTS
			(SELECT FROM subjects WHERE id = $2 AND deliver_at <= $3)`, []any{outcome.Job, event.SubjectID, micros(now)}})
	}
	after := func(ctx context.Context, tx transaction, rows []int64) error {
		if outcome.SwitchOff {
			if err := switchOff(ctx, tx, event.SubjectID, now, outcome.Reason); err != nil {
				return err
			}
		}
		if outcome.Job == 0 {
			return nil
		}
		found, deleted := rows[len(rows)-2] > 0, rows[len(rows)-1] > 0
		if settled = deleted || !found; !deleted {
			return nil
		}
		var later time.Time
		err := one(ctx, tx, []any{instant{&later}}, `SELECT deliver_at FROM subjects WHERE id = $1`, event.SubjectID)
		if err == nil && !later.IsZero() {
			tx.workLater(Deliver, event.SubjectID, later)
		}
		return err
	}
	err = s.writeRecord(ctx, &record{subjectID: event.SubjectID, statements: statements, after: after})
	return settled, err
}

// GiveUp ends every event of a subject that has not ended, without an attempt.
func (s *Store) GiveUp(ctx context.Context, subjectID string, now time.Time, reason Reason) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.execAll(ctx, []statement{
			s.lockSubject(subjectID),
			{`UPDATE events SET state = 'exhausted', ended_at = $2, due_at = NULL, reason = $3
				WHERE subject_id = $1 AND state = 'pending'`, []any{subjectID, micros(now), string(reason)}},
			deriveDue(subjectID),
		})
		return err
	})
}

// dueOfSubject is when a row of subjects is due: when its lowest pending event is, and NULL when
// it has none. Nothing else decides that.
const dueOfSubject = `(SELECT COALESCE(e.due_at, e.created_at) FROM events e
	WHERE e.subject_id = subjects.id AND e.state = 'pending' ORDER BY e.sequence LIMIT 1)`

// deriveDue follows every change of the events of a subject, in a transaction that has locked it.
func deriveDue(subjectID string) statement {
	return statement{`UPDATE subjects SET deliver_at = ` + dueOfSubject + ` WHERE id = $1`, []any{subjectID}}
}

// lockSubject keeps others from adding events to a subject, and from ending some, until the end of
// the transaction.
func (s *Store) lockSubject(subjectID string) statement {
	query := `SELECT 1 FROM subjects WHERE id = $1`
	if s.Pool() != nil {
		query += postgresForUpdate // on SQLite, writers take turns
	}
	return statement{query, []any{subjectID}}
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
