package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

var check = harness.Check

func try[T any](result T, err error) func(t testing.TB) T { return harness.Try(result, err) }

// service implements the operations that the tests call with its functions. All others are unimplemented.
type service struct {
	server.Unimplemented
	login     func(ctx context.Context, request gen.LoginRequestObject) (gen.LoginResponseObject, error)
	getAvatar func(ctx context.Context, id string) (gen.GetAvatarResponseObject, error)
}

func (s service) Login(ctx context.Context, request gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	return s.login(ctx, request)
}

func (s service) GetAvatar(ctx context.Context, request gen.GetAvatarRequestObject) (gen.GetAvatarResponseObject, error) {
	return s.getAvatar(ctx, request.Params.AvatarID)
}

// tokens is an Authenticator that accepts a few tokens.
var tokens = server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
	if token != "good" {
		return server.Principal{}, errors.New("no such token: " + token)
	}
	return server.Principal{UserID: "ada"}, nil
})

// setup returns a handler that serves implementation, and its log.
func setup(t *testing.T, implementation gen.StrictServerInterface, change ...func(*server.Config)) (http.Handler, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cfg := server.Config{
		Authenticator: tokens, Logger: slog.New(slog.NewJSONHandler(&log, nil)), ValidateResponses: true,
	}
	for _, f := range change {
		f(&cfg)
	}
	handler := try(server.New(implementation, cfg))(t)
	return handler, &log
}

func do(handler http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}

// problem checks that the response is a problem document with the given status and returns it.
func problem(t *testing.T, response *httptest.ResponseRecorder, status int) gen.Problem {
	t.Helper()
	var p gen.Problem
	if err := json.Unmarshal(response.Body.Bytes(), &p); err != nil {
		t.Fatalf("status %d with no problem document: %q", response.Code, response.Body)
	}
	if response.Code != status || int(p.Status) != status {
		t.Errorf("status is %d and in the document %d, want %d", response.Code, p.Status, status)
	}
	if got := response.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q", got)
	}
	if p.Type != "about:blank" || p.Title != http.StatusText(status) {
		t.Errorf("type %q, title %q", p.Type, p.Title)
	}
	id := response.Header().Get("X-Request-ID")
	if id == "" || p.RequestID == nil || *p.RequestID != id || *p.Instance != "urn:request:"+id {
		t.Errorf("request id %q is not in the document", id)
	}
	return p
}

const details = "/v1/avatars/avatar_details?avatar_id=a-1"

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// Each request is one line of the log, without its path and its query.
func TestHandler_respondsWithAProblemToInvalidRequests(t *testing.T) {
	t.Parallel()
	handler, log := setup(t, server.Unimplemented{}, func(cfg *server.Config) { cfg.Validation.MaxBodyBytes = 100 })
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string // the methods that the path has, or the places of violations
	}{
		{"GET", "/", "", 404, ""},
		{"GET", "/nowhere?password=hunter2", "", 404, ""},
		{"GET", "//users/login", "", 404, ""},
		{"GET", "/users/./login", "", 404, ""},
		{"GET", "/users/login", "", 405, "POST"},
		{"BREW", "/projects/v2", "", 405, "GET, HEAD"},
		{"POST", "/users/login", `{"email":7}`, 400, "/email /password"},
		{"POST", "/users/login", `{"email":"` + strings.Repeat("a", 100) + `"}`, 413, ""},
		{"GET", "/v1/avatars/avatar_details", "", 400, "query:avatar_id"},
		{"GET", "/projects/v2", "", 400, "header:x-workspace-id"},
	} {
		log.Reset()
		response := do(handler, test.method, test.target, test.body, bearer("good")...)
		p, got := problem(t, response, test.status), response.Header().Get("Allow")
		if p.Errors != nil {
			for _, violation := range *p.Errors {
				got += " " + violation.Pointer
			}
		}
		if strings.TrimSpace(got) != test.want {
			t.Errorf("%s %s: got %q, want %q", test.method, test.target, got, test.want)
		}
		if strings.Contains(*p.Detail, "nowhere") || strings.Contains(response.Body.String(), "hunter2") {
			t.Errorf("the answer shows the path: %s", response.Body)
		}
		if line := log.String(); strings.Count(line, "\n") != 1 || strings.Contains(line, "nowhere") || strings.Contains(line, "hunter2") {
			t.Errorf("%s %s is logged as %s", test.method, test.target, line)
		}
	}
	problem(t, do(handler, "POST", "/users/login", `{}`, "Content-Type", "text/plain"), 415)
}

func TestHandler_logsCausesAndDoesNotSendThem(t *testing.T) {
	t.Parallel()
	var failure error
	handler, log := setup(t, service{login: func(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
		if failure == http.ErrNoLocation { // errors.Is would call the methods of a nil pointer
			panic("disk on fire")
		}
		return nil, failure
	}})
	for _, test := range []struct {
		err    error // or a panic
		logged string
	}{
		{errors.New("disk on fire"), "disk on fire"},
		{&server.Error{Status: http.StatusInternalServerError, Err: errors.New("disk on fire")}, "disk on fire"},
		{http.ErrNoLocation, `"msg":"panic"`},
		{nil, "neither a response nor an error"},
		{(*server.Error)(nil), "request failed\",\"request_id\":\"r-1\",\"err\":\"the error is a nil *server.Error"},
		{errors.Join(io.EOF, &net.OpError{Err: (*validate.Error)(nil)}), "the error is a nil *validate.Error"},
	} {
		failure = test.err
		log.Reset()
		response := do(handler, "POST", "/users/login", `{"email":"a","password":"hunter2"}`, "X-Request-Id", "r-1")
		problem(t, response, 500)
		if strings.Contains(response.Body.String(), "fire") {
			t.Errorf("the answer shows the cause: %s", response.Body)
		}
		if !strings.Contains(log.String(), test.logged) || !strings.Contains(log.String(), `"request_id":"r-1"`) || strings.Contains(log.String(), "hunter2") {
			t.Errorf("the log does not show the cause, or what was sent: %s", log)
		}
	}
}

func TestHandler_keepsAValidRequestID(t *testing.T) {
	t.Parallel()
	handler, _ := setup(t, server.Unimplemented{})
	for given, kept := range map[string]bool{
		"": false, "r-1": true, "A_b.9": true, "1-67891233-abcdef012345678912345678": true, "Zm9v+/~:@==": true,
		"a b": false, "a\tb": false, "é": false, `a"b`: false, "a%b": false, "a;b": false,
		strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
	} {
		got := do(handler, "GET", "/", "", "X-Request-Id", given).Header().Get("X-Request-ID")
		if got == "" || (got == given) != kept {
			t.Errorf("%q is answered %q, want it kept: %v", given, got, kept)
		}
		status := map[bool]int{true: http.StatusNotImplemented, false: http.StatusBadRequest}[kept] // as the document says
		p := problem(t, do(handler, "GET", details, "", append(bearer("good"), "X-Request-Id", given)...), status)
		if !kept && (*p.Errors)[0].Pointer != "header:X-Request-Id" {
			t.Errorf("%q is refused for %v", given, *p.Errors)
		}
	}
}

// truncated is a response that fails before or after it has begun.
type truncated struct{ begin bool }

func (h truncated) VisitLoginResponse(w http.ResponseWriter) error {
	if h.begin {
		w.WriteHeader(http.StatusOK)
		if _, err := io.WriteString(w, strings.Repeat("a", 1<<20)); err != nil {
			return err
		}
	}
	return errors.New("disk on fire")
}

func TestHandler_abortsATruncatedResponse(t *testing.T) {
	t.Parallel()
	for _, begin := range []bool{true, false} {
		handler, log := setup(t, service{login: func(context.Context, gen.LoginRequestObject) (gen.LoginResponseObject, error) {
			return truncated{begin}, nil
		}}, func(cfg *server.Config) { cfg.ValidateResponses = false })
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		response, err := server.Client().Post(server.URL+"/users/login", "application/json", strings.NewReader(`{"email":"a","password":"b"}`))
		check(t, err)
		_, err = io.ReadAll(response.Body)
		if closed := response.Body.Close(); closed != nil {
			t.Error(closed)
		}
		if begin != (err != nil) || begin == (response.StatusCode == http.StatusInternalServerError) {
			t.Errorf("begun %v: status %d, read until %v", begin, response.StatusCode, err)
		}
		server.Close()
		if !strings.Contains(log.String(), "disk on fire") || strings.Contains(log.String(), "panic") {
			t.Errorf("begun %v: the log is %s", begin, log)
		}
	}
}

// The document describes the responses that net/http sends by itself. All other responses have a request id,
// and all other errors are problem documents.
func TestHandler_documentsResponsesOfNetHTTP(t *testing.T) {
	t.Parallel()
	handler, _ := setup(t, server.Unimplemented{})
	web := httptest.NewUnstartedServer(handler)
	web.Config.DisableGeneralOptionsHandler = true
	web.Start()
	t.Cleanup(web.Close)
	for _, test := range []struct {
		name, request string
		status        int
		below         bool
	}{
		{"a bad escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, true},
		{"a bad header", "GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n", 400, true},
		{"an unknown expectation", "POST /users/login HTTP/1.1\r\nHost: a\r\nExpect: magic\r\nContent-Length: 2\r\n\r\n{}", 417, true},
		{"large headers", "GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", 431, true},
		{"an unknown encoding", "POST /users/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, true},
		{"another version", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, true},
		{"U+0000 in a path", "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n", 404, false},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 404, false},
		{"CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 404, false},
		{"HEAD of a POST", "HEAD /users/login HTTP/1.1\r\nHost: a\r\n\r\n", 405, false},
		{"a bad escape in a query", "GET /projects/v2?a=%zz HTTP/1.1\r\nHost: a\r\n\r\n", 401, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := try(net.Dial("tcp", web.Listener.Addr().String()))(t)
			defer func() { _ = conn.Close() }()
			check(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			go func() { _, _ = io.WriteString(conn, test.request) }() // the server does not always read the whole request
			method, _, _ := strings.Cut(test.request, " ")
			response := try(http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method}))(t)
			id, media := response.Header.Get("X-Request-Id"), response.Header.Get("Content-Type")
			if response.StatusCode != test.status || (id == "") != test.below || (media != "application/problem+json") != test.below {
				t.Errorf("status %d, request id %q, content type %q", response.StatusCode, id, media)
			}
			_ = response.Body.Close()
		})
	}
}
