package ratelimit

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// crowd sends creations to an API that handles each until the test releases them. Users are identified by their tokens.
type crowd struct {
	server.Unimplemented

	t        *testing.T
	bodies   *Bodies
	handler  http.Handler
	began    atomic.Int64
	released chan struct{}
	all      sync.WaitGroup
}

// beside runs a test with a crowd, in a bubble.
func beside(t *testing.T, streamed string, test func(c *crowd)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{t: t, bodies: NewBodies(streamed), released: make(chan struct{})}
		c.handler = harness.Try(server.New(c, server.Config{
			Authenticator: server.AuthenticatorFunc(func(_ context.Context, token string) (server.Principal, error) {
				return server.Principal{UserID: token}, nil
			}),
			Admit: c.bodies.Admit, Middleware: []gen.StrictMiddlewareFunc{c.bodies.Middleware},
		}))(t)
		test(c)
		c.all.Wait()
	})
}

func (c *crowd) CreateAvatar(context.Context, gen.CreateAvatarRequestObject) (gen.CreateAvatarResponseObject, error) {
	c.began.Add(1)
	<-c.released
	return gen.CreateAvatar200JSONResponse(gen.NewAvatar("a", gen.AvatarStatusProcessing)), nil
}

// create sends a creation in the background, and returns when nothing more happens.
func (c *crowd) create(ctx context.Context, w http.ResponseWriter, user string, body io.Reader) {
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/avatars/create_avatar", body)
	request.Header.Set("Authorization", "Bearer "+user)
	request.Header.Set("Content-Type", "application/json")
	c.all.Go(func() { c.handler.ServeHTTP(w, request) })
	synctest.Wait()
}

func (c *crowd) wantBegun(n int64) {
	c.t.Helper()
	if got := c.began.Load(); got != n {
		c.t.Fatalf("%d creations are in progress, want %d", got, n)
	}
}

func titled(length int) io.Reader {
	return strings.NewReader(`{"title":"` + strings.Repeat("a", length) + `"}`)
}

const large = 2 * smallBody

// countedBody counts its reads.
type countedBody struct {
	io.Reader

	reads *atomic.Int64
}

func (b countedBody) Read(p []byte) (int, error) {
	b.reads.Add(1)
	return b.Reader.Read(p)
}

// Of the large bodies of a user, one is worked on and few are read, with and without Content-Length. The others of the
// user wait, and are refused after a while. Small bodies and other users wait for nothing.
func TestBodies_boundsThoseOfAUser(t *testing.T) {
	beside(t, "", func(c *crowd) {
		all := make([]*httptest.ResponseRecorder, readPlaces+3)
		reads := make([]atomic.Int64, len(all))
		for i := range all {
			body := titled(large)
			if i%2 == 0 {
				body = countedBody{body, &reads[i]} // has no Content-Length
			}
			all[i] = httptest.NewRecorder()
			c.create(c.t.Context(), all[i], "heavy", body)
		}
		c.wantBegun(workPlaces)
		gone, leave := context.WithCancel(c.t.Context())
		c.create(gone, httptest.NewRecorder(), "heavy", titled(large))
		leave()
		c.released <- struct{}{} // makes room for another
		synctest.Wait()
		c.wantBegun(workPlaces + 1)
		c.create(c.t.Context(), httptest.NewRecorder(), "heavy", titled(1))
		c.create(c.t.Context(), httptest.NewRecorder(), "ada", titled(large))
		c.wantBegun(workPlaces + 3)
		for i := range reads {
			if read := reads[i].Load() > 0; read != (i%2 == 0 && i <= readPlaces) {
				c.t.Errorf("the body of request %d is read: %v", i, read)
			}
		}

		time.Sleep(bodyWait)
		synctest.Wait()
		close(c.released)
		c.all.Wait()
		refused := 0
		for _, response := range all {
			switch after := response.Header().Get("Retry-After"); {
			case response.Code == http.StatusServiceUnavailable && after == "5":
				refused++
			case response.Code != http.StatusOK:
				c.t.Errorf("a large creation is answered %d with Retry-After %q", response.Code, after)
			}
		}
		if refused < readPlaces-workPlaces {
			c.t.Errorf("%d requests are refused", refused)
		}
	})
}

// slowReader is a client that does not read its response until the test ends.
type slowReader struct {
	http.ResponseWriter

	read chan struct{}
}

func (r slowReader) Write(p []byte) (int, error) {
	<-r.read
	return len(p), nil
}

// A response that is not read, and a body that does not arrive, delay no other request of the user. If too many bodies
// do not arrive, a request with another is refused.
func TestBodies_letsNoSlowClientDelayOthers(t *testing.T) {
	beside(t, "", func(c *crowd) {
		close(c.released)
		read := make(chan struct{})
		for range 2 * readPlaces {
			c.create(c.t.Context(), slowReader{httptest.NewRecorder(), read}, "ada", titled(large))
		}
		body, sender := io.Pipe()
		c.create(c.t.Context(), httptest.NewRecorder(), "ada", body)
		c.create(c.t.Context(), httptest.NewRecorder(), "ada", titled(large))
		for range readPlaces {
			c.create(c.t.Context(), httptest.NewRecorder(), "bob", body)
		}
		late := httptest.NewRecorder()
		c.create(c.t.Context(), late, "bob", titled(large))
		c.wantBegun(2*readPlaces + 1)
		time.Sleep(bodyWait)
		synctest.Wait()
		if late.Code != http.StatusServiceUnavailable || late.Header().Get("Retry-After") != "5" {
			c.t.Errorf("the request behind the bodies is answered %d", late.Code)
		}
		close(read)
		harness.Check(c.t, sender.Close())
	})
}

// The bodies of an operation that streams them are not bounded.
func TestBodies_exemptsStreamedBodies(t *testing.T) {
	beside(t, "createAvatar", func(c *crowd) {
		for range 2 * readPlaces {
			c.create(c.t.Context(), httptest.NewRecorder(), "ada", titled(large))
		}
		c.wantBegun(2 * readPlaces)
		close(c.released)
	})
}
