package soak_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
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
			data := try(os.ReadFile(path))(t)
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

// The answer to each kind of request to PostgreSQL is lost once: the server has executed the request, and the
// connection breaks. After each loss, a creation succeeds and its events are delivered soon. The first loss is that of
// the first renewal of the lease.
func TestLostAnswer_leavesADaemonThatDelivers(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "the store tests lost answers, too")
	d := deploy(t, studiotest.NewPostgres(t))
	r := receive(d, 1, nil)
	proxy := studiotest.NewProxy(t, d.dsn)
	lost := make(map[string]bool) // accessed by the proxy
	losses := make(chan string, 1)
	losses <- "none until the daemon serves"
	lose := func(queries []string) bool {
		kind := strings.Join(queries, "; ")
		if lost[kind] {
			return false
		}
		first := strings.Contains(kind, "INSERT INTO holders")
		if !first {
			select {
			case losses <- kind:
			default:
				return false
			}
		}
		lost[kind] = true
		return true
	}
	proxy.LoseAnswers(lose)
	p := d.startOn(proxy.DSN, "--receiver-rate", "1000")
	d.login()
	<-losses
	kinds, events := 0, 0
	for without := 0; without < 10; without++ { // creations without a loss
		key, began := fmt.Sprint("avatar-", events/3), time.Now()
		harness.Eventually(t, "the creation of an avatar", func() bool {
			_, err := d.createAvatar(t.Context(), key, r.urls[0])
			return err == nil
		})
		events += 3
		r.waitAccepted(events)
		took := time.Since(began)
		select {
		case kind := <-losses:
			kinds, without = kinds+1, 0
			t.Logf("%v without the answer to %.60s", took, kind)
		default:
		}
		if took > promptly {
			t.Errorf("the events are delivered after %v", took)
		}
	}
	if kinds < 10 {
		t.Errorf("the answers to %d kinds of requests were lost", kinds)
	}
	check(t, p.Stop())
	r.wantAllDelivered(d, events, 0)
}
