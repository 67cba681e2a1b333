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

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// clusterProcesses returns the process ids of a PostgreSQL server. The first one is its main process.
func clusterProcesses(t *testing.T, cluster *studiotest.Cluster) (pids []int) {
	t.Helper()
	postmaster, err := harness.Postmaster(t.Context(), studiotest.OpenSQL(t, cluster.DSN))
	check(t, err)
	return harness.Tree(postmaster)
}

// While the database is frozen or unreachable, requests get 503 with Retry-After within a bound. Afterwards the
// service recovers without a restart.
func TestDatabaseUnreachable_causesTimely503AndRecovers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in short mode: it waits for timeouts")
	}
	for _, test := range []struct {
		name string
		fail func(t *testing.T, cluster *studiotest.Cluster) (repair func())
	}{
		{"Paused", func(t *testing.T, cluster *studiotest.Cluster) func() {
			pids := clusterProcesses(t, cluster)
			signal := func(signal syscall.Signal) {
				for _, pid := range pids {
					_ = syscall.Kill(pid, signal) // fails if it has exited
				}
			}
			signal(syscall.SIGSTOP)
			repair := sync.OnceFunc(func() { signal(syscall.SIGCONT) })
			t.Cleanup(repair)
			return repair
		}},
		{"Refused", func(t *testing.T, cluster *studiotest.Cluster) func() {
			pids, socket := clusterProcesses(t, cluster), filepath.Join(cluster.Directory, ".s.PGSQL.5432")
			check(t, os.Rename(socket, socket+".away"))
			for _, pid := range pids[1:] {
				name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
				if bytes.Contains(name, []byte("studio")) { // serves a client
					check(t, syscall.Kill(pid, syscall.SIGTERM))
				}
			}
			repair := sync.OnceFunc(func() { check(t, os.Rename(socket+".away", socket)) })
			t.Cleanup(repair)
			return repair
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const maxLatency, maxRecovery, callers = 15 * time.Second, 10 * time.Second, 40
			cluster := studiotest.NewCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			_, err := d.createAvatar(t.Context(), "before", r.urls[0])
			check(t, err)
			r.waitAccepted(3)

			repair := test.fail(t, cluster)
			var requests sync.WaitGroup
			for round := range 2 * *scale {
				for i := range callers {
					requests.Go(func() {
						began := time.Now()
						var err error
						if i%2 == 0 {
							_, err = d.createAvatar(t.Context(), "away-"+strconv.Itoa(round*callers+i), r.urls[0])
						} else {
							_, err = d.client.GetAvatar(t.Context(), uuid.NewString())
						}
						if !isUnavailable(err) {
							t.Errorf("without the database, a request gets %v", err)
						}
						if took := time.Since(began); took > maxLatency {
							t.Errorf("without the database, a request takes %v", took)
						}
					})
				}
				requests.Wait()
			}
			repair()
			began := time.Now()
			events := d.waitRecovered(r)
			if took := time.Since(began); took > maxRecovery*time.Duration(*scale) {
				t.Errorf("the service recovers after %v", took)
			}
			check(t, p.Stop())
			r.wantAllDelivered(d, events, 0)
		})
	}
}
