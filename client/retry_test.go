package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

// seenBy has, for each kind of operation, the number of requests a service sees if every attempt fails in
// the same way and three attempts are allowed.
type seenBy struct{ read, named, create, keyless, login, refresh int }

func TestRetry_followsRetryRules(t *testing.T) {
	t.Parallel()
	const prob = "application/problem+json"
	status := func(status int, header ...string) func(*testing.T) faulty {
		return answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", prob)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		})
	}
	var (
		always    = seenBy{3, 3, 3, 3, 3, 3}
		harmless  = seenBy{3, 3, 3, 1, 3, 1}
		careful   = seenBy{3, 3, 3, 1, 1, 1}
		never     = seenBy{1, 1, 1, 1, 1, 1}
		certain   = seenBy{}
		uncertain = seenBy{create: 1, keyless: 1}
		lost      = seenBy{create: 1, keyless: 1, named: 1}
	)
	for name, test := range map[string]struct {
		start   func(*testing.T) faulty
		seen    seenBy
		unknown seenBy // if not zero, the error is ErrOutcomeUnknown
	}{
		"refused":                      {dialled("http", true, asItIs), always, certain},
		"dropped in the TLS handshake": {dialled("https", false, asItIs), always, certain},
		"dropped before reading":       {dialled("http", false, newTalker), harmless, lost},
		"dropped after reading":        {answering(drop), harmless, lost},
		"dropped over HTTP/2":          {answeringOver(startHTTP2, drop), harmless, lost},
		"dropped in the body":          {answering(dropInBody), harmless, lost},
		"200 in HTML": {answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>")
		}), never, lost},
		"200 of another type": {answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `[]`)
		}), never, lost},
		"307":                             {status(307, "Location", "/"), never, certain},
		"400":                             {status(400), never, certain},
		"401":                             {status(401), never, certain},
		"404":                             {status(404), never, certain},
		"409":                             {status(409, "Retry-After", "0"), never, certain},
		"408":                             {status(408), harmless, uncertain},
		"429":                             {status(429), careful, certain},
		"429 with Retry-After":            {status(429, "Retry-After", "0"), always, certain},
		"429 with too long a Retry-After": {status(429, "Retry-After", "11"), never, certain},
		"500":                             {status(500), harmless, uncertain},
		"500 with Retry-After":            {status(500, "Retry-After", "0"), harmless, uncertain},
		"501":                             {status(501), never, certain},
		"502":                             {status(502), harmless, uncertain},
		"503":                             {status(503), harmless, uncertain},
		"503 with Retry-After":            {status(503, "Retry-After", "0"), always, certain},
		"503 with too long a Retry-After": {status(503, "Retry-After", "11"), never, certain},
		"503 with a strange Retry-After":  {status(503, "Retry-After", "soon"), harmless, uncertain},
	} {
		for _, operation := range []struct {
			name    string
			call    func(context.Context, *client.Client, ...client.CallOption) error
			seen    int
			unknown bool
		}{
			{"read", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.GetAvatar(ctx, avatarID, o...))
			}, test.seen.read, test.unknown.read > 0},
			{"named", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.CreateAvatar(ctx, gen.CreateAvatarRequest{}, append(o, client.WithIdempotencyKey("k"))...))
			}, test.seen.named, test.unknown.named > 0},
			{"create", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.CreateLipsync(ctx, gen.CreateLipsyncRequest{}, o...))
			}, test.seen.create, test.unknown.create > 0},
			{"create without a key", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.CreateVideo(ctx, gen.CreateVideoRequest{}, o...))
			}, test.seen.keyless, test.unknown.keyless > 0},
			{"consent", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.SubmitConsent(ctx, gen.ConsentRequest{}, o...))
			}, test.seen.keyless, test.unknown.keyless > 0},
			{"login", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.Login(ctx, gen.LoginRequest{}, o...))
			}, test.seen.login, false},
			{"refresh", func(ctx context.Context, c *client.Client, o ...client.CallOption) error {
				return errorOf(c.RefreshTokens(ctx, gen.RefreshRequest{}, o...))
			}, test.seen.refresh, false},
		} {
			t.Run(name+"/"+operation.name, func(t *testing.T) {
				t.Parallel()
				service := test.start(t)
				t.Cleanup(service.client.CloseIdleConnections)
				c := newClient(t, static, func(c *client.Config) {
					c.BaseURL, c.HTTPClient = service.url, service.client
					c.Retry = client.Retry{Attempts: 3, BaseDelay: 1}
					c.NoAutoKey = operation.name == "create without a key"
				})
				var response client.Response
				err := operation.call(t.Context(), c, client.WithResponse(&response))
				if err == nil {
					t.Fatal("no error")
				}
				if got := int(service.seen.Load()); got != operation.seen {
					t.Errorf("seen %d times, want %d: %v", got, operation.seen, err)
				}
				if errors.Is(err, client.ErrOutcomeUnknown) != operation.unknown {
					t.Errorf("unknown: %t, error %v", !operation.unknown, err)
				}
				answer, answered := errors.AsType[*client.Error](err)
				if answered && answer.Attempts != operation.seen {
					t.Errorf("%d attempts", answer.Attempts)
				}
				if operation.name != "login" && operation.name != "refresh" && (response.Attempts != operation.seen || answered && response.StatusCode != answer.StatusCode) {
					t.Errorf("response %+v", response)
				}
			})
		}
	}
}

// A kept-alive connection breaks during a request. net/http would resend the request by itself; the client
// must count the attempt instead.
func TestRetry_netHTTPDoesNotResend(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *client.Client) error{
		"read": func(ctx context.Context, c *client.Client) error { return errorOf(c.GetAvatar(ctx, avatarID)) },
		"named creation": func(ctx context.Context, c *client.Client) error {
			return errorOf(c.CreateAvatar(ctx, gen.CreateAvatarRequest{}, client.WithIdempotencyKey("k")))
		},
	} {
		for _, attempts := range []int{1, 3} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newService()
				var seen atomic.Int64
				s.before = func(http.ResponseWriter, *http.Request) bool {
					if seen.Add(1) > 1 {
						panic(http.ErrAbortHandler)
					}
					return false
				}
				c := s.start(t, static, func(c *client.Config) { c.Retry = client.Retry{Attempts: attempts, BaseDelay: 1} })
				check(t, call(t.Context(), c))
				if err := call(t.Context(), c); err == nil {
					t.Error("no error")
				}
				if got := int(seen.Load()) - 1; got != attempts {
					t.Errorf("seen %d times, want %d", got, attempts)
				}
			})
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
	c := newService().start(t, static, func(c *client.Config) { c.HTTPClient = &http.Client{Transport: transport} })
	_, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{Title: gen.Value("Ada")})
	check(t, err)
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
		c := newClient(t, static, func(c *client.Config) { c.BaseURL, c.HTTPClient = server.URL, server.Client() })
		mustGet(t, c)
		if major != version || length > 0 || version == 1 && length != 0 || len(encoding) > 0 {
			t.Errorf("HTTP/%d: length %d, encoding %q", major, length, encoding)
		}
	}
}

// A transport that gave up before it read the body cannot read it afterwards.
func TestRetry_bodyIsNotReadAfterTheAttempt(t *testing.T) {
	t.Parallel()
	var late []io.Reader
	c := newClient(t, static, func(c *client.Config) {
		c.Retry = client.Retry{Attempts: 2, BaseDelay: 1}
		c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			late = append(late, r.Body)
			return nil, io.ErrUnexpectedEOF
		})}
	})
	_, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, client.ErrOutcomeUnknown) || len(late) != 2 {
		t.Errorf("error %v", err)
	}
	for _, body := range late {
		if content, err := io.ReadAll(body); len(content) > 0 || err == nil {
			t.Errorf("read %s", content)
		}
	}
}

// If an early attempt has an unknown outcome, a certain failure of a later attempt does not change that.
func TestRetry_unknownOutcomeStaysUnknown(t *testing.T) {
	t.Parallel()
	n := 0
	s := newService()
	s.revoke()
	c := newClient(t, static, func(c *client.Config) {
		c.Retry.BaseDelay = 1
		c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				_, _ = io.ReadAll(r.Body)
				return nil, io.ErrUnexpectedEOF
			}
			return s.RoundTrip(r) // 401: the token is revoked
		})}
	})
	_, err := c.CreateAvatar(t.Context(), gen.CreateAvatarRequest{}, client.WithIdempotencyKey("k"))
	if !errors.Is(err, client.ErrOutcomeUnknown) || !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("error %v", err)
	}
}

// A cookie jar adds its cookies to each attempt once.
func TestRetry_cookiesAreSentOnce(t *testing.T) {
	t.Parallel()
	s, _ := timed("", 500, 500)
	own := &http.Client{Transport: s, Jar: jar{}}
	mustGet(t, s.direct(t, static, func(c *client.Config) { c.HTTPClient, c.Retry.BaseDelay = own, 1 }))
	for _, request := range s.requests(details) {
		if got := request.header["Cookie"]; len(got) != 1 || got[0] != "a=b" {
			t.Errorf("cookies %q", got)
		}
	}
}

type jar struct{}

func (jar) SetCookies(*url.URL, []*http.Cookie) {}
func (jar) Cookies(*url.URL) []*http.Cookie     { return []*http.Cookie{{Name: "a", Value: "b"}} }
