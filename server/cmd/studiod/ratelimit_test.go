package main

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// A user over the rate limit gets 429 with Retry-After, and other classes of operations are not affected.
// The client waits and retries.
func TestDaemon_limitsRequestRate(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.UserRate = 1 })
	home := from(t, net.IPv4(127, 0, 0, 1))
	_, token := tryLogin(t.Context(), home, d.url(), testEmail, testPassword)
	began, refused := time.Now(), false
	for !refused && time.Since(began) < waitTimeout { // one is admitted per second
		answer := call(t, home, http.MethodPost, d.url(), token)
		if refused = answer.StatusCode == http.StatusTooManyRequests; refused {
			for name, want := range map[string]string{"Retry-After": "1", "RateLimit": `"creations";r=0;t=1`, "RateLimit-Policy": `"creations";q=1;w=1`} {
				if got := answer.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		}
	}
	if !refused {
		t.Error("no creation is refused")
	}
	if answer := call(t, home, http.MethodGet, d.url(), token); answer.StatusCode != http.StatusOK {
		t.Errorf("a list is answered %d", answer.StatusCode)
	}
	ours := newClient(t, client.Config{BaseURL: d.url(), Email: testEmail, Password: testPassword})
	for range 2 {
		_, err := ours.CreateLipsync(t.Context(), gen.CreateLipsyncRequest{})
		check(t, err)
	}
}

// A form of the console that creates something is limited like a request of the API.
func TestConsole_limitsCreations(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, func(cfg *daemonConfig) { cfg.Console, cfg.UserRate = true, 1 })
	open := visit(t, d.url())
	for began := time.Now(); time.Since(began) < waitTimeout; {
		answer := open(http.MethodPost, "/console/lipsyncs/new", url.Values{"title": {"Greeting"}, "use_audio_from_video": {"true"}})
		text := readAll(t, answer)
		if answer.StatusCode == http.StatusTooManyRequests {
			if answer.Header.Get("Retry-After") != "1" || !strings.Contains(text, "Too many requests.") || !strings.Contains(text, `value="Greeting"`) {
				t.Errorf("the answer is %v\n%s", answer.Header, text)
			}
			return
		}
	}
	t.Error("no creation is refused")
}

// Two daemons together admit about as many requests as one daemon would, whether a user calls one or both.
func TestProcess_daemonsShareUserRates(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it counts for seconds")
	const limit, period, callers = 50 /* reads, twice the rate */, 4 * time.Second, 3
	dsn := studiotest.NewPostgres(t)
	prepareDatabase(t, dsn)
	const other = "eve@example.com"
	must(t, testPassword+"\n", "user", "add", "--db="+dsn, other)
	daemons := []*process{startProcess(t, dsn, "--user-rate", "25"), startProcess(t, dsn, "--user-rate", "25")}
	for _, p := range daemons {
		check(t, p.AwaitLog("daemons=2"))
	}
	home := from(t, net.IPv4(127, 0, 0, 1))
	var users sync.WaitGroup
	for email, at := range map[string][]*process{testEmail: daemons, other: daemons[:1]} {
		users.Go(func() {
			_, token := tryLogin(t.Context(), home, daemons[0].URL, email, testPassword)
			var asking sync.WaitGroup
			var admitted, refused atomic.Int64
			began := time.Now()
			for _, p := range at {
				for range callers {
					asking.Go(func() {
						for time.Since(began) < period {
							answer, err := send(t.Context(), home, http.MethodGet, p.URL, token)
							switch {
							case err != nil:
								t.Error(err)
								return
							case answer.StatusCode == http.StatusOK:
								admitted.Add(1)
							case answer.StatusCode == http.StatusTooManyRequests:
								refused.Add(1)
								time.Sleep(10 * time.Millisecond) // leaves CPU time to the daemons
							default:
								t.Errorf("a list is answered %d", answer.StatusCode)
								return
							}
						}
					})
				}
			}
			asking.Wait()
			want := limit * (1 + time.Since(began).Seconds())
			t.Logf("%s at %d daemons: %d admitted, %d refused, %.0f wanted", email, len(at), admitted.Load(), refused.Load(), want)
			// On a busy machine, the daemons may know late what the other has admitted, and the load may be lower than want. Each
			// daemon for itself would admit twice as many.
			if n := float64(admitted.Load()); n > 1.6*want || n < limit && refused.Load() > 0 {
				t.Errorf("%d daemons admit %.0f requests of %s, want %.0f", len(at), n, email, want)
			}
		})
	}
	users.Wait()
	for _, p := range daemons {
		check(t, p.Stop())
	}
}
