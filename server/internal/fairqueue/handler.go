package fairqueue

import (
	"errors"
	"io"
	"net/http"
	"time"

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

// Handler queues requests by user, for server.Config.Wrap. It queues only requests of authenticated users
// that have a body.
//
// Handler runs before package server knows the user, so it does not wait itself: it replaces the body, whose
// Read method waits when package server, which has authenticated the user by then, reads it. If the wait is too
// long, Read returns a 503 as a [*server.Error] with Retry-After: 5.
type Handler struct {
	Next http.Handler
	// Reading limits the bodies over 4 KiB that are being read into memory. A request holds it from the first
	// read on, with its Content-Length, or 1 MiB without one. Processing limits the requests that are being
	// handled. A request holds it from the end of its body on, with the bytes that were read. A request holds
	// both until its response begins. They are separate, so that a slow sender blocks only reading, and a
	// slow reader of a response blocks nothing.
	Reading, Processing *Queue
	// Streamed reports whether the body of a request is streamed instead of being held in memory. Such
	// requests are not queued.
	Streamed func(*http.Request) bool
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || h.Streamed(r) {
		h.Next.ServeHTTP(w, r)
		return
	}
	b := &body{ReadCloser: r.Body, handler: h, request: r}
	defer b.release()
	r.Body = b
	h.Next.ServeHTTP(&responseWriter{ResponseWriter: w, body: b}, r)
}

// body is a request body that queues its request: for Reading at the first Read, and for Processing at EOF.
type body struct {
	io.ReadCloser

	handler  *Handler
	request  *http.Request
	n        int64
	begun    bool
	whole    bool
	releases []func() // releases of what was acquired
}

func (b *body) Read(p []byte) (int, error) {
	if length := b.request.ContentLength; !b.begun && (length < 0 || length > smallBody) {
		if length < 0 {
			length = assumedBytes
		}
		if err := b.acquire(b.handler.Reading, length); err != nil {
			return 0, err
		}
	}
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if !b.whole && errors.Is(err, io.EOF) {
		b.whole = true
		if err := b.acquire(b.handler.Processing, b.n); err != nil {
			return n, err
		}
	}
	return n, err
}

// acquire waits in a queue on behalf of the caller. Requests without a caller are not queued.
func (b *body) acquire(queue *Queue, bytes int64) error {
	ctx := b.request.Context()
	caller, known := server.PrincipalFrom(ctx)
	if !known {
		return nil
	}
	release, err := queue.Acquire(ctx, caller.UserID, bytes)
	if err != nil {
		return server.Busy(retryAfter, err)
	}
	b.releases = append(b.releases, release)
	return nil
}

func (b *body) release() {
	for _, release := range b.releases {
		release()
	}
	b.releases = nil
}

// responseWriter is a ResponseWriter that releases the queues before it writes the body.
type responseWriter struct {
	http.ResponseWriter

	body *body
}

func (a *responseWriter) Write(p []byte) (int, error) {
	a.body.release()
	return a.ResponseWriter.Write(p)
}

// Unwrap supports [http.ResponseController].
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }
