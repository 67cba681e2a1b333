package jobs_test

import (
	"database/sql"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver pgx

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// openSQL opens the database of a store with one connection, to do what the store does not.
func openSQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	driver := "pgx"
	dsn = regexp.MustCompile(`pool_max_conns=\d+&?`).ReplaceAllString(dsn, "") // which is not for one connection
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// seed adds subjects of a user's with one event each that is due now, for each URL.
func seed(t testing.TB, dsn, userID string, events int, urls ...string) {
	t.Helper()
	db := openSQL(t, dsn)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	blob := "BLOB"
	if !strings.HasPrefix(dsn, "sqlite:") {
		blob = "BYTEA"
	}
	for _, url := range urls {
		seedOne(t, tx, blob, userID, events, url)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func seedOne(t testing.TB, tx *sql.Tx, blob, userID string, events int, url string) {
	t.Helper()
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) `
	now := time.Now().UnixMicro()
	_, err := tx.ExecContext(t.Context(), numbers+`INSERT INTO subjects (id, kind, user_id, request, webhook_url, origin,
			status, consent, failure_reason, video_url, created_at, updated_at, sequence, render_tries, deliver_at)
		SELECT CAST($2 AS TEXT) || ' ' || i, 'lipsync', $3, '{}', $2, $4, 'succeeded', '', '', '',
			CAST($5 AS BIGINT), CAST($5 AS BIGINT), 1, 0, CAST($5 AS BIGINT) FROM n`,
		events, url, userID, studio.Origin(url), now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(t.Context(), numbers+`INSERT INTO events (id, subject_id, sequence, body, created_at)
		SELECT CAST($2 AS TEXT) || ' event ' || i, $2 || ' ' || i, 1, CAST('{}' AS `+blob+`), CAST($3 AS BIGINT) FROM n`,
		events, url, now)
	if err != nil {
		t.Fatal(err)
	}
}
