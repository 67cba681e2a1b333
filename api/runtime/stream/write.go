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
	// CheckItem checks an item. If it returns an error, the item is not sent, and the stream ends with this error.
	CheckItem(item Frame) error
}

// Send sends a response whose items are JSON, to the ResponseWriter of [Open] or one that wraps it. There are none if
// items is nil. The function headers adds headers to the response, unless it is nil. If it fails, Send sends nothing
// and returns the error. Send also returns an error with which the iterator ended, and after which [Fail] must be
// called.
func Send[T any](to http.ResponseWriter, status int, mediaType string, items iter.Seq2[T, error], headers func(http.Header) error) error {
	return send(to, status, mediaType, items, headers, func(w *response, item *T) (err error) {
		w.item, err = encode.Append(w.item[:0], item)
		if err == nil {
			err = w.check(Frame{Data: w.item})
		}
		return err
	})
}

// check sets the text of an item, unless it is refused.
func (w *response) check(item Frame) (err error) {
	if w.checker != nil {
		err = w.checker.CheckItem(item)
	}
	if err == nil {
		w.text, err = w.format.Append(w.text[:0], item)
	}
	return err
}

// send sends a response. The function write sets the text of an item.
func send[T any](
	to http.ResponseWriter, status int, mediaType string, items iter.Seq2[T, error], headers func(http.Header) error, write func(*response, *T) error,
) error {
	w, err := begin(to, status, mediaType, headers)
	if w == nil {
		return err
	}
	defer w.end()
	if items == nil {
		return w.finish(nil)
	}
	var item T // of the loop, so that not each item is allocated
	for next, err := range items {
		if item = next; err == nil {
			err = write(w, &item)
		}
		if err != nil {
			return w.finish(err)
		}
		if !w.sendText() {
			break
		}
	}
	return w.finish(nil)
}

// response is the ResponseWriter of an operation that may respond with a stream. It sends the items of the stream.
type response struct {
	http.ResponseWriter
	request  context.Context //nolint:containedctx // that of the request
	ctx      context.Context //nolint:containedctx // that of the operation
	shutdown context.Context //nolint:containedctx // that of the server
	cancel   context.CancelCauseFunc
	head     bool

	to      http.ResponseWriter // of the stream, or nil before it has begun
	control *http.ResponseController
	format  Format
	checker ItemChecker // may be nil
	item    []byte      // in JSON
	text    []byte      // as it is sent
	release func()      // ends the use of control by another goroutine
	unwatch func() bool // ends the wait for the shutdown of the server

	mu       sync.Mutex // held while writing to a stream: heartbeats come from another goroutine
	timer    *time.Timer
	written  time.Time
	deadline time.Time // when the write deadline was set
	err      error     // of a write
	panicked any       // by a layer around, in a write
	ended    bool
}

// Open returns the ResponseWriter and the request for an operation that may respond with a stream. The context of the
// request ends with the stream. The function that Open returns must be called after the response has been written.
func Open(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request, func()) {
	// Not derived from that of the request, which ends before a write that stalls has failed, and so would hide the
	// cause.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	opened := &response{
		ResponseWriter: w, request: r.Context(), ctx: ctx, cancel: cancel, head: r.Method == http.MethodHead,
		shutdown: shutdownOf(server),
	}
	unregister := context.AfterFunc(r.Context(), opened.cancelRequest)
	return opened, r.WithContext(ctx), func() { unregister(); cancel(nil) }
}

// cancelRequest ends the context of the operation with that of the request.
func (w *response) cancelRequest() {
	w.mu.Lock() // a write that fails has a better cause
	defer w.mu.Unlock()
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
	if w.ended {
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
	if !ok || opened.to == nil {
		return false
	}
	opened.sendProblem(problem)
	return true
}

// errNotOpen is the error of a response whose ResponseWriter is not that of [Open].
var errNotOpen = errors.New("stream: Open was not called for the response")

// begin sends the header of a response. The result is nil if there is an error, or no body to send.
func begin(to http.ResponseWriter, status int, mediaType string, headers func(http.Header) error) (*response, error) {
	w, ok := As[*response](to)
	if !ok {
		return nil, errNotOpen
	}
	header := to.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx would hold items back
	if headers != nil {
		if err := headers(header); err != nil {
			return nil, err
		}
	}
	header.Set("Content-Type", mediaType)
	w.to, w.control = to, http.NewResponseController(to)
	w.checker, _ = As[ItemChecker](to)
	w.format, _ = FormatOf(mediaType) // without a format, the items are lines
	to.WriteHeader(status)
	if w.head {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// In another goroutine, because net/http needs a deep stack for the header, which this one would keep until the
	// end.
	sent := make(chan struct{})
	go func() { defer close(sent); w.write(nil) }()
	<-sent
	if w.err != nil {
		w.rethrow()
		return nil, nil
	}
	hurried := make(chan struct{})
	unregister := context.AfterFunc(w.ctx, func() { w.hurryWrite(); close(hurried) })
	w.release = sync.OnceFunc(func() {
		if !unregister() {
			<-hurried
		}
	})
	w.timer = time.AfterFunc(Heartbeat, w.beat)
	w.timer.Reset(Heartbeat) // after the assignment, which beat reads
	w.unwatch = context.AfterFunc(w.shutdown, func() { w.cancel(ErrShutdown) })
	return w, nil
}

// sendText sends the text of an item. It returns false if the stream must end.
func (w *response) sendText() bool {
	w.mu.Lock()
	w.write(w.text)
	err := w.err
	w.mu.Unlock()
	if cap(w.text) > maxKeptBuffer || cap(w.item) > maxKeptBuffer {
		w.text, w.item = nil, nil
	}
	return err == nil && w.ctx.Err() == nil
}

// write writes and flushes text. The caller must hold mu. A layer around may panic, to abort the connection: the stream
// then ends, and rethrow panics in the goroutine of the request.
func (w *response) write(text []byte) {
	if w.err != nil {
		return
	}
	defer func() {
		if w.panicked = recover(); w.panicked != nil {
			w.err = http.ErrAbortHandler
			w.cancel(w.err)
		}
	}()
	now := time.Now()
	if w.written = now; w.ctx.Err() != nil {
		w.hurry()
	} else if now.Sub(w.deadline) >= renewal {
		w.deadline = now
		_ = w.control.SetWriteDeadline(now.Add(WriteTimeout)) // not every connection supports it
	}
	if len(text) > 0 {
		_, w.err = w.to.Write(text)
	}
	if w.err == nil {
		if w.err = w.control.Flush(); errors.Is(w.err, http.ErrNotSupported) {
			w.err = nil
		}
	}
	if w.err != nil {
		if time.Since(w.deadline) >= WriteTimeout {
			w.err = ErrStalled
		}
		w.cancel(w.err)
	}
}

// hurryWrite shortens the write deadline if another goroutine writes. Otherwise the next write does. A deadline that
// passes between two writes would end an HTTP/2 stream before the client is told why.
func (w *response) hurryWrite() {
	if w.mu.TryLock() {
		w.mu.Unlock()
		return
	}
	w.hurry()
}

// hurry shortens the write deadline of a stream that is to end. It may be called while another goroutine writes.
func (w *response) hurry() {
	if w.endsEarly() {
		_ = w.control.SetWriteDeadline(time.Now().Add(endTimeout)) // not every connection supports it
	}
}

// beat sends a heartbeat if the stream was silent.
func (w *response) beat() {
	if !w.mu.TryLock() { // the stream is not silent
		w.timer.Reset(Heartbeat)
		return
	}
	defer w.mu.Unlock()
	if w.ended || w.err != nil {
		return
	}
	wait := Heartbeat - time.Since(w.written)
	if wait <= 0 {
		w.write(w.format.heartbeat())
		wait = Heartbeat
	}
	w.timer.Reset(wait)
}

// isCut reports whether the connection broke.
func (w *response) isCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil || errors.Is(w.request.Err(), context.Canceled) && !w.endsEarly()
}

// endsEarly reports whether the stream ends because of [End] or because the server shuts down.
func (w *response) endsEarly() bool {
	return w.ctx.Err() != nil && !errors.Is(context.Cause(w.ctx), context.Canceled)
}

// finish returns the error with which the stream ends, such as that of its iterator, or nil if it is complete or there
// is nobody to tell.
func (w *response) finish(err error) error {
	switch {
	case w.isCut():
		w.release()
		// The stream is not complete. Without this deadline, net/http would write that it is.
		_ = w.control.SetWriteDeadline(time.Unix(1, 0))
		return nil
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	}
	return err
}

func (w *response) sendProblem(problem []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = false
	w.write(w.format.problem(problem))
	w.ended = true
	w.rethrow()
}

// end stops the heartbeats, and rethrows.
func (w *response) end() {
	w.release()
	w.timer.Stop()
	w.unwatch()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.rethrow()
}

func (w *response) rethrow() {
	if w.panicked != nil {
		panic(w.panicked)
	}
}
