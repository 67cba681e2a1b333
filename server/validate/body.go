package validate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// requestBody is the compiled request body of an operation.
type requestBody struct {
	required bool
	contents contents
	accepted string // lists the media types in error messages
	limit    int64  // of its size in bytes
}

// bodyLimit returns the limit for the body of an operation in bytes. anonymous reports whether the operation is
// public.
func (cfg Config) bodyLimit(operationID string, anonymous bool) int64 {
	limit := cmp.Or(cfg.MaxBodyBytes, 1<<20)
	if anonymous {
		limit = cmp.Or(cfg.AnonymousBodyBytes, limit)
	}
	return cmp.Or(cfg.OperationBodyBytes[operationID], limit)
}

// checkLimits returns an error if cfg has a limit for an operation that is not in the document.
func (v *Validator) checkLimits(cfg Config) error {
	for _, id := range slices.Sorted(maps.Keys(cfg.OperationBodyBytes)) {
		if cfg.OperationBodyBytes[id] <= 0 || !slices.ContainsFunc(v.operations, func(o *Operation) bool { return o.id == id }) {
			return fmt.Errorf("validate: Config.OperationBodyBytes: %s is not an operation, or its limit is not positive", id)
		}
	}
	return nil
}

// check checks the body of r. It returns the body that the next handler reads, and its length, which is -1 if
// unknown.
func (b *requestBody) check(w *checker, r *http.Request) (body io.ReadCloser, length int64, err error) {
	media, params := mediaTypeOf(r.Header)
	c := b.contents.find(media, params)
	if c == nil {
		return nil, 0, &Error{Status: http.StatusUnsupportedMediaType, Detail: "The body must be " + b.accepted + "."}
	}
	if isEncoded(r.Header) {
		return nil, 0, &Error{Status: http.StatusUnsupportedMediaType, Detail: "The Content-Encoding must be identity."}
	}
	if c.streamed() {
		return b.stream(w, r, c, params["boundary"])
	}
	if err := w.read(r, b.limit); err != nil {
		return nil, 0, err
	}
	whole := &readBody{unread: w.body}
	if len(w.body) > 0 || b.required {
		whole.asJSON = w.checkBuffered(c, w.body)
	}
	if err := w.failure(http.StatusBadRequest, mismatch); err != nil {
		return nil, 0, err
	}
	return whole, int64(len(w.body)), nil
}

// stream checks what is known before the body is read. The rest is checked while the next handler reads it.
func (b *requestBody) stream(w *checker, r *http.Request, c *content, boundary string) (io.ReadCloser, int64, error) {
	if r.ContentLength > b.limit {
		return nil, 0, tooLarge(b.limit)
	}
	if b.required && isEmpty(r) {
		w.Add("required", "is required: the body is empty")
	}
	if err := w.failure(http.StatusBadRequest, mismatch); err != nil {
		return nil, 0, err
	}
	body := &streamedBody{source: http.MaxBytesReader(nil, r.Body, b.limit), size: c.size}
	if c.multipart != nil {
		parts, err := newMultipartBody(w, c, boundary, body)
		return parts, -1, err
	}
	if c.format != 0 {
		items, err := newItemsBody(w, c, body, maxItemBytes)
		return items, -1, err
	}
	return body, r.ContentLength, nil
}

// isEmpty reports whether a request has no body. If its length is unknown, isEmpty waits for the first byte, and makes
// r have no body if there is none.
func isEmpty(r *http.Request) bool {
	if r.ContentLength < 0 && r.Body != nil {
		first := make([]byte, 1)
		if n, err := io.ReadFull(r.Body, first); errors.Is(err, io.EOF) {
			r.Body, r.ContentLength = http.NoBody, 0
		} else { // after another error, so does the next read
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(first[:n]), r.Body), r.Body}
		}
	}
	return r.ContentLength == 0 || r.Body == nil
}

// checkBuffered checks a body that is in memory. For text and forms, it returns the JSON value
// that the body was converted to.
func (w *checker) checkBuffered(c *content, body []byte) (asJSON []byte) {
	switch {
	case c.json:
		w.Check(body, c.node)
		return nil
	case c.form != nil:
		asJSON = w.formJSON(c.form, string(body))
	case !utf8.Valid(body):
		w.Malformed = "The body is not valid UTF-8."
	default:
		asJSON = c.text.AppendScalar(nil, string(body), &w.Walker)
	}
	if asJSON != nil {
		w.Check(asJSON, c.node)
	}
	return asJSON
}

// startBytes is the most that is allocated for a body before any of it has arrived.
const startBytes = 16 << 10

// read reads the whole body into w.body.
func (w *checker) read(r *http.Request, limit int64) error {
	w.body = w.body[:0]
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	if r.Body == nil {
		return nil
	}
	// Allocate one byte more than declared, so that reading the EOF does not grow the buffer, but at most
	// startBytes for data that has not arrived.
	if need := min(max(r.ContentLength, 511), startBytes) + 1; int64(cap(w.body)) < need {
		w.body = make([]byte, 0, need)
	}
	for {
		if len(w.body) == cap(w.body) {
			w.body = append(w.body, 0)[:len(w.body)]
		}
		n, err := r.Body.Read(w.body[len(w.body) : min(int64(cap(w.body))-1, limit)+1])
		w.body = w.body[:len(w.body)+n]
		if int64(len(w.body)) > limit {
			return tooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			_ = r.Body.Close() // otherwise net/http would read it once more
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
	}
}

func unreadable(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return known
	}
	if maxBytes := (*http.MaxBytesError)(nil); errors.As(err, &maxBytes) { // a limit set by other middleware
		return tooLarge(maxBytes.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{Status: http.StatusBadRequest, Detail: "The body did not arrive in time.", Err: err}
	}
	return &Error{Status: http.StatusBadRequest, Detail: "The body could not be read.", Err: err}
}

func tooLarge(limit int64) error { return tooLargeFor("The body", limit) }

func tooLargeFor(what string, limit int64) error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("%s is larger than %d bytes.", what, limit)}
}

// readBody is a body in memory. It is never reused, so that a handler that reads it after returning gets an
// error and not the body of another request.
type readBody struct {
	unread []byte
	asJSON []byte // the value that a text or a form was converted to, or nil
	closed bool
}

func (b *readBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.unread) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	return n, nil
}

// ValidJSON returns the unread rest of the body, or the value that a text or a form was converted to, for callers that
// decode it in one step. The generated server looks for this method. If nothing has been read before, the result is
// valid JSON. The caller must not keep it.
func (b *readBody) ValidJSON() []byte {
	text := b.unread
	if b.asJSON != nil {
		text = b.asJSON
	}
	b.unread, b.asJSON = nil, nil
	return text
}

func (b *readBody) Close() error {
	b.unread, b.closed = nil, true
	return nil
}

// streamedBody is a body that is not in memory. It fails with an [*Error] when it cannot be read, or its size violates
// the schema.
type streamedBody struct {
	source io.Reader
	size   *schema.Size // may be nil
	n      int
	err    error
}

func (b *streamedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.source.Read(p)
	if b.n += n; err != nil && !errors.Is(err, io.EOF) {
		err = unreadable(err)
	}
	if keyword, detail := b.size.Violation(b.n, !errors.Is(err, io.EOF)); keyword != "" {
		err = &Error{Status: http.StatusBadRequest, Detail: mismatch, Violations: []Violation{{"", keyword, detail}}}
	}
	b.err = err
	return n, err
}

func (b *streamedBody) Close() error {
	b.err = http.ErrBodyReadAfterClose
	return nil
}
