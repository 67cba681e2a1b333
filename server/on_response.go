package server

import (
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Response describes how a request ended, for counting. It contains nothing that identifies the caller and
// nothing that the caller sent.
type Response struct {
	// OperationID is the id that [OperationID] returns. It is "" if the path and method are no operation of
	// the document.
	OperationID string
	// Status is the HTTP status of the response, whether it arrived or not. It is 0 if a handler aborted the connection
	// before the response, or if an error with a cause would have been a 5xx but the connection had broken before. It
	// is 200 if a middleware of Config.Wrap took over the connection without a status.
	Status   int
	Duration time.Duration
	// Violations are the violations of the problem document that was sent, if any. The set of keywords is
	// small, but pointers are unbounded: do not use them as metric labels.
	Violations []gen.Violation
}

// callOnResponse calls Config.OnResponse.
func (h *rootHandler) callOnResponse(x *exchange, began time.Time) {
	h.onResponse(&x.ctx, Response{
		OperationID: OperationID(&x.ctx), Status: x.reportedStatus(), Duration: time.Since(began), Violations: x.call().violations,
	})
}
