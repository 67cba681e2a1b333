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
	synctest.Test(t, func(t *testing.T) {
		for title, want := range map[string]struct{ fails, consent bool }{
			"Ada": {false, true}, "Ada [fail] 2": {true, true}, "[no-consent]": {false, false},
		} {
			subject, began := studio.Subject{Title: &title}, time.Now()
			_, err := simulate.Renderer{Time: 2 * time.Second}.Render(t.Context(), subject)
			if _, fails := errors.AsType[*studio.RenderError](err); fails != want.fails || simulate.Consent(subject) != want.consent {
				t.Errorf("%s: %v, consent %t", title, err, simulate.Consent(subject))
			}
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("%s: took %v", title, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := (simulate.Renderer{Time: time.Hour}).Render(ctx, studio.Subject{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}
