package render

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// EstimateLeft returns a function that estimates the time left of a rendering that began at a time.
func EstimateLeft(began time.Time) func(done float64, stage protocol.Stage, now time.Time) time.Duration {
	return newEstimate(began).left
}
