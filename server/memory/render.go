package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/memstore"
	"github.com/avatarstudio/avatarstudio/server/internal/render/simulate"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// videoName is the name of the file of a video or lip-sync.
const videoName = "video.mp4"

// SetAvatar moves an avatar to a status, through all statuses in between. The error is that there is no such avatar, or
// no such transition.
func (s *Service) SetAvatar(ctx context.Context, id string, status gen.AvatarStatus) error {
	return s.move(ctx, id, true, studio.Status(status))
}

// SetInference is like SetAvatar for a video or lip-sync.
func (s *Service) SetInference(ctx context.Context, id string, status gen.InferenceStatus) error {
	return s.move(ctx, id, false, studio.Status(status))
}

func (s *Service) move(ctx context.Context, id string, avatar bool, status studio.Status) error {
	before, err := s.store.Subject(ctx, id)
	if err != nil || (before.Kind == studio.Avatar) != avatar {
		return errors.New("no record with this id")
	}
	after := before
	if before.Status == studio.Processing && status != studio.Processing {
		var failure error
		if status == studio.Failed {
			failure = &studio.RenderError{Reason: "The renderer did not finish."}
		}
		after, err = s.rendered(ctx, before, studio.Rendering{}, failure)
	}
	decided := status == studio.Published || status == studio.ConsentFailed
	if err == nil && decided && after.Status == studio.ConsentPending {
		after, err = s.studio.SubmitConsent(ctx, before.UserID, id, status == studio.Published)
	}
	early := status == studio.ConsentPending && before.Consent != studio.Undecided // consent was submitted before
	if err == nil && (after.Status == before.Status || after.Status != status && !early) {
		err = fmt.Errorf("the status cannot change from %q to %q", before.Status, status)
	}
	return err
}

// rendered ends the rendering of a subject.
func (s *Service) rendered(ctx context.Context, subject studio.Subject, result studio.Rendering, failure error) (studio.Subject, error) {
	if subject.Kind != studio.Avatar && failure == nil {
		result.Video = videoName
		content := strings.NewReader("the video " + subject.ID)
		if err := s.studio.Media.Write(ctx, studio.ResultKey(subject.ID, videoName), content); err != nil {
			return studio.Subject{}, err
		}
	}
	return s.studio.Rendered(ctx, subject.ID, result, failure)
}

// AutoFinish makes each avatar, video and lip-sync that is created from now on reach its final status before the
// response to its creation, which has the first. Their titles decide, as with the simulated renderer of studiod.
func (s *Service) AutoFinish() {
	s.autoFinish.Store(true)
}

// finish finishes a new subject after AutoFinish.
func (s *Service) finish(ctx context.Context, subject studio.Subject) error {
	if !s.autoFinish.Load() {
		return nil
	}
	result, failure := simulate.Renderer{}.Render(ctx, subject)
	rendered, err := s.rendered(ctx, subject, result, failure)
	if err == nil && rendered.Status == studio.ConsentPending {
		_, err = s.studio.SubmitConsent(ctx, subject.UserID, subject.ID, simulate.Consent(subject))
	}
	return err
}

// finishingStore finishes the subjects that it creates.
type finishingStore struct {
	*memstore.Store

	service *Service
}

// CreateSubject implements [studio.SubjectStore].
func (s finishingStore) CreateSubject(
	ctx context.Context, subject studio.Subject, key studio.IdempotencyKey,
) (studio.Subject, error) {
	created, err := s.Store.CreateSubject(ctx, subject, key)
	if err == nil && created.ID == subject.ID { // the key is new
		err = s.service.finish(ctx, subject)
	}
	return created, err
}
