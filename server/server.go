// Package server turns an implementation of the generated interface into an http.Handler that
// keeps the contract: it authenticates as the document's security requirements say, checks
// every request against the document before it is decoded, gives every request an id and a log
// line, survives panics, and answers every error as a problem document (RFC 9457), those of
// unknown paths and wrong methods included.
//
// A request passes: request id, access log, recovery, [Config.Wrap], routing, authentication,
// [Config.Admit], validation, decoding, [Config.Middleware], the implementation. The body of a request that is
// not authenticated is never read.
//
// # Errors
//
// An implementation, a middleware and an [Authenticator] answer an error by returning an [*Error].
// [Config.MapError] makes one of any other error, in one place. A func(http.Handler) http.Handler
// answers with [WriteProblem]. What is no *Error is a 500 with a fixed text; the log has the cause,
// beside the request id that the caller got.
//
// # Authentication
//
// HTTP bearer and basic authentication, OAuth 2, OpenID Connect, API keys in headers, queries and
// cookies, and client certificates are served, with scopes, as alternatives, in combination, and
// as an option. What a request presents is never ignored: where the document makes authentication
// optional, a wrong credential is a 401 and not an anonymous request. A 401 names the schemes of
// the operation in WWW-Authenticate.
package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// Config says how an interface is served. Its zero value works for a service whose operations
// are all public.
type Config struct {
	// Authenticator judges credentials. Required when an operation takes any, as most of the
	// contract's do.
	Authenticator Authenticator
	// Admit is called for every request of an operation, after authentication and before the body is
	// read, such as to limit how often a caller may call: [PrincipalFrom] tells who that is. An error
	// is answered in place of the operation. Default: every request is admitted.
	Admit func(ctx context.Context, operationID string) error
	// Middleware wraps every operation, once and with its operationId; the first of several is
	// the outermost. It runs after authentication and validation, and sees the decoded request,
	// such as a [gen.LoginRequestObject], and the answer or the error of what it wraps.
	// [PrincipalFrom] tells who calls. Default: none.
	Middleware []gen.StrictMiddlewareFunc
	// Wrap wraps the handling of every request, those of unknown paths included. It runs before
	// authentication, inside of the log line and the recovery: [RequestID] knows the id, and once
	// the wrapped handler has returned, [PrincipalFrom] and [OperationID] know who called what.
	// Default: none.
	Wrap func(http.Handler) http.Handler
	// MapError returns the answer to an error of the implementation or of Middleware that is no
	// [*Error]; nil is a 500 with a fixed text. The error becomes the cause of an answer that has
	// none. Default: every such error is that 500.
	MapError func(ctx context.Context, err error) *Error
	// Logger gets one line for each request and the cause of every 500. Default: none.
	Logger *slog.Logger
	// BasePath comes before every path of the document, such as "/studio". Default: none.
	BasePath string
	// Validation holds the limits of bodies, formats of your own, and whether to serve a document
	// of which a part is not supported. Default: that of [validate.Load], with bodies of 1 MiB.
	Validation validate.Config
	// ValidateResponses says what to do about answers that the document forbids.
	// Default [ResponsesUnchecked].
	ValidateResponses ResponseCheck
	// OnInvalidResponse is called, concurrently, for each answer that the document forbids, for
	// counting them. Default: nothing.
	OnInvalidResponse func(operationID string)
	// OnAnswer is called, concurrently, once for each request, for counting them. Default: nothing.
	OnAnswer func(Answer)
}

// New returns a handler that serves implementation. The timeouts of a connection and the size of
// its headers are for the http.Server to limit. The error names the place in the document,
// or the route, that cannot be served as the document says.
func New(implementation gen.StrictServerInterface, cfg Config) (http.Handler, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if !validBasePath(cfg.BasePath) {
		return nil, errors.New("server: Config.BasePath must begin with a slash, not end with one, and be clean")
	}
	validator, err := load(cfg.Validation)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	router := newRouter(cfg, validator)
	middleware := newChains(validator, slices.Clone(cfg.Middleware))
	strict := gen.NewStrictHandlerWithOptions(implementation, middleware, gen.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  undecodable,
		ResponseErrorHandlerFunc: cfg.failed,
	})
	gen.HandlerWithOptions(strict, gen.StdHTTPServerOptions{
		BaseURL:          cfg.BasePath,
		BaseRouter:       router,
		ErrorHandlerFunc: undecodable,
	})
	return router.handler()
}

// failed answers an error of the implementation.
func (cfg *Config) failed(w http.ResponseWriter, r *http.Request, err error) {
	if _, ok := errors.AsType[*Error](err); !ok && cfg.MapError != nil {
		if mapped := cfg.MapError(r.Context(), err); mapped != nil {
			answer := *mapped
			if answer.Err == nil {
				answer.Err = err
			}
			err = &answer
		}
	}
	writeProblem(w, r, err)
}

// load reads the document in JSON, which takes a fraction of the time, unless the YAML has been
// edited since. What is reported has its place in the YAML.
func load(cfg validate.Config) (*validate.Validator, error) {
	cfg.Name = cmp.Or(cfg.Name, "api/openapi.yaml")
	if cfg.Lenient == nil && fmt.Sprintf("%x", sha256.Sum256(api.Spec)) == gen.DocumentSource {
		if validator, err := validate.Load([]byte(gen.Document), cfg); err == nil {
			return validator, nil
		}
	}
	return validate.Load(api.Spec, cfg)
}

func validBasePath(base string) bool {
	return base == "" || base[0] == '/' && base != "/" && path.Clean(base) == base && !strings.ContainsAny(base, "{} %?#")
}
