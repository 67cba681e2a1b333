package main

import (
	"net/http"
	"strings"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/server/docs"
)

// withDocs adds the API reference to next. The paths of the reference are no operations of the document.
func withDocs(next http.Handler) (http.Handler, error) {
	reference, err := docs.New(api.Spec, docs.Config{Samples: api.Samples})
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
