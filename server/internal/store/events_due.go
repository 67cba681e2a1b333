package store

import (
	"context"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Flow identifies a flow: the events of one user for one origin.
type Flow struct {
	UserID string
	Origin string
}

// FlowDue is a flow and when its first pending event is due.
type FlowDue struct {
	Flow
	At time.Time
}

// DueFlows returns every flow that has pending events which are not paused. If lanes is not nil, it returns only the flows in
// these lanes. Only PostgreSQL has lanes.
func (s *Store) DueFlows(ctx context.Context, lanes []int) ([]FlowDue, error) {
	condition, args := "", []any(nil)
	if lanes != nil {
		condition, args = ` AND `+laneOfSubject+` = ANY($1)`, []any{lanes}
	}
	return queryRows(ctx, s.engine, func(due *FlowDue) []any {
		return []any{&due.UserID, &due.Origin, instant{&due.At}}
	}, `SELECT user_id, origin, MIN(deliver_at) FROM subjects WHERE deliver_at IS NOT NULL AND `+notPaused+condition+`
		GROUP BY user_id, origin`, args...)
}

// DeliveryQuery asks for up to Limit deliveries of a flow.
type DeliveryQuery struct {
	Flow
	Limit int
}

// Delivery is the first pending event of a subject, with what an attempt needs.
type Delivery struct {
	Event       studio.Event
	UserID      string
	URL         string
	Origin      string // of the URL
	URLDisabled bool   // for the user
	Tries       int    // attempts made since the creation or the last replay
	// RequestID is the ID of the request that created the subject, for the log.
	RequestID string
	// TraceParent is the span of that request; "" if it is not traced.
	TraceParent string
	DueAt       time.Time // when the next attempt is due; zero before the first attempt, which is due immediately
}

// selectDelivery returns the query for the first pending event of the subjects that match the condition of.
// On PostgreSQL the LATERAL join forces the planner to begin with the subjects, because the statistics of the
// events are often from a time when none was pending.
func (s *Store) selectDelivery(of string) string {
	const columns = `SELECT s.id, e.id, e.sequence, e.body, e.created_at, e.tries, s.user_id, s.webhook_url, s.origin,
		p.url IS NOT NULL, e.due_at, s.request_id, s.trace_parent FROM (SELECT * FROM subjects WHERE `
	const first = ` JOIN events e ON e.subject_id = s.id AND e.sequence =
		(SELECT MIN(f.sequence) FROM events f WHERE f.subject_id = s.id AND f.state = 'pending')`
	const firstLateral = ` CROSS JOIN LATERAL (SELECT * FROM events f WHERE f.subject_id = s.id AND f.state = 'pending'
		ORDER BY f.sequence LIMIT 1) e`
	const endpoint = ` LEFT JOIN endpoints p ON p.user_id = s.user_id AND p.url = s.webhook_url ORDER BY s.deliver_at`
	if s.Shared() {
		return columns + of + `) s` + firstLateral + endpoint
	}
	return columns + of + `) s` + first + endpoint
}

// Deliveries returns, for each query, the deliveries of the flow that are due first and not paused, one for each
// subject. It includes deliveries that are due in the future.
func (s *Store) Deliveries(ctx context.Context, queries []DeliveryQuery) ([][]Delivery, error) {
	query := s.selectDelivery(`user_id = $1 AND origin = $2 AND deliver_at IS NOT NULL AND ` + notPaused + ` ORDER BY deliver_at LIMIT $3 + 0`)
	all := make([][]Delivery, len(queries))
	args := make([][]any, len(queries))
	for i, one := range queries {
		args[i] = []any{one.UserID, one.Origin, one.Limit}
	}
	err := s.engine.queryAll(ctx, func(i int, scan func(...any) error) error {
		var d Delivery
		err := scan(d.columns()...)
		all[i] = append(all[i], d)
		return err
	}, query, args)
	if err != nil {
		clear(all) // they may not survive a promotion
	}
	return all, err
}

// NextDelivery returns the next delivery of a subject, or studio.ErrNotFound if it has no pending event.
func (s *Store) NextDelivery(ctx context.Context, subjectID string) (d Delivery, err error) {
	err = queryRow(ctx, s.engine, d.columns(), s.selectDelivery(`id = $1`), subjectID)
	return d, err
}

// columns returns where the columns of selectDelivery are stored.
func (d *Delivery) columns() []any {
	return []any{
		&d.Event.SubjectID, &d.Event.ID, &d.Event.Sequence, &d.Event.Body,
		instant{&d.Event.CreatedAt},
		&d.Tries, &d.UserID, &d.URL, &d.Origin, &d.URLDisabled,
		instant{&d.DueAt},
		&d.RequestID, &d.TraceParent,
	}
}

// ShiftDue adds by to the due time of every pending event, after the clock of the machine was set. by is
// negative if the clock was set back.
func (s *Store) ShiftDue(ctx context.Context, by time.Duration) error {
	return s.write(ctx, func(tx transaction) error { return shiftDue(ctx, tx, by) })
}

// shiftDue is ShiftDue in a transaction.
func shiftDue(ctx context.Context, tx transaction, by time.Duration) error {
	_, err := tx.exec(ctx, `UPDATE events SET due_at = COALESCE(due_at, created_at) + $1 WHERE state = 'pending'`, by.Microseconds())
	if err == nil {
		_, err = tx.exec(ctx, `UPDATE subjects SET deliver_at = `+firstDue(tx)+` WHERE deliver_at IS NOT NULL`)
	}
	return err
}

// firstDue returns the SQL expression for deliver_at of a subject: the due time of its first pending event, or NULL if
// it has none. An event without an attempt is due immediately. Its creation time only orders it, and may be ahead of
// the clock of the database.
func firstDue(sql dialect) string {
	return `(SELECT COALESCE(e.due_at, ` + sql.past("e.created_at") + `) FROM events e
		WHERE e.subject_id = subjects.id AND e.state = 'pending' ORDER BY e.sequence LIMIT 1)`
}

// updateDeliverAt returns the UPDATE of deliver_at. It must follow every change of the events of a subject,
// in a transaction that has locked the subject.
func updateDeliverAt(tx transaction, subjectID string) statement {
	return statement{`UPDATE subjects SET deliver_at = ` + firstDue(tx) + ` WHERE id = $1`, []any{subjectID}}
}

// markEventsAdded updates deliver_at of a subject with new pending events, and marks their flow as due.
func markEventsAdded(ctx context.Context, tx transaction, subjectID string) error {
	var flow Flow
	derive := updateDeliverAt(tx, subjectID)
	err := queryRow(ctx, tx, []any{&flow.UserID, &flow.Origin}, derive.query+` RETURNING user_id, origin`, derive.args...)
	if err == nil {
		tx.markDeliveryDue(flow)
	}
	return err
}

// lockSubject returns a statement that locks a subject until the end of the transaction. The lock protects
// its events, too.
func lockSubject(tx transaction, subjectID string) statement {
	return statement{`SELECT 1 FROM subjects WHERE id = $1` + tx.forUpdate(), []any{subjectID}}
}
