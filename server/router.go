package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// router is the mux on which the generated code registers its handlers.
type router struct {
	pathtemplate.Routes[*route]

	validator  *validate.Validator
	layers     func(*validate.Operation, http.HandlerFunc) http.Handler // wraps each handler that is registered
	registered map[string]bool                                          // by operation id
	errs       []error
}

// HandleFunc registers handler for pattern, which consists of a method, a space and a path.
func (rt *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.TrimSuffix(path, "{$}") // with which the generated code ends a path that ends with a slash
	operation, ok := rt.validator.Operation(method, path)
	if !ok {
		rt.errs = append(rt.errs, fmt.Errorf("server: the document has no operation %s", pattern))
		return
	}
	rt.registered[operation.ID()] = true
	rt.errs = append(rt.errs, rt.Add(method, path, &route{
		operation: operation, next: rt.layers(operation, handler), challenge: validate.Challenge(operation.Security()),
	}))
}

// finish returns an error if a pattern is no operation, or an operation has no handler.
func (rt *router) finish() error {
	for operation := range rt.validator.Operations() {
		if !rt.registered[operation.ID()] {
			rt.errs = append(rt.errs, fmt.Errorf("server: operation %s has no handler", operation.ID()))
		}
	}
	return errors.Join(rt.errs...)
}

// ServeHTTP routes the request. If no operation matches, it responds with a problem document: 405 with Allow if the
// path exists for other methods, and otherwise 404.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch found, allow, ok := rt.Find(r); {
	case ok:
		found.ServeHTTP(w, r)
	case allow != "":
		w.Header().Set("Allow", allow)
		writeProblem(w, r, &Error{Status: http.StatusMethodNotAllowed, Detail: "This path does not support this method."})
	default:
		writeProblem(w, r, &Error{Status: http.StatusNotFound, Detail: "No operation has this path."})
	}
}

// route serves the requests of one operation.
type route struct {
	operation *validate.Operation
	next      http.Handler
	challenge string // the WWW-Authenticate value, or "" for none
}

func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	exchangeFrom(r.Context()).note(func(c *call) { *c = call{route: rt, broken: c.broken} })
	rt.next.ServeHTTP(w, r)
}

var errNoResponse = errors.New("the implementation returned neither a response nor an error")

// requireResponse responds with 500 if handler wrote nothing. net/http would send an empty 200.
func requireResponse(handler http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tracker, ok := w.(beginTracker)
		if !ok {
			tracking := &trackedResponse{ResponseWriter: w}
			w, tracker = tracking, tracking
		}
		handler(w, r)
		if !tracker.hasBegun() {
			writeProblem(w, r, errNoResponse)
		}
	})
}
