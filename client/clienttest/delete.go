package clienttest

import (
	"context"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
)

// deletionMemory is how long a repeated deletion succeeds.
const deletionMemory = 24 * time.Hour

func (s *studio) DeleteAvatar(ctx context.Context, r gen.DeleteAvatarRequestObject) (gen.DeleteAvatarResponseObject, error) {
	return gen.DeleteAvatar204Response{}, s.delete(ctx, avatar, r.Body.AvatarID)
}

func (s *studio) DeleteVideo(ctx context.Context, r gen.DeleteVideoRequestObject) (gen.DeleteVideoResponseObject, error) {
	return gen.DeleteVideo204Response{}, s.delete(ctx, video, r.Body.InferenceID)
}

func (s *studio) DeleteLipsync(ctx context.Context, r gen.DeleteLipsyncRequestObject) (gen.DeleteLipsyncResponseObject, error) {
	return gen.DeleteLipsync204Response{}, s.delete(ctx, lipsync, r.Body.InferenceID)
}

// delete deletes a subject of the caller, the videos made from it, and the events that were not accepted
// yet.
func (s *studio) delete(ctx context.Context, kind kind, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(ctx, kind, id)
	if err != nil {
		earlier := s.subjects[id]
		if earlier != nil && earlier.kind == kind && earlier.userID == caller(ctx) && now().Sub(earlier.deletedAt) < deletionMemory {
			return nil
		}
		return err
	}
	for _, subject := range s.subjects {
		if !subject.deleted() && (subject == found || subject.avatarID == id) {
			subject.deletedAt = now()
		}
	}
	s.events = slices.DeleteFunc(s.events, func(event *event) bool {
		return !event.accepted && s.subjects[event.subject].deleted()
	})
	return nil
}
