package client_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/clienttest"
	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	email     = "ada@example.com"
	password  = "correct horse battery staple"
	workspace = "01936f3e-7c00-7a3b-8c44-2f6f1f0a9d10"
	avatarID  = "01936f3e-8a10-7d51-9a3e-0c5b7e1d2f30"
	videoID   = "01936f3e-9b20-7e62-8b4f-1d6c8f2e3a41"
)

// service responds as a test wants it, and otherwise with what the service sends; clienttest has its rules. It is an
// http.Handler, and an http.RoundTripper for tests with a synthetic clock.
type service struct {
	// before may respond to a request itself. It then returns true.
	before func(w http.ResponseWriter, r *http.Request) bool
	// token returns the access token of the nth pair. Defaults to an opaque token.
	token func(n int) string

	mu       sync.Mutex
	seen     []seen
	accepted map[string]bool
	pairs    int
}

type seen struct {
	operation string
	header    http.Header
	body      string
}

func newService() *service {
	return &service{
		accepted: map[string]bool{"static-1": true},
		token:    func(n int) string { return fmt.Sprint("access-", n) },
	}
}

// startService starts a service for the examples.
func startService() (baseURL string, stop func()) {
	server := httptest.NewServer(newService())
	return server.URL, server.Close
}

// start serves s on a loopback address and returns a client of it.
func (s *service) start(t *testing.T, change ...func(*client.Config)) *client.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return newClient(t, append([]func(*client.Config){func(c *client.Config) {
		c.BaseURL, c.Transport = server.URL, server.Client().Transport
	}}, change...)...)
}

// direct returns a client that calls s without a network.
func (s *service) direct(t *testing.T, change ...func(*client.Config)) *client.Client {
	t.Helper()
	return newClient(t, append([]func(*client.Config){func(c *client.Config) {
		c.Transport = s
	}}, change...)...)
}

func newClient(t *testing.T, change ...func(*client.Config)) *client.Client {
	t.Helper()
	config := client.Config{BaseURL: "http://localhost", Email: email, Password: password, Workspace: workspace}
	for _, f := range change {
		f(&config)
	}
	return try(client.New(config))(t)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.seen = append(s.seen, seen{r.Method + " " + r.URL.Path, r.Header.Clone(), string(body)})
	accepted := s.accepted[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	switch {
	case s.before != nil && s.before(w, r):
	case !accepted && !strings.HasPrefix(r.URL.Path, "/users/") && !strings.HasPrefix(r.URL.Path, "/media/"):
		problem(w, http.StatusUnauthorized, "A valid access token is required.")
	default:
		s.answer(w, r)
	}
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := httptest.NewRecorder()
	if s.breaksOff(w, r.Clone(r.Context())) {
		w.Result().Body = io.NopCloser(io.MultiReader(w.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return w.Result(), nil
}

// of configures a client of a service of clienttest.
func of(s *clienttest.Service) func(*client.Config) {
	return func(c *client.Config) { c.BaseURL, c.Workspace, c.Transport = s.URL, s.Workspace, s.Transport() }
}

// static configures a client with a fixed token, which does not log in.
func static(c *client.Config) { c.Email, c.Password, c.Token = "", "", "static-1" }

// once configures a client without retries.
func once(c *client.Config) { c.Retry.Attempts = 1 }

func respond(status int, header http.Header, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// breaksOff reports whether the handler of a request ends its connection after what it wrote.
func (s *service) breaksOff(w http.ResponseWriter, r *http.Request) (broken bool) {
	defer func() { broken = recover() != nil }()
	s.ServeHTTP(w, r)
	return false
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// revoke makes the service reject all tokens that it has issued.
func (s *service) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.accepted)
}

func (s *service) count(operation string) int { return len(s.requests(operation)) }

func (s *service) requests(operation string) []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []seen
	for _, request := range s.seen {
		if request.operation == operation {
			found = append(found, request)
		}
	}
	return found
}

func (s *service) pair() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pairs++
	access := s.token(s.pairs)
	s.accepted[access] = true
	return fmt.Sprintf(`{"access_token":%q,"refresh_token":"refresh-%d"}`, access, s.pairs)
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Request-Id", "r-1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(gen.Problem{Type: "about:blank", Title: http.StatusText(status), Status: int32(status), Detail: &detail})
}

// failing responds to every request to an operation with a problem document.
func failing(operation string, status int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method+" "+r.URL.Path != operation {
			return false
		}
		problem(w, status, "As the test wants it.")
		return true
	}
}

// answerJSON writes a response of the service.
func answerJSON(w http.ResponseWriter, status int, body string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	return true
}

// jwt returns a token with an expiry. Nobody verifies its signature.
func jwt(n int, expires time.Time) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"jti":"%d","exp":%d}`, n, expires.Unix())
	return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + ".c2ln"
}

var moment = time.Date(2026, 1, 12, 9, 30, 0, 0, time.UTC)

// responses are those to operations; see [service.answer] for the others.
var responses = map[string]string{
	"GET /projects/v2":                `{"data":[{"title":"Welcome to the team","project_type":"PERSONALIZED"}],"size":1,"unpublished_projects":0}`,
	create:                            `{"avatar_id":"` + avatarID + `","status":"processing"}`,
	details:                           `{"avatar_id":"` + avatarID + `","status":"published"}`,
	"POST /v1/lipsync/create_lipsync": `{"inference_id":"` + videoID + `","status":"processing"}`,
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	operation := r.Method + " " + r.URL.Path
	answer := responses[operation]
	switch operation {
	case login, refresh:
		var request gen.LoginRequest
		if _ = json.NewDecoder(r.Body).Decode(&request); operation == login && (request.Email != email || request.Password != password) {
			problem(w, http.StatusUnauthorized, "The email or the password is wrong.")
			return
		}
		answer = s.pair()
	case "GET /v1/lipsync/inference_details":
		answer = fmt.Sprintf(`{"inference_id":%q,"status":"succeeded","progress":100,"video_url":"http://%s/media/out.mp4"}`, videoID, r.Host)
	case "GET /media/out.mp4":
		_, _ = io.WriteString(w, "a video")
		return
	}
	answerJSON(w, http.StatusOK, answer)
}
