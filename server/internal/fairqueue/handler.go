package fairqueue

import (
	"context"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// retryAfter is the Retry-After of a request that timed out in the queue.
const retryAfter = 5 * time.Second

const (
	// smallBody is the most bytes of a body that is read without queueing.
	smallBody = 4 << 10
	// assumedBytes is the assumed length of a body without Content-Length.
	assumedBytes = 1 << 20
)

// Admit queues requests before their bodies are read into memory, with their Content-Length, or 1 MiB without
// one. It is for [server.Config].Admit. Bodies of up to 4 KiB are not queued. A request holds the queue until its
// response begins, so that a slow reader of a response blocks nothing.
func (q *Queue) Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bytes := r.ContentLength
		if bytes < 0 {
			bytes = assumedBytes
		}
		if bytes <= smallBody || server.OperationID(r.Context()) == q.cfg.Streamed {
			next.ServeHTTP(w, r)
			return
		}
		release, err := q.acquire(r.Context(), bytes)
		if err != nil {
			server.WriteProblem(w, r, server.Busy(retryAfter, err))
			return
		}
		held := &responseWriter{ResponseWriter: w, release: release}
		defer held.begin()
		next.ServeHTTP(held, r)
	})
}

// Middleware queues requests with a body while the implementation handles them, with the bytes that were read. It
// is for [server.Config].Middleware. It is apart from Admit, so that a slow sender blocks only reading.
func (q *Queue) Middleware(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
	if operationID == q.cfg.Streamed {
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		if r.ContentLength == 0 {
			return next(ctx, w, r, request)
		}
		release, err := q.acquire(ctx, r.ContentLength)
		if err != nil {
			return nil, server.Busy(retryAfter, err)
		}
		defer release()
		return next(ctx, w, r, request)
	}
}

// acquire is Acquire on behalf of the caller. Requests without a caller are not queued.
func (q *Queue) acquire(ctx context.Context, bytes int64) (release func(), err error) {
	caller, known := server.PrincipalFrom(ctx)
	if !known {
		return func() {}, nil
	}
	return q.Acquire(ctx, caller.UserID, bytes)
}

// responseWriter is a ResponseWriter that releases a queue before it writes the body.
type responseWriter struct {
	http.ResponseWriter

	release func() // nil after it was called
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

func (w *responseWriter) begin() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}

// Unwrap supports [http.ResponseController].
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
