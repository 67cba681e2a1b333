package studio

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/server/sender"
)

// IdempotencyLifetime is how long an idempotency key is valid.
const IdempotencyLifetime = 24 * time.Hour

// Creation is a request to create a subject.
type Creation struct {
	UserID         string
	WorkspaceID    string // of the project that the subject becomes; by default the only workspace of the user, if there is one
	Title          *string
	Request        []byte // the request as a JSON object; equal requests must have equal bytes, for the idempotency key
	Webhook        Registration
	IdempotencyKey string // "" if there is none
	RequestID      string // for the log
	Speech         Speech // of a video
}

// Registration is the webhook registration in a request (section 6.1 of the interface).
type Registration struct {
	URL     string
	Enabled bool
}

// IdempotencyKey is the idempotency key of a creation or replay. The zero value is no key.
type IdempotencyKey struct {
	Key         string
	Fingerprint []byte    // hash of the operation and its request
	After       time.Time // keys that were first used before have expired
}

// newIdempotencyKey returns the idempotency key of a request at now.
func newIdempotencyKey(key, operation string, request []byte, now time.Time) IdempotencyKey {
	if key == "" {
		return IdempotencyKey{}
	}
	fingerprint := sha256.Sum256(append([]byte(operation+"\n"), request...))
	return IdempotencyKey{Key: key, Fingerprint: fingerprint[:], After: now.Add(-IdempotencyLifetime)}
}

// CreateAvatar creates an avatar in the state processing and, if a webhook is registered, its first event. The
// avatar is due to be rendered at once. The error is an [*Error] if the webhook is invalid, [ErrForbidden] if the
// user is not a member of the workspace, [ErrTooManyCreations] if the user has too many creations in progress, and
// [ErrUnauthorized] if the user is deleted meanwhile.
//
// If the user has created an avatar with the same idempotency key within [IdempotencyLifetime], CreateAvatar
// creates nothing. It returns that avatar as it was when it was created, even if it has been deleted since, or if a new
// creation would be refused. The error is [ErrKeyReused] if the request was another one, and [ErrKeyInUse] if the
// avatar is being created.
func (s *Service) CreateAvatar(ctx context.Context, c Creation) (Subject, error) {
	return s.create(ctx, Subject{Kind: Avatar}, c)
}

// CreateLipsync creates a lip-sync in the state processing, which has no event. The error is [ErrCreditsExhausted] if
// the user has no credits left. The other errors and the idempotency key are those of [Service.CreateAvatar].
func (s *Service) CreateLipsync(ctx context.Context, c Creation) (Subject, error) {
	return s.create(ctx, Subject{Kind: Lipsync}, c)
}

// CreateVideo creates a video of a published avatar. The video uses the webhook of the avatar. The error is
// [ErrNotFound] if the user has no such avatar, [ErrNotPublished] if the avatar is not published, [ErrText] if the text
// has nothing to speak, and an [*Error] if there is no such voice. The other errors and the idempotency key are those
// of [Service.CreateLipsync].
func (s *Service) CreateVideo(ctx context.Context, avatarID string, c Creation) (Subject, error) {
	return s.create(ctx, Subject{Kind: Video, AvatarID: avatarID}, c)
}

// Find returns a subject of the user. The error is [ErrNotFound] if the user has no such subject of this
// kind.
func (s *Service) Find(ctx context.Context, userID string, kind Kind, id string) (Subject, error) {
	subject, err := s.Store.Subject(ctx, id)
	if err == nil && (!subject.visible(ctx, userID) || subject.Kind != kind) {
		err = ErrNotFound
	}
	if err != nil {
		return Subject{}, err
	}
	return subject, nil
}

// create looks the key up where it judges the creation: CreateSubject does so for a creation that nothing before has
// refused.
func (s *Service) create(ctx context.Context, subject Subject, c Creation) (Subject, error) {
	now := s.now()
	key := newIdempotencyKey(c.IdempotencyKey, string(subject.Kind)+" "+c.WorkspaceID, c.Request, now)
	end, err := s.admit(ctx, &subject, c)
	switch {
	case err == nil:
		defer end()
		subject, err = s.createAdmitted(ctx, subject, c, key, now)
	case key.Key != "" && !errors.Is(err, ErrBusy):
		refusal := err
		if subject, err = s.Store.CreatedSubject(ctx, c.UserID, key); errors.Is(err, ErrNotFound) {
			err = refusal
		}
	}
	if err != nil {
		return Subject{}, err
	}
	return subject.asCreated(c), nil
}

// admit judges a creation, and sets what its subject has from the webhook or the avatar. The caller must call end when
// the subject has been written.
func (s *Service) admit(ctx context.Context, subject *Subject, c Creation) (end func(), err error) {
	if err := checkTitle(c.Title); err != nil {
		return nil, err
	}
	if c.Webhook.Enabled {
		if subject.WebhookURL, err = s.checkWebhook("/webhook_data/webhook_url", c.Webhook.URL); err != nil {
			return nil, err
		}
	}
	if subject.Kind == Video {
		avatar, err := s.Find(ctx, c.UserID, Avatar, subject.AvatarID)
		if err != nil {
			return nil, err
		}
		if avatar.Status != Published {
			return nil, ErrNotPublished
		}
		if err := s.checkSpeech(ctx, c.Speech); err != nil {
			return nil, err
		}
		subject.AvatarTitle, subject.WebhookURL = avatar.Title, avatar.WebhookURL
	}
	if subject.Kind != Avatar {
		if err := s.checkCredits(ctx, c.UserID); err != nil {
			return nil, err
		}
	}
	return s.inProgress.begin(ctx, s, c.UserID)
}

func (s *Service) createAdmitted(ctx context.Context, subject Subject, c Creation, key IdempotencyKey, now time.Time) (Subject, error) {
	subject.ID, subject.UserID, subject.Title, subject.Request = NewID(), c.UserID, c.Title, c.Request
	subject.WorkspaceID = c.WorkspaceID
	subject.CreatedAt, subject.RenderAt, subject.RequestID = now, now, c.RequestID
	if s.TraceParent != nil {
		subject.TraceParent = s.TraceParent(ctx)
	}
	if err := subject.enter(Processing, now); err != nil {
		return Subject{}, err
	}
	created, err := s.Store.CreateSubject(ctx, subject, key)
	if subject.Kind != Video {
		err = orDeleted(err)
	}
	return created, err
}

func checkTitle(title *string) error {
	if title != nil && strings.ContainsRune(*title, 0) {
		return ErrTitle
	}
	return nil
}

func (s *Service) checkWebhook(pointer, url string) (canonical string, err error) {
	if url == "" {
		return "", webhookError("webhook_url_missing", pointer, "is required when the webhook is enabled")
	}
	canonical, err = s.Webhooks.CanonicalURL(url)
	if refused, ok := errors.AsType[*sender.RefusedError](err); ok {
		code := "webhook_url_invalid"
		if refused.NotPublic {
			code = "webhook_url_not_public"
		}
		return "", webhookError(code, pointer, refused.Reason)
	}
	return canonical, err
}

func webhookError(code, pointer, reason string) error {
	return refuse(http.StatusUnprocessableEntity, code, "The webhook cannot be registered.").about(pointer, "webhook", reason)
}
