package studio

import (
	"context"
	"errors"
	"time"
)

// renderPauses are the waits after a rendering that did not end. There is one try more than
// there are pauses.
//
//nolint:gochecknoglobals // a table
var renderPauses = [...]time.Duration{10 * time.Second, time.Minute}

// Renderer makes what a subject asks for. It must return soon after ctx ends. A
// [*RenderError] is the final word; any other error is a reason to try again.
type Renderer interface {
	Render(ctx context.Context, subject Subject) (Rendering, error)
}

// Rendering is what a renderer made.
type Rendering struct {
	VideoURL string // "" when there is no file
}

// RenderError says why a subject cannot be rendered, in words that its user may read.
type RenderError struct {
	Reason string
}

func (e *RenderError) Error() string { return "studio: cannot be rendered: " + e.Reason }

// Rendered takes the result of a rendering: the subject moves on, or the rendering is due
// again. A subject that has moved on before is left alone, so that a result that comes twice
// announces nothing twice.
func (s *Service) Rendered(ctx context.Context, id string, result Rendering, err error) (Subject, error) {
	return s.Store.UpdateSubject(ctx, id, func(subject *Subject) error {
		if subject.Status != Processing {
			return nil
		}
		if err != nil {
			return s.renderFailed(subject, err)
		}
		subject.RenderAt, subject.VideoURL = time.Time{}, result.VideoURL
		if subject.Kind != Avatar {
			return subject.enter(Succeeded, s.now(), s.NewID)
		}
		if err := subject.enter(ConsentPending, s.now(), s.NewID); err != nil {
			return err
		}
		if subject.Consent == Undecided && s.AutoConsent != nil {
			subject.Consent = Refused
			if s.AutoConsent(*subject) {
				subject.Consent = Granted
			}
		}
		return s.applyConsent(subject)
	})
}

func (s *Service) renderFailed(subject *Subject, cause error) error {
	subject.FailureReason = "The renderer did not finish."
	var final *RenderError
	switch subject.RenderTries++; {
	case errors.As(cause, &final):
		subject.FailureReason = final.Reason
	case subject.RenderTries <= len(renderPauses):
		subject.FailureReason = ""
		subject.RenderAt = s.now().Add(renderPauses[subject.RenderTries-1])
		return nil
	}
	subject.RenderAt = time.Time{}
	return subject.enter(Failed, s.now(), s.NewID)
}
