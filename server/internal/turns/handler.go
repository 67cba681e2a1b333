package turns

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/avatarstudio/avatarstudio/server"
)

// retryAfter is what a caller is asked to wait whose turn did not come.
const retryAfter = 5 * time.Second

const (
	// small bodies are read without a turn.
	small = 4 << 10
	// unknown stands for the length of a body that does not say it.
	unknown = 1 << 20
)

// Handler is what makes requests take turns, for server.Config.Wrap. It is about those of known users
// that have a body.
type Handler struct {
	Next http.Handler
	// Reading are the turns at having a body in memory that is not small, and Working those at what is
	// done with it. A slow sender has a turn at reading alone, and a slow reader none.
	Reading, Working *Turns
	// Streamed reports whether the body of a request is not held in memory.
	Streamed func(*http.Request) bool
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || h.Streamed(r) {
		h.Next.ServeHTTP(w, r)
		return
	}
	b := &body{ReadCloser: r.Body, handler: h, request: r}
	defer b.end()
	r.Body = b
	h.Next.ServeHTTP(&answer{ResponseWriter: w, body: b}, r)
}

// body is the body of a request. It takes turns when it is read for the first time, and at its end.
type body struct {
	io.ReadCloser

	handler *Handler
	request *http.Request
	n       int64
	begun   bool
	whole   bool
	ends    []func() // of the turns
}

func (b *body) Read(p []byte) (int, error) {
	if length := b.request.ContentLength; !b.begun && (length < 0 || length > small) {
		if length < 0 {
			length = unknown
		}
		if err := b.take(b.handler.Reading, length); err != nil {
			return 0, err
		}
	}
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if !b.whole && errors.Is(err, io.EOF) {
		b.whole = true
		if err := b.take(b.handler.Working, b.n); err != nil {
			return n, err
		}
	}
	return n, err
}

// take takes a turn of the caller, who is unknown to an operation without a token.
func (b *body) take(turns *Turns, bytes int64) error {
	ctx := b.request.Context()
	caller, known := server.PrincipalFrom(ctx)
	if !known {
		return nil
	}
	end, err := turns.Take(ctx, caller.UserID, bytes)
	if err != nil {
		return &server.Error{
			Status: http.StatusServiceUnavailable, Code: "service_busy", Detail: "The service is busy. Try again later.",
			RetryAfter: retryAfter, Err: err,
		}
	}
	b.ends = append(b.ends, end)
	return nil
}

func (b *body) end() {
	for _, end := range b.ends {
		end()
	}
	b.ends = nil
}

// answer is a ResponseWriter that ends the turns before it sends anything.
type answer struct {
	http.ResponseWriter

	body *body
}

func (a *answer) Write(p []byte) (int, error) {
	a.body.end()
	return a.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
