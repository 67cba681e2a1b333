package deliver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/deliver"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// realService is a service with a real sender and receivers on loopback ports. Nothing is rendered.
type realService struct {
	config    deliver.Config
	dsn       string
	user      studio.User
	receivers []*httptest.Server
}

// startService opens a service on SQLite and starts receivers that answer with handle.
func startService(t *testing.T, receivers int, handle http.HandlerFunc) *realService {
	t.Helper()
	s := &realService{dsn: studiotest.NewSQLite(t)}
	s.config.Store = studiotest.Open(t, s.dsn)
	s.config.Studio = studio.New(studiotest.Config(s.config.Store, time.Now))
	s.user = studiotest.AddUser(t, s.config.Studio, "ada@example.com")
	for range receivers {
		receiver := httptest.NewServer(handle)
		t.Cleanup(receiver.Close)
		s.receivers = append(s.receivers, receiver)
	}
	sends, err := sender.New(sender.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	check(t, err)
	t.Cleanup(sends.Close)
	s.config.Sender = sends
	return s
}

// With higher limits, a backlog is delivered on connections that stay open, as with lower ones.
func TestDeliverer_higherLimitsKeepConnections(t *testing.T) {
	t.Parallel()
	const events = 1500
	for _, test := range []struct{ rate, workers, origins int }{{1000, 256, 8}, {100_000, 256, 1}, {100_000, 1024, 8}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			var received atomic.Int64
			var connections sync.Map
			done := make(chan struct{})
			s := startService(t, test.origins, func(w http.ResponseWriter, r *http.Request) {
				connections.Store(r.Host+" "+r.RemoteAddr, true)
				w.WriteHeader(http.StatusNoContent)
				if received.Add(1) == events {
					close(done)
				}
			})
			for i, receiver := range s.receivers {
				seed(t, s.dsn, s.user.ID, (events+i)/test.origins, receiver.URL)
			}
			s.config.Rate, s.config.Workers = test.rate, test.workers
			began, stop := time.Now(), start(deliver.New(s.config))
			<-done
			idles := int(time.Since(began) / (4 * time.Second)) // after which the sender closes a connection
			stop()
			opened := 0
			connections.Range(func(any, any) bool { opened++; return true })
			if opened > test.workers*(1+idles)+events/8 {
				t.Errorf("%d deliveries opened %d connections", events, opened)
			}
		})
	}
}
