package store

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// The statements that write subjects, with their idempotency keys.
//
//nolint:gochecknoglobals // constants
var (
	// insertSubjects inserts no subject whose user is not a member of the workspace. It fails, as for a user who does
	// not exist, if one of the users is deleted.
	insertSubjects = newRowStatement(`id text, kind text, user_id text, avatar_id text, title text, request text, webhook_url text,
		origin text, status text, consent text, failure_reason text, created_at bigint, updated_at bigint,
		sequence bigint, render_tries int, request_id text, trace_parent text, key_hash bytea, fingerprint bytea,
		workspace_id text`,
		func(c *creation) []any {
			s := &c.subject
			return []any{
				s.ID, string(s.Kind), s.UserID, nullable(s.AvatarID), s.Title, string(s.Request), s.WebhookURL,
				studio.Origin(s.WebhookURL), string(s.Status), string(s.Consent), s.FailureReason, micros(s.CreatedAt), micros(s.UpdatedAt),
				s.Sequence, s.RenderTries, s.RequestID, s.TraceParent, c.keyHash, c.key.Fingerprint,
				nullable(s.WorkspaceID),
			}
		}, func(sql dialect) string {
			return `INSERT INTO subjects (id, kind, user_id, avatar_id, title, request, webhook_url, origin, status, consent, failure_reason,
					created_at, updated_at, sequence, render_tries, request_id, trace_parent, key_hash, fingerprint, workspace_id)
				SELECT r.id, r.kind, COALESCE(` + liveUser(sql, "r.user_id") + `, ''), r.avatar_id, r.title, r.request, r.webhook_url, r.origin, r.status,
					r.consent, r.failure_reason, r.created_at, r.updated_at, r.sequence, r.render_tries, r.request_id, r.trace_parent, r.key_hash,
					r.fingerprint, COALESCE(r.workspace_id, ` + onlyWorkspace + `)
				FROM r WHERE r.workspace_id IS NULL OR ` + isMember
		})

	updateSubjects = newRowStatement(`id text, title text, project text, status text, consent text, failure_reason text, progress int, rendering text,
		updated_at bigint, sequence bigint, render_tries int`,
		func(s *studio.Subject) []any {
			rendering, _ := json.Marshal(s.Rendering) // it contains only texts and finite numbers
			project, _ := json.Marshal(s.Project)     // it contains only texts and a time
			return []any{
				s.ID, s.Title, string(project), string(s.Status), string(s.Consent), s.FailureReason, s.Progress, string(rendering),
				micros(s.UpdatedAt), s.Sequence, s.RenderTries,
			}
		}, func(dialect) string {
			return `UPDATE subjects SET title = r.title, project = r.project, status = r.status, consent = r.consent, failure_reason = r.failure_reason,
				progress = r.progress, rendering = r.rendering, updated_at = r.updated_at, sequence = r.sequence,
				render_tries = r.render_tries FROM r WHERE subjects.id = r.id`
		})

	insertRenderings = newRowStatement(renderingColumns, renderingValues, insertInto("renderings", renderingColumns, "due_at"))

	// delayRenderings releases the leases of renderings that are due at another time, and deleteRenderings of those
	// that have ended.
	delayRenderings = newRowStatement(renderingColumns, renderingValues, func(sql dialect) string {
		return `UPDATE renderings SET due_at = r.due_at, process_id = NULL, leased_until = NULL FROM r
			WHERE renderings.subject_id = r.subject_id AND ` + sql.in("renderings.subject_id", `SELECT r.subject_id FROM r`)
	})
	deleteRenderings = newRowStatement(renderingColumns, renderingValues, func(sql dialect) string {
		return `DELETE FROM renderings WHERE ` + sql.in("subject_id", `SELECT r.subject_id FROM r`)
	})
)

// onlyWorkspace is the workspace of the user of a row, if the user is a member of exactly one.
const onlyWorkspace = `(SELECT MIN(m.workspace_id) FROM (SELECT workspace_id FROM members WHERE user_id = r.user_id LIMIT 2) m HAVING COUNT(*) = 1)`

// isMember is the condition that the user of a row is a member of the workspace. PostgreSQL finds the row by its key.
const isMember = `(SELECT COUNT(*) FROM members m WHERE m.workspace_id = r.workspace_id AND m.user_id = r.user_id) > 0`

const renderingColumns = `subject_id text, user_id text, due_at bigint`

func renderingValues(s *studio.Subject) []any { return []any{s.ID, s.UserID, micros(s.RenderAt)} }

// nullable returns nil, which is stored as NULL, for an empty text.
func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// writeCreations inserts subjects with their renderings, idempotency keys and events.
func (s *Store) writeCreations(ctx context.Context, tx transaction, group []*creation) error {
	group, insert, err := insertCreations(ctx, tx, group)
	if err != nil {
		return err
	}
	subjects := make([]*studio.Subject, len(group))
	var rendered []*studio.Subject
	for i, c := range group {
		subjects[i] = &c.subject
		if !c.subject.RenderAt.IsZero() {
			tx.mark(SignalRender, "")
			rendered = append(rendered, &c.subject)
		}
	}
	return tx.last(ctx, nil, slices.Concat(insert, addEndpoints(tx, group), insertUses.with(tx, uploadUses(group)...), insertRenderings.with(tx, rendered...), writeEvents(tx, subjects))...)
}

// insertCreations inserts subjects, or returns the statements for that. It returns those that are inserted: the error
// of a creation is studio.ErrForbidden if its user is not a member of the workspace.
func insertCreations(ctx context.Context, tx transaction, group []*creation) (inserted []*creation, insert []statement, err error) {
	var expired []*keyed // with idempotency keys that have expired
	inWorkspace := false
	for _, c := range group {
		if c.keyUse.expired {
			expired = append(expired, &c.keyed)
		}
		inWorkspace = inWorkspace || c.subject.WorkspaceID != ""
	}
	forget := forgetKeys(tx, expired...)
	if !inWorkspace {
		return group, slices.Concat(forget, insertSubjects.with(tx, group...)), nil
	}
	if err := tx.execAll(ctx, forget); err != nil {
		return nil, nil, err
	}
	rows := 0
	for _, s := range insertSubjects.with(tx, group...) {
		n, err := tx.exec(ctx, s.query, s.args...)
		if err != nil {
			return nil, nil, err
		}
		rows += int(n)
	}
	if rows == len(group) {
		return group, nil, nil
	}
	ids := make([]string, len(group))
	for i, c := range group {
		ids[i] = c.subject.ID
	}
	ids, err = queryEach(ctx, tx, oneColumn[string], findIDs.with(tx, ids...))
	for _, c := range group {
		if slices.Contains(ids, c.subject.ID) {
			inserted = append(inserted, c)
		} else {
			c.err = studio.ErrForbidden
		}
	}
	return inserted, nil, err
}
