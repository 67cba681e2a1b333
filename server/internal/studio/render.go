package studio

import (
	"context"
	"errors"
	"slices"
	"time"
)

// renderPauses are the delays before renderings are retried. There is one more attempt than there are delays.
//
//nolint:gochecknoglobals // a table
var renderPauses = [...]time.Duration{10 * time.Second, time.Minute}

// If a rendering fails with ErrUnavailable, it is retried every outagePause until the subject is older than
// maxOutage.
const (
	outagePause = time.Minute
	maxOutage   = 24 * time.Hour
)

// Renderer renders subjects. Render must return soon after ctx ends. If it returns a [*RenderError] without
// Retry, the subject fails. After any other error, the rendering is retried after 10 seconds and then after a
// minute; if that fails too, the subject fails. After an error that wraps [ErrUnavailable], the rendering is
// retried every minute until the subject is 24 hours old, and these attempts are not counted.
type Renderer interface {
	Render(ctx context.Context, subject Subject) (Rendering, error)
}

// Rendering is the result of a rendering. It contains names of files, which the renderer has stored in the
// [Media] under the keys that [ResultKey] returns for them.
type Rendering struct {
	Video     string   `json:"video,omitempty"` // "" if there is none, as for an avatar
	Thumbnail string   `json:"thumbnail,omitempty"`
	Previews  Previews `json:"previews,omitzero"`
	Voice     string   `json:"voice,omitempty"`     // the speech as a sound
	Subtitles string   `json:"subtitles,omitempty"` // an SRT file
	Captions  string   `json:"captions,omitempty"`  // the subtitles as WebVTT
	Language  string   `json:"language,omitempty"`  // of the speech and the subtitles, a BCP 47 tag
	Seconds   float64  `json:"seconds,omitzero"`    // length of the video
	Files     []string `json:"files,omitempty"`     // inputs for the videos of an avatar
	Checks    []Check  `json:"checks,omitempty"`
}

// Previews are small pictures of a video or avatar. Any of them may be missing.
type Previews struct {
	Still         string `json:"still,omitempty"`      // a PNG
	StillPlay     string `json:"still_play,omitempty"` // with a play button
	Animation     string `json:"animation,omitempty"`  // a GIF of two seconds
	AnimationPlay string `json:"animation_play,omitempty"`
}

// FileNames returns the names of all files of the rendering.
func (r *Rendering) FileNames() []string {
	names := append([]string{
		r.Video, r.Thumbnail, r.Previews.Still, r.Previews.StillPlay, r.Previews.Animation, r.Previews.AnimationPlay,
		r.Voice, r.Subtitles, r.Captions,
	}, r.Files...)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Check is the result of one check of the input of an avatar.
type Check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Message string `json:"message"`
}

// RenderError is the reason why a subject cannot be rendered, in words for the user.
type RenderError struct {
	Reason string // the failure reason of the subject if it fails
	Checks []Check
	Retry  bool // whether a retry may succeed
}

func (e *RenderError) Error() string { return "studio: cannot be rendered: " + e.Reason }

// Rendered processes the result of a rendering, or its error; see [Renderer]. The subject enters its next state,
// or the rendering is scheduled again. Rendered returns the subject after that. It is idempotent: it does
// nothing if the subject is no longer processing. The error is [ErrNotFound] if the subject was deleted.
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
			return subject.enter(Succeeded, s.now())
		}
		if err := subject.enter(ConsentPending, s.now()); err != nil {
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
	if errors.Is(updateErr, ErrNotFound) && s.Media != nil { // deleted during the rendering
		return rendered, errors.Join(updateErr, s.Media.Erase(ctx, resultPrefix(id)))
	}
	return rendered, updateErr
}

// Progress is how far a rendering is.
type Progress struct {
	Done  float64       // from 0 to 1
	Stage string        // what it does; "" if unknown
	Left  time.Duration // estimate; 0 if unknown
}

// Progressed records the progress of a rendering. The stored progress never decreases, and is below 100 percent
// until the rendering ends.
func (s *Service) Progressed(ctx context.Context, id string, progress Progress) error {
	var readyAt time.Time
	if progress.Left > 0 {
		readyAt = s.now().Add(progress.Left)
	}
	return s.database.SetProgress(ctx, id, min(int(progress.Done*100), 99), progress.Stage, readyAt)
}

// Progress returns the progress of the rendering of a subject now. Stage and Left are zero unless it is being rendered.
func (s *Service) Progress(subject *Subject) Progress {
	progress := Progress{Done: float64(subject.Progress) / 100}
	if now := s.now(); subject.Status == Processing && !now.Before(subject.RenderAt) {
		progress.Stage = subject.Stage
		if !subject.ReadyAt.IsZero() {
			progress.Left = max(subject.ReadyAt.Sub(now), 0)
		}
	}
	return progress
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
	return subject.enter(Failed, s.now())
}
