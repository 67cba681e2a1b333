package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// problemWriter answers every error there is.
type problemWriter struct {
	logger *slog.Logger
}

// write answers err as a problem document. When an answer has begun, it breaks the connection,
// so that the caller does not take half an answer for a whole one.
func (p problemWriter) write(w http.ResponseWriter, r *http.Request, err error) {
	answer := toError(err)
	if answer.Status >= http.StatusInternalServerError && answer.Err != nil && r.Context().Err() == nil {
		p.logger.ErrorContext(r.Context(), "request failed", "request_id", RequestID(r.Context()), "err", answer.Err)
	}
	if hasBegun(w) {
		panic(http.ErrAbortHandler)
	}
	id := RequestID(r.Context())
	problem := gen.Problem{
		Type:   "about:blank",
		Title:  http.StatusText(answer.Status),
		Status: int32(answer.Status), //nolint:gosec // a status has three digits
	}
	if id != "" {
		instance := "urn:request:" + id
		problem.RequestID, problem.Instance = &id, &instance
	}
	if answer.Detail != "" {
		problem.Detail = &answer.Detail
	}
	if len(answer.Violations) > 0 {
		problem.Errors = &answer.Violations
	}
	body, err := json.Marshal(problem)
	if err != nil { // a struct of strings and numbers is never refused
		panic(err)
	}
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	if answer.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if answer.RetryAfter > 0 {
		seconds := (answer.RetryAfter + time.Second - 1) / time.Second
		header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(body) // the caller may have gone
}

// undecodable answers a request that passed the document and that the generated code refuses
// nevertheless. The generated error may contain what was sent.
func (p problemWriter) undecodable(w http.ResponseWriter, r *http.Request, _ error) {
	p.write(w, r, &Error{Status: http.StatusBadRequest, Detail: "The request cannot be read."})
}
