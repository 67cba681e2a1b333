package soak_test

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// After the SQLite file is deleted or replaced, writes would be lost when the daemon exits. It rejects them and exits.
func TestDatabaseLost_stopsDaemonAndRejectsWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		lose func(t *testing.T, path string)
	}{
		{"Deleted", func(t *testing.T, path string) { check(t, os.Remove(path)) }},
		{"Replaced", func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path+".copy", data, 0o600))
			check(t, os.Rename(path+".copy", path))
		}},
		{"LogDeleted", func(t *testing.T, path string) { check(t, os.Remove(path+"-wal")) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const callers, before = 8, 40
			d := deploy(t, studiotest.NewSQLite(t))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			successes := make(chan struct{}, 1<<16)
			var lost atomic.Pointer[time.Time]
			stop := d.createAvatars(callers, r.urls, func(began time.Time, _ *gen.Avatar, err error) bool {
				_, answered := errors.AsType[*client.Error](err)
				if at := lost.Load(); err == nil && at != nil && began.After(*at) {
					t.Error("a creation succeeds after the loss of the file")
				}
				if err == nil {
					successes <- struct{}{}
				} else if answered && !isUnavailable(err) {
					t.Errorf("a creation fails with %v, want 503 with Retry-After", err)
					return false
				}
				return err == nil || answered // otherwise the daemon has exited
			})
			for range before {
				<-successes
			}
			test.lose(t, strings.TrimPrefix(d.dsn, "sqlite:"))
			began := time.Now()
			lost.Store(&began)
			exit := p.Wait()
			if took := time.Since(began); took > promptly {
				t.Errorf("the daemon exited %v after the loss", took)
			}
			stop()
			if exit == nil || !strings.Contains(p.Log(), "the database file was deleted or replaced") {
				t.Errorf("the daemon exits with %v and does not log the reason", exit)
			}
		})
	}
}
