package soak_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// While the database is locked for a second, creations wait. While it is locked for longer than all timeouts, they get
// 503. Attempts that have succeeded are recorded afterwards and are not repeated.
func TestDatabaseBusy_delaysWritesAndDuplicatesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.blockingAnswer(http.StatusNoContent)
		r, p := startAtInFlightLimit(d, 1, answer)
		all := 4*inFlight + 3
		d.login()
		unlock := lockEvents(t, d.dsn)
		created := make(chan error, 1)
		go func() {
			_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
			created <- err
		}()
		select {
		case err := <-created:
			t.Errorf("a creation returns %v although it cannot be committed", err)
			unlock()
		case <-time.After(time.Second):
			unlock()
			check(t, <-created)
		}
		if strings.Contains(p.Log(), "level=ERROR") {
			t.Error("the daemon logged an error")
		}
		if !testing.Short() { // it waits for timeouts
			unlock := lockEvents(t, d.dsn)
			release()
			_, err := d.createAvatar(t.Context(), "bob", r.urls[0])
			if !isUnavailable(err) {
				t.Errorf("a creation during the lock returns %v, want 503", err)
			}
			check(t, p.AwaitLog("attempt not recorded"))
			unlock()
			try(d.createAvatar(t.Context(), "bob", r.urls[0]))(t)
			all += 3
		} else {
			release()
		}
		r.waitAccepted(all)
		check(t, p.Stop())
		r.wantAllDelivered(d, all, 0)
	})
}

// A full disk causes 503 with Retry-After, and with SQLite a log line for each kind of failure, not one for each
// worker. The daemon recovers if there is space again, and stops soon if there is not. Nothing that was acknowledged is
// lost, also after a restart.
func TestDiskFull_causes503AndRecovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ postgres, recovers bool }{
		"SQLite": {false, true}, "SQLiteThatStops": {false, false}, "PostgreSQL": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const origins, maxErrors = 10, 10
			var disk, dsn string
			if c.postgres {
				harness.SkipShort(t, "it starts a cluster of its own")
				disk, dsn = smallTablespace(t)
			} else {
				disk = studiotest.SmallDisk(t)
				dsn = "sqlite:" + filepath.Join(disk, "studio.db")
			}
			d := deploy(t, dsn)
			answer, release := d.blockingAnswer(http.StatusNoContent)
			r := receive(d, origins, answer)
			d.seed(inFlight, 3, r.urls...)
			p := d.start("--receiver-rate", "1000")
			d.login()
			r.waitArrivals(origins * inFlight)
			filler := filepath.Join(disk, "filler")
			fillDisk(t, filler)
			// The database makes space by copying its log, and has pages that are not full, so it is not full at once.
			var err error
			for i := 0; err == nil; i++ {
				_, err = d.createAvatar(t.Context(), fmt.Sprint("full-", i), r.urls[0])
			}
			if !isUnavailable(err) {
				t.Errorf("a creation on a full disk gets %v", err)
			}
			release()
			if !c.postgres { // which may have space for records
				check(t, p.AwaitLog("attempt not recorded"))
				if n := strings.Count(p.Log(), "level=ERROR"); n > maxErrors {
					t.Errorf("the daemon logs %d errors", n)
				}
			}
			d.login() // reads still work
			duplicates := 0
			if !c.recovers {
				r.waitAccepted(origins * inFlight)
				began := time.Now()
				check(t, p.Stop())
				if took := time.Since(began); took > promptly {
					t.Errorf("the daemon stops after %v", took)
				}
				duplicates = maxUnrecorded // it could not record the attempts
			}
			check(t, os.Remove(filler))
			if !c.recovers {
				p = d.start()
			}
			all := d.waitRecovered(r)
			check(t, p.Stop())
			r.wantAllDelivered(d, all, duplicates)
		})
	}
}

// smallTablespace starts a cluster with a tablespace on a file system of 24 MB. It returns its directory, and the DSN
// of a schema in it.
func smallTablespace(t *testing.T) (disk, dsn string) {
	t.Helper()
	cluster := studiotest.NewCluster(t, "fsync=off")
	disk = filepath.Join(cluster.Directory, "disk")
	check(t, os.Mkdir(disk, 0o700))
	if output, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=24m", "disk", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system (%v: %s)", err, output)
	}
	t.Cleanup(func() { check(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	owner := try(os.Stat(filepath.Join(cluster.Directory, "data")))(t)
	user := owner.Sys().(*syscall.Stat_t)
	check(t, os.Chown(disk, int(user.Uid), int(user.Gid)))
	try(studiotest.OpenSQL(t, cluster.DSN).ExecContext(t.Context(), `CREATE TABLESPACE small LOCATION '`+disk+`'`))(t)
	return disk, studiotest.NewSchema(t, cluster.DSN) + "&default_tablespace=small"
}

// fillDisk writes a file until its file system is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file := try(os.Create(path))(t)
	if _, err := io.Copy(file, endless{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	check(t, file.Close())
}

// endless is a reader of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
