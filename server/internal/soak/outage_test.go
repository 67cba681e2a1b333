package soak_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// startCluster is a server of PostgreSQL for one test, which may harm it, with settings such as "fsync=off".
func startCluster(t *testing.T, settings ...string) *studiotest.Cluster {
	t.Helper()
	cluster, err := studiotest.StartCluster(settings...)
	if errors.Is(err, studiotest.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skipf("%v: its restart is not tested", err)
	}
	check(t, err)
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// restart ends a server as a crash would and starts it again, by the program that its process runs
// and as the user that it runs as.
func restart(t *testing.T, cluster *studiotest.Cluster) {
	t.Helper()
	dsn, err := url.Parse(cluster.DSN)
	check(t, err)
	data := filepath.Join(dsn.Query().Get("host"), "data")
	pid, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	check(t, err)
	first, _, _ := bytes.Cut(pid, []byte("\n"))
	server, err := os.Readlink(filepath.Join("/proc", string(first), "exe"))
	check(t, err)
	owner, err := os.Stat(data)
	check(t, err)
	command := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(server), "pg_ctl"),
		"-D", data, "-w", "-m", "immediate", "-l", filepath.Join(data, "restart.log"), "restart")
	command.Dir = filepath.Dir(data) // by which the server names its files
	if os.Geteuid() == 0 {
		user := owner.Sys().(*syscall.Stat_t)
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.Uid, Gid: user.Gid}}
	}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

func TestDatabaseRestart_losesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it restarts a cluster of its own")
	}
	cluster := startCluster(t)
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
		restart(t, cluster)
	}
	eventually(t, "that an avatar is created", func() bool {
		_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
		return err == nil
	})
	r.waitAccepted(all + 3)
	p.stop()
	r.wantEverything(d, all+3, 0) // an attempt that happened is recorded when the database is back
}

func TestDatabaseBusy_forThreeSecondsIsWaitedFor(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.held(http.StatusNoContent)
		r, p := inFlightTo(d, 1, answer)
		const all = 4*inFlight + 3
		d.login()
		unlock := lock(t, d.dsn)
		release()
		created := make(chan error, 1)
		go func() {
			_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
			created <- err
		}()
		select {
		case err := <-created:
			t.Errorf("what cannot be committed is answered: %v", err)
			unlock()
		case <-time.After(3 * time.Second):
			unlock()
			check(t, <-created)
		}
		r.waitAccepted(all)
		p.stop()
		if p.logged("level=ERROR") {
			t.Error("the daemon reports an error")
		}
		r.wantEverything(d, all, 0)
	})
}

// What has happened is recorded when that is possible again, and is not repeated; what was asked
// for is refused.
func TestDatabaseBusy_forLongerThanAnybodyWaitsRepeatsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("not in the short form: it waits for timeouts")
	}
	eachDatabase(t, func(t *testing.T, d *deployment) {
		answer, release := d.held(http.StatusNoContent)
		r, p := inFlightTo(d, 1, answer)
		const all = 4*inFlight + 3
		d.login()
		unlock := lock(t, d.dsn)
		release()
		_, err := d.createAvatar(t.Context(), "ada", r.urls[0])
		if answered, ok := errors.AsType[*client.Error](err); !ok || answered.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a creation that the database has no time for: %v", err)
		}
		p.wait("attempt not recorded")
		unlock()
		_, err = d.createAvatar(t.Context(), "ada", r.urls[0])
		check(t, err)
		r.waitAccepted(all)
		p.stop()
		r.wantEverything(d, all, 0)
	})
}

// smallDisk runs a command with a directory on a disk of its own, which holds 4 MB, and a file on it.
const smallDisk = `mount -t tmpfs -o size=4m disk "$0" && cp "$1" "$0" && shift && exec "$@"`

func TestDiskFull_recordsAndAnswersWhenThereIsRoomAgain(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if output, err := exec.CommandContext(t.Context(), "unshare", "-rm", "mount", "-t", "tmpfs", "disk", disk).CombinedOutput(); err != nil {
		t.Skipf("this system does not let a test have a disk of its own (%v: %s): a full one is not tested", err, output)
	}
	path, err := program()
	check(t, err)
	d := deploy(t, studiotest.NewSQLite(t))
	answer, release := d.held(http.StatusNoContent)
	const origins = 5
	r := receive(d, origins, answer)
	d.seed(inFlight, 2, r.urls...)
	file := strings.TrimPrefix(d.dsn, "sqlite:")
	p := d.startAs([]string{"unshare", "-rm", "sh", "-c", smallDisk, disk, file, path}, "sqlite:"+filepath.Join(disk, filepath.Base(file)))
	d.login()
	r.waitArrivals(origins * inFlight)

	// As long as it is open the disk stays, even without the daemon.
	seen, err := os.Open(fmt.Sprintf("/proc/%d/root%s", p.cmd.Process.Pid, disk))
	check(t, err)
	defer func() { _ = seen.Close() }()
	on := func(name string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", seen.Fd(), name) }
	filler, err := os.Create(on("filler"))
	check(t, err)
	if _, err = io.Copy(filler, endless{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	check(t, filler.Close())
	release()
	p.wait("attempt not recorded")
	_, err = d.createAvatar(t.Context(), "ada", r.urls[0])
	if answered, ok := errors.AsType[*client.Error](err); !ok || answered.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a creation without room: %v", err)
	}
	d.login() // which reads
	check(t, os.Remove(on("filler")))
	_, err = d.createAvatar(t.Context(), "ada", r.urls[0])
	check(t, err)
	all := 2*origins*inFlight + 3
	r.waitAccepted(all)
	p.stop()

	data, err := os.ReadFile(on(filepath.Base(file)))
	check(t, err)
	check(t, os.WriteFile(file, data, 0o600))
	r.wantEverything(d, all, 0)
	if arrivals, _, _ := r.count(); arrivals != all {
		t.Errorf("%d requests came, want one for each event", arrivals)
	}
}

// endless is a reader of zeros.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
