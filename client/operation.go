package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
)

// operation describes an operation of the document.
type operation struct {
	id, method, path string
	idempotent       bool // as RFC 9110 defines it, or x-idempotent in the document
	keyed            bool // accepts an Idempotency-Key
	body             bodyKind
	empty            bool // a success may have no body
	notModified      bool // 304 is a success
	accept           []string
}

// bodyKind is the kind of body that a success has.
type bodyKind int

const (
	bodyJSON bodyKind = iota
	bodyNone
	bodyText
	bodyStream
)

// class returns the retry class of the operation.
func (o *operation) class() class {
	switch {
	case o == &operations.Login:
		return login
	case o == &operations.RefreshTokens:
		return refresh
	case o.idempotent:
		return idempotent
	}
	return nonIdempotent
}

// success reports whether a status is a success of the operation.
func (o *operation) success(status int) bool {
	return status/100 == 2 || o.notModified && status == http.StatusNotModified
}

// operationOf returns the operation of a request made by the generated client. The base URL may have a
// path. If no operation matches, the result depends on the method of the request.
func operationOf(request *http.Request) *operation {
	for _, known := range allOperations() {
		if known.method == request.Method && matches(known.path, request.URL.EscapedPath()) {
			return known
		}
	}
	return &operation{
		idempotent: request.Method == http.MethodGet || request.Method == http.MethodHead,
		accept:     operations.Login.accept,
	}
}

// matches reports whether path ends in a path of the template.
func matches(template, path string) bool {
	for {
		i, j := strings.LastIndexByte(template, '/'), strings.LastIndexByte(path, '/')
		if i < 0 || j < 0 {
			return i < 0
		}
		if segment := template[i+1:]; !strings.Contains(segment, "{") && segment != path[j+1:] {
			return false
		}
		template, path = template[:i], path[:j]
	}
}

// call prepares one call of an operation.
func (c *Client) call(o *operation, options []CallOption) *call {
	call := newCall(c.doer, options)
	call.operation = o
	if o.keyed && !c.noAutoKey {
		call.ownKey = call.header.Get(headerIdempotencyKey) == ""
		if call.ownKey {
			call.set(headerIdempotencyKey, rand.Text(), "")
		}
	}
	return call
}

// paramsOf returns the optional parameters of a call.
func paramsOf[P CallOption](c *call) (params P) {
	if c.params == nil {
		return params
	}
	given, ok := c.params.(P)
	if ok {
		c.params = nil
	}
	return given
}

// send sends a request that the generated code made for the call.
func (c *call) send(ctx context.Context, request *http.Request, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	if c.params != nil {
		return nil, errors.New("client: the call has parameters of another operation")
	}
	if request.Body == nil {
		request.Header.Del("Content-Type") // an optional body was not given
	}
	return c.Do(request.WithContext(ctx)) //nolint:contextcheck // the request has this context
}

// decode decodes the response of a call. It fails if the JSON cannot be a T at all. It accepts unknown
// members and values, nulls, missing members and times in any format of ISO 8601, and it omits optional
// members that it cannot decode. It returns nil for a success without a body.
func decode[T any](response *http.Response, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	a := response.Body.(*readBody)
	if len(a.content) == 0 && a.operation.empty {
		return nil, nil
	}
	value, leftOut, ok := read[T](a.content)
	if !ok {
		return nil, notDocumented(response)
	}
	if a.into != nil {
		a.into.LeftOut = leftOut
	}
	return value, nil
}
