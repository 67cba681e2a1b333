package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
)

const (
	defaultMaxItemBytes = 1 << 20

	// idleTimeout is several times the interval in which servers send comments.
	idleTimeout = time.Minute

	// maxGiven is how many of the last ids are compared with the first ones after a reconnect. Ids that are longer than
	// maxGivenBytes are not, so that a service cannot make the client keep much.
	maxGiven      = 256
	maxGivenBytes = 1 << 10
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
		s := streamCall{call: c.again()}
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

// again returns a copy of a call that was not sent.
func (c *call) again() *call {
	copied := *c
	copied.header = c.header.Clone()
	return &copied
}

// streamCall is a call whose response is a stream, with its connections.
type streamCall struct {
	*call

	lastID   string
	worked   bool     // the current connection has delivered an item, or stayed open
	any      bool     // some connection has delivered an item
	given    [][]byte // the last ids
	repeated [][]byte // ids that the beginning of the current connection may repeat
}

// run sends the request and calls give for each item. It sends it again as far as that is allowed: like any other call
// before the response begins, and afterwards only if the stream can be resumed.
func (s *streamCall) run(ctx context.Context, give func(*attempt, stream.Frame) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	renewsToken := s.renewsToken
	for {
		s.attempts++
		sent := time.Now()
		a := s.attempt(ctx)
		a.record(s.into)
		begun := a.err == nil
		if begun {
			a.err = s.read(ctx, a, give)
			if limit := s.client.http.Timeout; limit > 0 && time.Since(sent) >= limit && errors.Is(a.err, context.DeadlineExceeded) {
				s.worked = true // the limit ends quiet streams, too
			}
		}
		if s.worked {
			s.attempts, s.renewsToken, s.worked = 1, renewsToken, false
		}
		if a.err == nil || errors.Is(a.err, errStopped) {
			return a.err
		}
		s.final = begun && !s.resumes()
		if err := s.prepareRetry(ctx, a); err != nil {
			return withOutcome(err, s.unknown)
		}
		if begun {
			if err := s.resume(ctx); err != nil {
				return err
			}
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
	s.repeated = slices.Clone(s.given)
	if s.renewsToken {
		return s.authorize(ctx, s.client.takeRefused()) // the token may have expired since
	}
	return nil
}

// read reads the stream in the response of an attempt. It returns nil at its end.
func (s *streamCall) read(ctx context.Context, a *attempt, give func(*attempt, stream.Frame) error) error {
	body := a.response.Body.(*openBody)
	defer body.Close()
	if a.response.StatusCode == http.StatusNoContent {
		return nil
	}
	contentType := a.response.Header.Get("Content-Type")
	if format, ok := stream.FormatOf(contentType); !ok || format != s.operation.format {
		return newError(a.response, noteNotPromised)
	}
	source := &workingReader{newTimeoutReader(body, max(s.timeout, idleTimeout), body.cancel), time.Now().Add(s.retry.MaxDelay), &s.worked}
	r, err := stream.NewReader(source, contentType, s.client.maxItemBytes)
	if err != nil {
		return newError(a.response, noteNotPromised)
	}
	if s.opened != nil {
		s.opened(s.request.Header.Get(headerLastEventID) != "")
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
		case errors.Is(err, stream.ErrMalformed):
			return newError(a.response, noteNotPromised)
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
		if s.repeats(f.ID) {
			continue
		}
		s.worked, s.any = true, true
		if err := give(a, f); err != nil {
			return err
		}
	}
}

// workingReader sets worked when bytes come after a time. They may be heartbeats of a stream that has no items for
// hours, and whose connections a proxy closes again and again.
type workingReader struct {
	io.Reader
	after  time.Time
	worked *bool
}

func (r *workingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 && !*r.worked {
		*r.worked = time.Now().After(r.after)
	}
	return n, err
}

// repeats reports whether an event with this id was given before the connection broke. A service may repeat events: the
// one whose id it got, or all since a point in time. They are the first of the new connection. An event without an id
// cannot be recognized.
func (s *streamCall) repeats(id []byte) bool {
	if len(id) == 0 || len(id) > maxGivenBytes || !s.operation.resumable {
		return false
	}
	if i := slices.IndexFunc(s.repeated, func(given []byte) bool { return bytes.Equal(given, id) }); i >= 0 {
		s.repeated[i] = nil // several events may have the same id
		return true
	}
	s.repeated = nil
	s.given = append(s.given, bytes.Clone(id))
	s.given = s.given[max(0, len(s.given)-maxGiven):]
	return false
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
