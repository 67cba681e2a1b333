// Package render holds the renderers that make what subjects ask for.
package render

import (
	"context"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Marks in a title that decide how a simulation ends.
const (
	failMark      = "[fail]"
	noConsentMark = "[no-consent]"
)

// Simulate renders nothing: it waits, and then succeeds without a file, or fails when the
// title contains [failMark]. It lets every state of every subject be seen without a renderer.
type Simulate struct {
	// Time is how long each rendering takes.
	Time time.Duration
}

var _ studio.Renderer = Simulate{}

// Render waits for the configured time.
func (r Simulate) Render(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
	timer := time.NewTimer(r.Time)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return studio.Rendering{}, ctx.Err()
	case <-timer.C:
	}
	if titled(subject, failMark) {
		return studio.Rendering{}, &studio.RenderError{Reason: "The simulated renderer fails when the title contains " + failMark + "."}
	}
	return studio.Rendering{}, nil
}

// Consent decides in place of a person: granted, unless the title contains [noConsentMark].
func Consent(subject studio.Subject) (granted bool) { return !titled(subject, noConsentMark) }

func titled(subject studio.Subject, mark string) bool {
	return subject.Title != nil && strings.Contains(*subject.Title, mark)
}
