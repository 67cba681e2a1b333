package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// The tests run this program as a bare handler, as the program itself does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "-bare" {
		if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// On every database all figures are measured, and nothing is lost, comes twice or is wrongly signed. How
// fast it is decides nothing.
func TestMeasure(t *testing.T) {
	t.Parallel()
	program, err := buildDaemon(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{sqliteName, postgresName} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var progress bytes.Buffer
			s := scene{plan: short(), name: name, progress: &progress, directory: t.TempDir(), program: program, profile: t.TempDir()}
			figures, err := s.measure(t.Context())
			if err != nil {
				t.Fatalf("%v\n%s", err, progress.String())
			}
			for _, f := range figures {
				t.Logf("%s: %s", f.name, f.measured)
				if f.name == "" || f.measured == "" {
					t.Errorf("a figure is empty: %+v", f)
				}
			}
		})
	}
}

// Requests that a server keeps waiting count from when they should have been sent, whoever waits for whom.
func TestOpenLoop_countsFromTheIntendedTime(t *testing.T) {
	t.Parallel()
	all := arrivals(1000, 100*time.Millisecond)
	if !slices.IsSorted(all) || !slices.Equal(all, arrivals(1000, 100*time.Millisecond)) || len(all) < 50 || len(all) > 150 {
		t.Errorf("%d arrivals in a tenth of a second, at %v", len(all), all)
	}
	var mu sync.Mutex
	dues := make([]time.Time, len(all))
	began := time.Now()
	openLoop(t.Context(), all, func(i int, due time.Time) {
		mu.Lock() // as if one at a time were served
		defer mu.Unlock()
		dues[i] = due
	})
	for i, at := range all {
		if dues[i].Sub(dues[0]) != at-all[0] || dues[i].Before(began.Add(at)) {
			t.Fatalf("arrival %d counts from %v, want %v", i, dues[i].Sub(began), at)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ limit, from, to int }{
		"between":    {1300, 1170, 1300},
		"the first":  {500, 450, 500},
		"below it":   {90, 80, 90},
		"nothing":    {0, 0, 0},
		"everything": {1 << 30, 10_000, 20_000},
	} {
		got, err := search(500, 10_000, func(rate int) (bool, error) {
			return rate <= c.limit, nil
		})
		if err != nil || got < c.from || got > c.to {
			t.Errorf("%s: the highest rate is %d, %v, want %d to %d", name, got, err, c.from, c.to)
		}
	}
}

type sending func(id, body string, secret webhook.Secret)

// What receivers say decides whether a run fails, so they must see what is wrong.
func TestReceivers_seeWhatIsWrong(t *testing.T) {
	t.Parallel()
	u := &user{secret: webhook.NewSecret()}
	other := webhook.NewSecret()
	const first, second = `{"event_type":"lipsync_inference_event","data":{"inference_id":"1","status":"succeeded"}}`,
		`{"event_type":"lipsync_inference_event","data":{"inference_id":"2","status":"succeeded"}}`
	for name, c := range map[string]struct {
		send func(send sending)
		want string
	}{
		"nothing":             {func(send sending) { send("a", first, u.secret); send("b", second, u.secret) }, ""},
		"one lost":            {func(send sending) { send("a", first, u.secret) }, "1 events of 2"},
		"one twice":           {func(send sending) { send("a", first, u.secret); send("a", first, u.secret) }, "came twice"},
		"two of one":          {func(send sending) { send("a", first, u.secret); send("b", first, u.secret) }, "two events"},
		"another's signature": {func(send sending) { send("a", first, other) }, "signature"},
		"a failure": {func(send sending) {
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
			_, err = r.all(t.Context(), 2, time.Millisecond)
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

// A connection that ended is replaced.
func TestPool(t *testing.T) {
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
	for range 2 * mostConnections {
		if status, _, err := p.send(t.Context(), text(http.MethodGet, "/", "", "")); err != nil || status != http.StatusTeapot {
			t.Fatalf("answered %d, %v", status, err)
		}
	}
	p.close()
}
