package simulate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func TestRenderer_titleDecidesOutcome(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		title   *string
		fails   bool
		consent bool
	}{
		"no title":           {nil, false, true},
		"a title":            {new("Ada"), false, true},
		"one that fails":     {new("Ada [fail] 2"), true, true},
		"one without asking": {new("[no-consent]"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				subject, began := studio.Subject{Title: test.title}, time.Now()
				made, err := simulate.Renderer{Time: 2 * time.Second}.Render(t.Context(), subject)
				if _, final := errors.AsType[*studio.RenderError](err); final != test.fails || made.Video != "" {
					t.Errorf("made %q, %v", made.Video, err)
				}
				if took := time.Since(began); took != 2*time.Second {
					t.Errorf("took %v", took)
				}
				if simulate.Consent(subject) != test.consent {
					t.Errorf("consent is not %v", test.consent)
				}
			})
		})
	}
}

func TestRenderer_stopsWhenContextIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := simulate.Renderer{Time: time.Hour}.Render(ctx, studio.Subject{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}
