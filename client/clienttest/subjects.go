package clienttest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

// kind is the kind of a subject, named by the type of its events.
type kind = gen.EventType

const (
	avatar  = gen.EventTypeAvatar
	video   = gen.EventTypeAvatarInference
	lipsync = gen.EventTypeLipsyncInference
)

// Statuses of avatars, videos and lip-syncs.
const (
	processing     = string(gen.AvatarStatusProcessing)
	consentPending = string(gen.AvatarStatusConsentPending)
	published      = string(gen.AvatarStatusPublished)
	consentFailed  = string(gen.AvatarStatusConsentFailed)
	failed         = string(gen.AvatarStatusFailed)
	succeeded      = string(gen.InferenceStatusSucceeded)
)

// Marks in a title that select the final status with AutoFinish, and in the simulated renderer of the
// daemon.
const (
	failMark      = "[fail]"
	noConsentMark = "[no-consent]"
)

// subject is an avatar, a video or a lip-sync.
type subject struct {
	kind          kind
	id, userID    string
	avatarID      string // avatar that a video is made from
	avatarTitle   *string
	title         *string
	avatar        gen.CreateAvatarRequest // request of the creation, by kind
	video         gen.CreateVideoRequest
	lipsync       gen.CreateLipsyncRequest
	webhookURL    string // "" if nothing was registered
	status        string
	consent       *bool
	failureReason *string
	videoURL      *string
	createdAt     time.Time
	updatedAt     time.Time
	deletedAt     time.Time
	sequence      int64 // sequence of the last event
}

// nextStates returns the statuses that may follow the current one.
func (s *subject) nextStates() []string {
	switch {
	case s.kind == avatar && s.status == processing:
		return []string{consentPending, failed}
	case s.kind == avatar && s.status == consentPending:
		return []string{published, consentFailed}
	case s.kind != avatar && s.status == processing:
		return []string{succeeded, failed}
	}
	return nil
}

// enter moves a subject to a status and records the event for it, if any. s.mu must be held.
func (s *studio) enter(subject *subject, status string) {
	subject.status, subject.updatedAt = status, now()
	switch status {
	case failed:
		subject.failureReason = new("The renderer did not finish.")
	case consentFailed:
		subject.failureReason = new("Consent was refused.")
	case succeeded:
		subject.videoURL = new(s.fileURL + subject.id + ".mp4")
	}
	if subject.webhookURL != "" && (subject.kind == avatar || status != processing) {
		subject.sequence++
		s.events = append(s.events, newEvent(subject))
	}
	if status == consentPending && subject.consent != nil {
		s.enter(subject, decided(*subject.consent))
	}
}

func decided(granted bool) string {
	if granted {
		return published
	}
	return consentFailed
}

// move moves a subject to a status, through consent_pending if that comes before.
func (s *studio) move(id, status string, avatars bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	subject := s.subjects[id]
	if subject == nil || subject.deleted() || (subject.kind == avatar) != avatars {
		return errors.New("no record with this id")
	}
	return s.moveSubject(subject, status)
}

func (s *studio) moveSubject(subject *subject, status string) error {
	if subject.kind == avatar && subject.status == processing && (status == published || status == consentFailed) {
		s.enter(subject, consentPending)
		if subject.status == status {
			return nil
		}
	}
	if next := subject.nextStates(); !slices.Contains(next, status) {
		return fmt.Errorf("the status cannot change from %q to %q; possible: %q", subject.status, status, next)
	}
	s.enter(subject, status)
	return nil
}

// finish moves a new subject to the final status that its title selects.
func (s *studio) finish(subject *subject) {
	titled := func(mark string) bool { return subject.title != nil && strings.Contains(*subject.title, mark) }
	status := succeeded
	switch {
	case titled(failMark):
		status = failed
	case subject.kind == avatar:
		status = decided(!titled(noConsentMark))
	}
	_ = s.moveSubject(subject, status) // every final status can be reached from the first one
}

func (s *subject) deleted() bool { return !s.deletedAt.IsZero() }

// find returns a subject of the caller. s.mu must be held.
func (s *studio) find(ctx context.Context, kind kind, id string) (*subject, error) {
	found := s.subjects[id]
	if found == nil || found.deleted() || found.kind != kind || found.userID != caller(ctx) {
		return nil, &server.Error{Status: http.StatusNotFound, Detail: "There is no such record."}
	}
	return found, nil
}

func (s *studio) SubmitConsent(
	ctx context.Context, request gen.SubmitConsentRequestObject,
) (gen.SubmitConsentResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(ctx, avatar, request.Body.AvatarID)
	if err != nil {
		return nil, err
	}
	if found.nextStates() == nil {
		return nil, &server.Error{Status: http.StatusConflict, Code: "avatar_final", Detail: "The avatar is in a final state."}
	}
	found.consent = &request.Body.Granted
	if found.status == consentPending {
		s.enter(found, decided(request.Body.Granted))
	}
	return gen.SubmitConsent200JSONResponse(found.asAvatar()), nil
}

func (s *studio) GetAvatar(ctx context.Context, request gen.GetAvatarRequestObject) (gen.GetAvatarResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(ctx, avatar, request.Params.AvatarID)
	if err != nil {
		return nil, err
	}
	return gen.GetAvatar200JSONResponse(found.asAvatar()), nil
}

func (s *studio) GetVideo(ctx context.Context, request gen.GetVideoRequestObject) (gen.GetVideoResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(ctx, video, request.Params.InferenceID)
	if err != nil {
		return nil, err
	}
	return gen.GetVideo200JSONResponse(found.asVideo()), nil
}

func (s *studio) GetLipsync(ctx context.Context, request gen.GetLipsyncRequestObject) (gen.GetLipsyncResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.find(ctx, lipsync, request.Params.InferenceID)
	if err != nil {
		return nil, err
	}
	return gen.GetLipsync200JSONResponse(found.asLipsync()), nil
}

func (s *subject) asAvatar() gen.Avatar {
	a := gen.NewAvatar(s.id, gen.AvatarStatus(s.status))
	a.Title, a.BaseVideo, a.FailureReason = s.title, s.avatar.BaseVideoURL.Value, s.failureReason
	a.Progress, a.CreatedAt, a.UpdatedAt = s.progress(), new(s.createdAt), new(s.updatedAt)
	if s.webhookURL != "" {
		a.AvatarWebhook = &gen.AvatarWebhook{WebhookURL: new(s.webhookURL)}
	}
	return a
}

func (s *subject) asVideo() gen.Video {
	v := gen.NewVideo(s.id, s.avatarID, gen.InferenceStatus(s.status))
	v.Title, v.AvatarTitle, v.InputText = s.title, s.avatarTitle, s.video.Text.Value
	v.Video, v.FailureReason = s.videoURL, s.failureReason
	v.Progress, v.CreatedAt, v.UpdatedAt = s.progress(), new(s.createdAt), new(s.updatedAt)
	return v
}

func (s *subject) asLipsync() gen.Lipsync {
	l := gen.NewLipsync(s.id, gen.InferenceStatus(s.status))
	l.Title, l.Description = s.title, s.lipsync.Description.Value
	l.InputVideo, l.InputAudio = s.lipsync.VideoURL.Value, s.lipsync.AudioURL.Value
	l.UseAudioFromVideo, l.SyncMode = s.lipsync.UseAudioFromVideo.Value, (*string)(s.lipsync.SyncMode.Value)
	l.VideoURL, l.FailureReason = s.videoURL, s.failureReason
	l.Progress, l.CreatedAt, l.UpdatedAt = s.progress(), new(s.createdAt), new(s.updatedAt)
	return l
}

// progress returns 0 while the subject is processing or if it failed, and otherwise 100.
func (s *subject) progress() *float64 {
	if s.status == processing || s.status == failed {
		return new(0.0)
	}
	return new(100.0)
}
