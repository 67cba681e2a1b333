// Package simulate is a renderer that only waits, and a person who always decides.
package simulate

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Marks in a title that decide the outcome of a simulated rendering.
const (
	failMark      = "[fail]"
	noConsentMark = "[no-consent]"
)

// check is the name of a check of simulated avatars.
const check = "simulated"

// NoVideo returns why another renderer cannot make videos of an avatar, or "".
func NoVideo(avatar studio.Subject) string {
	if slices.ContainsFunc(avatar.Rendering.Checks, func(c studio.Check) bool { return c.Name == check }) {
		return "The avatar is simulated and has no face, so no video can be made of it. Create a new avatar."
	}
	return ""
}

// Renderer is a renderer that makes no files. It waits, and then fails if the title contains "[fail]", or
// succeeds otherwise. It allows every status to be seen without a real renderer.
type Renderer struct {
	// Time is how long each rendering takes.
	Time time.Duration
}

var _ studio.Renderer = Renderer{}

// Render waits for r.Time, or until ctx is done.
func (r Renderer) Render(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
	studio.Pause(ctx, r.Time)
	if err := ctx.Err(); err != nil {
		return studio.Rendering{}, err
	}
	if titleContains(subject, failMark) {
		return studio.Rendering{}, &studio.RenderError{Reason: "The simulated renderer fails when the title contains " + failMark + "."}
	}
	if subject.Kind != studio.Avatar {
		return studio.Rendering{}, nil
	}
	return studio.Rendering{Checks: []studio.Check{
		{Name: check, OK: true, Message: "The avatar is simulated: it has no face, and its videos have no file."},
	}}, nil
}

// Voices returns the voices of a simulated renderer.
func Voices(context.Context) ([]studio.Voice, error) {
	return []studio.Voice{
		{ID: "en-gb", Language: "en-GB", Name: "English (Great Britain)", Gender: "male"},
		{ID: "en-gb+Annie", Language: "en-GB", Name: "English (Great Britain), Annie", Gender: "female"},
		{ID: "de", Language: "de", Name: "German", Gender: "male"},
		{ID: "pt-br", Language: "pt-BR", Name: "Portuguese (Brazil)", Gender: "male"},
		{ID: "ja", Language: "ja", Name: "Japanese", Gender: "male"},
	}, nil
}

// Consent decides in place of a person. It grants consent unless the title contains "[no-consent]".
func Consent(subject studio.Subject) (granted bool) { return !titleContains(subject, noConsentMark) }

func titleContains(subject studio.Subject, mark string) bool {
	return subject.Title != nil && strings.Contains(*subject.Title, mark)
}
