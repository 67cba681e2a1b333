package validate

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate/internal/document"
	"github.com/avatarstudio/avatarstudio/server/validate/internal/schema"
)

// response is the compiled description of the responses with one status, a range of statuses, or any other
// status.
type response struct {
	headers  []*parameter
	contents contents // empty if the body must be empty
}

const mismatchedResponse = "The response does not match the interface."

// Response checks a response. The status must be declared, exactly, by range or by default. The declared
// headers must be valid. The body must have a declared content type and match its schema. If no content is
// declared, the body must be empty. A response to HEAD and a 304 may be empty in any case. The error is an
// [*Error] with status 500.
func (o *Operation) Response(status int, header http.Header, body []byte) error {
	w := newChecker(schema.InResponse)
	defer w.release()
	c, err := o.responseHeader(w, status, header, len(body) > 0)
	switch {
	case err != nil:
		return err
	case c == nil:
	case c.multipart != nil:
		_, params := mediaTypeOf(header)
		w.checkAll(newMultipartBody(w, c, params["boundary"], bytes.NewReader(body)))
	case c.format != 0:
		w.checkAll(newItemsBody(w, c, bytes.NewReader(body), int64(len(body))))
	case c.streamed():
		if keyword, detail := c.size.Violation(len(body), false); keyword != "" {
			w.Add(keyword, detail)
		}
	default:
		w.checkBuffered(c, body)
	}
	return w.failure(http.StatusInternalServerError, mismatchedResponse)
}

// checkAll reads a body that is checked while it is read, unless err is set.
func (w *checker) checkAll(body io.Reader, err error) {
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	if invalid := (*Error)(nil); errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			w.Found = append(w.Found, schema.Violation(v))
		}
		if len(invalid.Violations) == 0 {
			w.Malformed = invalid.Detail
		}
	}
}

// ResponseHeader checks the status, the headers and the content type of a response, as [Operation.Response] does if the
// body is empty. It reports whether the body is streamed: a body whose media type is not JSON, text or a form does not
// have to be buffered. items is nil unless the header is valid and the body has items, which are checked one by one.
func (o *Operation) ResponseHeader(status int, header http.Header) (streamed bool, items *Items, err error) {
	w := newChecker(schema.InResponse)
	defer w.release()
	c, err := o.responseHeader(w, status, header, false)
	if err == nil {
		err = w.failure(http.StatusInternalServerError, mismatchedResponse)
	}
	if err == nil && c != nil && c.format != 0 {
		items = newItems(w, c, http.StatusInternalServerError, mismatchedResponse)
	}
	return c != nil && c.streamed(), items, err
}

// responseHeader returns the content that the body must have, or nil if the body must be empty.
func (o *Operation) responseHeader(w *checker, status int, header http.Header, hasBody bool) (*content, error) {
	declared := cmp.Or(o.responses[status], o.responses[status/100], o.responses[0])
	if declared == nil {
		return nil, mismatched("The document does not declare the status " + strconv.Itoa(status) + ".")
	}
	for _, p := range declared.headers {
		w.checkHeader(p, header)
	}
	if len(declared.contents) == 0 || !hasBody && (o.method == http.MethodHead || status == http.StatusNotModified) {
		if hasBody {
			return nil, mismatched("The document declares no body for the status " + strconv.Itoa(status) + ".")
		}
		return nil, nil
	}
	media, params := mediaTypeOf(header)
	c := declared.contents.find(media, params)
	if c == nil {
		return nil, mismatched("The document does not declare this content type for the status " + strconv.Itoa(status) + ".")
	}
	return c, nil
}

func mismatched(detail string) error {
	return &Error{Status: http.StatusInternalServerError, Detail: detail}
}

func (c *compiler) responses(source *document.Node) map[int]*response {
	all := make(map[int]*response)
	for name, declared := range source.All() {
		if strings.HasPrefix(name, "x-") {
			continue
		}
		status, _ := strconv.Atoi(strings.TrimSuffix(name, "XX")) // 0 for default
		r := c.response(declared)
		if r != nil && len(r.contents) > 0 && (100 <= status && status < 200 || status == http.StatusNoContent || status == http.StatusResetContent) {
			c.Unsupported(declared, "has content, which this status does not have")
			r = &response{headers: r.headers}
		}
		all[status] = r
	}
	return all
}

func (c *compiler) response(source *document.Node) *response {
	if source = c.Resolve(source); source == nil {
		return nil
	}
	if r := c.responseCache[source]; r != nil {
		return r
	}
	r := &response{headers: c.headers(source.Get("headers"))}
	c.responseCache[source] = r
	r.contents = c.contents(source.Get("content"))
	return r
}

// headerKey identifies a compiled header. Many responses share one by a reference.
type headerKey struct {
	source *document.Node
	name   string
}

// headers compiles the headers of a response or part. It ignores Content-Type, as OpenAPI requires: the
// content describes it.
func (c *compiler) headers(source *document.Node) []*parameter {
	var headers []*parameter
	for name, header := range source.All() {
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Type" {
			continue
		}
		if header = c.Resolve(header); header == nil {
			continue
		}
		key := headerKey{header, name}
		if c.headerCache[key] == nil {
			c.headerCache[key] = c.parameter(header, name, nil)
		}
		headers = append(headers, c.headerCache[key])
	}
	return headers
}
