package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func (s *Store) CreateSubject(
	ctx context.Context, subject studio.Subject, key studio.IdempotencyKey,
) (studio.Subject, error) {
	if s.Shared() {
		if alone, err := s.createInGroup(ctx, subject, key); !alone {
			return subject, err
		}
	}
	created := subject
	err := s.write(ctx, func(tx transaction) error {
		created = subject
		if key.Key != "" {
			earlier, err := subjectOfKey(ctx, tx, subject.UserID, key)
			if err == nil {
				created = earlier
				markDue(tx, !earlier.RenderAt.IsZero(), []Flow{{earlier.UserID, studio.Origin(earlier.WebhookURL)}}) // the first answer may have failed
			}
			if !errors.Is(err, studio.ErrNotFound) {
				return err
			}
		}
		if err := lockAvatar(ctx, tx, subject.AvatarID); err != nil {
			return err
		}
		if err := insertSubject(ctx, tx, subject); err != nil || key.Key == "" {
			return err
		}
		_, err := tx.exec(ctx, `INSERT INTO idempotency_keys (user_id, key, fingerprint, subject_id, created_at)
			VALUES ($1, $2, $3, $4, $5)`+replaceKey,
			subject.UserID, key.Key, key.Fingerprint, subject.ID, micros(subject.CreatedAt))
		return err
	})
	return created, err
}

// replaceKey ends the INSERT of an idempotency key. It replaces an expired one.
const replaceKey = ` ON CONFLICT (user_id, key) DO UPDATE SET
	fingerprint = excluded.fingerprint, subject_id = excluded.subject_id, created_at = excluded.created_at`

// keyLockName returns the name that a creation with an idempotency key locks.
func keyLockName(userID string, key studio.IdempotencyKey) string {
	return "idempotency key " + userID + " " + key.Key
}

// subjectOfKey returns the subject that was created with an idempotency key. It locks the key until the end
// of the transaction. It returns studio.ErrNotFound if the key is new.
func subjectOfKey(
	ctx context.Context, tx transaction, userID string, key studio.IdempotencyKey,
) (studio.Subject, error) {
	free, err := tx.tryLock(ctx, keyLockName(userID, key))
	if err != nil {
		return studio.Subject{}, err
	}
	if !free {
		return studio.Subject{}, studio.ErrKeyInUse
	}
	var id string
	var fingerprint []byte
	err = queryRow(ctx, tx, []any{&id, &fingerprint},
		`SELECT subject_id, fingerprint FROM idempotency_keys WHERE user_id = $1 AND key = $2 AND created_at > $3`,
		userID, key.Key, micros(key.After))
	if err != nil {
		return studio.Subject{}, err
	}
	if !bytes.Equal(fingerprint, key.Fingerprint) {
		return studio.Subject{}, studio.ErrKeyReused
	}
	subject, err := subjectByID(ctx, tx, id, "")
	if errors.Is(err, studio.ErrNotFound) {
		err = studio.ErrKeySpent
	}
	return subject, err
}

// lockAvatar locks the avatar of a new video, so that it is not deleted before the video is inserted.
func lockAvatar(ctx context.Context, tx transaction, id string) error {
	if id == "" {
		return nil
	}
	var found int
	return queryRow(ctx, tx, []any{&found}, `SELECT 1 FROM subjects WHERE id = $1 AND deleted_at IS NULL`+tx.forUpdate(), id)
}

func (s *Store) Subject(ctx context.Context, id string) (studio.Subject, error) {
	return subjectByID(ctx, s.engine, id, "")
}

func (s *Store) CreationsInProgress(ctx context.Context, userID string) (n int, err error) {
	err = queryRow(ctx, s.engine, []any{&n}, `SELECT COUNT(*) FROM subjects WHERE user_id = $1 AND render_at IS NOT NULL`, userID)
	return n, err
}

func (s *Store) UpdateSubject(
	ctx context.Context, id string, change func(*studio.Subject) error,
) (subject studio.Subject, err error) {
	if s.Shared() {
		if u := s.updateInGroup(ctx, id, change); !u.updateAlone {
			return u.subject, u.err
		}
	}
	err = s.write(ctx, func(tx transaction) error {
		subject, err = subjectByID(ctx, tx, id, tx.forUpdate())
		if err != nil {
			return err
		}
		due := subject.RenderAt
		if err := change(&subject); err != nil {
			return err
		}
		statements, err := updateSubject(tx, subject, due)
		if err == nil {
			_, err = tx.execAll(ctx, statements)
		}
		return err
	})
	return subject, err
}

// subjectColumns is the columns of subjects s that scanSubject scans.
const subjectColumns = `s.id, s.kind, s.user_id, s.avatar_id, (SELECT a.title FROM subjects a WHERE a.id = s.avatar_id),
	s.title, s.request, s.webhook_url, s.status, s.consent, s.failure_reason, s.progress, s.rendering, s.created_at, s.updated_at,
	s.sequence, s.render_at, s.render_tries, s.request_id, s.trace_parent, s.render_by IS NOT NULL`

// scanSubject scans the row of a subject.
func scanSubject(scan func(...any) error) (studio.Subject, error) {
	var s studio.Subject
	var avatarID *string
	var request, rendering string
	err := scan(&s.ID, &s.Kind, &s.UserID, &avatarID, &s.AvatarTitle, &s.Title, &request, &s.WebhookURL, &s.Status,
		&s.Consent, &s.FailureReason, &s.Progress, &rendering, instant{&s.CreatedAt}, instant{&s.UpdatedAt}, &s.Sequence,
		instant{&s.RenderAt}, &s.RenderTries, &s.RequestID, &s.TraceParent, &s.Started)
	if avatarID != nil {
		s.AvatarID = *avatarID
	}
	s.Request = []byte(request)
	if err == nil {
		err = json.Unmarshal([]byte(rendering), &s.Rendering)
	}
	return s, err
}

// subjectByID returns a subject that is not deleted. forUpdate ends the SELECT.
func subjectByID(ctx context.Context, q querier, id, forUpdate string) (s studio.Subject, err error) {
	err = studio.ErrNotFound
	queryErr := q.query(ctx, func(scan func(...any) error) error {
		s, err = scanSubject(scan)
		return err
	}, `SELECT `+subjectColumns+` FROM subjects s WHERE s.id = $1 AND s.deleted_at IS NULL`+forUpdate, id)
	if queryErr != nil {
		err = queryErr
	}
	return s, err
}

func (s *Store) Subjects(
	ctx context.Context, filter studio.SubjectFilter, after studio.Position, limit int,
) (subjects []studio.Subject, more bool, err error) {
	where := `s.user_id = $1 AND s.kind = $2 AND s.deleted_at IS NULL`
	args := []any{filter.UserID, string(filter.Kind)}
	add := func(condition string, values ...any) {
		for _, value := range values {
			args = append(args, value)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		where += " AND " + condition
	}
	if filter.Status != "" {
		add(`s.status = ?`, string(filter.Status))
	}
	if filter.AvatarID != "" {
		add(`s.avatar_id = ?`, filter.AvatarID)
	}
	if after.ID != "" {
		add(`(s.created_at, s.id) < (?, ?)`, micros(after.CreatedAt), after.ID)
	}
	args = append(args, limit+1)
	page := page[studio.Subject]{limit: limit}
	err = page.query(ctx, s.engine, func(scan func(...any) error) (studio.Subject, int, error) {
		subject, err := scanSubject(scan)
		return subject, len(subject.Request) + textLength(subject.Title) + textLength(subject.AvatarTitle), err
	}, `SELECT `+subjectColumns+` FROM subjects s WHERE `+where+` ORDER BY s.created_at DESC, s.id DESC LIMIT $`+
		strconv.Itoa(len(args))+` + 0`, args...)
	return page.rows, page.more, err
}

func textLength(text *string) int {
	if text == nil {
		return 0
	}
	return len(*text)
}

// nullable returns nil, which is stored as NULL, for an empty text.
func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// insertSubject inserts a subject and its events.
func insertSubject(ctx context.Context, tx transaction, s studio.Subject) error {
	statements := []statement{{
		`INSERT INTO subjects (id, kind, user_id, avatar_id, title, request, webhook_url, status,
			consent, failure_reason, created_at, updated_at, sequence, render_at, render_tries,
			origin, request_id, trace_parent)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ` + tx.renderAt("$14") + `, $15, $16, $17, $18)`,
		[]any{
			s.ID, string(s.Kind), s.UserID, nullable(s.AvatarID), s.Title, string(s.Request), s.WebhookURL, string(s.Status),
			string(s.Consent), s.FailureReason, micros(s.CreatedAt), micros(s.UpdatedAt), s.Sequence,
			micros(s.RenderAt), s.RenderTries, studio.Origin(s.WebhookURL), s.RequestID, s.TraceParent,
		},
	}}
	if !s.RenderAt.IsZero() {
		tx.markRenderDue()
	}
	_, err := tx.execAll(ctx, append(statements, insertEvents(tx, s)...))
	return err
}

// updateSubject returns the statements that update a subject and insert its new events. It does not write the
// columns that deliveries change. due is the old value of RenderAt: if RenderAt has changed, a rendering has
// ended and its lease is released. The transaction must have locked the subject.
func updateSubject(tx transaction, s studio.Subject, due time.Time) ([]statement, error) {
	rendering, err := json.Marshal(s.Rendering)
	if err != nil {
		return nil, err
	}
	if !s.RenderAt.IsZero() && !s.RenderAt.Equal(due) {
		tx.markRenderDue()
	}
	return append([]statement{{
		`UPDATE subjects SET status = $2, consent = $3, failure_reason = $4, progress = $5,
			rendering = $6, updated_at = $7, sequence = $8, render_at = $9, render_tries = $10,
			render_by = CASE WHEN render_at IS NOT DISTINCT FROM $9 THEN render_by END WHERE id = $1`,
		[]any{
			s.ID, string(s.Status), string(s.Consent), s.FailureReason, s.Progress, string(rendering),
			micros(s.UpdatedAt), s.Sequence, micros(s.RenderAt), s.RenderTries,
		},
	}}, insertEvents(tx, s)...), nil
}
