package ratelimit

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
)

const (
	// smallBody is the most bytes of a body that takes no place.
	smallBody = 4 << 10
	// bodyPlaces is the number of requests with larger bodies that a user may have at the same time. More would take most of
	// the CPUs of a small machine from others, and fewer would let one slow upload hold up the user.
	bodyPlaces = 4
	// bodyWait is how long a request waits for a place, and the Retry-After of its response if it gets none.
	bodyWait = 5 * time.Second
)

// errBodies is the cause of the response to a request that got no place.
var errBodies = errors.New("ratelimit: the user has too many requests with large bodies")

// Bodies bounds the concurrent requests of each user that have a body of more than 4 KiB, so that the bodies of one user
// leave memory and CPU time for others. The zero value is ready to use. It is safe for concurrent use.
type Bodies struct {
	// Streamed is the id of an operation that streams the bodies of its requests instead of holding them in memory, so that
	// they are not bounded. Empty by default.
	Streamed string

	mu    sync.Mutex
	users map[string]*bodies
}

// bodies are the requests of a user.
type bodies struct {
	places chan struct{} // has a value for each request that has a place
	asked  int           // requests that have a place or wait for one
}

// Admit responds with 503 and Retry-After to a request that has waited 5 seconds because 4 others of the user, with large
// bodies, are in progress. It is for [server.Config].Admit: the body of a request that waits is not read. A request is in
// progress until its response begins, so that a slow reader of a response delays no others. A body without Content-Length is
// large. Requests without a user are not bounded.
func (b *Bodies) Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, known := server.PrincipalFrom(r.Context())
		small := r.ContentLength >= 0 && r.ContentLength <= smallBody
		if !known || small || server.OperationID(r.Context()) == b.Streamed {
			next.ServeHTTP(w, r)
			return
		}
		leave, err := b.enter(r.Context(), caller.UserID)
		if err != nil {
			server.WriteProblem(w, r, server.Busy(bodyWait, err))
			return
		}
		leave = sync.OnceFunc(leave)
		defer leave()
		next.ServeHTTP(&leavingWriter{w, leave}, r)
	})
}

// enter waits for a place of a user. The error is errBodies or that of ctx.
func (b *Bodies) enter(ctx context.Context, userID string) (leave func(), err error) {
	of := b.ask(userID)
	timer := time.NewTimer(bodyWait)
	defer timer.Stop()
	select {
	case of.places <- struct{}{}:
		return func() { <-of.places; b.forget(userID, of) }, nil
	case <-timer.C:
		err = errBodies
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.forget(userID, of)
	return nil, err
}

// ask adds a request of a user.
func (b *Bodies) ask(userID string) *bodies {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.users[userID]
	if of == nil {
		if b.users == nil {
			b.users = make(map[string]*bodies)
		}
		of = &bodies{places: make(chan struct{}, bodyPlaces)}
		b.users[userID] = of
	}
	of.asked++
	return of
}

// forget removes a request of a user.
func (b *Bodies) forget(userID string, of *bodies) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of.asked--; of.asked == 0 {
		delete(b.users, userID)
	}
}

// leavingWriter calls leave before the response body begins.
type leavingWriter struct {
	http.ResponseWriter

	leave func()
}

func (w *leavingWriter) Write(p []byte) (int, error) {
	w.leave()
	return w.ResponseWriter.Write(p)
}

// Unwrap supports [http.ResponseController].
func (w *leavingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
