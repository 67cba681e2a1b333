package main

import (
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// interrupting is a RoundTripper that calls strike once, when the nth request to path has been written.
type interrupting struct {
	http.RoundTripper

	path   string
	nth    int64
	strike func()
	seen   atomic.Int64
}

func (i *interrupting) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == i.path && i.seen.Add(1) == i.nth {
		request = request.WithContext(httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { i.strike() },
		}))
	}
	return i.RoundTripper.RoundTrip(request)
}

// A client with enough attempts creates each record once, although the daemon is killed and restarted
// during a login or a creation.
func TestRestart_creationsSucceedOnce(t *testing.T) {
	t.Parallel()
	for name, struck := range map[string]struct {
		path string
		nth  int64
	}{
		"in the login":         {"/users/login", 1},
		"in the 20th creation": {"/v1/lipsync/create_lipsync", 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			studiotest.EachDSN(t, func(t *testing.T, dsn string) {
				t.Helper()
				testRestart(t, dsn, struck.path, struck.nth)
			})
		})
	}
}

func testRestart(t *testing.T, dsn, path string, nth int64) {
	t.Helper()
	prepareDatabase(t, dsn)
	first := startProcess(t, dsn)
	killed := make(chan struct{})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	url := first.URL
	studio, err := client.New(client.Config{
		BaseURL: url, Email: testEmail, Password: testPassword,
		Retry: client.Retry{Attempts: 50, MaxDelay: time.Second},
		HTTPClient: &http.Client{Transport: &interrupting{RoundTripper: transport, path: path, nth: nth, strike: func() {
			_ = first.Signal(syscall.SIGKILL)
			close(killed)
		}}},
	})
	check(t, err)

	const creations = 50
	ids, errs := make(chan string, creations), make(chan error, creations)
	for range creations {
		go func() {
			lipsync, err := studio.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
			if err != nil {
				errs <- err
				return
			}
			ids <- lipsync.InferenceID
		}()
	}
	<-killed
	if err := first.Wait(); err == nil {
		t.Error("the daemon survived")
	}
	second := startProcess(t, dsn, "--addr", strings.TrimPrefix(url, "http://"))
	created := map[string]bool{}
	for range creations {
		select {
		case id := <-ids:
			created[id] = true
		case err := <-errs:
			t.Error(err)
		}
	}
	if len(created) != creations {
		t.Errorf("%d of %d creations", len(created), creations)
	}
	for id := range created {
		if _, err := studio.GetLipsync(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	check(t, second.Stop())
}
