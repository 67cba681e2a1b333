package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
	"github.com/avatarstudio/avatarstudio/api/runtime/style"
)

func (c *call) fail(err error) {
	if c.err == nil && err != nil {
		c.err = errors.New("client: " + err.Error())
	}
}

// Path sets a parameter of the path.
func (c *call) Path(p style.Param, value any) {
	text, err := p.Path(value)
	c.fail(err)
	before, after, _ := strings.Cut(c.target, "{"+p.Name+"}")
	segment, _, _ := strings.Cut(after, "/")
	// The service ends a parameter before another one where the text between them occurs first.
	if between, _, ok := strings.Cut(segment, "{"); ok && err == nil && strings.Index((text + between)[1:], between) < len(text)-1 {
		c.fail(fmt.Errorf("%s: the path cannot contain this value before %q", p.Name, between))
	}
	c.target = before + text + after
	if len(c.operation.preferred) == 0 {
		return
	}
	path := names.ReplaceAllString(c.target, "{}")
	for _, other := range c.operation.preferred {
		if matches(other, path) {
			c.fail(fmt.Errorf("%s: the path cannot contain this value, with which it is %s", p.Name, other))
		}
	}
}

// names are those of parameters that follow, which may contain the text of another path.
var names = regexp.MustCompile(`\{[^}]*\}`)

// matches reports whether a path of the document may be that of a request.
func matches(template, path string) bool {
	literal, after, found := strings.Cut(template, "{")
	rest, ok := strings.CutPrefix(path, literal)
	if !ok || !found {
		return ok && rest == ""
	}
	_, template, _ = strings.Cut(after, "}")
	segment, _, _ := strings.Cut(rest, "/")
	for end := 1; end <= len(segment); end++ {
		if matches(template, rest[end:]) {
			return true
		}
	}
	return false
}

// Query sets a parameter of the query unless it is optional and nil.
func (c *call) Query(p style.Param, value any) {
	if !p.Required && isNil(value) {
		return
	}
	text, err := p.Query(value)
	c.fail(err)
	switch {
	case text == "":
		return
	case strings.Contains(c.target, "?"):
		c.target += "&"
	default:
		c.target += "?"
	}
	c.target += text
}

// Header sets a header unless it is optional and nil, or set by an option.
func (c *call) Header(p style.Param, value any) {
	if _, set := c.header[http.CanonicalHeaderKey(p.Name)]; set || !p.Required && isNil(value) {
		return
	}
	text, err := p.Header(value)
	c.fail(err)
	c.header.Set(p.Name, text)
}

// Cookie sets a cookie unless it is optional and nil.
func (c *call) Cookie(p style.Param, value any) {
	if !p.Required && isNil(value) {
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
	encoded, err := encode.JSON(value)
	c.fail(err)
	c.contentType, c.content = contentType, encoded
}

// Text sets the body.
func (c *call) Text(contentType string, value any) {
	text, err := style.Text(value)
	c.fail(err)
	c.contentType, c.content = contentType, []byte(text)
}

// Form sets the body. Fields lists the fields with a style of their own.
func (c *call) Form(contentType string, value any, fields map[string]style.Param) {
	text, err := style.Form(value, fields)
	c.fail(err)
	c.contentType, c.content = contentType, []byte(text)
}

// NotEmpty requires that the body, which is optional, is not empty, because an empty one is none.
func (c *call) NotEmpty() {
	if len(c.content) == 0 {
		c.fail(errors.New("the body must not be empty: nil is no body"))
	}
}

// Reader sets the body.
func (c *call) Reader(contentType string, body io.Reader) {
	c.contentType, c.stream = contentType, body
}

// newRequest returns the request without an access token.
func (c *call) newRequest(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, c.operation.method, c.client.base+c.target, c.stream)
	if err != nil {
		return nil, err
	}
	if workspace, sent := c.header[headerWorkspace]; sent && workspace[0] == "" {
		return nil, errNoWorkspace
	}
	request.Header = c.header
	request.Header["User-Agent"], request.Header["Accept"] = c.client.userAgent, c.operation.accept
	if c.content != nil || c.stream != nil {
		request.Header["Content-Type"] = []string{c.contentType}
	}
	c.setFile(request)
	return request, nil
}
