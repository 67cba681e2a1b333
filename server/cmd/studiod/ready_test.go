package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log/slog"
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

// A daemon is not ready while its database cannot be written: with a full disk, a file that another process has locked,
// or a locked table. The log has the cause, once.
func TestDaemon_isUnreadyWhileItCannotWrite(t *testing.T) {
	t.Parallel()
	locked := func(t *testing.T, dsn, lock string) (fail, repair func()) {
		t.Helper()
		db := studiotest.OpenSQL(t, dsn) // it has one connection
		return func() {
			_, err := db.ExecContext(t.Context(), lock)
			check(t, err)
		}, func() { check(t, db.Close()) }
	}
	for name, way := range map[string]func(t *testing.T) (dsn string, fail, repair func()){
		"full disk": func(t *testing.T) (dsn string, fail, repair func()) {
			dir := studiotest.SmallDisk(t)
			fail, repair = fillsDisk(t, dir)
			return "sqlite:" + filepath.Join(dir, "studio.db"), fail, repair
		},
		"locked file": func(t *testing.T) (dsn string, fail, repair func()) {
			dsn = studiotest.NewSQLite(t)
			fail, repair = locked(t, dsn, "BEGIN IMMEDIATE")
			return dsn, fail, repair
		},
		"locked table": func(t *testing.T) (dsn string, fail, repair func()) {
			dsn = studiotest.NewPostgres(t)
			fail, repair = locked(t, dsn, "BEGIN; LOCK TABLE subjects IN SHARE MODE")
			return dsn, fail, repair
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, fail, repair := way(t)
			d := startDaemon(t, func(cfg *daemonConfig) {
				cfg.Database, cfg.Media, cfg.Admin.Addr = dsn, "file:"+t.TempDir(), "127.0.0.1:0"
			})
			d.awaitReadiness(t, "ready")
			fail()
			for range 2 {
				d.awaitReadiness(t, "database not writable")
			}
			repair()
			d.awaitReadiness(t, "ready")
			if n := strings.Count(d.log.String(), `msg="not ready" status="database not writable" err=`); n != 1 || !strings.Contains(d.log.String(), "ready again") {
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

// certificateUntil is a certificateSource.
type certificateUntil struct{ time.Time }

func (certificateUntil) Config() *tls.Config               { return nil }
func (c certificateUntil) Expires() time.Time              { return c.Time }
func (certificateUntil) Run(context.Context, *slog.Logger) {}

// A daemon that serves https is ready while its certificate is valid.
func TestDaemon_isUnreadyWithoutAValidCertificate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		expires time.Time
		status  string
	}{
		{time.Time{}, "no valid certificate"}, {time.Now().Add(-time.Minute), "no valid certificate"}, {time.Now().Add(time.Hour), "ready"},
	} {
		d := &daemon{cfg: daemonConfig{Admin: adminConfig{Addr: "127.0.0.1:0"}, Logger: slog.New(slog.DiscardHandler)}}
		check(t, d.openAdmin(t.Context()))
		d.store, d.certificate = studiotest.Open(t, studiotest.NewSQLite(t)), certificateUntil{test.expires}
		d.showAdmin(t.Context())
		d.awaitReadiness(t, test.status)
		check(t, d.admin.close())
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
