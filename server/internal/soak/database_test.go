package soak_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver pgx

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// openSQL opens the database of a deployment beside its daemon, with one connection.
func openSQL(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	driver := "pgx"
	dsn = regexp.MustCompile(`pool_max_conns=\d+&?`).ReplaceAllString(dsn, "") // which is not for one connection
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, dsn)
	check(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// lock keeps every other process from writing events and what comes of them, until the returned
// function is called.
func lock(t *testing.T, dsn string) (unlock func()) {
	t.Helper()
	tx, err := openSQL(t, dsn).BeginTx(t.Context(), nil)
	check(t, err)
	if !strings.HasPrefix(dsn, "sqlite:") { // where the beginning locks
		_, err = tx.ExecContext(t.Context(), "LOCK TABLE events, attempts IN EXCLUSIVE MODE")
		check(t, err)
	}
	return func() { check(t, tx.Rollback()) }
}

const seedPrefix = "seed "

// seed adds subjects for each URL whose events, some each, are all due now.
func (d *deployment) seed(subjects, events int, urls ...string) {
	d.t.Helper()
	db := openSQL(d.t, d.dsn)
	defer func() { check(d.t, db.Close()) }()
	tx, err := db.BeginTx(d.t.Context(), nil)
	check(d.t, err)
	bytes := "CAST(%s AS BLOB)"
	if !strings.HasPrefix(d.dsn, "sqlite:") {
		bytes = "convert_to(%s, 'UTF8')"
	}
	body := fmt.Sprintf(bytes, `'{"event_type":"lipsync_inference_event","data":{"inference_id":"' || s.id || '","status":"succeeded"}}'`)
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) `
	now := time.Now().UnixMicro()
	for _, url := range urls {
		d.seeded++
		prefix := fmt.Sprintf("%s%d ", seedPrefix, d.seeded)
		_, err := tx.ExecContext(d.t.Context(), numbers+`INSERT INTO subjects (id, kind, user_id, request, webhook_url,
				origin, status, consent, failure_reason, video_url, created_at, updated_at, sequence, render_tries, deliver_at)
			SELECT CAST($7 AS TEXT) || i, 'lipsync', $3, '{}', $2, $4, 'succeeded', '', '', '',
				CAST($5 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT), 0, CAST($5 AS BIGINT) FROM n`,
			subjects, url, d.userID, studio.Origin(url), now, events, prefix)
		check(d.t, err)
		_, err = tx.ExecContext(d.t.Context(), numbers+`INSERT INTO events (id, subject_id, sequence, body, created_at)
			SELECT s.id || ' event ' || n.i, s.id, n.i, `+body+`, CAST($2 AS BIGINT) FROM subjects s, n WHERE s.webhook_url = $3`,
			events, now, url)
		check(d.t, err)
	}
	check(d.t, tx.Commit())
}
