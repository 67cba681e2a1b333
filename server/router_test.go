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
		"GET /", "GET /plain", "HEAD /plain", "GET /slash/", "GET /of/{id}", "DELETE /of/{id}",
		"PUT /of/me", "GET /of/{id}.json", "POST /of/{id}:cancel", "GET /of/{id}/{part}", "GET /{any}/me/{part}",
	}
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
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
	handler, err := newHandler(Config{Logger: slog.New(slog.DiscardHandler)}, validator, func(router *router) {
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
		"GET /plain":           "GET /plain",
		"HEAD /plain":          "HEAD /plain",
		"GET /pl%61in":         "GET /plain",
		"POST /plain":          "405 GET, HEAD",
		"GET /plain/":          "404",
		"GET /":                "GET /",
		"GET /x":               "404",
		"GET /slash/":          "GET /slash/",
		"GET /slash":           "404",
		"GET /slash/more":      "404",
		"GET /of/7":            "GET /of/{id} id=7",
		"HEAD /of/7":           "GET /of/{id} id=7",
		"DELETE /of/a%2Fb%20c": "DELETE /of/{id} id=a/b c",
		"PUT /of/7":            "405 DELETE, GET, HEAD",
		"PUT /of/me":           "PUT /of/me",
		"GET /of/me":           "GET /of/{id} id=me",
		"POST /of/me":          "405 DELETE, GET, HEAD, PUT",
		"GET /of/a.b.json":     "GET /of/{id}.json id=a.b",
		"GET /of/.json":        "GET /of/{id} id=.json",
		"POST /of/7:cancel":    "POST /of/{id}:cancel id=7",
		"GET /of/7:cancel":     "GET /of/{id} id=7:cancel",
		"POST /of/7":           "405 DELETE, GET, HEAD",
		"GET /of/":             "404",
		"GET /of/..":           "404",
		"GET //7":              "404",
		"GET /of/me/1":         "GET /of/{id}/{part} id=me part=1",
		"GET /by/me/1":         "GET /{any}/me/{part} part=1 any=by",
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
