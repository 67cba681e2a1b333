package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/gen"
)

var classes = []error{
	client.ErrInvalid, client.ErrUnauthorized, client.ErrForbidden, client.ErrNotFound,
	client.ErrConflict, client.ErrRateLimited, client.ErrServer, client.ErrDecode, client.ErrOutcomeUnknown,
}

func TestError_describesResponse(t *testing.T) {
	t.Parallel()
	const (
		html = "text/html; charset=utf-8"
		json = "application/json"
		prob = "application/problem+json"
		at   = "client: GET /v1/avatars/avatar_details: "
	)
	for name, test := range map[string]struct {
		status      int
		contentType string
		body        string
		class       error
		text        string
	}{
		"301":          {301, "", "", nil, at + "301 Moved Permanently"},
		"303":          {303, "", "", nil, at + "303 See Other"},
		"400":          {400, prob, `{"title":"Bad Request","detail":"The request does not match the interface.","errors":[{"pointer":"/a","detail":"is required"},{"pointer":"/b","detail":"is too long"}]}`, client.ErrInvalid, at + "400 Bad Request: The request does not match the interface. [/a is required] [/b is too long]"},
		"a whole body": {400, prob, `{"errors":[{"pointer":"","detail":"must be an object"}]}`, client.ErrInvalid, at + "400 Bad Request [must be an object]"},
		"401":          {401, prob, `{"title":"Unauthorized","detail":"No."}`, client.ErrUnauthorized, at + "401 Unauthorized: No."},
		"404":          {404, html, "<p>canary</p>", client.ErrNotFound, at + "404 Not Found"},
		"409":          {409, prob, `{"detail":"two\nlines\u001b[31m","request_id":"r-2"}`, client.ErrConflict, at + "409 Conflict: two lines [31m (request r-2)"},
		"413":          {413, prob, `{`, client.ErrInvalid, at + "413 Request Entity Too Large"},
		"415":          {415, prob, `[]`, client.ErrInvalid, at + "415 Unsupported Media Type"},
		"429":          {429, "", "", client.ErrRateLimited, at + "429 Too Many Requests"},
		"501":          {501, prob, `{"detail":"Not here."}`, client.ErrServer, at + "501 Not Implemented: Not here."},
		"502":          {502, prob, `{"title":"Away"}`, client.ErrServer, at + "502 Bad Gateway: Away"},
		"503":          {503, prob, `{"detail":"` + strings.Repeat("x", 300) + `"}`, client.ErrServer, at + "503 Service Unavailable: " + strings.Repeat("x", 256)},
		"599":          {599, "", "", client.ErrServer, at + "599"},
		"101":          {101, prob, `{"detail":"not read"}`, client.ErrServer, at + "101 Switching Protocols"},
		"999":          {999, "", "", client.ErrServer, at + "999"},

		"more than 64 KiB": {500, prob, `{"detail":"canary"` + strings.Repeat(" ", 64<<10) + "}", client.ErrServer, at + "500 Internal Server Error"},

		"HTML 200":       {200, html, "<p>canary</p>", client.ErrDecode, at + "200 OK: the body is not as documented (" + html + ")"},
		"JSON as HTML":   {200, html, `{"avatar_id":"canary"}`, client.ErrDecode, at + "200 OK: the body is not as documented (" + html + ")"},
		"other type":     {200, json, `{"avatar_id":{"canary":1}}`, client.ErrDecode, at + "200 OK: the body is not as documented (" + json + ")"},
		"null":           {200, json, `null`, client.ErrDecode, at + "200 OK: the body is not as documented (" + json + ")"},
		"empty":          {200, json, ``, client.ErrDecode, at + "200 OK: the body is not as documented (" + json + ")"},
		"204":            {204, "", ``, client.ErrDecode, at + "204 No Content: the body is not as documented"},
		"over the limit": {200, json, `{"canary":"` + strings.Repeat("x", 64<<20) + `"}`, client.ErrDecode, at + "200 OK: the body is too large (" + json + ")"},
	} {
		s := newService()
		s.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header()["Content-Type"] = []string{test.contentType}
			w.Header().Set("Location", map[int]string{301: "https://elsewhere.example.com/?canary", 303: "http://[canary"}[test.status])
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
			return true
		}
		c := s.direct(t, static, once)
		var response client.Response
		_, err := c.GetAvatar(t.Context(), "canary", client.WithResponse(&response))
		answer, ok := errors.AsType[*client.Error](err)
		if !ok {
			t.Fatalf("%s: error %v", name, err)
		}
		if err.Error() != test.text {
			t.Errorf("%s: text %q\nwant %q", name, err, test.text)
		}
		for _, class := range classes {
			if errors.Is(err, class) != (class == test.class) {
				t.Errorf("%s: class %v: %t", name, class, errors.Is(err, class))
			}
		}
		if answer.StatusCode != test.status || answer.ContentType != test.contentType || answer.Attempts != 1 ||
			len(response.Body) > 64<<20 || test.status != 200 && len(response.Body) > 64<<10 {
			t.Errorf("%s: status %d, content type %q, %d attempts, %d bytes", name, answer.StatusCode, answer.ContentType, answer.Attempts, len(response.Body))
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, answer), "canary") {
			t.Errorf("%s: %#v", name, answer)
		}
		wantCount(t, s, details, 1)
	}
}

func TestError_containsRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{
			"":                     0,
			"0":                    0,
			"30":                   30 * time.Second,
			"-30":                  0,
			"soon":                 0,
			"4294967296":           4294967296 * time.Second,
			"99999999999999999999": math.MaxInt64 / time.Second * time.Second,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): 90 * time.Second,
			time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat):       0,
		} {
			s := newService()
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Retry-After", header)
				w.Header().Set("X-Request-Id", "r-9")
				w.WriteHeader(http.StatusServiceUnavailable)
				return true
			}
			answer, ok := errors.AsType[*client.Error](get(t, s.direct(t, static, once)))
			if !ok || answer.RetryAfter != want || answer.RequestID != "r-9" {
				t.Errorf("%q: %+v, want %v", header, answer, want)
			}
		}
	})
}

// Errors other than *Error describe what the client was doing.
func TestError_withoutAResponse(t *testing.T) {
	t.Parallel()
	const ended, over, canceled = 5 * time.Second, 0, time.Second // the context ends by itself, or is canceled
	broken := roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadAll(r.Body)
		return nil, io.ErrUnexpectedEOF
	})
	hangs := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	refused := roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, &url.Error{Op: "Get", URL: "http://canary@localhost/?canary", Err: syscall.ECONNREFUSED}
	})
	half := roundTripper(func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"avatar_id":"canary`), iotest.ErrReader(io.ErrUnexpectedEOF))
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Header: http.Header{"Content-Type": {"application/json"}}}, nil
	})
	html := roundTripper(func(*http.Request) (*http.Response, error) {
		return respond(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, ""), nil
	})
	busy := roundTripper(func(*http.Request) (*http.Response, error) {
		return respond(http.StatusServiceUnavailable, http.Header{"Retry-After": {"4"}}, ""), nil
	})
	neither := roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })
	bare := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNotFound}, nil
	})
	read := func(ctx context.Context, c *client.Client) error { return errorOf(c.GetAvatar(ctx, "canary")) }
	creation := func(ctx context.Context, c *client.Client) error {
		return errorOf(c.CreateAvatar(ctx, gen.CreateAvatarRequest{Title: gen.Value("canary")}))
	}
	wait := func(ctx context.Context, c *client.Client) error { return errorOf(c.WaitAvatar(ctx, "canary")) }
	const address = `"http://localhost/v1/avatars/`
	for name, test := range map[string]struct {
		transport http.RoundTripper
		change    func(*client.Config)
		ends      time.Duration
		call      func(context.Context, *client.Client) error
		is        []error
		text      string
	}{
		"read":                       {broken, static, ended, read, []error{io.ErrUnexpectedEOF}, `GET ` + address + `avatar_details": unexpected EOF`},
		"refused":                    {refused, static, ended, read, []error{syscall.ECONNREFUSED}, `GET ` + address + `avatar_details": connection refused`},
		"half a response":            {half, static, ended, read, []error{io.ErrUnexpectedEOF}, `GET ` + address + `avatar_details": unexpected EOF`},
		"neither response nor error": {neither, static, ended, read, nil, `GET ` + address + `avatar_details": the transport returned neither a response nor an error`},
		"a response without a body":  {bare, static, ended, read, []error{client.ErrNotFound}, `client: GET /v1/avatars/avatar_details: 404 Not Found`},
		"creation":                   {broken, static, ended, creation, []error{io.ErrUnexpectedEOF, client.ErrOutcomeUnknown}, `client: the outcome is unknown: POST ` + address + `create_avatar": unexpected EOF`},
		"creation, unreadable":       {html, static, ended, creation, []error{client.ErrDecode, client.ErrOutcomeUnknown}, `client: the outcome is unknown: client: POST /v1/avatars/create_avatar: 200 OK: the body is not as documented (text/html)`},
		"without a workspace":        {hangs, func(c *client.Config) { c.Workspace = "" }, ended, func(ctx context.Context, c *client.Client) error { return errorOf(c.ListProjects(ctx)) }, nil, `client: no workspace: set Config.Workspace or use WithWorkspace`},
		"canceled before":            {hangs, static, over, read, []error{context.Canceled}, `GET ` + address + `avatar_details": context canceled`},
		"canceled":                   {hangs, static, canceled, read, []error{context.Canceled}, `GET ` + address + `avatar_details": context canceled`},
		"late for a token":           {hangs, func(*client.Config) {}, ended, read, []error{context.DeadlineExceeded}, `client: waiting for a token: context deadline exceeded`},
		"canceled between":           {busy, static, canceled, creation, []error{context.Canceled, client.ErrServer}, `client: waiting to send again: context canceled: client: POST /v1/avatars/create_avatar: 503 Service Unavailable`},
		"late for the end":           {busy, static, ended, wait, []error{context.DeadlineExceeded, client.ErrServer}, `client: waiting for the end: context deadline exceeded: client: GET /v1/avatars/avatar_details: 503 Service Unavailable`},
		"late for the first event":   {hangs, static, ended, wait, []error{context.DeadlineExceeded}, `client: waiting for the end: context deadline exceeded: GET ` + address + `avatar_details": context deadline exceeded`},
		"canceled in a poll":         {busy, static, canceled, wait, []error{context.Canceled, client.ErrServer}, `client: waiting for the end: context canceled: client: waiting to send again: context canceled: client: GET /v1/avatars/avatar_details: 503 Service Unavailable`},
	} {
		inBubble(t, name, func(t *testing.T) {
			c := newClient(t, test.change, func(c *client.Config) { c.Transport = test.transport })
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), ended)
			defer cancel()
			if test.ends != ended {
				time.AfterFunc(test.ends, cancel)
			}
			synctest.Wait()
			err := test.call(ctx, c)
			if took := time.Since(start); took > 5*time.Second || errors.Is(err, context.Canceled) && took > time.Second {
				t.Errorf("it ends after %v, and not with its context", took)
			}
			time.Sleep(10 * time.Minute) // the login continues without its caller
			if err == nil || err.Error() != test.text {
				t.Fatalf("error %v\nwant  %s", err, test.text)
			}
			for _, target := range test.is {
				if !errors.Is(err, target) {
					t.Errorf("it is not %v", target)
				}
			}
			for _, class := range []error{client.ErrDecode, client.ErrOutcomeUnknown} {
				if errors.Is(err, class) != slices.Contains(test.is, class) {
					t.Errorf("%v: %t", class, errors.Is(err, class))
				}
			}
		})
	}
}
