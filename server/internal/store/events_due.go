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

// flowRows bounds the deliveries that one query of DueFlows reads.
const flowRows = 10_000

// DueFlows returns every flow that has pending events which are not paused. If lanes is not nil, it returns only the
// flows in these lanes, which on SQLite must be all. It reads an index in pages, and skips what a page does not have of
// its last flow.
func (s *Store) DueFlows(ctx context.Context, lanes []int) (all []FlowDue, err error) {
	var last Flow
	for sameUser := false; ; {
		where := conditions{sql: notPaused}
		if sameUser {
			where.add(`user_id = ? AND origin > ?`, last.UserID, last.Origin)
		} else {
			where.add(`user_id > ?`, last.UserID)
		}
		if lanes != nil && len(lanes) < Lanes {
			where.add(laneOfDelivery+` = ANY(?)`, lanes)
		}
		most, rows := where.parameter(flowRows), 0
		err := s.engine.query(ctx, func(scan func(...any) error) error {
			var due FlowDue
			n := 0
			err := scan(&due.UserID, &due.Origin, instant{&due.At}, &n)
			all, last, rows = append(all, due), due.Flow, rows+n
			return err
		}, `SELECT user_id, origin, MIN(due_at), COUNT(*) FROM (SELECT user_id, origin, due_at FROM deliveries WHERE `+where.sql+`
			ORDER BY user_id, origin, due_at `+limitTo(most)+`) page GROUP BY user_id, origin ORDER BY user_id, origin`, where.args...)
		switch {
		case err != nil:
			return nil, err
		case rows < flowRows && !sameUser:
			return all, nil
		}
		sameUser = rows == flowRows
	}
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
	Attempts    int    // attempts made, including those before a replay
	// RequestID is the ID of the request that created the subject, for the log.
	RequestID string
	// TraceParent is the span of that request; "" if it is not traced.
	TraceParent string
	DueAt       time.Time // when the next attempt is due
}

// selectDelivery returns the query for deliveries. from is a FROM clause with them as d. The query reads no subject,
// because those rows are wide.
func selectDelivery(sql dialect, from string) string {
	return `SELECT d.subject_id, e.id, d.sequence, e.body, e.created_at, e.tries, e.last_number, d.user_id, d.url, d.origin,
			(SELECT 1 FROM endpoints p WHERE p.user_id = d.user_id AND p.url = d.url AND p.disabled_at IS NOT NULL) IS NOT NULL, d.due_at, d.request_id, d.trace_parent
		` + from + ` d JOIN ` + sql.lookup("events e", `e.subject_id = d.subject_id AND e.sequence = d.sequence`) + ` ORDER BY d.due_at`
}

// Deliveries returns, for each query, the deliveries of the flow that are due first and not paused, one for each
// subject. It includes deliveries that are due in the future.
func (s *Store) Deliveries(ctx context.Context, queries []DeliveryQuery) ([][]Delivery, error) {
	all := make([][]Delivery, len(queries))
	indexes, reads := make(map[Flow]int, len(queries)), make([]statement, len(queries))
	for i, query := range queries {
		indexes[query.Flow] = i
		// With parameters outside of subqueries, PostgreSQL would plan each execution, which costs more than to run it.
		reads[i] = statement{selectDelivery(s.engine, `FROM (SELECT * FROM deliveries WHERE user_id = (SELECT $1) AND origin = (SELECT $2) AND `+notPaused+`
			ORDER BY due_at LIMIT (SELECT $3 + 0))`), []any{query.UserID, query.Origin, query.Limit}}
	}
	err := s.engine.queryAll(ctx, func(scan func(...any) error) error {
		var d Delivery
		err := scan(d.columns()...)
		i := indexes[Flow{d.UserID, d.Origin}]
		all[i] = append(all[i], d)
		return err
	}, reads)
	if err != nil {
		clear(all) // they may not survive a promotion
	}
	return all, err
}

// columns returns where the columns of selectDelivery are stored.
func (d *Delivery) columns() []any {
	return []any{
		&d.Event.SubjectID, &d.Event.ID, &d.Event.Sequence, &d.Event.Body,
		instant{&d.Event.CreatedAt},
		&d.Tries, &d.Attempts, &d.UserID, &d.URL, &d.Origin, &d.URLDisabled,
		instant{&d.DueAt},
		&d.RequestID, &d.TraceParent,
	}
}

// firstPending is the SQL expression for the sequence of the first pending event of a delivery.
const firstPending = `(SELECT MIN(e.sequence) FROM events e
	WHERE e.subject_id = deliveries.subject_id AND e.sequence >= deliveries.sequence AND e.state = 'pending')`

// requeue queues subjects of which events are pending again, and marks their flows as due. A subject is due at now if
// one of them is before the event for which it waits. The transaction has locked the subjects.
func requeue(ctx context.Context, tx transaction, subjects []string, now time.Time) error {
	var where conditions
	ids := where.elements(tx, subjects)
	_, err := tx.exec(ctx, `INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at, request_id, trace_parent)
		SELECT s.id, s.user_id, s.origin, s.webhook_url, MIN(e.sequence), `+tx.untilNow("CAST($2 AS BIGINT)")+`, s.request_id, s.trace_parent
		FROM subjects s JOIN events e ON e.subject_id = s.id WHERE `+tx.in("s.id", ids)+` AND e.state = 'pending' GROUP BY s.id
		ON CONFLICT (subject_id) DO UPDATE SET sequence = excluded.sequence, due_at = excluded.due_at
			WHERE excluded.sequence < deliveries.sequence`, append(where.args, micros(now))...)
	if err != nil {
		return err
	}
	return tx.query(ctx, func(scan func(...any) error) error {
		var flow Flow
		err := scan(&flow.UserID, &flow.Origin)
		tx.mark(SignalDue, flow.key())
		return err
	}, `SELECT DISTINCT user_id, origin FROM deliveries WHERE `+tx.in("subject_id", ids), where.args...)
}
