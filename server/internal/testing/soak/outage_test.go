package soak_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

func TestDatabaseRestart_losesNothing(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it restarts a cluster of its own")
	cluster := studiotest.NewCluster(t)
	d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
	const origins = 20
	r := receive(d, origins, nil)
	subjects, restarts := 3**scale, 2**scale
	d.seed(subjects, 5, r.urls...)
	p := d.start()
	d.login()
	all := origins * subjects * 5
	for i := range restarts {
		r.waitArrivals(all * (i + 1) / (restarts + 2))
		check(t, cluster.Control("-m immediate restart"))
	}
	harness.Eventually(t, "the creation of an avatar", func() bool {
		_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
		return err == nil
	})
	r.waitAccepted(all + 3)
	check(t, p.Stop())
	r.wantAllDelivered(d, all+3, 0) // attempts are recorded after the restart
}

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
			_, err = d.createAvatar(t.Context(), "bob", r.urls[0])
			check(t, err)
			all += 3
		} else {
			release()
		}
		r.waitAccepted(all)
		check(t, p.Stop())
		r.wantAllDelivered(d, all, 0)
	})
}

// A full disk of SQLite causes 503 and a log line for each kind of failure, not one for each worker. The daemon
// recovers if there is space again, and stops soon if there is not. A restart then loses nothing either.
func TestDiskFull_onSQLiteCauses503AndRecovers(t *testing.T) {
	t.Parallel()
	for name, recovers := range map[string]bool{"Recovers": true, "Stops": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const origins, maxErrors = 10, 10
			disk := studiotest.SmallDisk(t)
			d := deploy(t, "sqlite:"+filepath.Join(disk, "studio.db"))
			answer, release := d.blockingAnswer(http.StatusNoContent)
			r := receive(d, origins, answer)
			d.seed(inFlight, 1, r.urls...)
			p := d.start()
			d.login()
			r.waitArrivals(origins * inFlight)
			filler, all := filepath.Join(disk, "filler"), origins*inFlight+3
			fillDisk(t, filler)
			// The database makes space by copying its log, so it is not full at once.
			for err := error(nil); !isUnavailable(err); {
				check(t, err)
				if _, err = d.createAvatar(t.Context(), fmt.Sprint("full-", all), r.urls[0]); err == nil {
					all += 3
				}
			}
			release()
			check(t, p.AwaitLog("attempt not recorded"))
			d.login() // reads still work
			if !recovers {
				r.waitAccepted(origins * inFlight)
				began := time.Now()
				check(t, p.Stop())
				if took := time.Since(began); took > promptly {
					t.Errorf("the daemon stops after %v", took)
				}
			}
			if n := strings.Count(p.Log(), "level=ERROR"); n > maxErrors {
				t.Errorf("the daemon logs %d errors", n)
			}
			check(t, os.Remove(filler))
			duplicates := 0
			if !recovers { // it could not record the attempts
				p, duplicates = d.start(), maxUnrecorded
			}
			_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
			check(t, err)
			r.waitAccepted(all)
			check(t, p.Stop())
			r.wantAllDelivered(d, all, duplicates)
		})
	}
}

// fillDisk writes a file until its file system is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	check(t, err)
	if _, err := io.Copy(file, endless{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	check(t, file.Close())
}

// endless is a reader of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
