package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// unreliable is a transport whose connections can be cut. It counts the requests for streams.
type unreliable struct {
	http.Transport

	streams atomic.Int64
	mu      sync.Mutex
	open    []net.Conn
}

func newUnreliable(t *testing.T) *unreliable {
	t.Helper()
	u := &unreliable{}
	u.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.open = append(u.open, conn)
		return conn, err
	}
	t.Cleanup(u.CloseIdleConnections)
	return u
}

func (u *unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/stream") {
		u.streams.Add(1)
	}
	return u.Transport.RoundTrip(r)
}

func (u *unreliable) cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, conn := range u.open {
		_ = conn.Close()
	}
	u.open = nil
}

// The waits of a client end soon after the change in a daemon, even if connections are cut.
func TestWait_endsSoonAfterTheChange(t *testing.T) {
	t.Parallel()
	s := startService(t, "--renderer=simulate:2s")
	for name, cuts := range map[string]bool{"all is well": false, "connections are cut": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := newUnreliable(t)
			c, err := client.New(client.Config{
				BaseURL: s.url, Email: testEmail, Password: testPassword, HTTPClient: &http.Client{Transport: transport},
				Retry: client.Retry{BaseDelay: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond},
			})
			check(t, err)
			const waits = 50
			var waiting sync.WaitGroup
			took := make([]time.Duration, waits)
			for i := range waits {
				lipsync, err := c.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
				check(t, err)
				waiting.Go(func() {
					lipsync, err := c.WaitLipsync(t.Context(), lipsync.InferenceID)
					if err != nil {
						t.Error(err)
						return
					}
					took[i] = time.Since(*lipsync.UpdatedAt)
				})
			}
			if cuts {
				for range 10 {
					time.Sleep(100 * time.Millisecond)
					transport.cut()
				}
			}
			waiting.Wait()
			slices.Sort(took)
			t.Logf("%d waits ended %v (median) to %v after the change, with %d requests for streams", waits, took[waits/2], took[waits-1], transport.streams.Load())
			if took[waits-1] > 20*time.Second { // 100 ms on an idle machine; a wait that only polls is slower by up to 30 s
				t.Error("a wait ended too late")
			}
			if n := transport.streams.Load(); n > 1 && !cuts {
				t.Errorf("%d requests for streams", n)
			}
		})
	}
}
