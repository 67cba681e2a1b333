package store

import (
	"context"
	"fmt"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// breakerRetention is how long a breaker is kept after its pause. If no probe was made in that time, the origin
// is treated like a new one.
const breakerRetention = 24 * time.Hour

// endpointRetention is how long an endpoint is kept to which nothing is sent, unless it is disabled or paused. Its last
// event is pruned by then.
const endpointRetention = studio.Retention + usedPrecision

// revocationRetention is how long revocations are kept: much longer than access tokens are valid, because clocks may
// change.
const revocationRetention = 24 * time.Hour

// batchRows bounds the rows that one transaction of a long work writes, so that its locks are short. Of a subject it
// may also write its events.
const batchRows = 500

// Prune deletes the rows whose retention is over at now, in transactions of up to 500 rows: events with their
// attempts after [studio.Retention], deleted subjects after [studio.DeletionMemory] if no event or video refers to
// them, finished replays after [studio.IdempotencyLifetime], uploads, refresh tokens and webhook secrets that have
// expired, links, acts of operators after [studio.ActRetention], failed logins, known addresses, revocations after a
// day, alerts after two, endpoints after 31, daemons that were killed after one, and breakers a day after their pause.
// It also makes due what is due later than any retry, because a clock was ahead when it was written. After an error,
// some rows may have been deleted. Prune may be called by several processes at the same time.
func (s *Store) Prune(ctx context.Context, now time.Time) error {
	err := s.prunePassing(ctx, now.Add(-studio.Retention), "events", `ended_at < $1`,
		`SELECT id, created_at, COALESCE(ended_at < $1, FALSE) FROM events WHERE created_at < $1 AND (created_at, id) > ($2, $3)
			ORDER BY created_at, id `+limitTo("$4"))
	if err != nil {
		return err
	}
	// The outer condition is checked again on a row that another transaction changed after the subquery.
	for _, rule := range []struct {
		query string
		limit time.Time
	}{
		{`DELETE FROM uploads WHERE expires_at < $1 AND id IN (SELECT id FROM uploads WHERE expires_at < $1 LIMIT $2)`, now},
		{`DELETE FROM replays WHERE requested_at < $1 AND turn_at IS NULL AND id IN (SELECT id FROM replays WHERE requested_at < $1
			AND turn_at IS NULL LIMIT $2)`, now.Add(-studio.IdempotencyLifetime)},
		{`DELETE FROM refresh_tokens WHERE expires_at < $1 AND hash IN (SELECT hash FROM refresh_tokens WHERE expires_at < $1 LIMIT $2)`, now},
		{`DELETE FROM webhook_secrets WHERE expires_at < $1 AND id IN (SELECT id FROM webhook_secrets WHERE expires_at < $1 LIMIT $2)`, now},
		{`DELETE FROM login_tries WHERE began_at < $1 AND account IN
			(SELECT account FROM login_tries WHERE began_at < $1 LIMIT $2)`, now.Add(-studio.LoginMemory)},
		{`DELETE FROM known_addresses WHERE seen_at < $1 AND (user_id, address) IN
			(SELECT user_id, address FROM known_addresses WHERE seen_at < $1 LIMIT $2)`, now.Add(-studio.AddressMemory)},
		{`DELETE FROM revocations WHERE revoked_at < $1 AND id IN (SELECT id FROM revocations WHERE revoked_at < $1 LIMIT $2)`, now.Add(-revocationRetention)},
		{`DELETE FROM links WHERE expires_at < $1 AND hash IN (SELECT hash FROM links WHERE expires_at < $1 LIMIT $2)`, now},
		{`DELETE FROM acts WHERE at < $1 AND id IN (SELECT id FROM acts WHERE at < $1 LIMIT $2)`, now.Add(-studio.ActRetention)},
		{`DELETE FROM alerts WHERE sent_at < $1 AND retry_at < $1 AND (user_id, url) IN
			(SELECT user_id, url FROM alerts WHERE sent_at < $1 AND retry_at < $1 LIMIT $2)`, now.Add(-alertRetention)},
		{`DELETE FROM endpoints WHERE used_at < $1 AND disabled_at IS NULL AND (user_id, url) IN (SELECT user_id, url FROM endpoints
			WHERE used_at < $1 AND disabled_at IS NULL AND NOT EXISTS (SELECT 1 FROM pauses p WHERE p.user_id = endpoints.user_id
				AND p.url = endpoints.url) LIMIT $2)`, now.Add(-endpointRetention)},
		{`DELETE FROM daemons WHERE seen_at < $1 AND id IN (SELECT id FROM daemons WHERE seen_at < $1 LIMIT $2)`, now.Add(-daemonRetention)},
		{`DELETE FROM breakers WHERE until < $1 AND origin IN
			(SELECT origin FROM breakers WHERE until < $1 LIMIT $2)`, now.Add(-breakerRetention)},
		{hasten("deliveries", "subject_id", "due_at"), now.Add(maxAttemptAge)},
		{hasten("replays", "id", "turn_at"), now.Add(maxAttemptAge)},
		{hasten("tasks", "id", "due_at"), now.Add(maxAttemptAge)},
	} {
		for deleted := int64(batchRows); deleted == batchRows; {
			err := s.write(ctx, func(tx transaction) (err error) {
				deleted, err = tx.exec(ctx, rule.query, micros(rule.limit), batchRows)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return s.prunePassing(ctx, now.Add(-studio.DeletionMemory), "subjects", `deleted_at < $1`,
		`SELECT s.id, s.deleted_at, NOT EXISTS (SELECT 1 FROM events e WHERE e.subject_id = s.id) AND NOT EXISTS (SELECT 1 FROM subjects v WHERE v.avatar_id = s.id)
			FROM subjects s WHERE s.deleted_at < $1 AND (s.deleted_at, s.id) > ($2, $3) ORDER BY s.deleted_at, s.id `+limitTo("$4"))
}

// hasten returns the statement that makes up to $2 rows due which are due after $1, maxAttemptAge from now.
func hasten(table, key, column string) string {
	return `UPDATE ` + table + ` SET ` + column + ` = $1 - ` + fmt.Sprint(maxAttemptAge.Microseconds()) + ` WHERE ` + column + ` > $1
		AND ` + key + ` IN (SELECT ` + key + ` FROM ` + table + ` WHERE ` + column + ` > $1 LIMIT $2)`
}

// prunePassing deletes rows of a table where others with earlier times stay, such as the subjects of a removed user as
// long as their events. It passes over these once, instead of once for each batch. candidates is a query for the IDs
// and times of the rows before $1 and after ($2, $3), and whether they are deleted. condition is checked again on a row
// that another transaction changed since.
func (s *Store) prunePassing(ctx context.Context, before time.Time, table, condition, candidates string) error {
	var last studio.Position
	for rows := batchRows; rows == batchRows; {
		rows = 0
		var unused []string
		err := s.engine.query(ctx, func(scan func(...any) error) error {
			var prunable bool
			err := scan(&last.ID, instant{&last.CreatedAt}, &prunable)
			if rows++; prunable {
				unused = append(unused, last.ID)
			}
			return err
		}, candidates, micros(before), last.CreatedAt.UnixMicro(), last.ID, batchRows)
		if err == nil && len(unused) > 0 {
			where := conditions{args: []any{micros(before)}}
			err = s.exec(ctx, `DELETE FROM `+table+` WHERE `+condition+` AND `+s.engine.in("id", where.elements(s.engine, unused)), where.args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
