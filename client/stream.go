package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

const (
	maxItem = 1 << 20 // bytes

	// idleTimeout is several times the interval in which servers send comments.
	idleTimeout = time.Minute
)

// ErrCut is joined to the error of a stream that broke off: the connection failed, the service sent nothing for a
// minute, or the stream ended within an item. Items may be missing.
var ErrCut = errors.New("client: the stream broke off")

// errStopped reports that the caller has left its range over the items.
var errStopped = errors.New("client: stopped")

// After makes a stream of server-sent events begin after the event with this id.
func After(id string) CallOption {
	return optionFunc(func(c *call) { c.set(headerLastEventID, id, "After") })
}

// streamEvents returns the events in the response to a call. Data of type string is text, and other data is JSON.
func streamEvents[T any](ctx context.Context, c *call) iter.Seq2[*stream.Event[T], error] {
	return items(ctx, c, func(f stream.Frame, event *stream.Event[T]) (leftOut []string, ok bool) {
		into := event.Set(f)
		if into == nil {
			return nil, true
		}
		return readInto(f.Data, into)
	})
}

// streamItems returns the items in the response to a call.
func streamItems[T any](ctx context.Context, c *call) iter.Seq2[*T, error] {
	return items(ctx, c, func(f stream.Frame, item *T) (leftOut []string, ok bool) { return readInto(f.Data, item) })
}

// items returns the items in the response to a call. Each range sends the request anew.
func items[T any](ctx context.Context, c *call, decode func(stream.Frame, *T) (leftOut []string, ok bool)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		copied := *c
		copied.header = c.header.Clone()
		s := streamCall{call: &copied}
		err := s.run(ctx, func(a *attempt, f stream.Frame) error {
			item := new(T)
			leftOut, ok := decode(f, item)
			if !ok {
				return newError(a.response, noteItem)
			}
			if into := c.into; into != nil {
				into.LeftOut = leftOut
			}
			if !yield(item, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// streamCall is a call whose response is a stream, with its connections.
type streamCall struct {
	*call

	lastID string
	worked bool // the current connection has delivered an item
	any    bool // some connection has delivered an item
}

// run sends the request and calls give for each item. It sends it again as far as that is allowed: like any other call
// before the response begins, and afterwards only if the stream can be resumed.
func (s *streamCall) run(ctx context.Context, give func(*attempt, stream.Frame) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	for renewsToken := s.renewsToken; ; {
		a, err := s.sendAgain(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		a.err = s.read(ctx, a, give)
		if a.err == nil || errors.Is(a.err, errStopped) {
			return a.err
		}
		// A stream may have no items for hours while a proxy ends its connections again and again.
		if s.worked || time.Since(began) >= s.retry.MaxDelay {
			s.attempts, s.renewsToken, s.worked = 1, renewsToken, false
		}
		s.final = !s.resumes()
		if err := s.prepareRetry(ctx, a); err != nil {
			return withOutcome(err, s.unknown)
		}
		if err := s.resume(ctx); err != nil {
			return err
		}
	}
}

// resumes reports whether the stream can continue with another connection without losing or repeating items.
func (s *streamCall) resumes() bool {
	trimmed := strings.Trim(s.lastID, " \t") // as in a header
	return s.operation.resumable && (s.lastID != "" || !s.any) && headerValue(s.lastID) && trimmed == s.lastID
}

// resume prepares a request for the items after the last one.
func (s *streamCall) resume(ctx context.Context) error {
	s.request.Header = s.request.Header.Clone()
	if s.lastID != "" {
		s.request.Header.Set(headerLastEventID, s.lastID)
	}
	if s.renewsToken {
		return s.authorize(ctx, "") // the token may have expired since
	}
	return nil
}

// read reads the stream in the response of an attempt. It returns nil at its end.
func (s *streamCall) read(ctx context.Context, a *attempt, give func(*attempt, stream.Frame) error) error {
	body := a.response.Body.(*timedBody)
	defer body.Close()
	body.limit.timeout = max(s.timeout, idleTimeout)
	if a.response.StatusCode == http.StatusNoContent {
		return nil
	}
	contentType := a.response.Header.Get("Content-Type")
	format, _ := stream.FormatOf(contentType)
	r, err := stream.NewReader(body, contentType, maxItem)
	if err != nil || format != s.operation.format {
		return newError(a.response, noteNotPromised)
	}
	if s.opened != nil && !s.opened(s.request.Header.Get(headerLastEventID) != "") {
		return errStopped
	}
	for {
		f, err := r.Next()
		switch {
		case ctx.Err() != nil:
			return transportError(s.request, ctx.Err())
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, stream.ErrTooLarge):
			return newError(a.response, noteItemTooLarge)
		}
		if id, ok := r.LastID(); ok {
			s.lastID = id
		}
		if retry := r.Retry(); retry > 0 {
			s.reconnect = retry
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCut, transportError(s.request, err))
		}
		if problem := problemIn(a.response, f); problem != nil {
			return problem
		}
		s.worked, s.any = true, true
		if err := give(a, f); err != nil {
			return err
		}
	}
}

// problemIn returns the error with which the service ends a stream that fails, or nil for any other item.
func problemIn(response *http.Response, f stream.Frame) *Error {
	document := f.Problem()
	if document == nil {
		return nil
	}
	e := newError(response, "")
	e.setProblem(document)
	if e.Problem.Status < http.StatusBadRequest || e.Problem.Status > 599 {
		return nil
	}
	e.StatusCode, e.ContentType = int(e.Problem.Status), mediaProblem
	return e
}
