package store

import (
	"context"
	"fmt"
	"strings"
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
	for _, rule := range []struct {
		table, key, condition string
		limit                 time.Time
	}{
		{"uploads", "id", `expires_at < $1`, now},
		{"replays", "id", `requested_at < $1 AND turn_at IS NULL`, now.Add(-studio.IdempotencyLifetime)},
		{"refresh_tokens", "hash", `expires_at < $1`, now},
		{"webhook_secrets", "id", `expires_at < $1`, now},
		{"login_tries", "account", `began_at < $1`, now.Add(-studio.LoginMemory)},
		{"known_addresses", "user_id, address", `seen_at < $1`, now.Add(-studio.AddressMemory)},
		{"revocations", "id", `revoked_at < $1`, now.Add(-revocationRetention)},
		{"links", "hash", `expires_at < $1`, now},
		{"acts", "id", `at < $1`, now.Add(-studio.ActRetention)},
		{"alerts", "user_id, url", `sent_at < $1 AND retry_at < $1`, now.Add(-alertRetention)},
		{"endpoints", "user_id, url", `used_at < $1 AND disabled_at IS NULL AND NOT EXISTS (SELECT 1 FROM pauses p
			WHERE p.user_id = endpoints.user_id AND p.url = endpoints.url)`, now.Add(-endpointRetention)},
		{"daemons", "id", `seen_at < $1`, now.Add(-daemonRetention)},
		{"breakers", "origin", `until < $1`, now.Add(-breakerRetention)},
		{"deliveries", "subject_id", `due_at > $1`, now.Add(maxAttemptAge)},
		{"replays", "id", `turn_at > $1`, now.Add(maxAttemptAge)},
		{"tasks", "id", `due_at > $1`, now.Add(maxAttemptAge)},
	} {
		// A read first: it locks nothing, and usually there is nothing to write.
		found, err := exists(ctx, s.engine, `SELECT 1 FROM `+rule.table+` WHERE `+rule.condition+` LIMIT 1`, micros(rule.limit))
		if err != nil {
			return err
		}
		change := `DELETE FROM ` + rule.table
		if column, late := strings.CutSuffix(rule.condition, ` > $1`); late {
			change = `UPDATE ` + rule.table + ` SET ` + column + ` = $1 - ` + fmt.Sprint(maxAttemptAge.Microseconds())
		}
		// The condition is checked again on a row that another transaction changed after the subquery.
		query := change + ` WHERE ` + rule.condition + ` AND (` + rule.key + `) IN (SELECT ` + rule.key + ` FROM ` + rule.table +
			` WHERE ` + rule.condition + ` LIMIT $2)`
		for rows := int64(batchRows); found && rows == batchRows; {
			err := s.write(ctx, func(tx transaction) (err error) {
				rows, err = tx.exec(ctx, query, micros(rule.limit), batchRows)
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
