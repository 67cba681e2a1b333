package soak_test

import (
	"database/sql"
	"errors"
	"net/http"
	"strconv"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// A server that takes no changes for a while, as a standby or one that is being maintained, and a schema
// that is not there for a while, as in a restore, are answered and forgotten.
func TestDatabaseNotUsable_isAnsweredAndForgotten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it waits for timeouts")
	}
	for _, test := range []struct{ name, away, back string }{
		{"ReadOnly", `ALTER SYSTEM SET default_transaction_read_only = on`, `ALTER SYSTEM RESET default_transaction_read_only`},
		{"NoTable", `ALTER TABLE subjects RENAME TO subjects_away`, `ALTER TABLE subjects_away RENAME TO subjects`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := startCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			_, err := d.createAvatar(t.Context(), "before", r.urls[0])
			check(t, err)
			r.waitAccepted(3)
			operator, err := studiotest.OpenSQL(t, d.dsn).Conn(t.Context())
			check(t, err)
			defer func() { check(t, operator.Close()) }()
			do(t, operator, `SET default_transaction_read_only = off`)

			do(t, operator, test.away)
			do(t, operator, `SELECT pg_reload_conf()`)
			var answered *client.Error
			tries := 0
			eventually(t, "that a creation is refused", func() bool {
				tries++
				_, err := d.createAvatar(t.Context(), "try-"+strconv.Itoa(tries), r.urls[0])
				if err != nil && !errors.As(err, &answered) {
					t.Fatal(err)
				}
				return err != nil
			})
			for i := range 20 {
				if answered.StatusCode != http.StatusServiceUnavailable || answered.RetryAfter <= 0 {
					t.Errorf("a creation is answered with %v", answered)
				}
				if _, err = d.createAvatar(t.Context(), "away-"+strconv.Itoa(i), r.urls[0]); !errors.As(err, &answered) {
					t.Fatalf("a creation has %v", err)
				}
			}
			p.wait("request failed")
			do(t, operator, test.back)
			do(t, operator, `SELECT pg_reload_conf()`)
			eventually(t, "that an avatar is created", func() bool {
				_, err := d.createAvatar(t.Context(), "after", r.urls[0])
				return err == nil
			})
			var subjects int
			check(t, operator.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM subjects").Scan(&subjects))
			r.waitAccepted(3 * subjects)
			p.stop()
			r.wantEverything(d, 3*subjects, 0)
		})
	}
}

func do(t *testing.T, operator *sql.Conn, statement string) {
	t.Helper()
	_, err := operator.ExecContext(t.Context(), statement)
	check(t, err)
}
