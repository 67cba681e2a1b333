package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// While a place fails for a day, each attempt is logged with its cause, and no temporary file remains.
func TestRun_reportsEachFailureAndRetries(t *testing.T) {
	t.Parallel()
	dir, dsn := filepath.Join(t.TempDir(), "place"), studiotest.NewSQLite(t)
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t, "file:"+dir, dsn, nil)
		m.cfg.Now = time.Now
		m.status.Store(&studio.BackupStatus{Every: time.Hour, Began: time.Now()})
		fail := func() {
			check(t, os.RemoveAll(dir))
			check(t, os.WriteFile(dir, nil, 0o600))
		}
		fail()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Run(ctx) })
		lines := func(text string) int { return strings.Count(m.log.String(), text) }
		for hours := range 24 {
			time.Sleep(time.Hour)
			synctest.Wait()
			if _, err := os.Stat(m.cfg.Scratch); !errors.Is(err, fs.ErrNotExist) || lines("not a directory") != hours+6 {
				t.Fatalf("temporary files: %v, log: %s", err, m.log)
			}
		}
		if status := m.Status(); !status.Failed || !status.Last.IsZero() || status.Age(time.Now()) < 24*time.Hour {
			t.Errorf("after a day: %+v", status)
		}
		check(t, os.Remove(dir))
		time.Sleep(time.Hour + time.Second) // the longest time until an attempt
		synctest.Wait()
		if status := m.Status(); status.Failed || status.Size == 0 || status.Age(time.Now()) > time.Hour+time.Second || lines("succeed again") != 1 {
			t.Errorf("when it is back: %+v", status)
		}
		fail()
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if status := m.Status(); !status.Failed || status.Last.IsZero() || lines("backups fail") < 24+6 {
			t.Errorf("when it fails again: %+v", status)
		}
		stop()
		running.Wait()
	})
}
