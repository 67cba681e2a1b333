package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Line is the events of one user that go to one origin.
type Line struct {
	UserID string
	Origin string
}

// LineDue is when the first event of a line is due.
type LineDue struct {
	Line
	At time.Time
}

// DueLines returns every line that has events which have not ended. With lanes, which only
// PostgreSQL has, it returns those in them.
func (s *Store) DueLines(ctx context.Context, lanes []int) ([]LineDue, error) {
	condition, args := "", []any(nil)
	if lanes != nil {
		condition, args = ` AND `+laneOfSubject+` = ANY($1)`, []any{lanes}
	}
	var all []LineDue
	err := s.engine.query(ctx, func(scan func(...any) error) error {
		var due LineDue
		err := scan(&due.UserID, &due.Origin, instant{&due.At})
		all = append(all, due)
		return err
	}, `SELECT user_id, origin, MIN(deliver_at) FROM subjects WHERE deliver_at IS NOT NULL`+condition+`
		GROUP BY user_id, origin`, args...)
	return all, err
}

// Want is how many deliveries of a line are wanted.
type Want struct {
	Line
	Limit int
}

// Delivery is the first event of a subject that has not ended.
type Delivery struct {
	Event  studio.Event
	UserID string
	URL    string
	Origin string // of the URL
	Off    bool   // the URL is switched off for the user
	Tries  int    // attempts made since the creation or the last replay
	// RequestID is that of the request that created the subject, for the log.
	RequestID string
	DueAt     time.Time // when the next attempt is due; zero before the first, which is due at once
}

// selectDelivery reads the first pending event of some subjects, which of tells. PostgreSQL is told to
// begin with the subjects: what it knows of the others is often of a time when nothing was pending.
func (s *Store) selectDelivery(of string) string {
	const columns = `SELECT s.id, e.id, e.sequence, e.body, e.created_at, e.tries, s.user_id, s.webhook_url, s.origin,
		p.url IS NOT NULL, e.due_at, s.request_id FROM (SELECT * FROM subjects WHERE `
	const first = ` JOIN events e ON e.subject_id = s.id AND e.sequence =
		(SELECT MIN(f.sequence) FROM events f WHERE f.subject_id = s.id AND f.state = 'pending')`
	const firstLateral = ` CROSS JOIN LATERAL (SELECT * FROM events f WHERE f.subject_id = s.id AND f.state = 'pending'
		ORDER BY f.sequence LIMIT 1) e`
	const endpoint = ` LEFT JOIN endpoints p ON p.user_id = s.user_id AND p.url = s.webhook_url ORDER BY s.deliver_at`
	if s.Pool() != nil {
		return columns + of + `) s` + firstLateral + endpoint
	}
	return columns + of + `) s` + first + endpoint
}

// Deliveries returns what is due first in each line, as much as is wanted: one event of each subject.
func (s *Store) Deliveries(ctx context.Context, wants []Want) ([][]Delivery, error) {
	query := s.selectDelivery(`user_id = $1 AND origin = $2 AND deliver_at IS NOT NULL ORDER BY deliver_at LIMIT $3 + 0`)
	all := make([][]Delivery, len(wants))
	args := make([][]any, len(wants))
	for i, want := range wants {
		args[i] = []any{want.UserID, want.Origin, want.Limit}
	}
	err := s.engine.queryAll(ctx, func(i int, scan func(...any) error) error {
		d, err := scanDelivery(scan)
		all[i] = append(all[i], d)
		return err
	}, query, args)
	return all, err
}

// NextDelivery returns what is to be delivered next for a subject; studio.ErrNotFound when
// all its events have ended.
func (s *Store) NextDelivery(ctx context.Context, subjectID string) (d Delivery, err error) {
	found := false
	err = s.engine.query(ctx, func(scan func(...any) error) error {
		found = true
		d, err = scanDelivery(scan)
		return err
	}, s.selectDelivery(`id = $1`), subjectID)
	if err == nil && !found {
		err = studio.ErrNotFound
	}
	return d, err
}

func scanDelivery(scan func(...any) error) (d Delivery, err error) {
	err = scan(&d.Event.SubjectID, &d.Event.ID, &d.Event.Sequence, &d.Event.Body, instant{&d.Event.CreatedAt},
		&d.Tries, &d.UserID, &d.URL, &d.Origin, &d.Off, instant{&d.DueAt}, &d.RequestID)
	return d, err
}

// queryAll runs a query for each of several parameters and sends all before it waits for the first.
func (e *postgres) queryAll(
	ctx context.Context, each func(i int, scan func(...any) error) error, query string, args [][]any,
) (err error) {
	limited, cancel := context.WithTimeoutCause(ctx, answerTimeout, errNoAnswer)
	defer cancel()
	connection, err := e.acquire(limited)
	if err != nil {
		return err
	}
	defer connection.Release()
	batch := new(pgx.Batch)
	for i := range args {
		batch.Queue(query, args[i]...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := each(i, rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return connection.SendBatch(limited, batch).Close()
}

// queryAll runs a query for each of several parameters.
func (q sqliteQuerier) queryAll(
	ctx context.Context, each func(i int, scan func(...any) error) error, query string, args [][]any,
) error {
	for i := range args {
		err := q.query(ctx, func(scan func(...any) error) error { return each(i, scan) }, query, args[i]...)
		if err != nil {
			return err
		}
	}
	return nil
}

// ShiftDue moves the time of every next attempt, after the clock of the machine was set.
func (s *Store) ShiftDue(ctx context.Context, by time.Duration) error {
	return s.write(ctx, func(tx transaction) error { return shiftDue(ctx, tx, by) })
}

func shiftDue(ctx context.Context, tx transaction, by time.Duration) error {
	_, err := tx.exec(ctx, `UPDATE events SET due_at = COALESCE(due_at, created_at) + $1 WHERE state = 'pending'`, by.Microseconds())
	if err == nil {
		_, err = tx.exec(ctx, `UPDATE subjects SET deliver_at = `+tx.subjectDue()+` WHERE deliver_at IS NOT NULL`)
	}
	return err
}
