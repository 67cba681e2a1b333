package soak_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// What is written to a file that was deleted goes with the process. The daemon refuses it and ends.
func TestDatabaseLost_isNoticedAndNothingMoreIsAnswered(t *testing.T) {
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
			const soon = 30 * time.Second
			d := deploy(t, studiotest.NewSQLite(t))
			r := receive(d, 1, nil)
			p := d.start()
			d.login()
			answers := make(chan struct{}, 1<<16)
			lost := make(chan struct{})
			var creating sync.WaitGroup
			for i := range callers {
				creating.Go(func() {
					for n := 0; ; n++ {
						late := false
						select {
						case <-lost:
							late = true
						default:
						}
						_, err := d.createAvatar(t.Context(), fmt.Sprintf("%d-%d", i, n), r.urls[0])
						answered, ok := errors.AsType[*client.Error](err)
						switch {
						case err == nil && late:
							t.Error("a creation is answered that nobody can read again")
						case err == nil:
							answers <- struct{}{}
						case ok && (answered.StatusCode != http.StatusServiceUnavailable || answered.RetryAfter == 0):
							t.Errorf("a creation is refused with %v", err)
							return
						case !ok:
							return // nobody is there any more
						}
					}
				})
			}
			for range before {
				<-answers
			}
			test.lose(t, strings.TrimPrefix(d.dsn, "sqlite:"))
			close(lost)
			began := time.Now()
			<-p.ended
			if took := time.Since(began); took > soon*time.Duration(*scale) {
				t.Errorf("the daemon ended %v after the loss", took)
			}
			creating.Wait()
			if p.err == nil || !p.logged("the file of the database has gone") {
				t.Errorf("the daemon ends with %v and does not say why", p.err)
			}
		})
	}
}
