package render_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

func TestRenderer_takesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began, renderer := time.Now(), simulate.Renderer{Time: 2 * time.Second}
		_, err := renderer.Render(ctx, studio.Subject{})
		_, late := renderer.Render(ctx, studio.Subject{})
		if took := time.Since(began); err != nil || !errors.Is(late, context.DeadlineExceeded) || took != 3*time.Second {
			t.Errorf("after %v: %v, %v", took, err, late)
		}
	})
}
