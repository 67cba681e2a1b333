package deliver_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// With higher limits, a backlog is delivered on connections that stay open, as with lower ones.
func TestDeliverer_higherLimitsKeepConnections(t *testing.T) {
	t.Parallel()
	const events = 1000
	for _, test := range []struct{ rate, workers, origins int }{{100_000, 256, 1}, {100_000, 512, 8}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			s := &fixture{t: t, dsn: studiotest.NewSQLite(t), now: time.Now, config: deliver.Config{Rate: test.rate, Workers: test.workers}}
			s.run(func(s *fixture) {
				var received, opened atomic.Int64
				done := make(chan struct{})
				for range test.origins {
					receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.WriteHeader(http.StatusNoContent)
						if received.Add(1) == events {
							close(done)
						}
					}))
					receiver.Config.ConnState = func(_ net.Conn, state http.ConnState) {
						if state == http.StateNew {
							opened.Add(1)
						}
					}
					receiver.Start()
					t.Cleanup(receiver.Close)
					s.seed(events/test.origins, receiver.URL)
				}
				sends, err := sender.New(sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
				check(t, err)
				t.Cleanup(sends.Close)
				s.sender = sends
				began, stop := time.Now(), s.daemon()
				<-done
				idles := int64(time.Since(began) / (4 * time.Second)) // after which the sender closes a connection
				stop()
				if n := opened.Load(); n > int64(test.workers)*(1+idles)+events/8 {
					t.Errorf("%d deliveries opened %d connections", events, n)
				}
			})
		})
	}
}
