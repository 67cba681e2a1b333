package store

import (
	"encoding/json"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// updateRows contains the rows of a group of updates by column, as arguments of unnest.
type updateRows struct {
	ids, statuses, consents, reasons, renderings []string

	progress           []int32
	updated, sequences []int64
	renderAt           []*int64
	tries              []int32
	hasEvents          []bool // the subject has new events
	renderDue          bool

	events eventRows
}

// add adds a subject. due is the old value of RenderAt, as for updateSubject.
func (r *updateRows) add(s studio.Subject, due time.Time) error {
	rendering, err := json.Marshal(s.Rendering)
	if err != nil {
		return err
	}
	r.ids, r.statuses, r.consents = append(r.ids, s.ID), append(r.statuses, string(s.Status)), append(r.consents, string(s.Consent))
	r.reasons, r.renderings = append(r.reasons, s.FailureReason), append(r.renderings, string(rendering))
	r.progress, r.tries = append(r.progress, int32(s.Progress)), append(r.tries, int32(s.RenderTries)) //nolint:gosec // small
	r.updated, r.sequences = append(r.updated, s.UpdatedAt.UnixMicro()), append(r.sequences, s.Sequence)
	r.renderAt, r.hasEvents = append(r.renderAt, microsPointer(s.RenderAt)), append(r.hasEvents, len(s.Events) > 0)
	if !s.RenderAt.IsZero() && !s.RenderAt.Equal(due) {
		r.renderDue = true
	}
	r.events.add(s)
	return nil
}

// update returns the UPDATE of the subjects. It must follow the INSERT of the events.
func (r *updateRows) update() statement {
	return statement{`UPDATE subjects SET status = r.status, consent = r.consent, failure_reason = r.failure_reason,
			progress = r.progress, rendering = r.rendering, updated_at = r.updated_at, sequence = r.sequence,
			render_at = r.render_at, render_tries = r.render_tries,
			render_by = CASE WHEN subjects.render_at IS NOT DISTINCT FROM r.render_at THEN subjects.render_by END,
			deliver_at = CASE WHEN r.has_events THEN ` + duePostgres + ` ELSE subjects.deliver_at END
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::bigint[], $8::bigint[],
			$9::bigint[], $10::int[], $11::bool[])
			r(id, status, consent, failure_reason, progress, rendering, updated_at, sequence, render_at, render_tries, has_events)
		WHERE subjects.id = r.id`, []any{
		r.ids, r.statuses, r.consents, r.reasons, r.progress, r.renderings, r.updated, r.sequences,
		r.renderAt, r.tries, r.hasEvents,
	}}
}
