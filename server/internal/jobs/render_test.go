package jobs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// A renderer that fails is asked three times, one that hangs is cut off at its deadline each time,
// and one that says why is not asked again.
func TestLocal_rendersAgainBeforeASubjectFails(t *testing.T) {
	t.Parallel()
	const deadline = time.Minute // of setup
	for _, test := range []struct {
		name   string
		render rendererFunc
		asked  []time.Duration // since the creation
		reason string
	}{
		{"failing", func(context.Context, studio.Subject) (studio.Rendering, error) {
			return studio.Rendering{}, errors.New("out of memory")
		}, []time.Duration{0, 10 * time.Second, 70 * time.Second}, "The renderer did not finish."},
		{"hanging", func(ctx context.Context, _ studio.Subject) (studio.Rendering, error) {
			<-ctx.Done()
			return studio.Rendering{}, ctx.Err()
		}, []time.Duration{0, deadline + 10*time.Second, 2*deadline + 70*time.Second}, "The renderer did not finish."},
		{"refusing", func(context.Context, studio.Subject) (studio.Rendering, error) {
			return studio.Rendering{}, &studio.RenderError{Reason: "Too long."}
		}, []time.Duration{0}, "Too long."},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(s *setup) {
				began := time.Now()
				var asked []time.Duration
				s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
					asked = append(asked, time.Since(began).Round(time.Second))
					return test.render(ctx, subject)
				}
				avatar := s.create()
				s.work(10 * time.Minute)
				s.wantStatuses(avatar.ID, "processing", "failed")
				if !slices.Equal(asked, test.asked) {
					s.t.Errorf("the renderer was asked after %v, want %v", asked, test.asked)
				}
				failed, err := s.db.Subject(s.t.Context(), avatar.ID)
				if err != nil || failed.FailureReason != test.reason {
					s.t.Errorf("it failed because %q (%v), want %q", failed.FailureReason, err, test.reason)
				}
			})
		})
	}
}

// A rendering is cancelled when its subject is deleted, and nothing is announced then.
func TestRender_endsWithItsSubject(t *testing.T) { //nolint:paralleltest // inBubble calls Parallel
	inBubble(t, func(s *setup) {
		var took time.Duration
		s.renderer = func(ctx context.Context, subject studio.Subject) (studio.Rendering, error) {
			if err := s.studio.Delete(ctx, subject.UserID, subject.Kind, subject.ID); err != nil {
				s.t.Error(err)
			}
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return studio.Rendering{}, ctx.Err()
		}
		avatar := s.create()
		s.work(10 * time.Minute)
		if took == 0 || took > 500*time.Millisecond {
			s.t.Errorf("the rendering was cancelled after %v", took)
		}
		if _, err := s.db.Subject(s.t.Context(), avatar.ID); !errors.Is(err, studio.ErrNotFound) {
			s.t.Errorf("error %v", err)
		}
	})
}
