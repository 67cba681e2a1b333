package main

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/bench/daemon/measure"
)

func TestMain(m *testing.M) {
	harness.RunChild(serveBare)
	os.Exit(m.Run())
}

// On each database, all figures are measured, and no event is lost, duplicated or wrongly signed. Missed targets do
// not fail the test.
func TestMeasure_returnsAllFigures(t *testing.T) {
	t.Parallel()
	program, err := measure.Studiod(t.Context())
	harness.Check(t, err)
	for _, kind := range measure.TestDatabases(t) {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			var progress bytes.Buffer
			s := setup{plan: short(), progress: &progress, directory: t.TempDir(), program: program, profile: t.TempDir()}
			figures, err := s.measure(t.Context(), kind)
			if err != nil {
				t.Fatalf("%v\n%s", err, progress.String())
			}
			measure.WantFigures(t, figures)
		})
	}
}

// The time that openLoop passes to a call is the intended start, even if earlier calls are slow.
func TestOpenLoop_passesIntendedTime(t *testing.T) {
	t.Parallel()
	all := arrivals(1000, 100*time.Millisecond)
	if !slices.IsSorted(all) || !slices.Equal(all, arrivals(1000, 100*time.Millisecond)) || len(all) < 50 || len(all) > 150 {
		t.Errorf("%d arrivals within 100 ms, at %v", len(all), all)
	}
	var mu sync.Mutex
	dueTimes := make([]time.Time, len(all))
	began := time.Now()
	openLoop(t.Context(), all, func(i int, due time.Time) {
		mu.Lock() // serves one request at a time
		defer mu.Unlock()
		dueTimes[i] = due
	})
	for i, at := range all {
		if dueTimes[i].Sub(dueTimes[0]) != at-all[0] || dueTimes[i].Before(began.Add(at)) {
			t.Fatalf("arrival %d is due at %v, want %v", i, dueTimes[i].Sub(began), at)
		}
	}
}

func TestSearch_findsHighestRate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ limit, from, to int }{
		"above first": {1300, 1170, 1300},
		"first":       {500, 450, 500},
		"below first": {90, 80, 90},
		"none":        {0, 0, 0},
		"all":         {1 << 30, 10_000, 20_000},
	} {
		got, err := search(500, 10_000, func(rate int) (bool, error) {
			return rate <= c.limit, nil
		})
		if err != nil || got < c.from || got > c.to {
			t.Errorf("%s: the highest rate is %d, %v, want %d to %d", name, got, err, c.from, c.to)
		}
	}
}

type sendFunc func(id, body string, secret webhook.Secret)

// The receivers must detect every kind of wrong event, because a run fails only if they do.
func TestReceivers_detectWrongEvents(t *testing.T) {
	t.Parallel()
	u := &user{secret: webhook.NewSecret()}
	other := webhook.NewSecret()
	const first, second = `{"event_type":"lipsync_inference_event","data":{"inference_id":"1","status":"succeeded"}}`,
		`{"event_type":"lipsync_inference_event","data":{"inference_id":"2","status":"succeeded"}}`
	for name, c := range map[string]struct {
		send func(send sendFunc)
		want string
	}{
		"none":            {func(send sendFunc) { send("a", first, u.secret); send("b", second, u.secret) }, ""},
		"lost event":      {func(send sendFunc) { send("a", first, u.secret) }, "1 events of 2"},
		"duplicate":       {func(send sendFunc) { send("a", first, u.secret); send("a", first, u.secret) }, "duplicated"},
		"second event":    {func(send sendFunc) { send("a", first, u.secret); send("b", first, u.secret) }, "two events"},
		"wrong signature": {func(send sendFunc) { send("a", first, other) }, "signature"},
		"failed lip-sync": {func(send sendFunc) {
			send("a", strings.Replace(first, "succeeded", "failed", 1), u.secret)
		}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := startReceivers(t.Context(), []*user{u})
			if err != nil {
				t.Fatal(err)
			}
			transport := &http.Transport{}
			c.send(func(id, body string, secret webhook.Secret) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.urls[0], strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if err := webhook.Sign(request.Header, id, time.Now(), []byte(body), secret); err != nil {
					t.Fatal(err)
				}
				response, err := transport.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
			})
			_, err = r.waitAll(t.Context(), 2, time.Millisecond)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			transport.CloseIdleConnections()
			if err := r.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The pool replaces connections that the server has closed.
func TestPool_replacesClosedConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusTeapot)
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	p := newPool(listener.Addr().String())
	for range 2 * maxConnections {
		if status, _, err := p.send(t.Context(), rawRequest(http.MethodGet, "/", "", "")); err != nil || status != http.StatusTeapot {
			t.Fatalf("status %d, %v", status, err)
		}
	}
	p.close()
}
