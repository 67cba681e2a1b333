package soak_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// smallTablespace creates the tablespace small on a file system of 24 MB, and returns its directory.
func smallTablespace(t *testing.T, cluster *studiotest.Cluster) (disk string) {
	t.Helper()
	disk = filepath.Join(cluster.Directory, "disk")
	check(t, os.Mkdir(disk, 0o700))
	if output, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=24m", "disk", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system (%v: %s)", err, output)
	}
	t.Cleanup(func() { check(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	owner, err := os.Stat(filepath.Join(cluster.Directory, "data"))
	check(t, err)
	user := owner.Sys().(*syscall.Stat_t)
	check(t, os.Chown(disk, int(user.Uid), int(user.Gid)))
	_, err = studiotest.OpenSQL(t, cluster.DSN).ExecContext(t.Context(), `CREATE TABLESPACE small LOCATION '`+disk+`'`)
	check(t, err)
	return disk
}

// While the disk of PostgreSQL is full, creations get 503 with Retry-After. Nothing that was acknowledged is lost.
func TestDiskFull_onPostgresCauses503AndRecovers(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it starts a cluster of its own")
	cluster := studiotest.NewCluster(t, "fsync=off")
	disk := smallTablespace(t, cluster)
	d := deploy(t, studiotest.NewSchema(t, cluster.DSN)+"&default_tablespace=small")
	r := receive(d, 1, nil)
	p := d.start("--receiver-rate", "1000")
	d.login()
	_, err := d.createAvatar(t.Context(), "before", r.urls[0])
	check(t, err)
	r.waitAccepted(3)

	filler := filepath.Join(disk, "filler")
	fillDisk(t, filler)
	for i := 0; err == nil && i < 10_000; i++ { // until all allocated pages are full
		_, err = d.createAvatar(t.Context(), "full-"+strconv.Itoa(i), r.urls[0])
	}
	if !isUnavailable(err) {
		t.Errorf("a creation on a full disk gets %v", err)
	}
	check(t, os.Remove(filler))
	events := d.waitRecovered(r)
	check(t, p.Stop())
	r.wantAllDelivered(d, events, 0)
}
