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
// once this one has ended. An event that had ended before stays as it was. It reports whether the
// job has ended, or is not the caller's any more.
func (s *Store) RecordAttempt(
	ctx context.Context, event studio.Event, attempt Attempt, outcome Outcome,
) (settled bool, err error) {
	now := attempt.At.Add(attempt.Duration)
	due, ended := outcome.RetryAt, time.Time{}
	if outcome.State != Pending {
		due, ended = now, now
	}
	statements := []statement{
		// First, because it locks the subject: no event is added until the transaction ends.
		{`UPDATE subjects SET deliver_at = $2 WHERE id = $1`, []any{event.SubjectID, micros(due)}},
		{`INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
			VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM attempts WHERE event_id = $1), $2, $3, $4, $5, $6, $7)`, []any{
			event.ID, micros(attempt.At), attempt.Duration.Microseconds(), attempt.Address, attempt.Status,
			attempt.Failure, attempt.Excerpt,
		}},
		{
			`UPDATE events SET state = $2, tries = tries + 1, ended_at = $3, reason = $4 WHERE id = $1 AND state = 'pending'`,
			[]any{event.ID, string(outcome.State), micros(ended), string(outcome.Reason)},
		},
	}
	if outcome.State != Pending {
		statements = append(statements, nothingDue(event.SubjectID))
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
		if settled = deleted || !found; deleted && outcome.State == Pending {
			tx.workLater(Deliver, event.SubjectID, due)
		}
		return nil
	}
	err = s.writeRecord(ctx, &record{subjectID: event.SubjectID, statements: statements, after: after})
	return settled, err
}

// GiveUp ends every event of a subject that has not ended, without an attempt.
func (s *Store) GiveUp(ctx context.Context, subjectID string, now time.Time, reason Reason) error {
	return s.write(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `UPDATE subjects SET deliver_at = $2 WHERE id = $1`, subjectID, micros(now)) // locks it
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE events SET state = 'exhausted', ended_at = $2, reason = $3
			WHERE subject_id = $1 AND state = 'pending'`, subjectID, micros(now), string(reason))
		if err != nil {
			return err
		}
		_, err = tx.execAll(ctx, []statement{nothingDue(subjectID)})
		return err
	})
}

// nothingDue takes a subject whose events have all ended out of the queue. Who delivers looks for
// the next event by himself.
func nothingDue(subjectID string) statement {
	return statement{`UPDATE subjects SET deliver_at = NULL WHERE id = $1 AND NOT EXISTS
		(SELECT 1 FROM events WHERE subject_id = $1 AND state = 'pending')`, []any{subjectID}}
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
