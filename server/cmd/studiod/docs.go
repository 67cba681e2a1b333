package main

import (
	"net/http"
	"slices"
	"strings"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/docs"
	"github.com/avatarstudio/avatarstudio/server/internal/guide"
)

// withDocs adds the API reference and the guide to next. Their paths are no operations of the document.
func withDocs(next http.Handler) (http.Handler, error) {
	reference, err := docs.New(api.Spec, docs.Config{Samples: api.Samples, Guide: guide.Path + "/"})
	if err != nil {
		return nil, err
	}
	pages, err := guide.New()
	next = route(next, reference, "/docs", "/docs/", "/openapi.yaml", "/openapi.json")
	return route(next, pages, guide.Path, guide.Path+"/"), err
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
