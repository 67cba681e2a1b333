package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// router is the mux that the generated code registers its handlers on. Each is wrapped with
// its operation at registration, so that nothing is looked up when a request comes.
type router struct {
	mux        http.ServeMux
	literal    map[methodPath]*route // the patterns without wildcards
	cfg        Config
	validator  *validate.Validator
	registered map[string]bool // operation ids
	errs       []error
}

type methodPath struct{ method, path string }

func newRouter(cfg Config, validator *validate.Validator) *router {
	return &router{cfg: cfg, validator: validator, registered: make(map[string]bool), literal: make(map[methodPath]*route)}
}

// HandleFunc registers a handler for a pattern that consists of method, space and path.
func (rt *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	operation, ok := rt.validator.Operation(method, strings.TrimPrefix(path, rt.cfg.BasePath))
	if !ok {
		rt.errs = append(rt.errs, fmt.Errorf("server: the document has no operation %s", pattern))
		return
	}
	rt.registered[operation.ID()] = true
	next := operation.Handler(answered(handler), writeProblem)
	if rt.cfg.ValidateResponses != ResponsesUnchecked {
		next = checkResponses(operation, rt.cfg, next)
	}
	registered := &route{
		operation: operation, router: rt, next: next, pattern: pattern,
		challenge: challenges(operation.Security()), missing: missing(operation.Security()),
	}
	if !strings.Contains(path, "{") {
		rt.literal[methodPath{method, path}] = registered
	}
	rt.mux.Handle(pattern, registered)
}

// handler returns what serves the registered handlers, or what is wrong with them.
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
	return &entrance{next: next, logger: rt.cfg.Logger, onAnswer: rt.cfg.OnAnswer, challenge: challenges(security)}, nil
}

// ServeHTTP answers what is no route as a problem: 405 with Allow for a wrong method, 404 for
// the rest, paths that the mux would redirect included.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := w.(beginner); !ok {
		w = &foreignWriter{ResponseWriter: w}
	}
	if route := rt.literal[methodPath{r.Method, r.URL.Path}]; route != nil && r.URL.RawPath == "" {
		r.Pattern = route.pattern // as the mux would find, for no pattern is more specific
		route.ServeHTTP(w, r)
		return
	}
	handler, _ := rt.mux.Handler(r)
	if _, ok := handler.(*route); ok {
		rt.mux.ServeHTTP(w, r) // finds it again, and the values of its wildcards
		return
	}
	refusal := refusalRecorder{header: make(http.Header)}
	handler.ServeHTTP(&refusal, r)
	if refusal.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", refusal.header.Get("Allow"))
		writeProblem(w, r, &Error{Status: http.StatusMethodNotAllowed, Detail: "This path does not take this method."})
		return
	}
	writeProblem(w, r, &Error{Status: http.StatusNotFound, Detail: "There is nothing at this path."})
}

// route is an operation that authenticates its callers.
type route struct {
	operation *validate.Operation
	router    *router
	next      http.Handler
	pattern   string
	challenge string // WWW-Authenticate, "" for none
	missing   string // the detail when there are no credentials
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
			rt.router.cfg.failed(w, r, err)
			return
		}
	}
	rt.next.ServeHTTP(w, r)
}

var errNothingAnswered = errors.New("the implementation returned neither an answer nor an error")

// answered makes a handler that writes nothing fail; net/http would send an empty 200.
func answered(handler http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		if !hasBegun(w, r) {
			writeProblem(w, r, errNothingAnswered)
		}
	})
}

// refusalRecorder takes what the mux would answer by itself.
type refusalRecorder struct {
	header http.Header
	status int
}

func (r *refusalRecorder) Header() http.Header            { return r.header }
func (r *refusalRecorder) Write(body []byte) (int, error) { return len(body), nil }
func (r *refusalRecorder) WriteHeader(status int)         { r.status = status }
