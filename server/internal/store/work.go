package store

import (
	"context"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Work is a kind of work that is done for a subject.
type Work string

// The kinds of work.
const (
	Render  Work = "render"
	Deliver Work = "deliver"
)

// Due is when work on a subject is due.
type Due struct {
	SubjectID string
	At        time.Time
}

// NextDue returns up to limit subjects that have this work before them, the earliest due first.
func (s *Store) NextDue(ctx context.Context, work Work, limit int) ([]Due, error) {
	column := string(work) + "_at"
	var all []Due
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var due Due
		err := scan(&due.SubjectID, instant{&due.At})
		all = append(all, due)
		return err
	}, fmt.Sprintf(`SELECT id, %s FROM subjects WHERE %[1]s IS NOT NULL ORDER BY %[1]s LIMIT $1`, column), limit)
	return all, err
}

// EventState tells how far an event has come.
type EventState string

// The states of events. Delivered and exhausted ones have ended.
const (
	Pending   EventState = "pending"
	Delivered EventState = "delivered"
	Exhausted EventState = "exhausted"
)

// Delivery is the first event of a subject that has not ended.
type Delivery struct {
	Event  studio.Event
	UserID string
	URL    string
	Tries  int       // attempts made
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
		&d.UserID, &d.URL,
		instant{&d.DueAt},
	}, `SELECT e.id, e.sequence, e.body, e.created_at, e.tries, s.user_id, s.webhook_url, s.deliver_at
		FROM events e JOIN subjects s ON s.id = e.subject_id
		WHERE e.subject_id = $1 AND e.state = 'pending' ORDER BY e.sequence LIMIT 1`, subjectID)
	return d, err
}

// Attempt is one try to deliver an event.
type Attempt struct {
	Number   int // 1, 2, 3 …
	At       time.Time
	Duration time.Duration
	Address  string // "" when none was reached
	Status   int    // 0 when there was no answer
	Failure  string // "" when the receiver took the event
	Excerpt  []byte // of the answer's body
}

// RecordAttempt keeps an attempt and what follows from it: the event has ended, or its next
// attempt is due at retryAt. The next event of the subject is due once this one has ended.
func (s *Store) RecordAttempt(
	ctx context.Context, event studio.Event, attempt Attempt, state EventState, retryAt time.Time,
) error {
	return s.write(ctx, func(tx transaction) error {
		// An event that is being added must be seen below, or it would never be due.
		if err := lockSubject(ctx, tx, event.SubjectID); err != nil {
			return err
		}
		_, err := tx.exec(ctx, `INSERT INTO attempts (event_id, number, at, duration, address, status, failure, excerpt)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, event.ID, attempt.Number, micros(attempt.At),
			attempt.Duration.Microseconds(), attempt.Address, attempt.Status, attempt.Failure, attempt.Excerpt)
		if err != nil {
			return err
		}
		now := attempt.At.Add(attempt.Duration)
		var ended time.Time
		if state != Pending {
			ended, retryAt = now, now
		}
		_, err = tx.exec(ctx, `UPDATE events SET state = $2, tries = $3, ended_at = $4 WHERE id = $1`,
			event.ID, string(state), attempt.Number, micros(ended))
		if err != nil {
			return err
		}
		_, err = tx.exec(ctx, `UPDATE subjects SET deliver_at = CASE WHEN EXISTS
			(SELECT 1 FROM events WHERE subject_id = $1 AND state = 'pending') THEN CAST($2 AS BIGINT) END WHERE id = $1`,
			event.SubjectID, micros(retryAt))
		return err // who delivers looks for the next event by himself
	})
}

// lockSubject waits for its turn to change a subject.
func lockSubject(ctx context.Context, tx transaction, id string) error {
	return one(ctx, tx, []any{&id}, `SELECT id FROM subjects WHERE id = $1`+tx.forUpdate(), id)
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
