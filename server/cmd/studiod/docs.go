package main

import (
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/docs"
)

// withDocs serves the reference beside the operations of the document, none of which has such a path.
func withDocs(next http.Handler) (http.Handler, error) {
	reference, err := docs.New(api.Spec, docs.Config{})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/docs", strings.HasPrefix(path, "/docs/"), path == "/openapi.yaml", path == "/openapi.json":
			reference.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	}), nil
}
