package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// awaitReadiness waits until /readyz has a status.
func (d *daemon) awaitReadiness(t *testing.T, status string) {
	t.Helper()
	harness.Eventually(t, status, func() bool {
		response, body := get(t, "http://"+d.admin.listener.Addr().String()+"/readyz")
		var state readiness
		check(t, json.Unmarshal([]byte(body), &state))
		if ready := status == "ready"; state.Status == status && (response.StatusCode == http.StatusOK != ready || response.Header.Get("Retry-After") == "" != ready) {
			t.Errorf("%s: %s, %v", status, response.Status, response.Header)
		}
		return state.Status == status
	})
}

// A daemon is not ready while its database cannot be written, with a full disk, a file that another process has locked,
// or a locked table, while it cannot renew its lease, and beside tables of another version. The log has the cause once.
func TestDaemon_isUnreadyWhileItCannotWork(t *testing.T) {
	t.Parallel()
	// executes returns a way that begins with statements on a database, and ends with its connection, or another one.
	executes := func(create func(testing.TB) string, fault, repair string) func(t *testing.T) (dsn string, fail, repair func()) {
		return func(t *testing.T) (string, func(), func()) {
			dsn := create(t)
			db := studiotest.OpenSQL(t, dsn) // it has one connection
			return dsn, func() {
					_, err := db.ExecContext(t.Context(), fault)
					check(t, err)
				}, func() {
					_, err := db.ExecContext(t.Context(), repair)
					check(t, err)
				}
		}
	}
	for name, test := range map[string]struct {
		status string
		way    func(t *testing.T) (dsn string, fail, repair func())
	}{
		"full disk": {"database not writable", func(t *testing.T) (dsn string, fail, repair func()) {
			dir := studiotest.SmallDisk(t)
			fail, repair = fillsDisk(t, dir)
			return "sqlite:" + filepath.Join(dir, "studio.db"), fail, repair
		}},
		"locked file":  {"database not writable", executes(studiotest.NewSQLite, "BEGIN IMMEDIATE", "ROLLBACK")},
		"locked table": {"database not writable", executes(studiotest.NewPostgres, "BEGIN; LOCK TABLE subjects IN SHARE MODE", "ROLLBACK")},
		"locked lease": {"no lease for deliveries", executes(studiotest.NewPostgres, "BEGIN; LOCK TABLE holders", "ROLLBACK")},
		"old tables": {"database not migrated", executes(studiotest.NewSQLite, "UPDATE goose_db_version SET is_applied = 0 WHERE version_id > 0",
			"UPDATE goose_db_version SET is_applied = 1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, fail, repair := test.way(t)
			d := startDaemon(t, func(cfg *daemonConfig) {
				cfg.Database, cfg.Media, cfg.Admin.Addr = dsn, "file:"+t.TempDir(), "127.0.0.1:0"
			})
			d.awaitReadiness(t, "ready")
			before := len(d.log.String())
			fail()
			for range 2 {
				d.awaitReadiness(t, test.status)
			}
			repair()
			d.awaitReadiness(t, "ready")
			log := d.log.String()[before:]
			if n := strings.Count(log, `msg="not ready" status="`+test.status+`" err=`); n != 1 || !strings.Contains(log, "ready again") {
				t.Errorf("the log says %d times that it is not ready", n)
			}
		})
	}
}

// fillsDisk returns functions that fill a disk of [studiotest.SmallDisk], and make room on it.
func fillsDisk(t *testing.T, dir string) (fill, empty func()) {
	t.Helper()
	filler := filepath.Join(dir, "filler")
	return func() {
		if err := os.WriteFile(filler, make([]byte, 2*studiotest.SmallDiskSize), 0o600); err == nil {
			t.Error("the disk is not full")
		}
	}, func() { check(t, os.Remove(filler)) }
}

// All callers share one run of a check. They reuse a success for its interval, and a failure for a second. No caller
// waits for longer than its own context.
func TestProbe_sharesRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs int
		var err error
		probe := newProbe(func(context.Context) error {
			runs++
			time.Sleep(time.Second)
			return err
		}, 15*time.Second)
		want := func(n int, failure error) {
			t.Helper()
			var callers sync.WaitGroup
			for range 10 {
				callers.Go(func() {
					if got := probe(t.Context()); !errors.Is(got, failure) {
						t.Errorf("got %v, want %v", got, failure)
					}
				})
			}
			callers.Wait()
			if runs != n {
				t.Errorf("%d runs, want %d", runs, n)
			}
		}
		want(1, nil)
		time.Sleep(13 * time.Second)
		err = os.ErrPermission
		want(1, nil)
		time.Sleep(time.Second)
		want(2, err)
		err = nil
		want(3, nil) // the run took a second
		time.Sleep(15 * time.Second)
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := probe(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient caller gets %v", err)
		}
		want(4, nil)
	})
}
