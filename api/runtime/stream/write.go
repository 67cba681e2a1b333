package stream

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/encode"
)

const (
	// Heartbeat is how long a response may be silent. Many proxies and load balancers close connections after 30 or 60
	// seconds of silence, so two heartbeats fit into the shorter time.
	Heartbeat = 15 * time.Second
	// WriteTimeout is how long a client may refuse the data of an item, at most.
	WriteTimeout = 30 * time.Second
	// endTimeout is the WriteTimeout after [End] and when the server shuts down.
	endTimeout = time.Second
	// renewal is the age at which a write deadline is renewed. Setting it for each item would cost more than encoding
	// it.
	renewal = WriteTimeout / 6
	// maxKeptBuffer is the capacity in bytes above which the buffer for an item is not used for the next one.
	maxKeptBuffer = 64 << 10
)

// ErrShutdown is the error of a stream that ended because the server shuts down.
var ErrShutdown = errors.New("stream: the server is shutting down")

// ErrStalled is the error of a stream whose client accepted no data for [WriteTimeout].
var ErrStalled = errors.New("stream: the client reads nothing")

// ItemChecker is a ResponseWriter that checks items before they are sent. [Send] and [SendEvents] use the first that it
// finds with [As].
type ItemChecker interface {
	// CheckItem checks an item in JSON. If it returns an error, the item is not sent, and the stream ends with this
	// error.
	CheckItem(item []byte) error
	// CheckEvent checks a server-sent event like CheckItem.
	CheckEvent(event Frame) error
}

// Send sends a response whose items are JSON. There are none if items is nil. The function headers adds headers to the
// response, unless it is nil. If it fails, Send sends nothing and returns the error. Send also returns an error with
// which the iterator ended, and after which [Fail] must be called.
func Send[T any](w http.ResponseWriter, status int, mediaType string, items iter.Seq2[T, error], headers func(http.Header) error) error {
	return send(w, status, mediaType, items, headers, func(s *sender, item *T) (err error) {
		s.item, err = encode.Append(s.item[:0], item)
		if err == nil && s.checker != nil {
			err = s.checker.CheckItem(s.item)
		}
		s.text = s.format.append(s.text[:0], s.item)
		return err
	})
}

// send sends a response. The function write sets the text of an item.
func send[T any](
	w http.ResponseWriter, status int, mediaType string, items iter.Seq2[T, error], headers func(http.Header) error, write func(*sender, *T) error,
) error {
	s, err := begin(w, status, mediaType, headers)
	if err != nil || s.silent {
		return err
	}
	defer s.end()
	if items == nil {
		return s.finish()
	}
	var item T // of the loop, so that not each item is allocated
	for next, err := range items {
		if item = next; err == nil {
			err = write(s, &item)
		}
		if err != nil {
			return s.fail(err)
		}
		if !s.sendText() {
			break
		}
	}
	return s.finish()
}

// response is the ResponseWriter of an operation that may respond with a stream.
type response struct {
	http.ResponseWriter
	request context.Context //nolint:containedctx // that of the request
	ctx     context.Context //nolint:containedctx // that of the operation
	cancel  context.CancelCauseFunc
	head    bool
	server  *http.Server
	sender  *sender    // nil before a stream has begun
	writing sync.Mutex // held while writing to a stream: heartbeats come from another goroutine
}

// Open returns the ResponseWriter and the request for an operation that may respond with a stream. The context of the
// request ends with the stream. The function that Open returns must be called after the response has been written.
func Open(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request, func()) {
	// Not derived from that of the request, which ends before a write that stalls has failed, and so would hide the
	// cause.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	opened := &response{
		ResponseWriter: w, request: r.Context(), ctx: ctx, cancel: cancel, head: r.Method == http.MethodHead, server: server,
	}
	unregister := context.AfterFunc(r.Context(), opened.cancelRequest)
	return opened, r.WithContext(ctx), func() { unregister(); cancel(nil) }
}

// cancelRequest ends the context of the operation with that of the request.
func (w *response) cancelRequest() {
	w.writing.Lock() // a write that fails has a better cause
	defer w.writing.Unlock()
	w.cancel(context.Cause(w.request))
}

// End ends a stream with an error as if its iterator had returned it. w is that of the operation. End does nothing if
// the stream has ended. It may be called at any time, also by another goroutine.
func End(w http.ResponseWriter, err error) {
	if opened, ok := As[*response](w); ok {
		opened.cancel(err)
	}
}

// WriteHeader aborts the connection if a stream has ended: only [Fail] can tell the client about an error.
func (w *response) WriteHeader(status int) {
	w.checkEnded()
	w.ResponseWriter.WriteHeader(status)
}

// Write aborts the connection like WriteHeader.
func (w *response) Write(body []byte) (int, error) {
	w.checkEnded()
	return w.ResponseWriter.Write(body)
}

func (w *response) checkEnded() {
	if w.sender != nil && w.sender.ended {
		panic(http.ErrAbortHandler)
	}
}

// Unwrap supports [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// As finds the first ResponseWriter of type T among w and those that it wraps.
func As[T any](w http.ResponseWriter) (found T, ok bool) {
	for w != nil {
		if found, ok := w.(T); ok {
			return found, true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = wrapper.Unwrap()
	}
	return found, false
}

// Fail ends the stream that has begun on w with a problem document. It returns false if no stream has begun, and
// another response can be sent.
func Fail(w http.ResponseWriter, problem []byte) bool {
	opened, ok := As[*response](w)
	if !ok || opened.sender == nil {
		return false
	}
	opened.sender.sendProblem(problem)
	return true
}

// sender sends the items of a response.
type sender struct {
	format Format

	response *response // nil if Open was not called
	to       http.ResponseWriter
	control  *http.ResponseController
	checker  ItemChecker  // may be nil
	silent   bool         // the response has no body
	item     []byte       // in JSON
	text     []byte       // as it is sent
	open     *openStreams // of the server, or nil
	release  func()       // ends the use of control by another goroutine

	mu       *sync.Mutex // response.writing
	timer    *time.Timer
	written  time.Time
	deadline time.Time // when the write deadline was set
	err      error     // of a write
	ended    bool
}

// begin sends the header of a response.
func begin(w http.ResponseWriter, status int, mediaType string, headers func(http.Header) error) (*sender, error) {
	s := &sender{to: w, control: http.NewResponseController(w)}
	s.checker, _ = As[ItemChecker](w)
	if s.response, _ = As[*response](w); s.response != nil {
		s.mu, s.silent = &s.response.writing, s.response.head
	} else {
		s.mu = new(sync.Mutex)
	}
	s.format, _ = FormatOf(mediaType) // without a format, the items are lines
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx would hold items back
	if headers != nil {
		if err := headers(header); err != nil {
			return nil, err
		}
	}
	header.Set("Content-Type", mediaType)
	if s.response != nil {
		s.response.sender = s
	}
	w.WriteHeader(status)
	if s.silent {
		return s, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// In another goroutine, because net/http needs a deep stack for the header, which this one would keep until the
	// end.
	sent := make(chan struct{})
	go func() { defer close(sent); s.write(nil) }()
	<-sent
	if s.err != nil {
		s.silent = true
		return s, nil
	}
	if s.release = func() {}; s.response != nil {
		hurried := make(chan struct{})
		unregister := context.AfterFunc(s.response.ctx, func() { s.hurryWrite(); close(hurried) })
		s.release = sync.OnceFunc(func() {
			if !unregister() {
				<-hurried
			}
		})
	}
	s.timer = time.AfterFunc(Heartbeat, s.beat)
	s.timer.Reset(Heartbeat) // after the assignment, which beat reads
	if s.response != nil && s.response.server != nil {
		s.open = streamsOf(s.response.server)
		s.open.add(s.response)
	}
	return s, nil
}

// sendText sends the text of an item. It returns false if the stream must end.
func (s *sender) sendText() bool {
	s.mu.Lock()
	s.write(s.text)
	err := s.err
	s.mu.Unlock()
	if cap(s.text) > maxKeptBuffer || cap(s.item) > maxKeptBuffer {
		s.text, s.item = nil, nil
	}
	return err == nil && (s.response == nil || s.response.ctx.Err() == nil)
}

// write writes and flushes text. The caller must hold mu.
func (s *sender) write(text []byte) {
	if s.err != nil {
		return
	}
	now := time.Now()
	if s.written = now; s.response != nil && s.response.ctx.Err() != nil {
		s.hurry()
	} else if now.Sub(s.deadline) >= renewal {
		s.deadline = now
		_ = s.control.SetWriteDeadline(now.Add(WriteTimeout)) // not every connection supports it
	}
	if len(text) > 0 {
		_, s.err = s.to.Write(text)
	}
	if s.err == nil {
		if s.err = s.control.Flush(); errors.Is(s.err, http.ErrNotSupported) {
			s.err = nil
		}
	}
	if s.err != nil {
		if time.Since(s.deadline) >= WriteTimeout {
			s.err = ErrStalled
		}
		if s.response != nil {
			s.response.cancel(s.err)
		}
	}
}

// hurryWrite shortens the write deadline if another goroutine writes. Otherwise the next write does. A deadline that
// passes between two writes would end an HTTP/2 stream before the client is told why.
func (s *sender) hurryWrite() {
	if s.mu.TryLock() {
		s.mu.Unlock()
		return
	}
	s.hurry()
}

// hurry shortens the write deadline of a stream that is to end. It may be called while another goroutine writes.
func (s *sender) hurry() {
	if s.response.endsEarly() {
		_ = s.control.SetWriteDeadline(time.Now().Add(endTimeout)) // not every connection supports it
	}
}

// beat sends a heartbeat if the stream was silent.
func (s *sender) beat() {
	if !s.mu.TryLock() { // the stream is not silent
		s.timer.Reset(Heartbeat)
		return
	}
	defer s.mu.Unlock()
	if s.ended || s.err != nil {
		return
	}
	wait := Heartbeat - time.Since(s.written)
	if wait <= 0 {
		s.write(s.format.heartbeat())
		wait = Heartbeat
	}
	s.timer.Reset(wait)
}

// fail returns the error that ends the stream, or nil if there is nobody to tell.
func (s *sender) fail(err error) error {
	if s.isCut() {
		return s.finish()
	}
	if s.response != nil && s.response.ctx.Err() != nil {
		return context.Cause(s.response.ctx)
	}
	return err
}

// isCut reports whether the connection broke.
func (s *sender) isCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.response != nil && errors.Is(s.response.request.Err(), context.Canceled) && !s.response.endsEarly()
}

// endsEarly reports whether the stream ends because of [End] or because the server shuts down.
func (w *response) endsEarly() bool {
	return w.ctx.Err() != nil && !errors.Is(context.Cause(w.ctx), context.Canceled)
}

// finish ends a stream whose iterator returned without an error.
func (s *sender) finish() error {
	switch {
	case s.isCut():
		s.release()
		// The stream is not complete. Without this deadline, net/http would write that it is.
		_ = s.control.SetWriteDeadline(time.Unix(1, 0))
	case s.response != nil && s.response.ctx.Err() != nil:
		return context.Cause(s.response.ctx)
	}
	return nil
}

func (s *sender) sendProblem(problem []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = false
	s.write(s.format.problem(problem))
	s.ended = true
}

// end stops the heartbeats.
func (s *sender) end() {
	s.release()
	s.timer.Stop()
	if s.open != nil {
		s.open.remove(s.response)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
