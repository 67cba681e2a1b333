package jobs

import (
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// AttemptOutcome is what an attempt made of its event.
type AttemptOutcome string

// The outcomes of attempts.
const (
	AttemptDelivered AttemptOutcome = "delivered"
	AttemptRetried   AttemptOutcome = "retried"   // there is another one later
	AttemptExhausted AttemptOutcome = "exhausted" // it was the last one
)

func outcomeOfAttempt(state store.EventState) AttemptOutcome {
	switch state {
	case store.Delivered:
		return AttemptDelivered
	case store.Exhausted:
		return AttemptExhausted
	default:
		return AttemptRetried
	}
}

// RenderingOutcome is what a rendering made of its subject.
type RenderingOutcome string

// The outcomes of renderings.
const (
	RenderingSucceeded RenderingOutcome = "succeeded"
	RenderingRetried   RenderingOutcome = "retried" // there is another one later
	RenderingFailed    RenderingOutcome = "failed"
	RenderingDiscarded RenderingOutcome = "discarded" // the subject was deleted, or is another process's
)

// outcomeOfRendering returns the outcome of a rendering that failed or not, and left a subject.
func outcomeOfRendering(failure error, subject studio.Subject) RenderingOutcome {
	switch {
	case failure == nil:
		return RenderingSucceeded
	case !subject.RenderAt.IsZero():
		return RenderingRetried
	default:
		return RenderingFailed
	}
}
