package server

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"

	"github.com/avatarstudio/avatarstudio/server/validate"
)

// ResponseCheck says what to do about answers that the document forbids.
type ResponseCheck int

// The checks. Both hold an answer back in memory until it is complete.
const (
	// ResponsesUnchecked sends every answer as it is written.
	ResponsesUnchecked ResponseCheck = iota
	// ResponsesLogged logs what is wrong with an answer and sends it.
	ResponsesLogged
	// ResponsesEnforced logs what is wrong with an answer and sends a 500 in its place.
	ResponsesEnforced
)

func checkResponses(operation *validate.Operation, cfg Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &heldResponse{ResponseWriter: w, header: w.Header().Clone()}
		next.ServeHTTP(held, r)
		if err := operation.Response(held.status, held.header, held.body.Bytes()); err != nil {
			if cfg.OnInvalidResponse != nil {
				cfg.OnInvalidResponse(operation.ID())
			}
			if cfg.ValidateResponses == ResponsesEnforced {
				writeProblem(w, r, internal(fmt.Errorf("the answer does not match the document: %w", err)))
				return
			}
			cfg.Logger.ErrorContext(r.Context(), "answer does not match the document",
				"request_id", RequestID(r.Context()), "operation", operation.ID(), "err", err)
		}
		clear(w.Header())
		maps.Copy(w.Header(), held.header)
		w.WriteHeader(held.status)
		_, _ = w.Write(held.body.Bytes()) // the caller may have gone
	})
}

// heldResponse keeps an answer in memory.
type heldResponse struct {
	http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *heldResponse) Header() http.Header { return w.header }

func (w *heldResponse) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *heldResponse) Write(body []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(body)
}

func (w *heldResponse) hasBegun() bool { return w.status != 0 }
