package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/docs"
	"github.com/avatarstudio/avatarstudio/server/internal/web/guide"
)

// withDocs adds the API reference and the guide to next. Their paths are no operations of the document.
func withDocs(next http.Handler) http.Handler {
	next = route(next, onDemand(func() (http.Handler, error) {
		return docs.New(api.Spec, docs.Config{Samples: api.Samples, Guide: guide.Path + "/"})
	}), "/docs", "/docs/", "/openapi.yaml", "/openapi.json")
	return route(next, onDemand(guide.New), guide.Path, guide.Path+"/")
}

// onDemand makes a handler at the first request: most daemons never need it, and they start faster and take less
// memory. It is for what is embedded in the program, so an error is one of the program.
func onDemand(create func() (http.Handler, error)) http.Handler {
	created := sync.OnceValue(func() http.Handler {
		handler, err := create()
		if err != nil {
			panic(err)
		}
		return handler
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { created().ServeHTTP(w, r) })
}

// route serves some paths with handler, and the others with next. A path that ends in a slash includes the paths below
// it. Unlike [http.ServeMux], route redirects no request.
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
