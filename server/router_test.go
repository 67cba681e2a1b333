package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// The document in JSON loads by itself, and has the operations of the document with descriptions.
func TestDocument_hasAllOperations(t *testing.T) {
	t.Parallel()
	operations := func(text []byte) (all []string) {
		validator, err := validate.Load(text, validate.Config{})
		harness.Check(t, err)
		for operation := range validator.Operations() {
			all = append(all, operation.ID()+" "+operation.Method()+" "+operation.Path())
		}
		return all
	}
	if got, want := operations(document), operations(api.Spec); !slices.Equal(got, want) {
		t.Errorf("operations %v, want %v", got, want)
	}
}

// The most specific operation serves a request. It gets the same pattern and path values as from
// http.ServeMux.
func TestRouter_findsTheOperation(t *testing.T) {
	t.Parallel()
	paths := make(map[string]map[string]any)
	patterns := []string{
		"GET /base/", "GET /base/plain", "HEAD /base/plain", "GET /base/slash/", "GET /base/of/{id}", "DELETE /base/of/{id}",
		"PUT /base/of/me", "GET /base/of/{id}.json", "POST /base/of/{id}:cancel", "GET /base/of/{id}/{part}", "GET /base/{any}/me/{part}",
	}
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " /base")
		if paths[path] == nil {
			paths[path] = make(map[string]any)
		}
		parameters := []any{}
		for _, name := range []string{"id", "part", "any"} {
			if strings.Contains(path, "{"+name+"}") {
				parameters = append(parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": true})
			}
		}
		paths[path][strings.ToLower(method)] = map[string]any{
			"parameters": parameters, "responses": map[string]any{"204": map[string]any{"description": "D"}},
		}
	}
	document, err := json.Marshal(map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "T", "version": "1"}, "paths": paths})
	harness.Check(t, err)
	validator, err := validate.Load(document, validate.Config{})
	harness.Check(t, err)
	got := ""
	handler, err := newHandler(Config{Logger: slog.New(slog.DiscardHandler), BasePath: "/base"}, validator, func(router *router) {
		for _, pattern := range patterns {
			if strings.HasSuffix(pattern, "/") {
				pattern += "{$}" // as the generated code does
			}
			router.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				got = strings.TrimSuffix(r.Pattern, "{$}")
				for _, name := range []string{"id", "part", "any"} {
					if value := r.PathValue(name); value != "" {
						got += " " + name + "=" + value
					}
				}
				w.WriteHeader(http.StatusNoContent)
			})
		}
	})
	harness.Check(t, err)
	for request, want := range map[string]string{
		"GET /base/plain":           "GET /base/plain",
		"HEAD /base/plain":          "HEAD /base/plain",
		"GET /base/pl%61in":         "GET /base/plain",
		"POST /base/plain":          "405 GET, HEAD",
		"GET /base/plain/":          "404",
		"GET /plain":                "404",
		"GET /base/":                "GET /base/",
		"GET /base":                 "404",
		"GET /base/x":               "404",
		"GET /base/slash/":          "GET /base/slash/",
		"GET /base/slash":           "404",
		"GET /base/slash/more":      "404",
		"GET /base/of/7":            "GET /base/of/{id} id=7",
		"HEAD /base/of/7":           "GET /base/of/{id} id=7",
		"DELETE /base/of/a%2Fb%20c": "DELETE /base/of/{id} id=a/b c",
		"PUT /base/of/7":            "405 DELETE, GET, HEAD",
		"PUT /base/of/me":           "PUT /base/of/me",
		"GET /base/of/me":           "GET /base/of/{id} id=me",
		"POST /base/of/me":          "405 DELETE, GET, HEAD, PUT",
		"GET /base/of/a.b.json":     "GET /base/of/{id}.json id=a.b",
		"GET /base/of/.json":        "GET /base/of/{id} id=.json",
		"POST /base/of/7:cancel":    "POST /base/of/{id}:cancel id=7",
		"GET /base/of/7:cancel":     "GET /base/of/{id} id=7:cancel",
		"POST /base/of/7":           "405 DELETE, GET, HEAD",
		"GET /base/of/":             "404",
		"GET /base/of/..":           "404",
		"GET /base//7":              "404",
		"GET /base/of/me/1":         "GET /base/of/{id}/{part} id=me part=1",
		"GET /base/by/me/1":         "GET /base/{any}/me/{part} part=1 any=by",
	} {
		method, target, _ := strings.Cut(request, " ")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, target, nil))
		if recorder.Code != http.StatusNoContent {
			got = strings.TrimSpace(strings.Join([]string{map[int]string{404: "404", 405: "405"}[recorder.Code], recorder.Header().Get("Allow")}, " "))
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", request, got, want)
		}
	}
}
