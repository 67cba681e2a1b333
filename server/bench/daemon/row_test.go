package daemon_test

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/gobuild"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/bench/measure"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

const (
	sqlite     = "SQLite"
	postgreSQL = "PostgreSQL"
)

// row measures one or more rows of a report with a new database, and with a receiver that has the given ports.
type row struct {
	name     string
	ports    ports
	measure  func(s *setup) []figure
	together bool // with others; the load of the machine hardly changes the figures
}

// measureRows measures rows on each database, and reports their figures. In a run in full, the rows that allow it are
// measured in parallel, after the others of their database. In a short run, all are, each on one database, and the
// PostgreSQL server may lose commits.
func measureRows(t *testing.T, file string, report func(table string, p plan) string, users int, rows []row) {
	t.Helper()
	program := try(gobuild.Program(t.Context(), "github.com/avatarstudio/avatarstudio/server/cmd/studiod"))(t)
	all := []measured{{database: sqlite}, {database: postgreSQL}}
	figures := make([][][]figure, len(all)) // of each row on each database
	t.Run("rows", func(t *testing.T) {
		for i, m := range all {
			figures[i] = make([][]figure, len(rows))
			t.Run(m.database, func(t *testing.T) {
				if !*measure.Full {
					t.Parallel()
				}
				newDatabase := studiotest.Databases()[m.database]
				if *measure.Full && m.database == sqlite { // on the disk
					newDatabase = func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "studio.db") }
				}
				if server := os.Getenv("STUDIO_TEST_POSTGRES"); *measure.Full && m.database == postgreSQL && server == "" {
					server = studiotest.NewCluster(t, "fsync=on").DSN
					newDatabase = func(t testing.TB) string { return studiotest.NewSchema(t, server) }
				}
				for j, row := range rows {
					t.Run(row.name, func(t *testing.T) {
						if !*measure.Full && (i+j)%len(all) == 0 {
							t.Skip("it is measured on the other database")
						}
						if row.together || !*measure.Full {
							t.Parallel()
						}
						s := newSetup(t, m.database, newDatabase(t), program, users, row.ports)
						figures[i][j] = row.measure(s)
						t.Logf("%v", figures[i][j])
					})
				}
			})
		}
	})
	for i := range all {
		for j := range rows {
			if !*measure.Full && figures[i][j] == nil {
				figures[i][j] = figures[1-i][j]
			}
			if t.Failed() || figures[i][j] == nil {
				t.Log("no report: not all rows were measured")
				return
			}
		}
		all[i].figures = slices.Concat(figures[i]...)
	}
	measure.Report(t, file, report(table(all), newPlan()))
}

// setup is the environment of a row.
type setup struct {
	plan
	t        *testing.T
	database string // sqlite or postgreSQL
	dsn      string
	sql      *sql.DB
	server   int // process id of the PostgreSQL server; 0 on SQLite and on other machines
	program  []string
	users    []*user // whose secrets the receiver knows
	receiver *receiver
	d        *harness.Daemon // the one that was started last
	client   *measure.Client // of d
}

// callers is the number of concurrent transactions of [setup.floorRate], and of concurrent creations.
const callers = 16

// newSetup adds users to a new database. The ports of the receiver verify their secrets in turn.
func newSetup(t *testing.T, database, dsn, program string, users int, p ports) *setup {
	t.Helper()
	s := &setup{t: t, plan: newPlan(), database: database, dsn: dsn, sql: studiotest.OpenSQL(t, dsn), program: []string{program}}
	if database == postgreSQL {
		named := try(url.Parse(dsn))(t)
		query := named.Query()
		query.Del("pool_max_conns") // studiod uses its default
		named.RawQuery = query.Encode()
		s.dsn = named.String()
		s.sql.SetMaxOpenConns(callers)
		s.sql.SetMaxIdleConns(callers)
		s.server = try(harness.Postmaster(t.Context(), s.sql))(t)
	}
	s.users = s.addUsers("ada", users)
	var secrets []string
	for _, u := range s.users {
		secrets = append(secrets, u.secret.Reveal())
	}
	s.receiver = startReceiver(t, receiverConfig{Secrets: secrets, Ports: p})
	return s
}

// maxConnections bounds the connections to a daemon, and so the concurrent requests. Latencies include the wait for a
// connection.
const maxConnections = 512

// start starts a daemon with additional flags. Renderings take no time by default.
func (s *setup) start(flags ...string) {
	s.t.Helper()
	s.d = harness.RunDaemon(s.t, harness.Serve(s.t.Context(), s.program, s.dsn, append([]string{"--renderer=simulate:0s", "--media=file:" + s.t.TempDir()}, flags...)...))
	s.client = measure.NewClient(s.d.URL, maxConnections)
	s.t.Cleanup(s.client.Close)
}

func (s *setup) stop() {
	s.t.Helper()
	check(s.t, s.d.Stop())
}

// floorRate measures the baseline of the database: how many transactions per second it commits for [callers] concurrent
// callers, each with one written row.
func (s *setup) floorRate() float64 {
	s.t.Helper()
	s.exec(`CREATE TABLE floor (n BIGINT)`)
	defer s.exec(`DROP TABLE floor`)
	return measure.PerSecond(s.t, callers, s.floor, func() error {
		_, err := s.sql.ExecContext(s.t.Context(), `INSERT INTO floor VALUES ($1)`, 1)
		return err
	})
}
