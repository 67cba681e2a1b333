package ratelimit

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	// smallBody is the most bytes of a body that takes no place.
	smallBody = 4 << 10
	// readPlaces is the number of larger bodies of a user that are read at the same time, so that a slow sender does
	// not hold up the user.
	readPlaces = 4
	// workPlaces is the number of requests of a user with larger bodies that are worked on at the same time. Two would
	// double the latency of others on a small machine.
	workPlaces = 1
	// bodyWait is how long a request waits for a place, and the Retry-After of its response if it gets none.
	bodyWait = 5 * time.Second
)

// errBodies is the cause of the response to a request that got no place.
var errBodies = errors.New("ratelimit: the user has too many requests with large bodies")

// Bodies bounds the concurrent requests of each user that have a body of more than 4 KiB, so that the bodies of one
// user leave memory and CPU time for others. 4 of them are in progress, and one of these is worked on. A request waits
// up to 5 seconds for its place, and then gets 503 with Retry-After. A body without Content-Length is large. Requests
// without a user are not bounded. It is safe for concurrent use.
type Bodies struct {
	streamed      string
	reading, work studio.KeyedSemaphore // by user; a request has a place of each, in this order
}

// NewBodies returns a Bodies. streamed is the id of an operation that streams the bodies of its requests instead of
// holding them in memory, so that they are not bounded, or "".
func NewBodies(streamed string) *Bodies {
	return &Bodies{streamed: streamed, reading: studio.KeyedSemaphore{Limit: readPlaces}, work: studio.KeyedSemaphore{Limit: workPlaces}}
}

// Admit bounds the requests in progress. It is for [server.Config].Admit: the body of a request that waits is not read.
// A request is in progress until its response begins, so that a slow reader of a response delays no others.
func (b *Bodies) Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, refusal := b.enter(r.Context(), &b.reading, r, server.OperationID(r.Context()))
		if refusal != nil {
			server.WriteProblem(w, r, refusal)
			return
		}
		leave = sync.OnceFunc(leave)
		defer leave()
		next.ServeHTTP(&leavingWriter{w, leave}, r)
	})
}

// Middleware bounds the requests that are worked on, after their bodies were read. It is for
// [server.Config].Middleware.
func (b *Bodies) Middleware(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		leave, refusal := b.enter(ctx, &b.work, r, operationID)
		if refusal != nil {
			return nil, refusal
		}
		defer leave()
		return next(ctx, w, r, request)
	}
}

// enter waits for a place of the user of a request, if it needs one. It returns the response if there is none.
func (b *Bodies) enter(ctx context.Context, places *studio.KeyedSemaphore, r *http.Request, operationID string) (leave func(), refusal *server.Error) {
	caller, known := server.PrincipalFrom(ctx)
	small := r.ContentLength >= 0 && r.ContentLength <= smallBody
	if !known || small || operationID == b.streamed {
		return func() {}, nil
	}
	waiting, cancel := context.WithTimeoutCause(ctx, bodyWait, errBodies)
	defer cancel()
	leave, err := places.Acquire(waiting, caller.UserID)
	if err != nil {
		return nil, server.Busy(bodyWait, err)
	}
	return leave, nil
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
