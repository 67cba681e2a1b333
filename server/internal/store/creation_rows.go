package store

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// creationRows is the rows of a group of creations, by columns as PostgreSQL takes them.
type creationRows struct {
	ids, kinds, users, requests, requestIDs, urls, origins, statuses, consents, reasons []string

	avatars, titles             []*string
	created, updated, sequences []int64
	renderAt                    []*int64
	due                         []*int64 // of the first event
	tries                       []int32
	renderings                  []time.Time

	keyed, keyUsers, keys []string // keyed is the ids
	fingerprints          [][]byte
	keyTimes              []int64

	events, eventSubjects, eventUsers []string
	eventSequences                    []int64
	bodies                            [][]byte
	eventTimes                        []int64
	lines                             []Line
}

func newCreationRows(group []*creation) *creationRows {
	r := new(creationRows)
	for _, c := range group {
		r.addSubject(c.subject)
		r.addEvents(c.subject)
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
	r.avatars, r.titles = append(r.avatars, optional(s.AvatarID)), append(r.titles, s.Title)
	r.requests, r.requestIDs = append(r.requests, string(s.Request)), append(r.requestIDs, s.RequestID)
	r.urls, r.origins = append(r.urls, s.WebhookURL), append(r.origins, studio.Origin(s.WebhookURL))
	r.statuses, r.consents = append(r.statuses, string(s.Status)), append(r.consents, string(s.Consent))
	r.reasons = append(r.reasons, s.FailureReason)
	r.created, r.updated = append(r.created, s.CreatedAt.UnixMicro()), append(r.updated, s.UpdatedAt.UnixMicro())
	r.sequences, r.renderAt = append(r.sequences, s.Sequence), append(r.renderAt, microsPointer(s.RenderAt))
	r.tries = append(r.tries, int32(s.RenderTries)) //nolint:gosec // a few
	var due *int64
	if len(s.Events) > 0 {
		due = microsPointer(s.Events[0].CreatedAt)
	}
	r.due = append(r.due, due)
	if !s.RenderAt.IsZero() {
		r.renderings = append(r.renderings, s.RenderAt)
	}
}

func (r *creationRows) addEvents(s studio.Subject) {
	for _, e := range s.Events {
		r.events, r.eventSubjects = append(r.events, e.ID), append(r.eventSubjects, s.ID)
		r.eventSequences, r.bodies = append(r.eventSequences, e.Sequence), append(r.bodies, e.Body)
		r.eventTimes, r.eventUsers = append(r.eventTimes, e.CreatedAt.UnixMicro()), append(r.eventUsers, s.UserID)
	}
	if len(s.Events) > 0 {
		r.lines = append(r.lines, Line{UserID: s.UserID, Origin: studio.Origin(s.WebhookURL)})
	}
}

// insertSubjects says when a subject is due as duePostgres would.
func (r *creationRows) insertSubjects() statement {
	return statement{`INSERT INTO subjects (id, kind, user_id, avatar_id, title, request, webhook_url, origin, status,
			consent, failure_reason, video_url, created_at, updated_at, sequence, render_at, render_tries, request_id, deliver_at)
		SELECT id, kind, user_id, avatar_id, title, request, webhook_url, origin, status,
			consent, failure_reason, '', created_at, updated_at, sequence, render_at, render_tries, request_id,
			CASE WHEN due IS NOT NULL THEN LEAST(due, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) END
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
			$10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::int[], $17::bigint[], $18::text[])
			r(id, kind, user_id, avatar_id, title, request, webhook_url, origin, status,
			consent, failure_reason, created_at, updated_at, sequence, render_at, render_tries, due, request_id)`, []any{
		r.ids, r.kinds, r.users, r.avatars, r.titles, r.requests, r.urls, r.origins, r.statuses,
		r.consents, r.reasons, r.created, r.updated, r.sequences, r.renderAt, r.tries, r.due, r.requestIDs,
	}}
}

func (r *creationRows) insertKeys() statement {
	return statement{`INSERT INTO idempotency_keys (user_id, key, fingerprint, subject_id, created_at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::bigint[])` + replaceKey, []any{
		r.keyUsers, r.keys, r.fingerprints, r.keyed, r.keyTimes,
	}}
}

func (r *creationRows) insertEvents() statement {
	return statement{`INSERT INTO events (id, subject_id, sequence, body, created_at, user_id)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::bigint[], $6::text[])`, []any{
		r.events, r.eventSubjects, r.eventSequences, r.bodies, r.eventTimes, r.eventUsers,
	}}
}
