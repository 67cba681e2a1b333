package jobs

import (
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// RenderingOutcome is the state of a subject after a rendering.
type RenderingOutcome string

// The outcomes of renderings.
const (
	RenderingSucceeded RenderingOutcome = "succeeded"
	RenderingRetried   RenderingOutcome = "retried" // the rendering will be retried
	RenderingFailed    RenderingOutcome = "failed"
	RenderingDiscarded RenderingOutcome = "discarded" // the subject was deleted, or another process has taken it over
)

// outcomeOfRendering returns the outcome of a rendering. failure is its error and subject the subject
// after it.
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
