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

func TestDatabaseRestart_losesNothing(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it restarts a cluster of its own")
	cluster := studiotest.NewCluster(t)
	d := deploy(t, studiotest.NewSchema(t, cluster.DSN))
	const origins = 20
	r := receive(d, origins, nil)
	subjects, restarts := 5**scale, 2**scale
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

func TestDatabaseBusy_brieflyDelaysWrites(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.blockingAnswer(http.StatusNoContent)
		r, p := startAtInFlightLimit(d, 1, answer)
		const all = 4*inFlight + 3
		d.login()
		unlock := lockEvents(t, d.dsn)
		release()
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
		r.waitAccepted(all)
		check(t, p.Stop())
		if strings.Contains(p.Log(), "level=ERROR") {
			t.Error("the daemon logged an error")
		}
		r.wantAllDelivered(d, all, 0)
	})
}

// While the database is locked for longer than all timeouts, creations get 503. Attempts that have succeeded are
// recorded afterwards and are not repeated.
func TestDatabaseBusy_beyondTimeoutsDuplicatesNothing(t *testing.T) {
	harness.SkipShort(t, "it waits for timeouts")
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.blockingAnswer(http.StatusNoContent)
		r, p := startAtInFlightLimit(d, 1, answer)
		const all = 4*inFlight + 3
		d.login()
		unlock := lockEvents(t, d.dsn)
		release()
		_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
		if !isUnavailable(err) {
			t.Errorf("a creation during the lock returns %v, want 503", err)
		}
		check(t, p.AwaitLog("attempt not recorded"))
		unlock()
		_, err = d.createAvatar(t.Context(), "ada", r.urls[0])
		check(t, err)
		r.waitAccepted(all)
		check(t, p.Stop())
		r.wantAllDelivered(d, all, 0)
	})
}

// smallDisk is a shell script. It mounts a file system of 4 MB at $0, copies the file $1 to it, and runs the command
// in the other arguments.
const smallDisk = `mount -t tmpfs -o size=4m disk "$0" && cp "$1" "$0" && shift && exec "$@"`

// startOnSmallDisk starts a daemon with a copy of the database on a disk of 4 MB. on returns the path of a file there,
// which is valid after the daemon has exited.
func (d *deployment) startOnSmallDisk() (p *harness.Daemon, on func(name string) string) {
	d.t.Helper()
	disk := d.t.TempDir()
	if output, err := exec.CommandContext(d.t.Context(), "unshare", "-rm", "mount", "-t", "tmpfs", "disk", disk).CombinedOutput(); err != nil {
		d.t.Skipf("cannot mount a file system (%v: %s)", err, output)
	}
	path, err := daemonProgram()
	check(d.t, err)
	file := strings.TrimPrefix(d.dsn, "sqlite:")
	p = d.startAs([]string{"unshare", "-rm", "sh", "-c", smallDisk, disk, file, path}, "sqlite:"+filepath.Join(disk, filepath.Base(file)))
	// The open directory keeps the file system mounted after the daemon has exited.
	directory, err := os.Open(fmt.Sprintf("/proc/%d/root%s", p.PID(), disk))
	check(d.t, err)
	d.t.Cleanup(func() { _ = directory.Close() })
	return p, func(name string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", directory.Fd(), name) }
}

// createUntilFull fills the disk with a file, and creates avatars until the database finds no space. That is not at
// once, because it makes space by copying its log. It returns the number of avatars.
func (d *deployment) createUntilFull(filler, url string) (created int) {
	d.t.Helper()
	fillDisk(d.t, filler)
	for {
		_, err := d.createAvatar(d.t.Context(), fmt.Sprint("full-", created), url)
		if isUnavailable(err) {
			return created
		}
		check(d.t, err)
		created++
	}
}

func TestDiskFull_onSQLiteCauses503AndRecovers(t *testing.T) {
	t.Parallel()
	d := deploy(t, studiotest.NewSQLite(t))
	answer, release := d.blockingAnswer(http.StatusNoContent)
	const origins = 5
	r := receive(d, origins, answer)
	d.seed(inFlight, 2, r.urls...)
	p, on := d.startOnSmallDisk()
	d.login()
	r.waitArrivals(origins * inFlight)
	created := d.createUntilFull(on("filler"), r.urls[0])
	release()
	check(t, p.AwaitLog("attempt not recorded"))
	d.login() // reads still work
	check(t, os.Remove(on("filler")))
	_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
	check(t, err)
	all := 2*origins*inFlight + 3*(created+1)
	r.waitAccepted(all)
	check(t, p.Stop())

	file := strings.TrimPrefix(d.dsn, "sqlite:")
	data, err := os.ReadFile(on(filepath.Base(file)))
	check(t, err)
	check(t, os.WriteFile(file, data, 0o600))
	r.wantAllDelivered(d, all, 0)
	if arrivals, _, _ := r.count(); arrivals != all {
		t.Errorf("%d requests arrived, want one for each event", arrivals)
	}
}

// While the disk is full, a daemon logs a line for each kind of failure and not one for each worker, and stops soon.
func TestDiskFull_onSQLiteLogsLittleAndStopsSoon(t *testing.T) {
	t.Parallel()
	const origins, maxStop, maxLines = 20, 10 * time.Second, 10
	d := deploy(t, studiotest.NewSQLite(t))
	answer, release := d.blockingAnswer(http.StatusNoContent)
	r := receive(d, origins, answer)
	d.seed(inFlight, 1, r.urls...)
	p, on := d.startOnSmallDisk()
	d.login()
	r.waitArrivals(origins * inFlight)
	d.createUntilFull(on("filler"), r.urls[0])
	release()
	check(t, p.AwaitLog("attempt not recorded"))
	r.waitAccepted(origins * inFlight)
	began := time.Now()
	check(t, p.Stop())
	took, lines := time.Since(began), strings.Count(p.Log(), "level=ERROR")
	t.Logf("the daemon stops after %v, with %d errors in its log", took, lines)
	if took > maxStop*time.Duration(*scale) || lines > maxLines {
		t.Error("that is too much")
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
