package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/docs"
)

// withDocs adds the API reference to next. The paths of the reference are no operations of the document.
func withDocs(next http.Handler) (http.Handler, error) {
	reference, err := docs.New(api.Spec, docs.Config{Samples: api.Samples})
	return route(next, reference, "/docs", "/docs/", "/openapi.yaml", "/openapi.json"), err
}

// route serves some paths with handler, and the others with next. A path that ends in a slash includes the paths below it.
// Unlike [http.ServeMux], route redirects no request.
func route(next, handler http.Handler, paths ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.ContainsFunc(paths, func(path string) bool {
			return r.URL.Path == path || strings.HasSuffix(path, "/") && strings.HasPrefix(r.URL.Path, path)
		}) {
			handler.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
