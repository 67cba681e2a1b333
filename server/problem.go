package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// WriteProblem answers a request with err as a problem document (RFC 9457) that carries the id of
// the request. Any middleware may call it, in place of calling the next handler. The cause of a
// 5xx is logged. When an answer has begun, WriteProblem breaks the connection, so that the caller
// does not take half an answer for a whole one.
func WriteProblem(w http.ResponseWriter, r *http.Request, err *Error) { writeProblem(w, r, err) }

// writeProblem is WriteProblem for any error.
func writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	answer, x := toError(err), exchangeFrom(r.Context())
	if answer.Status >= http.StatusInternalServerError && answer.Err != nil && r.Context().Err() == nil {
		x.log().ErrorContext(r.Context(), "request failed", "request_id", x.requestID(), "err", answer.Err)
	}
	x.setViolations(answer.Violations)
	if held, ok := w.(*heldResponse); ok {
		_, held.refusal = errors.AsType[*validate.Error](err)
	}
	if hasBegun(w, r) {
		panic(http.ErrAbortHandler)
	}
	body, err := answer.encode(x.requestID())
	if err != nil {
		x.log().ErrorContext(r.Context(), "extensions of a problem cannot be encoded", "request_id", x.requestID(), "err", err)
	}
	header := w.Header()
	maps.Copy(header, answer.Header)
	header.Set("Content-Type", "application/problem+json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	if answer.Status == http.StatusUnauthorized && header.Get("WWW-Authenticate") == "" {
		if challenge := x.challenge(); challenge != "" {
			header.Set("WWW-Authenticate", challenge)
		}
	}
	if answer.RetryAfter > 0 {
		seconds := (answer.RetryAfter + time.Second - 1) / time.Second
		header.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(body) // the caller may have gone
}

// encode returns the problem document, without the extensions if these cannot be encoded.
func (e *Error) encode(requestID string) ([]byte, error) {
	problem := gen.Problem{
		Type:   cmp.Or(e.Type, "about:blank"),
		Title:  cmp.Or(e.Title, http.StatusText(e.Status), "Error"),
		Status: int32(e.Status), //nolint:gosec // a status has three digits
		Code:   new(cmp.Or(e.Code, codeOf(e.Status), "error")),
	}
	if requestID != "" {
		problem.RequestID, problem.Instance = &requestID, new("urn:request:"+requestID)
	}
	if e.Detail != "" {
		problem.Detail = &e.Detail
	}
	if len(e.Violations) > 0 {
		problem.Errors = &e.Violations
	}
	body, err := json.Marshal(problem)
	if err != nil { // a struct of strings and numbers is never refused
		panic(err)
	}
	further := make(map[string]any, len(e.Extensions))
	for name, value := range e.Extensions {
		switch name {
		case "type", "title", "status", "code", "detail", "instance", "request_id", "errors":
		default:
			further[name] = value
		}
	}
	if len(further) == 0 {
		return body, nil
	}
	members, err := json.Marshal(further)
	if err != nil {
		return body, err
	}
	return append(append(body[:len(body)-1], ','), members[1:]...), nil
}

// codeOf makes a code of the text of a status: "not_found" for 404.
func codeOf(status int) string {
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(strings.ToLower(http.StatusText(status)))
}

// undecodable answers a request that passed the document and that the generated code refuses
// nevertheless. The generated error may contain what was sent.
func undecodable(w http.ResponseWriter, r *http.Request, _ error) {
	writeProblem(w, r, &Error{Status: http.StatusBadRequest, Detail: "The request cannot be read."})
}
