package validate

import "net/http"

// Handler checks parameters, content type and body of a request before it calls next. When the
// request does not match the document it calls fail with an [*Error] in place of next.
//
// next finds in r.Body the whole body, from its start, and in r.ContentLength its length; r.Body
// is put back when next returns, and what next has found there reads nothing after that. The body
// of an operation that takes none is not touched. Of any other at most one byte over the limit is
// read, and nothing when the length is declared to be over it.
//
// The JSON that a parameter stands for is r.PathValue("query:NAME"), or with path, header or cookie
// in place of query. It is there for each parameter but scalars of one type in a query or a header,
// and null for an empty text that is allowed.
//
// A body that is not JSON, text or a form is checked while next reads it, and r.ContentLength is -1
// for multipart/form-data. What is wrong with such a body is an [*Error] of its Read method, which
// next must return or answer itself; a [multipart.Reader] wraps it.
func (o *Operation) Handler(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	if o.body == nil && len(o.parameters) == 0 {
		return next
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := newWalker(o.pool)
		w.direction = o.direction
		w.checkRequest(o.parameters, r)
		if o.body == nil || !o.body.required && (r.ContentLength == 0 || r.Body == nil) {
			err := w.failure(http.StatusBadRequest, mismatch)
			w.leave(r)
			w.release()
			if err != nil {
				fail(rw, r, err)
				return
			}
			next.ServeHTTP(rw, r)
			return
		}
		body, err := o.body.check(w, r)
		if err != nil {
			w.release()
			fail(rw, r, err)
			return
		}
		w.leave(r)
		original, length := r.Body, r.ContentLength
		r.Body = body
		switch body := body.(type) {
		case *readBody:
			r.ContentLength = int64(len(body.rest))
		case *textBody:
			r.ContentLength = int64(len(body.rest))
		case *multipartBody:
			r.ContentLength = -1
		}
		next.ServeHTTP(rw, r)
		_ = body.Close() // none of them fails
		r.Body, r.ContentLength = original, length
		w.release()
	})
}

// leave leaves the parameters for the next handler.
func (w *walker) leave(r *http.Request) {
	for _, p := range w.parameters {
		r.SetPathValue(p.pointer, string(p.json))
	}
}

const mismatch = "The request does not match the interface."
