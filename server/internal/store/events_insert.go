package store

import (
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// subjectEvent is a new event of a subject.
type subjectEvent struct {
	*studio.Event

	subject *studio.Subject
}

// insertEvents is the statement that inserts events.
//
//nolint:gochecknoglobals // a constant
var insertEvents = newRowStatement(`id text, subject_id text, sequence bigint, body bytea, created_at bigint, user_id text`,
	func(e subjectEvent) []any {
		return []any{e.ID, e.subject.ID, e.Sequence, e.Body, micros(e.CreatedAt), e.subject.UserID}
	}, insertInto("events"))

// queued is a subject with new events, and their flow.
type queued struct {
	*studio.Subject

	flow Flow
}

// insertDeliveries is the statement that queues subjects with new events. A subject that waits for an earlier event
// stays as it is.
//
//nolint:gochecknoglobals // a constant
var insertDeliveries = newRowStatement(`subject_id text, user_id text, origin text, url text, sequence bigint, due_at bigint,
		request_id text, trace_parent text`,
	func(q queued) []any {
		first := q.Events[0]
		return []any{q.ID, q.UserID, q.flow.Origin, q.WebhookURL, first.Sequence, micros(first.CreatedAt), q.RequestID, q.TraceParent}
	}, func(sql dialect, columns []string) string {
		return insertInto("deliveries", "due_at")(sql, columns) + ` ON CONFLICT (subject_id) DO NOTHING`
	})

// writeEvents returns the statements that insert and queue the new events of subjects, and marks their flows as due. The
// transaction has locked the subjects.
func writeEvents(tx transaction, subjects []*studio.Subject) []statement {
	var events []subjectEvent
	var deliveries []queued
	for _, s := range subjects {
		for i := range s.Events {
			events = append(events, subjectEvent{&s.Events[i], s})
		}
		if len(s.Events) > 0 {
			flow := Flow{UserID: s.UserID, Origin: studio.Origin(s.WebhookURL)}
			deliveries = append(deliveries, queued{s, flow})
			tx.markDeliveryDue(flow)
		}
	}
	return slices.Concat(insertEvents.with(tx, events...), insertDeliveries.with(tx, deliveries...))
}
