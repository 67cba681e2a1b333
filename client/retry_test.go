package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// repeated has the operations of different kinds: a read, creations with a key of the caller, of the client and of
// nobody, a login, a renewal and a write without a body.
var repeated = []func(context.Context, *client.Client, client.CallOption) error{
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.GetAvatar(ctx, avatarID, o))
	},
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.CreateAvatar(ctx, gen.CreateAvatarRequest{}, o, client.WithIdempotencyKey("k")))
	},
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.CreateLipsync(ctx, gen.CreateLipsyncRequest{}, o))
	},
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.SubmitConsent(ctx, gen.ConsentRequest{}, o))
	},
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.Login(ctx, gen.LoginRequest{}, o))
	},
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.RefreshTokens(ctx, gen.RefreshRequest{}, o))
	},
	func(ctx context.Context, c *client.Client, o client.CallOption) error {
		return errorOf(c.RotateWebhookSecret(ctx, o))
	},
}

func TestRetry_followsRetryRules(t *testing.T) {
	t.Parallel()
	var (
		// The number of requests that a service sees if every attempt fails in the same way and three are allowed.
		always   = [7]int{3, 3, 3, 3, 3, 3, 3}
		harmless = [7]int{3, 3, 3, 1, 3, 1, 1}
		never    = [7]int{1, 1, 1, 1, 1, 1, 1}
		// Whether the error is ErrOutcomeUnknown.
		certain   = [7]bool{}
		uncertain = [7]bool{1: true, 2: true, 3: true, 6: true}
	)
	for name, test := range map[string]struct {
		start   func(*testing.T) faulty
		seen    [7]int
		unknown [7]bool
	}{
		"refused":                         {dialled("http", (*httptest.Server).Close), always, certain},
		"dropped in the TLS handshake":    {dialled("https", startClosing), always, certain},
		"with an untrusted certificate":   {dialled("https", (*httptest.Server).StartTLS), never, certain},
		"dropped after reading":           {dropping((*httptest.Server).Start), harmless, uncertain},
		"dropped over HTTP/2":             {dropping(startHTTP2), harmless, uncertain},
		"dropped in the body":             {answering(200, "Content-Length", "100"), harmless, uncertain},
		"200 in HTML":                     {answering(200, "Content-Type", "text/html"), never, uncertain},
		"200 of another type":             {answering(200), never, uncertain},
		"307":                             {answering(307, "Location", "/"), never, certain},
		"400":                             {answering(400), never, certain},
		"401":                             {answering(401), never, certain},
		"409":                             {answering(409, "Retry-After", "0"), never, certain},
		"408":                             {answering(408), harmless, uncertain},
		"429":                             {answering(429), harmless, certain},
		"429 with Retry-After":            {answering(429, "Retry-After", "0"), always, certain},
		"429 with too long a Retry-After": {answering(429, "Retry-After", "11"), never, certain},
		"500":                             {answering(500), harmless, uncertain},
		"500 with Retry-After":            {answering(500, "Retry-After", "0"), harmless, uncertain},
		"501":                             {answering(501), never, certain},
		"503":                             {answering(503), harmless, uncertain},
		"503 with Retry-After":            {answering(503, "Retry-After", "0"), always, certain},
		"503 with too long a Retry-After": {answering(503, "Retry-After", "11"), never, certain},
		"503 with a strange Retry-After":  {answering(503, "Retry-After", "soon"), harmless, uncertain},
	} {
		service := test.start(t)
		t.Cleanup((&http.Client{Transport: service.transport}).CloseIdleConnections)
		c := newClient(t, static, func(c *client.Config) {
			c.BaseURL, c.Transport = service.url, service.transport
			c.Retry = client.Retry{Attempts: 3, BaseDelay: 1}
		})
		for i, call := range repeated {
			service.seen.Store(0)
			var response client.Response
			err := call(t.Context(), c, client.WithResponse(&response))
			if got := int(service.seen.Load()); err == nil || got != test.seen[i] {
				t.Errorf("%s: %d is seen %d times, want %d: %v", name, i, got, test.seen[i], err)
			}
			if errors.Is(err, client.ErrOutcomeUnknown) != test.unknown[i] {
				t.Errorf("%s: %d is unknown: %t, error %v", name, i, !test.unknown[i], err)
			}
			answer, answered := errors.AsType[*client.Error](err)
			if answered && (answer.Attempts != test.seen[i] || response.StatusCode != answer.StatusCode) || response.Attempts != test.seen[i] {
				t.Errorf("%s: %d has the response %+v and the error %+v", name, i, response, answer)
			}
		}
	}
}

// A kept-alive connection breaks during a request. net/http would resend the request by itself; the client
// must count the attempt instead.
func TestRetry_netHTTPDoesNotResend(t *testing.T) {
	t.Parallel()
	for i, call := range repeated[:2] { // a read and a creation with a key
		for _, attempts := range []int{1, 3} {
			s := newService()
			var seen atomic.Int64
			s.before = func(http.ResponseWriter, *http.Request) bool {
				if seen.Add(1) > 1 {
					panic(http.ErrAbortHandler)
				}
				return false
			}
			c := s.start(t, static, func(c *client.Config) { c.Retry = client.Retry{Attempts: attempts, BaseDelay: 1} })
			check(t, call(t.Context(), c, client.WithTimeout(time.Minute)))
			if err := call(t.Context(), c, client.WithTimeout(time.Minute)); err == nil || int(seen.Load())-1 != attempts {
				t.Errorf("%d is seen %d times, want %d: %v", i, seen.Load()-1, attempts, err)
			}
		}
	}
}

// A small creation is one write, so that it takes one packet.
func TestSending_writesACreationOnce(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return writeCounter{conn, &writes}, err
	}}
	defer transport.CloseIdleConnections()
	c := newService().start(t, static, func(c *client.Config) { c.Transport = transport })
	try(c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{Title: gen.Value("Ada")}))(t)
	if got := writes.Load(); got != 1 {
		t.Errorf("%d writes", got)
	}
}

type writeCounter struct {
	net.Conn
	writes *atomic.Int64
}

func (c writeCounter) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// A request without a body has no body on the wire, in both versions of HTTP.
func TestRetry_requestsWithoutABodyHaveNone(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		s := newService()
		var length int64
		var major int
		var encoding []string
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			length, encoding, major = r.ContentLength, r.TransferEncoding, r.ProtoMajor
			return false
		}
		server := httptest.NewUnstartedServer(s)
		server.EnableHTTP2 = version == 2
		server.StartTLS()
		t.Cleanup(server.Close)
		c := newClient(t, static, func(c *client.Config) { c.BaseURL, c.Transport = server.URL, server.Client().Transport })
		mustGet(t, c)
		if major != version || length > 0 || version == 1 && length != 0 || len(encoding) > 0 {
			t.Errorf("HTTP/%d: length %d, encoding %q", major, length, encoding)
		}
	}
}
