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

// While what a rendering needs is away, it is tried again after outagePause each time, until the subject
// is older than maxOutage.
const (
	outagePause = time.Minute
	maxOutage   = 24 * time.Hour
)

// Renderer makes what a subject asks for. It must return soon after ctx ends. A
// [*RenderError] without Retry is the final word; any other error is a reason to try again, and
// [ErrUnavailable] one that does not count.
type Renderer interface {
	Render(ctx context.Context, subject Subject) (Rendering, error)
}

// Rendering is what a renderer made. Its files are in the [Media], see [ResultKey].
type Rendering struct {
	Video     string   `json:"video,omitempty"` // "" when there is none, as of an avatar
	Thumbnail string   `json:"thumbnail,omitempty"`
	Files     []string `json:"files,omitempty"` // what the videos of an avatar are made from
	Checks    []Check  `json:"checks,omitempty"`
}

// Check is one thing that was looked at in what an avatar is made from.
type Check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Message string `json:"message"`
}

// RenderError says why a subject cannot be rendered, in words that its user may read.
type RenderError struct {
	Reason string
	Checks []Check
	Retry  bool // another try may succeed
}

func (e *RenderError) Error() string { return "studio: cannot be rendered: " + e.Reason }

// Rendered takes the result of a rendering: the subject moves on, or the rendering is due
// again. A subject that has moved on before is left alone, so that a result that comes twice
// announces nothing twice.
func (s *Service) Rendered(ctx context.Context, id string, result Rendering, err error) (Subject, error) {
	rendered, updateErr := s.Store.UpdateSubject(ctx, id, func(subject *Subject) error {
		if subject.Status != Processing {
			return nil
		}
		if err != nil {
			return s.renderFailed(subject, err)
		}
		subject.RenderAt, subject.Progress, subject.Rendering = time.Time{}, 100, result
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
	if errors.Is(updateErr, ErrNotFound) && s.Media != nil { // it was deleted while it was made
		return rendered, errors.Join(updateErr, s.Media.Erase(ctx, resultPrefix(id)))
	}
	return rendered, updateErr
}

// Progressed takes how much of a rendering is done, from 0 to 1. A subject shows the most that
// was ever done, and 100 percent only at its end.
func (s *Service) Progressed(ctx context.Context, id string, done float64) error {
	return s.Store.SetProgress(ctx, id, min(int(done*100), 99))
}

func (s *Service) renderFailed(subject *Subject, cause error) error {
	if now := s.now(); errors.Is(cause, ErrUnavailable) && now.Before(subject.CreatedAt.Add(maxOutage)) {
		subject.RenderAt = now.Add(outagePause)
		return nil
	}
	subject.FailureReason = "The renderer did not finish."
	var final *RenderError
	if errors.As(cause, &final) {
		subject.FailureReason, subject.Rendering.Checks = final.Reason, final.Checks
	}
	switch subject.RenderTries++; {
	case final != nil && !final.Retry:
	case subject.RenderTries <= len(renderPauses):
		subject.FailureReason, subject.Rendering.Checks = "", nil
		subject.RenderAt = s.now().Add(renderPauses[subject.RenderTries-1])
		return nil
	}
	subject.RenderAt = time.Time{}
	return subject.enter(Failed, s.now(), s.NewID)
}
