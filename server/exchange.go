package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
)

const requestIDHeader = "X-Request-Id"

// exchange is a request and its response, with the state that the layers of the server share. It is the only
// value that they store in the context.
type exchange struct {
	trackedResponse
	rootHandler *rootHandler
	ctx         exchangeContext
	request     http.Request
	id          [1]string // an array, so that the header needs no allocation of its own
	noStore     [1]string // the value of Cache-Control, as id

	mu     sync.Mutex // a handler may outlive the Wrap that called it, as with http.TimeoutHandler
	called call
}

// call is what the layers find out about a request.
type call struct {
	route         *route // nil if no operation matched
	principal     Principal
	authenticated bool
	broken        bool            // the request failed after its connection broke
	violations    []gen.Violation // violations of the problem document that was sent
}

func (x *exchange) call() call {
	if x == nil {
		return call{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.called
}

// note changes what is known about the request. It does nothing if x is nil.
func (x *exchange) note(change func(*call)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.called)
}

func (x *exchange) setPrincipal(principal Principal, authenticated bool) {
	x.note(func(c *call) { c.principal, c.authenticated = principal, authenticated })
}

// setFailed records that the request failed. If its connection had broken before, the caller is the cause. The deadline
// of a layer around the handler, such as [http.TimeoutHandler], is not the caller's.
func (x *exchange) setFailed() {
	x.note(func(c *call) { c.broken = c.broken || errors.Is(x.ctx.Err(), context.Canceled) })
}

// reportedStatus returns the status for the access log and for [Response].
func (x *exchange) reportedStatus() int {
	if x.call().broken {
		return 0
	}
	return x.status
}

// exchangeContext is the context of an exchange. It is part of the exchange to save an allocation.
type exchangeContext struct {
	context.Context //nolint:containedctx // it is a context

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

// withExchange returns ctx, or a context that also has the exchange of w, which a layer may pass on with any context.
// It returns nil if w is not that of an exchange either.
func withExchange(ctx context.Context, w http.ResponseWriter) context.Context {
	if exchangeFrom(ctx) != nil {
		return ctx
	}
	if x, ok := stream.As[*exchange](w); ok {
		return &exchangeContext{ctx, x}
	}
	return nil
}

// errContext returns the error for a layer after which withExchange returns nil.
func errContext(layer string) error {
	return internalError(fmt.Errorf("server: Config.%s passes on neither a context that is derived from that of the request "+
		"nor a ResponseWriter with an Unwrap method", layer))
}

// requireExchange is the layer after one that the caller of New has added.
func requireExchange(cfg *Config, layer string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := withExchange(r.Context(), w)
		if ctx == nil {
			err := errContext(layer)
			cfg.Logger.ErrorContext(r.Context(), "request failed", "err", err) // what follows does not know the logger
			writeProblem(w, r, err)
			return
		}
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// requireContexts returns middleware that passes on contexts of the request, which the middleware may have replaced.
func requireContexts(middleware []gen.StrictMiddlewareFunc) []gen.StrictMiddlewareFunc {
	required := make([]gen.StrictMiddlewareFunc, len(middleware))
	for i, wrap := range middleware {
		required[i] = func(next gen.StrictHandlerFunc, operationID string) gen.StrictHandlerFunc {
			return wrap(func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
				if ctx = withExchange(ctx, w); ctx == nil {
					return nil, errContext("Middleware")
				}
				return next(ctx, w, r, request)
			}, operationID)
		}
	}
	return required
}

// RequestID returns the id of the request that ctx belongs to. It returns "" if ctx belongs to no request.
func RequestID(ctx context.Context) string {
	return exchangeFrom(ctx).requestID()
}

// ClientAddr returns the address of the client of the request that ctx belongs to: the host of
// http.Request.RemoteAddr. Behind a proxy, a handler around the one that [New] returns may set RemoteAddr to
// the address that the proxy forwards. ClientAddr returns the zero Addr if RemoteAddr is not an IP address
// and port.
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

// OperationID returns the operationId of the request that ctx belongs to, or "METHOD path" if the operation
// has no operationId. It returns "" before the request has been routed, and if its path and method are no
// operation.
func OperationID(ctx context.Context) string {
	if route := exchangeFrom(ctx).call().route; route != nil {
		return route.operation.ID()
	}
	return ""
}

// requestID returns "" for a request that did not pass through the handler of New. The nil exchange is valid
// for the same reason in the methods challenge and log.
func (x *exchange) requestID() string {
	if x == nil {
		return ""
	}
	return x.id[0]
}

// challenge returns the WWW-Authenticate value of a 401: the schemes of the operation, or all schemes of the
// document if the request matched no operation.
func (x *exchange) challenge() string {
	switch called := x.call(); {
	case called.route != nil && called.route.challenge != "":
		return called.route.challenge
	case x != nil:
		return x.rootHandler.challenge
	}
	return ""
}

func (x *exchange) log() *slog.Logger {
	if x == nil {
		return slog.New(slog.DiscardHandler)
	}
	return x.rootHandler.logger
}

// rootHandler assigns a request id, writes the access log and recovers from panics.
type rootHandler struct {
	next       http.Handler
	logger     *slog.Logger
	onResponse func(context.Context, Response) // may be nil
	challenge  string
}

func (h *rootHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{trackedResponse: trackedResponse{ResponseWriter: w}, rootHandler: h, noStore: [1]string{"no-store"}}
	if x.id[0] = r.Header.Get(requestIDHeader); !validRequestID(x.id[0]) {
		x.id[0] = newRequestID()
	}
	header := w.Header()
	header[requestIDHeader] = x.id[:]
	header["Cache-Control"] = x.noStore[:] // responses are private to their callers
	x.ctx = exchangeContext{r.Context(), x}
	x.request = *r.WithContext(&x.ctx) //nolint:contextcheck // derived from the context of r
	r = &x.request
	if h.onResponse != nil {
		defer h.callOnResponse(x, time.Now()) //nolint:contextcheck // x has the context; deferred so that aborted requests are counted too
	}
	if h.logger.Enabled(r.Context(), slog.LevelInfo) { //nolint:contextcheck // as above
		defer h.log(x, r, time.Now()) // as above
	}
	defer h.recover(x, r)
	h.next.ServeHTTP(x, r)
	x.begin(http.StatusOK) // which net/http sends if nothing was written
}

// log writes the access log line. It logs the route instead of the path, because paths may contain anything, and so may
// long methods, which it cuts off. It omits the query. The route of a request that Config.Wrap serves is the pattern of
// its [http.ServeMux].
func (h *rootHandler) log(x *exchange, r *http.Request, began time.Time) {
	called, method := x.call(), r.Method[:min(len(r.Method), len(http.MethodOptions))]
	route := r.Pattern[strings.IndexByte(r.Pattern, ' ')+1:] // without the method
	if called.route != nil {
		route = called.route.operation.Path()
	}
	h.logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", x.id[0]), slog.String("method", method), slog.String("route", route),
		slog.Int("status", x.reportedStatus()), slog.Int64("bytes", x.bytes),
		slog.Duration("duration", time.Since(began)), slog.String("user_id", called.principal.UserID),
		slog.String("client", clientAddr(r).String()))
}

// recover turns a panic into a 500 and logs the stack. It must be deferred directly.
func (h *rootHandler) recover(x *exchange, r *http.Request) {
	switch cause := recover(); cause {
	case nil:
	case http.ErrAbortHandler:
		panic(cause)
	default:
		h.logger.ErrorContext(r.Context(), "panic", "request_id", x.id[0], "err", cause, "stack", string(debug.Stack()))
		writeProblem(x, r, internalError(nil))
	}
}

// newRequestID returns 128 random bits in hex. Request ids are unique, but not secret.
func newRequestID() string {
	var id [16]byte
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// validRequestID reports whether the document allows id as a request id. All allowed characters are safe in
// logs and URNs.
func validRequestID(id string) bool {
	const allowed, longest = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+/=:@-", 128
	return id != "" && len(id) <= longest && strings.Trim(id, allowed) == ""
}
