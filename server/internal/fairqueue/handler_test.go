package fairqueue_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/fairqueue"
)

// studio is an API whose handler blocks the creations of the user heavy until the test releases them.
type studio struct {
	server.Unimplemented

	began    chan struct{}
	released chan struct{}
	at, most atomic.Int64 // creations of heavy in progress
}

func (s *studio) CreateAvatar(ctx context.Context, _ gen.CreateAvatarRequestObject) (gen.CreateAvatarResponseObject, error) {
	caller, _ := server.PrincipalFrom(ctx)
	if caller.UserID == "heavy" {
		s.most.Store(max(s.most.Load(), s.at.Add(1)))
		defer s.at.Add(-1)
		select {
		case s.began <- struct{}{}:
		default:
		}
		<-s.released
	}
	avatar := gen.NewAvatar("a", gen.AvatarStatusProcessing)
	if caller.UserID == "slow" {
		avatar.Title = new(strings.Repeat("a", 16<<20)) // more than a connection buffers
	}
	return gen.CreateAvatar200JSONResponse(avatar), nil
}

// startServer serves a studio whose users are identified by their tokens.
func startServer(t *testing.T, wait time.Duration) (s *studio, url string) {
	t.Helper()
	s = &studio{began: make(chan struct{}, 1), released: make(chan struct{})}
	handler, err := server.New(s, server.Config{
		Authenticator: server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
			return server.Principal{UserID: token}, nil
		}),
		Admit:      fairqueue.New(fairqueue.Config{Bytes: 8 << 20, Wait: wait}).Admit,
		Middleware: []gen.StrictMiddlewareFunc{fairqueue.New(fairqueue.Config{Wait: wait}).Middleware},
	})
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(handler)
	t.Cleanup(served.Close)
	return s, served.URL
}

// create creates an avatar with a body and returns the response, whose body it does not read.
func create(t *testing.T, url, user string, body io.Reader) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/avatars/create_avatar", body)
	if err != nil {
		t.Error(err)
		return new(http.Response)
	}
	request.Header.Set("Authorization", "Bearer "+user)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Error(err)
		return new(http.Response)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func titled(length int) io.Reader {
	return strings.NewReader(`{"title":"` + strings.Repeat("a", length) + `"}`)
}

// Large creations of one user are handled one after the other, with and without Content-Length. Those of
// other users are not delayed.
func TestQueue_oneUserDelaysNoOther(t *testing.T) {
	t.Parallel()
	s, url := startServer(t, time.Minute)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			body := titled(800_000)
			if i%2 == 0 {
				body = io.MultiReader(body) // removes Content-Length
			}
			if response := create(t, url, "heavy", body); response.StatusCode != http.StatusOK {
				t.Errorf("a large creation is answered %d", response.StatusCode)
			}
		})
	}
	<-s.began
	for _, length := range []int{1, 800_000} {
		if response := create(t, url, "ada", titled(length)); response.StatusCode != http.StatusOK {
			t.Errorf("another user is answered %d", response.StatusCode)
		}
	}
	close(s.released)
	all.Wait()
	if most := s.most.Load(); most != 1 {
		t.Errorf("%d large creations of one user are worked on at once", most)
	}
}

// A body that does not arrive delays no other request.
func TestQueue_slowSendersDelayNoOther(t *testing.T) {
	t.Parallel()
	s, url := startServer(t, time.Minute)
	close(s.released)
	body, sender := io.Pipe()
	var slow sync.WaitGroup
	slow.Go(func() { create(t, url, "ada", body) })
	if _, err := sender.Write([]byte(`{"title":"`)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if response := create(t, url, "ada", titled(800_000)); response.StatusCode != http.StatusOK {
			t.Errorf("beside a slow sender, a creation is answered %d", response.StatusCode)
		}
	}
	if _, err := sender.Write([]byte(`Ada"}`)); err != nil {
		t.Error(err)
	}
	if err := sender.Close(); err != nil {
		t.Error(err)
	}
	slow.Wait()
}

// A response that is not read delays no other request of the user.
func TestQueue_slowReadersDelayNoOther(t *testing.T) {
	t.Parallel()
	_, url := startServer(t, time.Minute)
	for range 6 { // more than may be read at once
		if response := create(t, url, "slow", titled(800_000)); response.StatusCode != http.StatusOK {
			t.Errorf("beside slow readers, a creation is answered %d", response.StatusCode)
		}
	}
}

// A creation that waits too long is answered with 503 and Retry-After.
func TestQueue_respondsWith503AfterATimeout(t *testing.T) {
	t.Parallel()
	s, url := startServer(t, time.Nanosecond)
	var first sync.WaitGroup
	first.Go(func() { create(t, url, "heavy", titled(800_000)) })
	<-s.began
	response := create(t, url, "heavy", titled(800_000))
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "5" {
		t.Errorf("the answer is %d with Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
	}
	close(s.released)
	first.Wait()
}
