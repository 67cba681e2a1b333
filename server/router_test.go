package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// A handler gets the same pattern and path values as from http.ServeMux.
func TestRouter_setsPatternAndPathValues(t *testing.T) {
	t.Parallel()
	validator, err := validate.Load([]byte(`{
		"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {
			"/plain": {"get": {"operationId": "plain", "responses": {"204": {"description": "D"}}}},
			"/of/{its-id}": {"get": {"operationId": "of", "responses": {"204": {"description": "D"}},
				"parameters": [{"name": "its-id", "in": "path", "required": true, "schema": {"type": "string"}}]}}}}`), validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	router := newRouter(Config{Logger: slog.New(slog.DiscardHandler)}, validator)
	var pattern, id string
	for _, p := range []string{"GET /plain", "GET /of/{id}"} {
		router.HandleFunc(p, func(w http.ResponseWriter, r *http.Request) {
			pattern, id = r.Pattern, r.PathValue("id")
			w.WriteHeader(http.StatusNoContent)
		})
	}
	handler, err := router.handler()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ path, pattern, id string }{{"/plain", "GET /plain", ""}, {"/of/7", "GET /of/{id}", "7"}} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, want.path, nil))
		if recorder.Code != http.StatusNoContent || pattern != want.pattern || id != want.id {
			t.Errorf("%s: status %d, pattern %q, id %q", want.path, recorder.Code, pattern, id)
		}
	}
}
