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

// A daemon is not ready while its database cannot be written, with a full disk or a locked table, while it cannot renew
// its lease, beside tables of another version, and while no file can be written. The log has the cause once.
func TestDaemon_isUnreadyWhileItCannotWork(t *testing.T) {
	t.Parallel()
	disk, files := studiotest.SmallDisk(t), studiotest.SmallDisk(t)
	for _, test := range []struct{ dsn, media, fills, status, fault, repair string }{
		{"sqlite:" + filepath.Join(disk, "studio.db"), t.TempDir(), disk, "database not writable", "", ""},
		{studiotest.NewPostgres(t), t.TempDir(), "", "database not writable", "BEGIN; LOCK TABLE subjects IN SHARE MODE", "ROLLBACK"},
		{studiotest.NewPostgres(t), t.TempDir(), "", "no lease for deliveries", "BEGIN; LOCK TABLE holders", "ROLLBACK"},
		{
			studiotest.NewSQLite(t), t.TempDir(), "", "database not migrated", "UPDATE goose_db_version SET is_applied = 0 WHERE version_id > 0",
			"UPDATE goose_db_version SET is_applied = 1",
		},
		{studiotest.NewSQLite(t), files, files, "media not writable", "", ""},
	} {
		t.Run(test.status, func(t *testing.T) {
			t.Parallel()
			d := startDaemon(t, func(cfg *daemonConfig) {
				cfg.Database, cfg.Media, cfg.Admin.Addr = test.dsn, "file:"+test.media, "127.0.0.1:0"
			})
			if test.fills != files { // the success would be reused for mediaInterval
				d.awaitReadiness(t, "ready")
			}
			before := len(d.log.String())
			db, filler := studiotest.OpenSQL(t, test.dsn), filepath.Join(test.fills, "filler") // the database has one connection
			if test.fills != "" {
				_ = os.WriteFile(filler, make([]byte, 2*studiotest.SmallDiskSize), 0o600) // fails
			}
			try(db.ExecContext(t.Context(), test.fault))(t)
			for range 2 {
				d.awaitReadiness(t, test.status)
			}
			try(db.ExecContext(t.Context(), test.repair))(t)
			if test.fills != "" {
				check(t, os.Remove(filler))
			}
			d.awaitReadiness(t, "ready")
			log := d.log.String()[before:]
			if n := strings.Count(log, `msg="not ready" status="`+test.status+`" err=`); n != 1 || !strings.Contains(log, "ready again") {
				t.Errorf("the log says %d times that it is not ready", n)
			}
		})
	}
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
		time.Sleep(3 * time.Second)
		want(2, err)
		err = nil
		time.Sleep(2 * time.Second)
		want(3, nil)
		time.Sleep(16 * time.Second)
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := probe(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an impatient caller gets %v", err)
		}
		want(4, nil)
	})
}
