package soak_test

import (
	"database/sql"
	"strconv"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// While PostgreSQL is read-only, as during maintenance, or a table is missing, as during a restore, requests get 503.
// Afterwards the service recovers without a restart.
func TestDatabaseUnusable_causes503AndRecovers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in short mode: it waits for timeouts")
	}
	for _, test := range []struct{ name, breakSQL, repairSQL string }{
		{"ReadOnly", `ALTER SYSTEM SET default_transaction_read_only = on`, `ALTER SYSTEM RESET default_transaction_read_only`},
		{"NoTable", `ALTER TABLE subjects RENAME TO subjects_away`, `ALTER TABLE subjects_away RENAME TO subjects`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := studiotest.NewCluster(t, "fsync=off")
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
			mustExec(t, operator, `SET default_transaction_read_only = off`)

			mustExec(t, operator, test.breakSQL)
			mustExec(t, operator, `SELECT pg_reload_conf()`)
			tries := 0
			harness.Eventually(t, "the failure of a creation", func() bool {
				tries++
				_, err = d.createAvatar(t.Context(), "try-"+strconv.Itoa(tries), r.urls[0])
				return err != nil
			})
			for i := range 20 {
				if !isUnavailable(err) {
					t.Fatalf("a creation gets %v, want 503 with Retry-After", err)
				}
				_, err = d.createAvatar(t.Context(), "away-"+strconv.Itoa(i), r.urls[0])
			}
			check(t, p.AwaitLog("request failed"))
			mustExec(t, operator, test.repairSQL)
			mustExec(t, operator, `SELECT pg_reload_conf()`)
			events := d.waitRecovered(r)
			check(t, p.Stop())
			r.wantAllDelivered(d, events, 0)
		})
	}
}

func mustExec(t *testing.T, operator *sql.Conn, statement string) {
	t.Helper()
	_, err := operator.ExecContext(t.Context(), statement)
	check(t, err)
}
