package validate

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Handler checks parameters, content type and body of a request before it calls next. When the
// request does not match the document it calls fail with an [*Error] in place of next.
//
// next finds in r.Body the whole body, from its start, and in r.ContentLength its length; r.Body
// is put back when next returns, and what next has found there reads nothing after that. The body
// of an operation that takes none is not touched. Of any other at most one byte over the limit is
// read, and nothing when the length is declared to be over it.
func (o *Operation) Handler(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	if o.body == nil && len(o.parameters) == 0 {
		return next
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := newWalker(o.pool)
		body, err := o.check(w, r)
		if err != nil {
			w.release()
			fail(rw, r, err)
			return
		}
		if body == nil {
			w.release()
			next.ServeHTTP(rw, r)
			return
		}
		original := r.Body
		r.Body, r.ContentLength = body, int64(len(body.rest))
		next.ServeHTTP(rw, r)
		body.rest, body.closed = nil, true
		r.Body = original
		w.release()
	})
}

const mismatch = "The request does not match the interface."

// check returns the body that has been read, if any.
func (o *Operation) check(w *walker, r *http.Request) (*readBody, error) {
	w.direction = o.direction
	for _, p := range o.parameters {
		switch {
		case p.canonical != "":
			w.checkHeader(p, r.Header)
		case strings.HasPrefix(p.pointer, "path:"):
			w.checkText(p, r.PathValue(p.name))
		default:
			w.checkQuery(p, r.URL.RawQuery)
		}
	}
	if o.body == nil || !o.body.required && (r.ContentLength == 0 || r.Body == nil) {
		return nil, w.failure(http.StatusBadRequest, mismatch)
	}
	if mediaTypeOf(r.Header) != mediaJSON {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Detail: "The body must be " + mediaJSON + " in UTF-8."}
	}
	if isEncoded(r.Header) {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Detail: "The body must have no Content-Encoding."}
	}
	if err := w.read(r, o.limit); err != nil {
		return nil, err
	}
	if len(w.body) > 0 || o.body.required {
		w.walkBody(w.body, o.body.node)
	}
	if err := w.failure(http.StatusBadRequest, mismatch); err != nil {
		return nil, err
	}
	return &readBody{rest: w.body}, nil
}

// read reads the whole body into w.body.
func (w *walker) read(r *http.Request, limit int64) error {
	w.body = w.body[:0]
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	if r.Body == nil {
		return nil
	}
	// One byte more than declared, so that the end is seen without growing.
	if need := max(r.ContentLength, 511) + 1; int64(cap(w.body)) < need {
		w.body = make([]byte, 0, need)
	}
	for {
		if len(w.body) == cap(w.body) {
			w.body = append(w.body, 0)[:len(w.body)]
		}
		end := min(int64(cap(w.body)), limit+1)
		n, err := r.Body.Read(w.body[len(w.body):end])
		w.body = w.body[:len(w.body)+n]
		if int64(len(w.body)) > limit {
			return tooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
	}
}

func unreadable(err error) error {
	if maxBytes := (*http.MaxBytesError)(nil); errors.As(err, &maxBytes) { // somebody else's limit
		return tooLarge(maxBytes.Limit)
	}
	return &Error{Status: http.StatusBadRequest, Detail: "The body could not be read."}
}

func tooLarge(limit int64) error {
	return &Error{
		Status: http.StatusRequestEntityTooLarge,
		Detail: "The body is larger than " + strconv.FormatInt(limit, 10) + " bytes.",
	}
}

// readBody is a body in memory. It is not reused, so that who keeps it for too long reads
// nothing, and not the body of another request.
type readBody struct {
	rest   []byte
	closed bool
}

func (b *readBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// ValidJSON takes what has not been read yet, for who decodes it as a whole: the generated server
// looks for this method. It is valid JSON when nothing has been read, and must not be kept.
func (b *readBody) ValidJSON() []byte {
	text := b.rest
	b.rest = nil
	return text
}

func (b *readBody) Close() error {
	b.closed = true
	return nil
}
