package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// request returns the request of the attempt. The transport records in a.sending how far it comes.
func (a *attempt) request(ctx context.Context) *http.Request {
	c := a.call
	// If net/http knows the type of the body, it sends header and body in one write. It then has read the body when it
	// finds that the connection is closed, so only a request that is retried in any case shows it the body.
	known := c.client.standard && len(c.content) > 0 && c.progress == nil && c.repeatable()
	bare := len(c.content) == 0 && c.body == nil && !c.operation.idempotent // only the connection tells whether it was sent
	if known || bare {
		a.trace = httptrace.ClientTrace{GetConn: a.sending.getConn, GotConn: a.sending.gotConn}
		ctx = httptrace.WithClientTrace(ctx, &a.trace)
	}
	request := c.request.WithContext(ctx)
	// Without GetBody, net/http never resends the body by itself.
	request.Body, request.GetBody = c.body, nil
	if len(c.content) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(c.content)), int64(len(c.content))
	}
	switch {
	case known, bare:
	case request.Body != nil:
		if c.progress != nil {
			a.reports = &reportingBody{ReadCloser: request.Body, call: c, total: cmp.Or(request.ContentLength, -1)}
			request.Body = a.reports
		}
		a.sending.state.Store(unread)
		request.Body = &trackedBody{request.Body, &a.sending}
	case c.operation.idempotent:
		request.Body, request.TransferEncoding = emptyBody{}, identity
	}
	return request
}

// sending records how far the transport came with the request of one attempt.
type sending struct{ state atomic.Int32 }

const (
	unknown = iota // the service may have the request
	unread         // no part of the body was sent
	started        // the transport has a connection or has read from the body
	sealed         // the attempt has ended, and its body cannot be read any more
)

func (s *sending) getConn(string)                { s.state.CompareAndSwap(unknown, unread) }
func (s *sending) gotConn(httptrace.GotConnInfo) { s.state.Store(started) }

// seal reports whether no part of the body was sent, and prevents that it is read later.
func (s *sending) seal() bool { return s.state.CompareAndSwap(unread, sealed) }

// trackedBody records whether the transport has read from the body of an attempt. The service cannot process a request
// whose body was never read.
type trackedBody struct {
	io.ReadCloser
	sending *sending
}

var errSealed = errors.New("client: the attempt has ended")

func (b *trackedBody) Read(p []byte) (int, error) {
	if !b.sending.state.CompareAndSwap(unread, started) && b.sending.state.Load() == sealed {
		return 0, errSealed
	}
	return b.ReadCloser.Read(p)
}

// emptyBody is an empty body for requests that net/http must not resend by itself: net/http cannot rewind
// it, and the transfer encoding identity keeps net/http from probing whether it is empty. Because of WriteTo, net/http
// allocates no buffer to copy it.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error)         { return 0, io.EOF }
func (emptyBody) WriteTo(io.Writer) (int64, error) { return 0, nil }
func (emptyBody) Close() error                     { return nil }

var identity = []string{"identity"} //nolint:gochecknoglobals // never changed
