package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// router is the mux on which the generated code registers its handlers. Each handler is wrapped with its
// operation when it is registered, so that no request needs a lookup.
type router struct {
	mux        http.ServeMux
	literal    map[methodPath]*route // patterns without wildcards
	cfg        Config
	validator  *validate.Validator
	registered map[string]bool // by operation id
	errs       []error
}

type methodPath struct{ method, path string }

func newRouter(cfg Config, validator *validate.Validator) *router {
	return &router{cfg: cfg, validator: validator, registered: make(map[string]bool), literal: make(map[methodPath]*route)}
}

// HandleFunc registers handler for pattern, which consists of a method, a space and a path.
func (rt *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	operation, ok := rt.validator.Operation(method, strings.TrimPrefix(path, rt.cfg.BasePath))
	if !ok {
		rt.errs = append(rt.errs, fmt.Errorf("server: the document has no operation %s", pattern))
		return
	}
	rt.registered[operation.ID()] = true
	next := operation.Handler(requireResponse(handler), writeProblem)
	if rt.cfg.ValidateResponses != ResponsesUnchecked {
		next = checkResponses(operation, rt.cfg, next)
	}
	registered := &route{
		operation: operation, router: rt, next: next, pattern: pattern,
		challenge: challenges(operation.Security()), missingDetail: missingDetail(operation.Security()),
	}
	if !strings.Contains(path, "{") {
		rt.literal[methodPath{method, path}] = registered
	}
	rt.mux.Handle(pattern, registered)
}

// handler returns the complete http.Handler. It returns an error if an operation has no handler or cannot be
// authenticated.
func (rt *router) handler() (http.Handler, error) {
	var security [][]validate.SecurityRequirement
	for operation := range rt.validator.Operations() {
		if !rt.registered[operation.ID()] {
			rt.errs = append(rt.errs, fmt.Errorf("server: operation %s has no handler", operation.ID()))
		}
		security = append(security, operation.Security()...)
	}
	if err := errors.Join(append(rt.errs, rt.cfg.checkAuthenticator(rt.validator))...); err != nil {
		return nil, err
	}
	var next http.Handler = rt
	if rt.cfg.Wrap != nil {
		next = rt.cfg.Wrap(rt)
	}
	return &rootHandler{next: next, logger: rt.cfg.Logger, onResponse: rt.cfg.OnResponse, challenge: challenges(security)}, nil
}

// ServeHTTP routes the request. If no operation matches, it responds with a problem document: 405 with Allow
// if the path exists for other methods, and otherwise 404, even where http.ServeMux would redirect.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := w.(beginTracker); !ok {
		w = &trackingWriter{ResponseWriter: w}
	}
	if route := rt.literal[methodPath{r.Method, r.URL.Path}]; route != nil && r.URL.RawPath == "" {
		r.Pattern = route.pattern // the mux would set the same pattern: no other pattern is more specific
		route.ServeHTTP(w, r)
		return
	}
	handler, _ := rt.mux.Handler(r)
	if _, ok := handler.(*route); ok {
		rt.mux.ServeHTTP(w, r) // matches again, and sets the path values
		return
	}
	unmatched := responseRecorder{header: make(http.Header)}
	handler.ServeHTTP(&unmatched, r)
	if unmatched.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", unmatched.header.Get("Allow"))
		writeProblem(w, r, &Error{Status: http.StatusMethodNotAllowed, Detail: "This path does not support this method."})
		return
	}
	writeProblem(w, r, &Error{Status: http.StatusNotFound, Detail: "No operation has this path."})
}

// route authenticates and serves the requests of one operation.
type route struct {
	operation     *validate.Operation
	router        *router
	next          http.Handler
	pattern       string
	challenge     string // the WWW-Authenticate value, or "" for none
	missingDetail string // problem detail for a request without credentials
}

func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchangeFrom(r.Context())
	x.setCall(call{route: rt})
	if len(rt.operation.Security()) > 0 {
		authenticated, err := rt.authenticate(x, r)
		if err != nil {
			writeProblem(w, r, err)
			return
		}
		r = authenticated
	}
	if admit := rt.router.cfg.Admit; admit != nil {
		if err := admit(r.Context(), rt.operation.ID()); err != nil {
			rt.router.cfg.writeError(w, r, err)
			return
		}
	}
	rt.next.ServeHTTP(w, r)
}

var errNoResponse = errors.New("the implementation returned neither a response nor an error")

// requireResponse responds with 500 if handler wrote nothing. net/http would send an empty 200.
func requireResponse(handler http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		if !hasBegun(w, r) {
			writeProblem(w, r, errNoResponse)
		}
	})
}

// responseRecorder records the status and headers that the mux responds with for an unmatched request.
type responseRecorder struct {
	header http.Header
	status int
}

func (r *responseRecorder) Header() http.Header            { return r.header }
func (r *responseRecorder) Write(body []byte) (int, error) { return len(body), nil }
func (r *responseRecorder) WriteHeader(status int)         { r.status = status }
