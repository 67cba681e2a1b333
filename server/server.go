// Package server serves an implementation of the generated interface as an http.Handler that enforces the
// contract. It authenticates requests by the security requirements of the document, validates each request
// against the document before decoding it, identifies each request, writes an access log, and recovers from
// panics. All errors are problem documents (RFC 9457), including those for unknown paths and methods.
//
// A request passes these layers in order:
//
//   - The handler assigns a request id, writes the access log, and recovers from panics.
//   - [Config.Wrap] wraps all requests.
//   - The router finds the operation, and sets r.Pattern and the path values of r.
//   - The [Authenticator] authenticates the request. The body of an unauthenticated request is never read, unless
//     the operation is public.
//   - [Config.Admit] wraps each operation. The body has not been read.
//   - If [Config.ValidateResponses] is set, the response is checked when the layers below have responded.
//   - The validator reads the body and checks the request. It stores the values of parameters as path values, such as
//     r.PathValue("query:NAME").
//   - The generated code decodes the request.
//   - [Config.Middleware] wraps each operation. It ends when the implementation has returned the response.
//   - The implementation responds. The generated code encodes the response, and calls the iterator of a stream as
//     package stream describes.
//
// Most services need none of Wrap, Admit and Middleware. Wrap is for what concerns every request, whoever sends it,
// such as CORS, compression and traces. Admit is for what refuses a caller who is known before the body costs anything,
// such as a limit of requests. Middleware is for what needs the decoded request or the typed response, such as an audit
// log.
//
// Wrap, Admit, Middleware and the Authenticator may pass on another context than that of the request. It should be
// derived from it, so that the request is cancelled when its client disconnects. With any other context, a layer must
// pass on a ResponseWriter with an Unwrap method; otherwise the response is 500, and the log says why.
//
// A path of the document matches exactly. Its segments may have text beside a parameter, such as
// /jobs/{id}:cancel. If several paths match a request, the one whose first different segment has more text is
// served. A path parameter is never empty, "." or "..".
//
// The request id is the X-Request-Id of the request, if that has 1 to 128 letters, digits and ._~+/=:@-
// characters, and otherwise a random one. An operation that declares the header responds to any other value with 400.
// Each response has the id as X-Request-Id.
//
// # Errors
//
// Implementations, middleware and an [Authenticator] respond with an error by returning an [*Error]. A body that is
// streamed fails with a [*validate.Error], which an implementation returns as it is. [Config.MapError] converts all
// other errors to an [*Error] in one place. Plain HTTP middleware calls [WriteProblem]. The response to any other
// error is 500 and a fixed detail; its cause is logged with the request id.
//
// # Authentication
//
// Package server supports HTTP bearer and basic authentication, OAuth 2, OpenID Connect, API keys in headers,
// queries and cookies, and mutual TLS. Requirements may have scopes, be combined, be alternatives, or be
// optional. Invalid credentials are never ignored: if authentication is optional, a request with an invalid
// credential results in 401 and is not treated as anonymous. A 401 lists the schemes of the operation
// in WWW-Authenticate.
package server

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Config configures the handler that [New] returns. The zero value serves a document whose operations are all
// public.
type Config struct {
	// Authenticator authenticates requests. It is required if any operation of the document requires
	// credentials.
	Authenticator Authenticator
	// Admit wraps each operation. It is called once for each operation. It runs after authentication and before
	// the body is read, for example to enforce a rate limit per caller; [PrincipalFrom] returns the caller, and
	// [OperationID] the operation. To reject a request, it calls [WriteProblem]. If nil, all requests are
	// admitted.
	Admit func(http.Handler) http.Handler
	// Middleware wraps each operation. [New] calls it once for each operation, with the operationId. The first
	// element is the outermost. Middleware runs after authentication and validation. It sees the decoded
	// request, such as a [gen.LoginRequestObject], and the response or error of the next handler, before the
	// response is sent. [PrincipalFrom] returns the caller.
	Middleware []gen.StrictMiddlewareFunc
	// Wrap wraps the handling of all requests, including those to unknown paths. It runs before
	// authentication, inside the access log and the panic recovery. [RequestID] is available to the wrapping
	// handler; [PrincipalFrom] and [OperationID] are available after the wrapped handler has returned. The route in
	// the access log is the pattern of the [http.ServeMux] that serves a request itself. If nil, nothing is wrapped.
	Wrap func(http.Handler) http.Handler
	// MapError returns the response for an error of Middleware or the implementation that is neither an [*Error] nor a
	// [*validate.Error]. If it returns nil, the response is 500 with a fixed detail. The original error becomes the Err
	// of a returned Error that has none. If MapError is nil, all such errors result in 500.
	MapError func(ctx context.Context, err error) *Error
	// Logger receives one record for each request and the causes of 5xx responses. If nil, nothing is logged.
	Logger *slog.Logger
	// Validation configures the validator: the limit on body sizes, and whether to serve a document with unsupported
	// parts. The defaults are those of [validate.Load]. Its Security and Fail have no effect.
	Validation validate.Config
	// ValidateResponses logs each response that does not match the document, and sends 500 instead. For that, it keeps
	// a response in memory until it is complete. A response whose media type is not JSON, text or a form is sent as it
	// is written, and only its status, headers and content type are checked. If the document has an itemSchema for it,
	// each item is checked before it is sent; an invalid one ends the stream with a problem document, as package stream
	// describes.
	ValidateResponses bool
	// OnResponse is called once for each request, also those to unknown paths, when its response has been
	// written or its connection broken, with the context of the request, for counting. It may be called
	// concurrently.
	OnResponse func(context.Context, Response)
}

// New returns a handler that serves implementation. The handler sets no timeouts and does not limit headers; configure
// those in the http.Server. To serve below a prefix, use [http.StripPrefix]. New returns an error that names the
// element of the document, or the route, that cannot be served.
func New(implementation gen.StrictServerInterface, cfg Config) (http.Handler, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	validator, err := load(cfg.Validation)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	strict := gen.NewStrictHandlerWithOptions(implementation, requireContexts(cfg.Middleware), gen.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  writeDecodeError,
		ResponseErrorHandlerFunc: cfg.writeError,
	})
	return newHandler(cfg, validator, func(router *router) {
		gen.HandlerWithOptions(strict, gen.StdHTTPServerOptions{
			BaseRouter:       router,
			ErrorHandlerFunc: writeDecodeError,
		})
	})
}

// newHandler puts the layers around the handlers that register adds to the router, from the innermost to the outermost.
func newHandler(cfg Config, validator *validate.Validator, register func(*router)) (http.Handler, error) {
	layers := func(operation *validate.Operation, handler http.HandlerFunc) http.Handler {
		next := operation.Handler(requireResponse(handler), writeProblem)
		if cfg.ValidateResponses {
			next = checkResponses(operation, next)
		}
		if cfg.Admit != nil {
			next = cfg.Admit(requireExchange(&cfg, "Admit", next))
		}
		if len(operation.Security()) > 0 {
			next = &authentication{operation, cfg.Authenticator, next}
		}
		return next
	}
	router := &router{validator: validator, layers: layers, registered: make(map[string]bool)}
	register(router)
	if err := errors.Join(router.finish(), cfg.checkAuthenticator(validator)); err != nil {
		return nil, err
	}
	var next http.Handler = router
	if cfg.Wrap != nil {
		next = cfg.Wrap(requireExchange(&cfg, "Wrap", next))
	}
	var security [][]validate.SecurityRequirement
	for operation := range validator.Operations() {
		security = append(security, operation.Security()...)
	}
	return &rootHandler{next: next, logger: cfg.Logger, onResponse: cfg.OnResponse, challenge: validate.Challenge(security)}, nil
}

// writeError responds with an error of the middleware or the implementation.
func (cfg *Config) writeError(w http.ResponseWriter, r *http.Request, err error) {
	err = notNil(err)
	_, known := errors.AsType[*Error](err)
	_, invalid := errors.AsType[*validate.Error](err)
	if !known && !invalid && cfg.MapError != nil {
		if mapped := cfg.MapError(r.Context(), err); mapped != nil {
			problem := *mapped
			if problem.Err == nil {
				problem.Err = err
			}
			err = &problem
		}
	}
	writeProblem(w, r, err)
}

// document is the document in JSON, which loads several times faster than YAML.
//
//go:embed document.gen.json
var document []byte

// load loads the document. If its JSON fails to load, it loads the YAML, so that errors have positions in the YAML.
func load(cfg validate.Config) (*validate.Validator, error) {
	cfg.Name = cmp.Or(cfg.Name, "api/openapi.yaml")
	if cfg.Lenient == nil {
		if validator, err := validate.Load(document, cfg); err == nil {
			return validator, nil
		}
	}
	return validate.Load(api.Spec, cfg)
}
