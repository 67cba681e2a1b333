package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

const (
	requestIDHeader    = "X-Request-Id"
	maxRequestIDLength = 128
)

// exchange is a request and its answer, with what the layers of the server know of it. It is
// the one value that they put into the context.
type exchange struct {
	http.ResponseWriter
	entrance *entrance
	ctx      exchangeContext
	request  http.Request
	id       [1]string // in the form in which a header takes it, as noStore is
	noStore  [1]string
	status   int // 0 before the answer has begun
	bytes    int64

	mu         sync.Mutex // a handler may outlive the Wrap that called it, as with http.TimeoutHandler
	called     call
	violations []gen.Violation // of the problem that was answered
}

// call is who calls what.
type call struct {
	route         *route // nil when the path is none
	principal     Principal
	authenticated bool
}

func (x *exchange) call() call {
	if x == nil {
		return call{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.called
}

func (x *exchange) setCall(c call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.called = c
}

func (x *exchange) setViolations(all []gen.Violation) {
	if x == nil || len(all) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.violations = all
}

// exchangeContext is the context of an exchange, and a part of it, so that it needs no memory of its own.
type exchangeContext struct {
	context.Context //nolint:containedctx // it is one

	exchange *exchange
}

func (c *exchangeContext) Value(key any) any {
	if _, ok := key.(exchangeKey); ok {
		return c.exchange
	}
	return c.Context.Value(key)
}

type exchangeKey struct{}

func exchangeFrom(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID returns the id of the request that ctx belongs to.
func RequestID(ctx context.Context) string {
	return exchangeFrom(ctx).requestID()
}

// ClientAddr returns the address that the request of ctx came from: the host of its RemoteAddr, which a
// handler around New's may have set to that of the client of a proxy. The zero Addr when it is none.
func ClientAddr(ctx context.Context) netip.Addr {
	if x := exchangeFrom(ctx); x != nil {
		return clientAddr(&x.request)
	}
	return netip.Addr{}
}

func clientAddr(r *http.Request) netip.Addr {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	return from.Addr().Unmap()
}

// OperationID returns the operationId of the request that ctx belongs to, or "METHOD path" of an
// operation that has none; "" before it is routed, and when its path and method are no operation.
func OperationID(ctx context.Context) string {
	if route := exchangeFrom(ctx).call().route; route != nil {
		return route.operation.ID()
	}
	return ""
}

// requestID returns "" for a request that did not come through New's handler, as log returns a
// logger that discards.
func (x *exchange) requestID() string {
	if x == nil {
		return ""
	}
	return x.id[0]
}

// challenge returns the WWW-Authenticate of a 401: what the operation takes, or else what the
// document knows.
func (x *exchange) challenge() string {
	switch called := x.call(); {
	case called.route != nil && called.route.challenge != "":
		return called.route.challenge
	case x != nil:
		return x.entrance.challenge
	}
	return ""
}

func (x *exchange) log() *slog.Logger {
	if x == nil {
		return slog.New(slog.DiscardHandler)
	}
	return x.entrance.logger
}

// entrance gives each request an id and a line in the log, and survives panics.
type entrance struct {
	next      http.Handler
	logger    *slog.Logger
	onAnswer  func(Answer) // nil for none
	challenge string
}

func (e *entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, entrance: e, noStore: [1]string{"no-store"}}
	if given := r.Header[requestIDHeader]; len(given) > 0 && validRequestID(given[0]) {
		x.id[0] = given[0]
	} else {
		x.id[0] = newRequestID()
	}
	header := w.Header()
	header[requestIDHeader] = x.id[:]
	header["Cache-Control"] = x.noStore[:] // answers are for their callers alone
	x.ctx = exchangeContext{r.Context(), x}
	x.request = *r.WithContext(&x.ctx) //nolint:contextcheck // it has the request's
	r = &x.request
	if e.onAnswer != nil {
		defer e.answered(x, time.Now()) // also when the connection is broken on purpose
	}
	if e.logger.Enabled(r.Context(), slog.LevelInfo) { //nolint:contextcheck // as above
		defer e.log(x, r, time.Now()) // as above
	}
	defer e.recover(x, r)
	e.next.ServeHTTP(x, r)
}

// log writes one line. The route stands for the path, which may hold anything, and the query is
// left out.
func (e *entrance) log(x *exchange, r *http.Request, began time.Time) {
	called := x.call()
	var route string
	if called.route != nil {
		route = called.route.operation.Path()
	}
	e.logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", x.id[0]), slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", x.status), slog.Int64("bytes", x.bytes),
		slog.Duration("duration", time.Since(began)), slog.String("user_id", called.principal.UserID),
		slog.String("client", clientAddr(r).String()))
}

// recover answers a panic as a 500 and logs its stack. It must be deferred itself.
func (e *entrance) recover(x *exchange, r *http.Request) {
	switch cause := recover(); cause {
	case nil:
	case http.ErrAbortHandler:
		panic(cause)
	default:
		e.logger.ErrorContext(r.Context(), "panic", "request_id", x.id[0], "err", cause, "stack", string(debug.Stack()))
		writeProblem(x, r, internal(nil))
	}
}

// newRequestID makes 128 random bits. They are to be unique, not secret.
func newRequestID() string {
	var id [16]byte
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// validRequestID takes what the document allows, which cannot do harm in a log or a URN.
func validRequestID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("._~+/=:@-", c) >= 0:
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxRequestIDLength
}

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(body []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(body)
	x.bytes += int64(n)
	return n, err
}

// ReadFrom lets the connection send a file by itself.
func (x *exchange) ReadFrom(body io.Reader) (int64, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := io.Copy(x.ResponseWriter, body)
	x.bytes += n
	return n, err
}

// Flush sends what has been written so far, as far as the connection can.
func (x *exchange) Flush() { _ = http.NewResponseController(x.ResponseWriter).Flush() }

// Unwrap serves http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) hasBegun() bool { return x.status != 0 }

// beginner is a ResponseWriter that knows whether an answer has begun, so that it is too late for
// another.
type beginner interface{ hasBegun() bool }

func hasBegun(w http.ResponseWriter, r *http.Request) bool {
	if writer, ok := w.(beginner); ok {
		return writer.hasBegun()
	}
	x := exchangeFrom(r.Context())
	return x != nil && x.hasBegun()
}

// foreignWriter makes a beginner of the ResponseWriter of [Config.Wrap], which may hold an answer
// back from the exchange.
type foreignWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *foreignWriter) WriteHeader(status int) {
	w.begun = w.begun || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

func (w *foreignWriter) Write(body []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(body)
}

func (w *foreignWriter) ReadFrom(body io.Reader) (int64, error) {
	w.begun = true
	return io.Copy(w.ResponseWriter, body)
}

func (w *foreignWriter) Flush() {
	w.begun = true
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap serves http.ResponseController.
func (w *foreignWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *foreignWriter) hasBegun() bool { return w.begun }
