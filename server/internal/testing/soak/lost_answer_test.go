package soak_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// The answer to each kind of request to PostgreSQL is lost once: the server has executed the request, and the
// connection breaks. After each loss, a creation succeeds and its events are delivered soon. The first loss is that of
// the first renewal of the lease.
func TestLostAnswer_leavesADaemonThatDelivers(t *testing.T) {
	t.Parallel()
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
