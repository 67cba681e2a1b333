package soak_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// clusterProcesses returns the process ids of a PostgreSQL server. The first one is its main process.
func clusterProcesses(t *testing.T, cluster *studiotest.Cluster) (pids []int) {
	t.Helper()
	postmaster, err := harness.Postmaster(t.Context(), studiotest.OpenSQL(t, cluster.DSN))
	check(t, err)
	return harness.Tree(postmaster)
}

// pause freezes a PostgreSQL server.
func pause(t *testing.T, _ *deployment, cluster *studiotest.Cluster) (repair func()) {
	t.Helper()
	pids := clusterProcesses(t, cluster)
	signal := func(signal syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, signal) // fails if it has exited
		}
	}
	signal(syscall.SIGSTOP)
	repair = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.Cleanup(repair)
	return repair
}

// refuse closes all connections of a PostgreSQL server, which accepts no others.
func refuse(t *testing.T, _ *deployment, cluster *studiotest.Cluster) (repair func()) {
	t.Helper()
	pids, socket := clusterProcesses(t, cluster), filepath.Join(cluster.Directory, ".s.PGSQL.5432")
	check(t, os.Rename(socket, socket+".away"))
	for _, pid := range pids[1:] {
		name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if bytes.Contains(name, []byte("studio")) { // serves a client
			check(t, syscall.Kill(pid, syscall.SIGTERM))
		}
	}
	repair = sync.OnceFunc(func() { check(t, os.Rename(socket+".away", socket)) })
	t.Cleanup(repair)
	return repair
}

// execute breaks a database with one statement, and repairs it with another.
func execute(fault, repair string) func(*testing.T, *deployment, *studiotest.Cluster) func() {
	return func(t *testing.T, d *deployment, _ *studiotest.Cluster) func() {
		t.Helper()
		operator, err := studiotest.OpenSQL(t, d.dsn).Conn(t.Context())
		check(t, err)
		t.Cleanup(func() { check(t, operator.Close()) })
		execute := func(statements ...string) {
			for _, statement := range statements {
				_, err := operator.ExecContext(t.Context(), statement)
				check(t, err)
			}
		}
		execute(`SET default_transaction_read_only = off`, fault, `SELECT pg_reload_conf()`)
		return func() { execute(repair, `SELECT pg_reload_conf()`) }
	}
}

// While the database is frozen, unreachable, read-only as during maintenance, or without a table as during a restore,
// requests get 503 with Retry-After within a bound. Afterwards the service recovers without a restart.
func TestDatabaseUnusable_causesTimely503AndRecovers(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it waits for timeouts")
	for _, test := range []struct {
		name     string
		fail     func(*testing.T, *deployment, *studiotest.Cluster) (repair func())
		readable bool
	}{
		{"Paused", pause, false},
		{"Refused", refuse, false},
		{"ReadOnly", execute(`ALTER SYSTEM SET default_transaction_read_only = on`, `ALTER SYSTEM RESET default_transaction_read_only`), true},
		{"NoTable", execute(`ALTER TABLE subjects RENAME TO subjects_away`, `ALTER TABLE subjects_away RENAME TO subjects`), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const maxLatency, callers = 25 * time.Second, 40 // 12 s on an idle machine, less than the timeout of the client
			cluster := studiotest.NewCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			_, err := d.createAvatar(t.Context(), "before", r.urls[0])
			check(t, err)
			r.waitAccepted(3)

			repair := test.fail(t, d, cluster)
			tries := 0
			harness.Eventually(t, "the failure of a creation", func() bool {
				tries++
				_, err := d.createAvatar(t.Context(), "try-"+strconv.Itoa(tries), r.urls[0])
				return err != nil
			})
			var requests sync.WaitGroup
			for round := range 2 * *scale {
				for i := range callers {
					requests.Go(func() {
						began := time.Now()
						var err error
						writes := i%2 == 0
						if writes {
							_, err = d.createAvatar(t.Context(), "away-"+strconv.Itoa(round*callers+i), r.urls[0])
						} else {
							_, err = d.client.GetAvatar(t.Context(), uuid.NewString())
						}
						if isUnavailable(err) != (writes || !test.readable) {
							t.Errorf("without the database, a request gets %v", err)
						}
						if took := time.Since(began); took > maxLatency {
							t.Errorf("without the database, a request takes %v", took)
						}
					})
				}
				requests.Wait()
			}
			check(t, p.AwaitLog("request failed"))
			repair()
			began := time.Now()
			events := d.waitRecovered(r)
			if took := time.Since(began); took > promptly*time.Duration(*scale) {
				t.Errorf("the service recovers after %v", took)
			}
			check(t, p.Stop())
			r.wantAllDelivered(d, events, 0)
		})
	}
}
