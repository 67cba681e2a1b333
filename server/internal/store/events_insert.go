package store

import "github.com/avatarstudio/avatarstudio/server/internal/studio"

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

// writeEvents returns the statements that insert the new events of subjects, and marks their flows as due.
func writeEvents(tx transaction, subjects []*studio.Subject) []statement {
	var events []subjectEvent
	for _, s := range subjects {
		for i := range s.Events {
			events = append(events, subjectEvent{&s.Events[i], s})
		}
		if len(s.Events) > 0 {
			tx.markDeliveryDue(Flow{UserID: s.UserID, Origin: studio.Origin(s.WebhookURL)})
		}
	}
	return insertEvents.with(tx, events...)
}
