package studiotest

import (
	"context"
	"database/sql"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx with database/sql

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// OpenSQL opens a database with database/sql, next to its store, for statements that the store does not
// offer. It uses one connection.
func OpenSQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	driver := "pgx"
	dsn = regexp.MustCompile(`&?pool_\w+=\w+`).ReplaceAllString(dsn, "") // these parameters belong to the pool of pgx
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)"
	}
	db := harness.Try(sql.Open(driver, dsn))(t)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Backlog describes lip-syncs of one user whose events are all due now.
type Backlog struct {
	UserID   string
	Prefix   string // of the ids of lip-syncs, followed by a number
	URL      string
	Subjects int
	Events   int // events per lip-sync
}

// Insert inserts the rows that the service would have written. dsn is that of the database of tx.
func (b Backlog) Insert(ctx context.Context, tx *sql.Tx, dsn string) error {
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS INTEGER))`
	bytes := "BYTEA"
	if strings.HasPrefix(dsn, "sqlite:") {
		bytes = "BLOB"
	}
	now := time.Now().UnixMicro()
	_, err := tx.ExecContext(ctx, numbers+`
		INSERT INTO subjects (id, kind, user_id, request, webhook_url, origin, status, consent, failure_reason,
			created_at, updated_at, sequence, render_tries)
		SELECT CAST($2 AS TEXT) || i, 'lipsync', CAST($3 AS TEXT), '{}', CAST($4 AS TEXT), CAST($5 AS TEXT), 'succeeded', '', '',
			CAST($6 AS BIGINT), CAST($6 AS BIGINT), CAST($7 AS BIGINT), 0 FROM n`,
		b.Subjects, b.Prefix, b.UserID, b.URL, studio.Origin(b.URL), now, b.Events)
	if err != nil {
		return err
	}
	var before int64 // the position before the first event
	err = tx.QueryRowContext(ctx, `INSERT INTO event_clocks (user_id, last_at) VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT)) ON CONFLICT (user_id)
		DO UPDATE SET last_at = event_clocks.last_at + CAST($3 AS BIGINT) RETURNING last_at - CAST($3 AS BIGINT)`,
		b.UserID, now, b.Subjects*b.Events).Scan(&before)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, numbers+`, m(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM m WHERE j < CAST($4 AS INTEGER))
		INSERT INTO events (id, subject_id, sequence, body, created_at, user_id, kind)
		SELECT CAST($5 AS TEXT) || i || '-' || j, CAST($2 AS TEXT) || i, j,
			CAST('{"event_type":"lipsync_inference_event","data":{"inference_id":"' || CAST($2 AS TEXT) || i || '","status":"succeeded"}}'
				AS `+bytes+`), CAST($3 AS BIGINT) + (i - 1) * CAST($4 AS INTEGER) + j, CAST($6 AS TEXT), 'lipsync' FROM n CROSS JOIN m`,
		b.Subjects, b.Prefix, before, b.Events, "event-"+hex.EncodeToString([]byte(b.Prefix))+"-", b.UserID) // event ids must be safe to sign, so the prefix is hex encoded
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, numbers+`INSERT INTO deliveries (subject_id, user_id, origin, url, sequence, due_at)
		SELECT CAST($2 AS TEXT) || i, CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), 1, CAST($6 AS BIGINT) FROM n`,
		b.Subjects, b.Prefix, b.UserID, studio.Origin(b.URL), b.URL, now)
	return err
}
