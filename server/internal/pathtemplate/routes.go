package pathtemplate

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Routes finds what serves a request. Unlike http.ServeMux, it supports segments that have text beside a parameter, and
// it never redirects. Of several paths that match a request, it uses the one whose first different segment has more
// text. The zero value has no routes. Once all are added, it is safe for concurrent use.
type Routes[T any] struct {
	literal map[string][]*route[T] // paths without parameters and escapes
	all     map[int][]*route[T]    // all routes in the order of precedence, by the number of their segments
}

type route[T any] struct {
	method, pattern string
	template        Template
	target          T
}

// Add adds the target of a method and a path. The target of GET also serves HEAD, unless HEAD has its own.
func (rs *Routes[T]) Add(method, path string, target T) error {
	template, err := Parse(path)
	if err != nil {
		return err
	}
	if rs.all == nil {
		rs.literal, rs.all = make(map[string][]*route[T]), make(map[int][]*route[T])
	}
	added := &route[T]{method, method + " " + path, template, target}
	if len(template.Names) == 0 && !strings.Contains(path, "%") {
		rs.literal[path] = append(rs.literal[path], added)
	}
	of := rs.all[len(template.Segments)]
	at, _ := slices.BinarySearchFunc(of, added, func(a, b *route[T]) int {
		return cmp.Or(Compare(&a.template, &b.template), cmp.Compare(b.method, a.method)) // HEAD before GET
	})
	rs.all[len(template.Segments)] = slices.Insert(of, at, added)
	return nil
}

// Find returns the target of a request, and sets the pattern and the path values of the request like http.ServeMux. If
// there is no target, allow lists the methods of the path, and is empty if the path has none.
func (rs *Routes[T]) Find(r *http.Request) (target T, allow string, ok bool) {
	for _, rt := range rs.literal[r.URL.Path] {
		if rt.method == r.Method && r.URL.RawPath == "" {
			r.Pattern = rt.pattern
			return rt.target, "", true
		}
	}
	path := r.URL.EscapedPath()
	var allowed []string
	for _, rt := range rs.all[strings.Count(path, "/")] {
		values, matches := rt.template.Match(path)
		switch {
		case !matches:
			continue
		case rt.method != r.Method && (rt.method != http.MethodGet || r.Method != http.MethodHead):
			if allowed = append(allowed, rt.method); rt.method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
			continue
		}
		r.Pattern = rt.pattern
		for i, name := range rt.template.Names {
			value, _ := url.PathUnescape(values[i]) // EscapedPath is valid
			r.SetPathValue(name, value)
		}
		return rt.target, "", true
	}
	slices.Sort(allowed)
	return target, strings.Join(slices.Compact(allowed), ", "), false
}
