package store

import "github.com/avatarstudio/avatarstudio/server/internal/studio"

// insertEvents returns the statements that insert the new events of a subject, and marks their flow as due.
func insertEvents(tx transaction, s studio.Subject) (statements []statement) {
	if len(s.Events) == 0 {
		return nil
	}
	for _, event := range s.Events {
		statements = append(statements, statement{
			`INSERT INTO events (id, subject_id, sequence, body, created_at, user_id) VALUES ($1, $2, $3, $4, $5, $6)`,
			[]any{event.ID, s.ID, event.Sequence, event.Body, micros(event.CreatedAt), s.UserID},
		})
	}
	tx.markDeliveryDue(Flow{s.UserID, studio.Origin(s.WebhookURL)})
	return append(statements, updateDeliverAt(tx, s.ID))
}

// eventRows contains the rows of new events by column, as arguments of unnest, and the flows of the events.
type eventRows struct {
	ids, subjects, users []string
	sequences            []int64
	bodies               [][]byte
	times                []int64
	flows                []Flow
}

// add adds the new events of a subject.
func (r *eventRows) add(s studio.Subject) {
	for _, e := range s.Events {
		r.ids, r.subjects, r.users = append(r.ids, e.ID), append(r.subjects, s.ID), append(r.users, s.UserID)
		r.sequences, r.bodies = append(r.sequences, e.Sequence), append(r.bodies, e.Body)
		r.times = append(r.times, e.CreatedAt.UnixMicro())
	}
	if len(s.Events) > 0 {
		r.flows = append(r.flows, Flow{UserID: s.UserID, Origin: studio.Origin(s.WebhookURL)})
	}
}

// insert returns the INSERT of the events, or nil if there is no event.
func (r *eventRows) insert() []statement {
	if len(r.ids) == 0 {
		return nil
	}
	return []statement{{`INSERT INTO events (id, subject_id, sequence, body, created_at, user_id)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::text[])`, []any{
		r.ids, r.subjects, r.sequences, r.bodies, r.times, r.users,
	}}}
}
