package store

import (
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// creationRows contains the rows of a group of creations by column, as arguments of unnest.
type creationRows struct {
	ids, kinds, users, requests, requestIDs, traceParents, urls, origins, statuses, consents, reasons []string

	avatars, titles             []*string
	created, updated, sequences []int64
	renderAt                    []*int64
	due                         []*int64 // due times of the first events
	tries                       []int32
	renderDue                   bool

	keyed, keyUsers, keys []string // keyed is the subject IDs
	fingerprints          [][]byte
	keyTimes              []int64

	events eventRows
}

func newCreationRows(group []*creation) *creationRows {
	r := new(creationRows)
	for _, c := range group {
		r.addSubject(c.subject)
		r.events.add(c.subject)
		if c.key.Key != "" {
			r.keyed, r.keyUsers, r.keys = append(r.keyed, c.subject.ID), append(r.keyUsers, c.subject.UserID), append(r.keys, c.key.Key)
			r.fingerprints = append(r.fingerprints, c.key.Fingerprint)
			r.keyTimes = append(r.keyTimes, c.subject.CreatedAt.UnixMicro())
		}
	}
	return r
}

func (r *creationRows) addSubject(s studio.Subject) {
	r.ids, r.kinds, r.users = append(r.ids, s.ID), append(r.kinds, string(s.Kind)), append(r.users, s.UserID)
	r.avatars, r.titles = append(r.avatars, nullable(s.AvatarID)), append(r.titles, s.Title)
	r.requests, r.requestIDs = append(r.requests, string(s.Request)), append(r.requestIDs, s.RequestID)
	r.traceParents = append(r.traceParents, s.TraceParent)
	r.urls, r.origins = append(r.urls, s.WebhookURL), append(r.origins, studio.Origin(s.WebhookURL))
	r.statuses, r.consents = append(r.statuses, string(s.Status)), append(r.consents, string(s.Consent))
	r.reasons = append(r.reasons, s.FailureReason)
	r.created, r.updated = append(r.created, s.CreatedAt.UnixMicro()), append(r.updated, s.UpdatedAt.UnixMicro())
	r.sequences, r.renderAt = append(r.sequences, s.Sequence), append(r.renderAt, microsPointer(s.RenderAt))
	r.tries = append(r.tries, int32(s.RenderTries)) //nolint:gosec // a small number
	var due *int64
	if len(s.Events) > 0 {
		due = microsPointer(s.Events[0].CreatedAt)
	}
	r.due = append(r.due, due)
	if !s.RenderAt.IsZero() {
		r.renderDue = true
	}
}

// insertSubjects returns the INSERT of the subjects. It computes deliver_at like duePostgres.
func (r *creationRows) insertSubjects(tx transaction) statement {
	return statement{`INSERT INTO subjects (id, kind, user_id, avatar_id, title, request, webhook_url, origin, status,
			consent, failure_reason, created_at, updated_at, sequence, render_at, render_tries, request_id, trace_parent, deliver_at)
		SELECT id, kind, user_id, avatar_id, title, request, webhook_url, origin, status,
			consent, failure_reason, created_at, updated_at, sequence, ` + tx.renderAt("render_at") + `, render_tries, request_id, trace_parent,
			CASE WHEN due IS NOT NULL THEN LEAST(due, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) END
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
			$10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::int[], $17::bigint[], $18::text[], $19::text[])
			r(id, kind, user_id, avatar_id, title, request, webhook_url, origin, status,
			consent, failure_reason, created_at, updated_at, sequence, render_at, render_tries, due, request_id, trace_parent)`, []any{
		r.ids, r.kinds, r.users, r.avatars, r.titles, r.requests, r.urls, r.origins, r.statuses,
		r.consents, r.reasons, r.created, r.updated, r.sequences, r.renderAt, r.tries, r.due, r.requestIDs, r.traceParents,
	}}
}

func (r *creationRows) insertKeys() statement {
	return statement{`INSERT INTO idempotency_keys (user_id, key, fingerprint, subject_id, created_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[])` + replaceKey, []any{
		r.keyUsers, r.keys, r.fingerprints, r.keyed, r.keyTimes,
	}}
}
