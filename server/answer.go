package server

import (
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// Answer is what has become of a request, for counting it. It says neither who called nor with what.
type Answer struct {
	// OperationID is that of [OperationID]; "" when path and method are no operation.
	OperationID string
	// Status is 0 when the connection broke before an answer had begun.
	Status   int
	Duration time.Duration
	// Violations are those of a problem that was answered. Their keywords are few, their pointers not.
	Violations []gen.Violation
}

// answered calls Config.OnAnswer.
func (e *entrance) answered(x *exchange, began time.Time) {
	x.mu.Lock()
	called, violations := x.called, x.violations
	x.mu.Unlock()
	answer := Answer{Status: x.status, Duration: time.Since(began), Violations: violations}
	if called.route != nil {
		answer.OperationID = called.route.operation.ID()
	}
	e.onAnswer(answer)
}
