package sender_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/api/tools/harness/faultserver"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/sender"
)

// A receiver gets exactly these headers and bytes, and a signature that verifies with each secret.
func TestSend_sendsASignedRequest(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	server := faultserver.New(t, faultserver.Respond(http.StatusAccepted, nil, "thanks"))
	m := message(server.URL() + "/hook?token=topsecret#part")
	m.Secrets = append(m.Secrets, webhook.NewSecret())
	m.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

	attempt := newSender(t, sender.Config{Now: func() time.Time { return at }}).Send(t.Context(), m)

	if attempt.Duration <= 0 {
		t.Errorf("duration %v", attempt.Duration)
	}
	attempt.Duration = 0
	want := sender.Attempt{At: at, Address: server.Address(), Status: 202, Excerpt: []byte("thanks")}
	if diff := cmp.Diff(want, attempt); diff != "" || !attempt.Delivered() {
		t.Errorf("attempt (-want +got):\n%s", diff)
	}
	got := server.Received()[0]
	header := http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {"32"}, "User-Agent": {"Avatar-Studio-Webhooks/1"},
		"Accept-Encoding": {"identity"},
		"Webhook-Id":      {"evt_1"}, "Webhook-Sequence": {"7"}, "Webhook-Timestamp": {"1700000000"},
		"Traceparent":       {m.TraceParent},
		"Webhook-Signature": got.Header.Values("Webhook-Signature"),
	}
	if diff := cmp.Diff(header, got.Header); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/hook?token=topsecret" || got.Host != want.Address || got.Proto != "HTTP/1.1" {
		t.Errorf("%s %s %s to %s", got.Method, got.URL, got.Proto, got.Host)
	}
	if string(got.Body) != string(m.Body) {
		t.Errorf("body %q", got.Body)
	}
	for i, secret := range m.Secrets {
		if err := webhook.Verify(got.Header, got.Body, at, secret); err != nil {
			t.Errorf("secret %d: %v", i, err)
		}
	}
}

// Nothing is sent without a signature, or with an id that is not a valid header value.
func TestSend_rejectsInvalidMessages(t *testing.T) {
	t.Parallel()
	listener := listen(t, "127.0.0.1:0")
	forbidDials(t, listener)
	s := newSender(t, sender.Config{})
	for name, change := range map[string]func(*sender.Message){
		"no secret": func(m *sender.Message) { m.Secrets = nil },
		"no id":     func(m *sender.Message) { m.ID = "" },
		"bad id":    func(m *sender.Message) { m.ID = "a\r\nb: c" },
	} {
		m := message("http://" + listener.Addr().String())
		change(&m)
		if attempt := s.Send(t.Context(), m); attempt.Failure != sender.FailureInvalid || attempt.Delivered() {
			t.Errorf("%s: %+v", name, attempt)
		}
	}
}

// Only 2xx is a success. A redirect is a failed attempt, and its target gets no request.
func TestSend_followsNoRedirects(t *testing.T) {
	t.Parallel()
	inside := listen(t, "127.0.0.1:0")
	forbidDials(t, inside)
	statuses := []int{200, 201, 204, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503, 599, 999}
	var faults []faultserver.Fault
	for _, status := range statuses {
		faults = append(faults, faultserver.Respond(status, http.Header{"Location": {"http://" + inside.Addr().String() + "/"}}, ""))
	}
	s, server := newSender(t, sender.Config{}), faultserver.New(t, faults...)
	for _, status := range statuses {
		attempt := s.Send(t.Context(), message(server.URL()))
		want := map[bool]sender.Failure{true: "", false: sender.FailureStatus}[status < 300]
		if attempt.Status != status || attempt.Delivered() != (status < 300) || attempt.Failure != want {
			t.Errorf("%d: %+v", status, attempt)
		}
	}
}

// The proxy of the environment is not used. The receiver has a host name, because net/http never uses a proxy
// for loopback addresses.
func TestSend_ignoresTheProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	u, err := http.ProxyFromEnvironment(httptest.NewRequest(http.MethodPost, "http://hook.test/", nil))
	if err != nil || u == nil {
		t.Fatalf("the environment has no proxy: %v, %v", u, err)
	}
	secure, roots := serveTLS(t, nil)
	for _, url := range []string{faultserver.New(t).URL(), secure.URL} {
		s := newSender(t, sender.Config{Resolver: resolver(t, always("example.com", "127.0.0.1")), RootCAs: roots})
		if attempt := s.Send(t.Context(), message(strings.Replace(url, "127.0.0.1", "example.com", 1))); !attempt.Delivered() {
			t.Errorf("%s: %+v", url, attempt)
		}
	}
}

// Responses are read up to 4 KiB. The connection is reused for shorter bodies and closed for longer ones.
func TestSend_reusesConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ size, excerpt, dialed int }{{0, 0, 1}, {100, 100, 1}, {4 << 10, 4 << 10, 1}, {4<<10 + 1, 4 << 10, 3}} {
		server := faultserver.New(t, faultserver.Respond(http.StatusOK, nil, strings.Repeat("x", tt.size)))
		s := newSender(t, sender.Config{})
		for range 3 {
			attempt := s.Send(t.Context(), message(server.URL()))
			if !attempt.Delivered() || len(attempt.Excerpt) != tt.excerpt || attempt.Address != server.Address() {
				t.Errorf("%d bytes: %+v", tt.size, attempt)
			}
		}
		if got := server.Connections(); got != tt.dialed {
			t.Errorf("%d bytes: %d connections, want %d", tt.size, got, tt.dialed)
		}
	}
}

// A request that was sent on a reused connection is never resent, even if the connection ends without a
// response.
func TestSend_neverResendsARequest(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Status(200), faultserver.Cut(""))
	s := newSender(t, sender.Config{})
	first, second := s.Send(t.Context(), message(server.URL())), s.Send(t.Context(), message(server.URL()))
	if !first.Delivered() || second.Failure != sender.FailureReset || server.Count() != 2 {
		t.Errorf("%d requests, %+v, %+v", server.Count(), first, second)
	}
}

// The caller can end an attempt by its context, canceled or with its own deadline.
func TestSend_endsWithTheContext(t *testing.T) {
	t.Parallel()
	server := faultserver.New(t, faultserver.Hang())
	m := message(server.URL())
	s := newSender(t, sender.Config{})

	ctx, cancel := context.WithCancel(t.Context())
	go func() { harness.Poll(ctx, time.Minute, func() bool { return server.Count() == 1 }); cancel() }()
	if attempt := s.Send(ctx, m); attempt.Failure != sender.FailureCanceled || attempt.Address == "" {
		t.Errorf("under way: %+v", attempt)
	}
	if attempt := s.Send(ctx, m); attempt.Failure != sender.FailureCanceled || attempt.Address != "" {
		t.Errorf("before: %+v", attempt)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if attempt := s.Send(ctx, m); attempt.Failure != sender.FailureCanceled {
		t.Errorf("caller's deadline: %+v", attempt)
	}
}

func TestNew_rejectsInvalidConfigs(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sender.Config{
		"timeout":        {Timeout: -1},
		"connect":        {ConnectTimeout: -1},
		"tls":            {TLSTimeout: -1},
		"empty network":  {AllowNetworks: []netip.Prefix{{}}},
		"mapped network": {AllowNetworks: []netip.Prefix{netip.MustParsePrefix("::ffff:127.0.0.0/104")}},
	} {
		if _, err := sender.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRetryAfter_parsesSecondsAndDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "86400": 24 * time.Hour, "86401": 24 * time.Hour,
		"1000000000": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour,
		"-5": 0, "+5": 0, "1.5": 0, "soon": 0, "0x10": 0, "5, 6": 0,
		"Sun, 01 Mar 2026 12:01:30 GMT":  90 * time.Second,
		"Sunday, 01-Mar-26 12:01:30 GMT": 90 * time.Second,
		"Sun Mar  1 12:01:30 2026":       90 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT":  0,
		"Thu, 01 Jan 1970 00:00:00 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  24 * time.Hour,
	} {
		if got := sender.RetryAfter(value, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}

// The connections of a burst to one host stay open for the next burst.
func TestSend_keepsTheConnectionsOfABurst(t *testing.T) {
	t.Parallel()
	const burst = 256
	var arrived sync.WaitGroup // all requests of a burst are in flight at once
	server := faultserver.New(t, faultserver.Func(func(http.ResponseWriter, *http.Request) {
		arrived.Done()
		arrived.Wait()
	}))
	s := newSender(t, sender.Config{})
	for range 2 {
		var sending sync.WaitGroup
		arrived.Add(burst)
		for range burst {
			sending.Go(func() { s.Send(t.Context(), message(server.URL())) })
		}
		sending.Wait()
	}
	if n := server.Connections(); n != burst {
		t.Errorf("two bursts of %d requests open %d connections", burst, n)
	}
}
