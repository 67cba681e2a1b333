package client

import (
	"bytes"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

// operation describes an operation of the document.
type operation struct {
	method, path string
	idempotent   bool // as RFC 9110 defines it, or x-idempotent in the document
	keyed        bool // accepts an Idempotency-Key
	public       bool // has no security
	body         bodyKind
	empty        bool // a success may have no body, or null
	notModified  bool // 304 is a success
	redirect     bool // redirects are successes
	accept       []string
	preferred    []string // paths of other operations with this method, which a service prefers if it finds them in a request

	// Of bodyItems.
	format    stream.Format
	resumable bool // the events have ids
}

// bodyKind is the kind of body that a success has.
type bodyKind int

const (
	bodyJSON bodyKind = iota
	bodyNone
	bodyText
	bodyStream
	bodyItems
)

// streams reports whether the caller reads a success while it arrives.
func (o *operation) streams() bool { return o.body == bodyStream || o.body == bodyItems }

// once reports whether a retry could have a second effect. A refresh token works only once, but nothing is created.
func (o *operation) once() bool { return !o.idempotent && o != &operations.RefreshTokens }

// success reports whether a status is a success of the operation.
func (o *operation) success(status int) bool {
	return status/100 == 2 || o.notModified && status == http.StatusNotModified || o.redirect && status/100 == 3 && status != http.StatusNotModified
}

// paramsOf returns the optional parameters of a call.
func paramsOf[P CallOption](c *call) P {
	given, ok := c.params.(P)
	if ok {
		c.params = nil
	}
	return given
}

// decode decodes the response of an attempt that succeeded. It fails if the JSON cannot be a T at all. It accepts
// unknown members and values, nulls, missing members and times in any format of ISO 8601, and it omits optional members
// that it cannot decode. It returns nil for a success without a body, and for null if the document allows it.
func decode[T any](a *attempt, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	if a.call.operation.empty {
		switch string(bytes.TrimSpace(a.content)) {
		case "", "null":
			return nil, nil
		}
	}
	value := new(T)
	leftOut, ok := readInto(a.content, value)
	if !ok {
		return nil, notDocumented(a)
	}
	if into := a.call.into; into != nil {
		into.LeftOut = leftOut
	}
	return value, nil
}
