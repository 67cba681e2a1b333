package validate

import (
	"net/http"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// Handler returns a handler that checks the parameters, the content type and the body of a request before it
// calls next. If the request does not match the document, the handler calls fail with an [*Error] instead. If fail is
// nil, it responds with a problem document (RFC 9457).
//
// In next, r.Body is the whole body, which can be read once, and r.ContentLength its length. Handler restores both when
// next returns; the body that next has seen cannot be read after that. If the operation has no request body,
// Handler does not touch r.Body. Otherwise it reads at most one byte over the limit, and nothing if the
// declared length exceeds the limit, and closes a body that it has read to the end. A body without a declared length
// that turns out to be empty is no body.
//
// Handler stores the JSON of parameters as path values: r.PathValue("query:NAME"), or "path:NAME",
// "header:NAME" and "cookie:NAME". It stores them for all parameters except scalars of a single type in a
// query or header. The value of an empty parameter that is allowed to be empty is "" if its schema
// allows it, or else null.
//
// A path parameter is read from r.URL as it was sent, by its place from the end of the path. A router whose parameters
// may have slashes gives another value for /files/x/a, which is not checked: use the path value.
//
// A body that is not JSON, text or a form is checked while next reads it, and r.ContentLength is as declared, or -1 for
// multipart/form-data and items. If such a body is invalid, its Read method returns an [*Error], which a
// [multipart.Reader] wraps. next must return that error or respond to it.
func (o *Operation) Handler(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	if o.body == nil && len(o.parameters) == 0 {
		return next
	}
	if fail == nil {
		fail = writeProblem
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := newChecker(schema.InRequest)
		w.checkRequest(o.parameters, r)
		original, originalLength := r.Body, r.ContentLength
		if o.body == nil || !o.body.required && isEmpty(r) {
			err := w.failure(http.StatusBadRequest, mismatch)
			w.setPathValues(r)
			w.release()
			if err != nil {
				fail(rw, r, err)
				return
			}
			next.ServeHTTP(rw, r)
			r.Body, r.ContentLength = original, originalLength
			return
		}
		body, length, err := o.body.check(w, r)
		if err != nil {
			w.release()
			fail(rw, r, err)
			return
		}
		w.setPathValues(r)
		r.Body, r.ContentLength = body, length
		next.ServeHTTP(rw, r)
		_ = body.Close() // never fails
		r.Body, r.ContentLength = original, originalLength
		w.release()
	})
}

// setPathValues stores the JSON of the parameters in the request, for the next handler.
func (w *checker) setPathValues(r *http.Request) {
	for _, p := range w.parameters {
		r.SetPathValue(p.pointer, string(p.json))
	}
}

const mismatch = "The request does not match the interface."
