package soak_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
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
			const maxDelay = 30 * time.Second
			d := deploy(t, studiotest.NewSQLite(t))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			successes := make(chan struct{}, 1<<16)
			lost := make(chan struct{})
			var creating sync.WaitGroup
			for i := range callers {
				creating.Go(func() {
					for n := 0; ; n++ {
						afterLoss := false
						select {
						case <-lost:
							afterLoss = true
						default:
						}
						_, err := d.createAvatar(t.Context(), fmt.Sprintf("%d-%d", i, n), r.urls[0])
						_, answered := errors.AsType[*client.Error](err)
						switch {
						case err == nil && afterLoss:
							t.Error("a creation succeeds after the loss of the file")
						case err == nil:
							successes <- struct{}{}
						case answered && !isUnavailable(err):
							t.Errorf("a creation fails with %v, want 503 with Retry-After", err)
							return
						case err != nil && !answered:
							return // the daemon has exited
						}
					}
				})
			}
			for range before {
				<-successes
			}
			test.lose(t, strings.TrimPrefix(d.dsn, "sqlite:"))
			close(lost)
			began := time.Now()
			exit := p.Wait()
			if took := time.Since(began); took > maxDelay*time.Duration(*scale) {
				t.Errorf("the daemon exited %v after the loss", took)
			}
			creating.Wait()
			if exit == nil || !strings.Contains(p.Log(), "the database file was deleted or replaced") {
				t.Errorf("the daemon exits with %v and does not log the reason", exit)
			}
		})
	}
}
