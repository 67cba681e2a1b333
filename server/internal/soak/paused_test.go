package soak_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// clusterData is the directory of a server's files, and clusterSocket what its clients connect to.
func clusterData(t *testing.T, cluster *studiotest.Cluster) string {
	t.Helper()
	dsn, err := url.Parse(cluster.DSN)
	check(t, err)
	return filepath.Join(dsn.Query().Get("host"), "data")
}

// processes are those of a server.
func processes(t *testing.T, cluster *studiotest.Cluster) (pids []int) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(clusterData(t, cluster), "postmaster.pid"))
	check(t, err)
	first, _, _ := bytes.Cut(pid, []byte("\n"))
	postmaster, err := strconv.Atoi(string(first))
	check(t, err)
	children, err := os.ReadFile("/proc/" + string(first) + "/task/" + string(first) + "/children")
	check(t, err)
	pids = append(pids, postmaster)
	for child := range strings.FieldsSeq(string(children)) {
		pid, err := strconv.Atoi(child)
		check(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// A request waits for a database that is away no longer than a bound, and is told when to come again.
// When the database is back, the work goes on without help.
func TestDatabaseAway_isAnsweredInTimeAndForgotten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it waits for timeouts")
	}
	for _, test := range []struct {
		name string
		away func(t *testing.T, cluster *studiotest.Cluster) (back func())
	}{
		{"Paused", func(t *testing.T, cluster *studiotest.Cluster) func() {
			signal := func(signal syscall.Signal, pids []int) {
				for _, pid := range pids {
					_ = syscall.Kill(pid, signal) // fails when it has ended
				}
			}
			pids := processes(t, cluster)
			signal(syscall.SIGSTOP, pids)
			back := sync.OnceFunc(func() { signal(syscall.SIGCONT, pids) })
			t.Cleanup(back)
			return back
		}},
		{"Refused", func(t *testing.T, cluster *studiotest.Cluster) func() {
			socket := filepath.Join(filepath.Dir(clusterData(t, cluster)), ".s.PGSQL.5432")
			check(t, os.Rename(socket, socket+".away"))
			for _, pid := range processes(t, cluster)[1:] {
				name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
				if bytes.Contains(name, []byte("studio")) { // of a client
					check(t, syscall.Kill(pid, syscall.SIGTERM))
				}
			}
			back := sync.OnceFunc(func() { check(t, os.Rename(socket+".away", socket)) })
			t.Cleanup(back)
			return back
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const bound, soon, callers = 15 * time.Second, 10 * time.Second, 40
			cluster := startCluster(t, "fsync=off")
			d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			_, err := d.createAvatar(t.Context(), "before", r.urls[0])
			check(t, err)
			r.waitAccepted(3)

			back := test.away(t, cluster)
			var asking sync.WaitGroup
			for round := range 2 * *scale {
				for i := range callers {
					asking.Go(func() {
						began := time.Now()
						var err error
						if i%2 == 0 {
							_, err = d.createAvatar(t.Context(), "away-"+strconv.Itoa(round*callers+i), r.urls[0])
						} else {
							_, err = d.client.GetAvatar(t.Context(), uuid.NewString())
						}
						answered, ok := errors.AsType[*client.Error](err)
						if !ok || answered.StatusCode != http.StatusServiceUnavailable || answered.RetryAfter <= 0 {
							t.Errorf("without the database a request is answered with %v", err)
						}
						if took := time.Since(began); took > bound {
							t.Errorf("without the database an answer takes %v", took)
						}
					})
				}
				asking.Wait()
			}
			back()
			began := time.Now()
			eventually(t, "that an avatar is created", func() bool {
				_, err := d.createAvatar(t.Context(), "after", r.urls[0])
				return err == nil
			})
			var subjects int
			check(t, studiotest.OpenSQL(t, d.dsn).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM subjects").Scan(&subjects))
			r.waitAccepted(3 * subjects) // what was not answered may have been committed
			if took := time.Since(began); took > soon*time.Duration(*scale) {
				t.Errorf("it takes %v until everything is as before", took)
			}
			p.stop()
			r.wantEverything(d, 3*subjects, 0)
		})
	}
}
