package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/style"
)

// requestParts are the parts of the request of a call. The exported methods of call, which the generated methods of
// Client use, set them.
type requestParts struct {
	target      string // path of the operation, and its query
	contentType string
	content     io.Reader
}

func (c *call) fail(err error) {
	if c.err == nil && err != nil {
		c.err = errors.New("client: " + err.Error())
	}
}

// Path sets a parameter of the path.
func (c *call) Path(p style.Param, value any) {
	text, err := p.Path(value)
	c.fail(err)
	c.request.target = strings.Replace(c.request.target, "{"+p.Name+"}", text, 1)
}

// Query sets a parameter of the query unless it is nil.
func (c *call) Query(p style.Param, value any) {
	if isNil(value) {
		return
	}
	text, err := p.Query(value)
	c.fail(err)
	switch {
	case text == "":
		return
	case strings.Contains(c.request.target, "?"):
		c.request.target += "&"
	default:
		c.request.target += "?"
	}
	c.request.target += text
}

// Header sets a header unless it is nil, or set by an option.
func (c *call) Header(h style.Header, value any) {
	if _, set := c.header[http.CanonicalHeaderKey(h.Name)]; set || isNil(value) {
		return
	}
	text, err := h.Text(value)
	c.fail(err)
	c.header.Set(h.Name, text)
}

// Cookie sets a cookie unless it is nil.
func (c *call) Cookie(p style.Param, value any) {
	if isNil(value) {
		return
	}
	cookies, err := p.Cookies(value)
	if err != nil {
		c.fail(err)
		return
	}
	request := http.Request{Header: c.header}
	for _, cookie := range cookies {
		request.AddCookie(cookie)
	}
}

func isNil(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return v.IsNil()
	default:
		return !v.IsValid()
	}
}

// JSON sets the body.
func (c *call) JSON(contentType string, value any) {
	encoded, err := json.Marshal(value)
	c.fail(err)
	c.Reader(contentType, bytes.NewReader(encoded))
}

// Text sets the body.
func (c *call) Text(contentType string, value any) {
	text, err := style.Text(value)
	c.fail(err)
	c.Reader(contentType, strings.NewReader(text))
}

// Form sets the body. Fields lists the fields with a style of their own.
func (c *call) Form(contentType string, value any, fields map[string]style.Param) {
	text, err := style.Form(value, fields)
	c.fail(err)
	c.Reader(contentType, strings.NewReader(text))
}

// Reader sets the body.
func (c *call) Reader(contentType string, body io.Reader) {
	c.request.contentType, c.request.content = contentType, body
}

// send sends the request of the call.
func (c *call) send(ctx context.Context) (*http.Response, error) {
	switch {
	case c.err != nil:
		return nil, c.err
	case c.params != nil:
		return nil, errors.New("client: the call has parameters of another operation")
	}
	request, err := http.NewRequestWithContext(ctx, c.operation.method, c.doer.base+c.request.target, c.request.content)
	if err != nil {
		return nil, err
	}
	request.Header = c.header
	if request.Body != nil {
		request.Header["Content-Type"] = []string{c.request.contentType}
	}
	c.reportBody(request)
	return c.doer.do(request, c) //nolint:contextcheck // the request has this context
}
