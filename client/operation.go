package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
)

// operation is what the client knows of an operation of the document.
type operation struct {
	id, method, path string
	idempotent       bool // it may be carried out any number of times
	keyed            bool // it takes an Idempotency-Key
	answer           answerKind
	empty            bool // a success may have no body
	notModified      bool // 304 is a success
	accept           []string
}

// answerKind is what a success has for a body.
type answerKind int

const (
	answerJSON answerKind = iota
	answerNone
	answerText
	answerStream
)

// class tells how far the operation may be repeated.
func (o *operation) class() class {
	switch {
	case o == &operations.Login:
		return login
	case o == &operations.RefreshTokens:
		return refresh
	case o.idempotent:
		return reading
	}
	return creating
}

// success reports whether a status is one that the operation promises.
func (o *operation) success(status int) bool {
	return status/100 == 2 || o.notModified && status == http.StatusNotModified
}

// operationOf finds the operation of a request that the generated client made, whose base URL may have
// a path. A request that is none is judged by its method.
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

// matches reports whether the end of path is one of template.
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

// paramsOf returns the optional parameters that were given to a call.
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

// send sends the request that the generated code made for the call.
func (c *call) send(ctx context.Context, request *http.Request, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	if c.params != nil {
		return nil, errors.New("client: the call has parameters of another operation")
	}
	if request.Body == nil {
		request.Header.Del("Content-Type") // of an optional body
	}
	return c.Do(request.WithContext(ctx)) //nolint:contextcheck // it is the request's
}

// decode reads the answer of a call. It is strict about JSON that cannot be a T and tolerant of
// everything else: unknown members and values, null, missing members, times of any form of ISO 8601,
// and members that are not required and cannot be read, which it leaves out. It is nil for a success
// that the document gives no body.
func decode[T any](response *http.Response, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	a := response.Body.(*answer)
	if len(a.content) == 0 && a.operation.empty {
		return nil, nil
	}
	value, leftOut, ok := read[T](a.content)
	if !ok {
		return nil, notPromised(response)
	}
	if a.into != nil {
		a.into.LeftOut = leftOut
	}
	return value, nil
}
