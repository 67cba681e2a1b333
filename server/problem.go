package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/api/runtime/stream"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/validate"
)

// WriteProblem responds with err as a problem document (RFC 9457) that contains the request id. Middleware
// may call it instead of the next handler. It logs err.Err: if the status is 5xx at level Error, or Warn if it
// is 503, and otherwise at level Debug. If the response has already begun, WriteProblem aborts the connection by
// panicking with [http.ErrAbortHandler], so that the caller does not mistake a partial response for a complete one. If
// it is a stream, WriteProblem calls [stream.Fail] instead.
func WriteProblem(w http.ResponseWriter, r *http.Request, err *Error) { writeProblem(w, r, err) }

// writeProblem is WriteProblem for any error.
func writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	problem, x := toError(err), exchangeFrom(r.Context())
	// net/http cancels the context when the client closes its side. A client whose upload breaks off may still read.
	closed := errors.Is(r.Context().Err(), context.Canceled)
	switch {
	case closed && errors.Is(problem.Err, context.Canceled) && problem.Status == http.StatusInternalServerError:
		problem = &Error{Status: http.StatusBadRequest, Detail: "The client closed the connection before the end of the request."}
		x.setFailed()
	case problem.Err == nil:
	case problem.Status < http.StatusInternalServerError:
		x.log().DebugContext(r.Context(), "request refused", "request_id", x.requestID(), "err", problem.Err)
	default:
		if !closed {
			level := slog.LevelError
			if problem.Status == http.StatusServiceUnavailable { // the caller may try again
				level = slog.LevelWarn
			}
			x.log().Log(r.Context(), level, "request failed", "request_id", x.requestID(), "err", problem.Err)
		}
		x.setFailed()
	}
	if len(problem.Violations) > 0 {
		x.note(func(c *call) { c.violations = problem.Violations })
	}
	if buffered, ok := stream.As[*bufferedResponse](w); ok {
		_, buffered.rejectsRequest = errors.AsType[*validate.Error](err)
	}
	body := problem.encode(x.requestID())
	if stream.Fail(w, body) {
		return
	}
	if hasBegun(w, r) {
		panic(http.ErrAbortHandler)
	}
	header := w.Header()
	maps.Copy(header, problem.Header)
	header.Set("Content-Type", "application/problem+json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Content-Type-Options", "nosniff")
	if problem.Status == http.StatusUnauthorized && header.Get("WWW-Authenticate") == "" {
		if challenge := x.challenge(); challenge != "" {
			header.Set("WWW-Authenticate", challenge)
		}
	}
	wait := max(problem.RetryAfter, 0)
	if problem.Status == http.StatusServiceUnavailable && header.Get("Retry-After") == "" {
		wait = cmp.Or(wait, time.Second)
	}
	if wait > 0 {
		header.Set("Retry-After", strconv.FormatFloat(math.Ceil(wait.Seconds()), 'f', 0, 64))
	}
	w.WriteHeader(problem.Status)
	_, _ = w.Write(body) // the caller may have disconnected
}

// encode returns the problem document.
func (e *Error) encode(requestID string) []byte {
	problem := gen.Problem{
		Type:   "about:blank",
		Title:  cmp.Or(http.StatusText(e.Status), "Error"),
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
	body, _ := json.Marshal(problem) // strings and numbers always marshal
	return body
}

// codeOf returns the text of status in snake case, such as "not_found" for 404.
func codeOf(status int) string {
	return strings.NewReplacer(" ", "_", "-", "_", "'", "").Replace(strings.ToLower(http.StatusText(status)))
}

// writeDecodeError responds to a request that is valid by the document but that the generated code cannot
// decode. It drops the error of the generated code, which may contain submitted values.
func writeDecodeError(w http.ResponseWriter, r *http.Request, _ error) {
	writeProblem(w, r, &Error{Status: http.StatusBadRequest, Detail: "The request cannot be read."})
}
