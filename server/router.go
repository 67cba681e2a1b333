package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/server/internal/pathtemplate"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// router is the mux on which the generated code registers its handlers. Unlike http.ServeMux, it supports
// segments that have text beside a parameter, and it never redirects. Of several paths that match a request, it
// uses the one whose first different segment has more text.
type router struct {
	literal    map[string][]*route // paths without parameters
	routes     map[int][]*route    // all routes, by the number of their segments
	validator  *validate.Validator
	basePath   string
	layers     func(*validate.Operation, http.HandlerFunc) http.Handler // wraps each handler that is registered
	registered map[string]bool                                          // by operation id
	errs       []error
}

func newRouter(validator *validate.Validator, basePath string, layers func(*validate.Operation, http.HandlerFunc) http.Handler) *router {
	return &router{
		validator: validator, basePath: basePath, layers: layers, registered: make(map[string]bool),
		literal: make(map[string][]*route), routes: make(map[int][]*route),
	}
}

// HandleFunc registers handler for pattern, which consists of a method, a space and a path.
func (rt *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.TrimSuffix(path, "{$}") // with which the generated code ends a path that ends with a slash
	operation, ok := rt.validator.Operation(method, strings.TrimPrefix(path, rt.basePath))
	template, err := pathtemplate.Parse(path)
	if !ok || err != nil {
		rt.errs = append(rt.errs, fmt.Errorf("server: the document has no operation %s", pattern))
		return
	}
	rt.registered[operation.ID()] = true
	registered := &route{
		operation: operation, next: rt.layers(operation, handler), pattern: pattern, method: method, template: template,
		challenge: challenges(operation.Security()),
	}
	if len(template.Names) == 0 {
		rt.literal[path] = append(rt.literal[path], registered)
	}
	size := len(template.Segments)
	rt.routes[size] = append(rt.routes[size], registered)
}

// finish orders the routes. It returns an error if a pattern is no operation, or an operation has no handler.
func (rt *router) finish() error {
	for operation := range rt.validator.Operations() {
		if !rt.registered[operation.ID()] {
			rt.errs = append(rt.errs, fmt.Errorf("server: operation %s has no handler", operation.ID()))
		}
	}
	for _, routes := range rt.routes {
		slices.SortFunc(routes, func(a, b *route) int {
			return cmp.Or(pathtemplate.Compare(&a.template, &b.template), cmp.Compare(b.method, a.method)) // HEAD before GET
		})
	}
	return errors.Join(rt.errs...)
}

// ServeHTTP routes the request, and sets its pattern and path values like http.ServeMux. If no operation
// matches, it responds with a problem document: 405 with Allow if the path exists for other methods, and
// otherwise 404.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, route := range rt.literal[r.URL.Path] {
		if route.method == r.Method && r.URL.RawPath == "" {
			r.Pattern = route.pattern
			route.ServeHTTP(w, r)
			return
		}
	}
	path := r.URL.EscapedPath()
	var allowed []string
	for _, route := range rt.routes[strings.Count(path, "/")] {
		values, ok := route.template.Match(path)
		switch {
		case !ok:
			continue
		case !slices.Contains(route.allowed(), r.Method):
			allowed = append(allowed, route.allowed()...)
			continue
		}
		r.Pattern = route.pattern
		for i, name := range route.template.Names {
			value, _ := url.PathUnescape(values[i]) // EscapedPath is valid
			r.SetPathValue(name, value)
		}
		route.ServeHTTP(w, r)
		return
	}
	if len(allowed) > 0 {
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(slices.Compact(allowed), ", "))
		writeProblem(w, r, &Error{Status: http.StatusMethodNotAllowed, Detail: "This path does not support this method."})
		return
	}
	writeProblem(w, r, &Error{Status: http.StatusNotFound, Detail: "No operation has this path."})
}

// route serves the requests of one operation.
type route struct {
	operation *validate.Operation
	next      http.Handler
	pattern   string
	method    string
	template  pathtemplate.Template
	challenge string // the WWW-Authenticate value, or "" for none
}

// allowed returns the methods of requests that the route serves.
func (rt *route) allowed() []string {
	if rt.method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{rt.method}
}

func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	exchangeFrom(r.Context()).setRoute(rt)
	rt.next.ServeHTTP(w, r)
}

var errNoResponse = errors.New("the implementation returned neither a response nor an error")

// requireResponse responds with 500 if handler wrote nothing. net/http would send an empty 200.
func requireResponse(handler http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tracker, ok := w.(beginTracker)
		if !ok {
			tracking := &trackingWriter{ResponseWriter: w}
			w, tracker = tracking, tracking
		}
		handler(w, r)
		if !tracker.hasBegun() {
			writeProblem(w, r, errNoResponse)
		}
	})
}
